#include "kernels/cpu/conv2d_columns.hpp"

#include <omp.h>

#include <algorithm>
#include <utility>

#include "kernels/base/error.hpp"
#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/columns.hpp"
#include "kernels/cpu/onednn.hpp"
#include "kernels/cpu/parallel.hpp"

namespace cohort::cpu {

namespace {

// A matrix product needs this many rows to run at full speed; small images share one.
constexpr std::int64_t enough_rows = 64;

COHORT_CLONES void add_to(float* sum, const float* values, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) sum[i] += values[i];
}

// (filters, channels, kernel) and (filters, kernel, channels): the two orders of a filter's weights.
void swap_inner(const float* from, float* to, std::int64_t filters, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t f = 0; f < filters; ++f)
    for (std::int64_t column = 0; column < columns; ++column)
      for (std::int64_t row = 0; row < rows; ++row)
        to[(f * columns + column) * rows + row] = from[(f * rows + row) * columns + column];
}

}  // namespace

ColumnConv2d::ColumnConv2d(const Conv2dSpec& spec, std::unique_ptr<Conv2d> forward)
    : spec_(spec),
      forward_(std::move(forward)),
      pixels_(spec.output_size()[0] * spec.output_size()[1]),
      columns_(column_count(spec)),
      block_(std::clamp<std::int64_t>((enough_rows + pixels_ - 1) / pixels_, 1, spec.batch)),
      workspaces_(static_cast<std::size_t>(omp_get_max_threads())) {
  constexpr std::size_t line = 64 / sizeof(float);  // threads share no cache line
  const auto whole_lines = [](std::int64_t count) {
    return (static_cast<std::size_t>(count) + line - 1) / line * line;
  };
  const std::size_t columns = whole_lines(column_buffer_size(spec, block_ * pixels_));
  const std::size_t weights = whole_lines(spec.filters * columns_);
  const std::size_t sums = spec.bias ? whole_lines(block_ * pixels_ * spec.filters) : 0;
  const std::size_t ordered = spec.channels > 1 && spec.data_gradient ? weights : 0;
  // A product's kernel fetches rows past the end of its operands, and of its result for writing; were another thread's
  // columns there, it would claim its lines back one by one. So a thread's own columns follow its result, and memory
  // that nobody touches follows the columns and the weights that all threads read.
  const std::size_t gap = 2 * columns;
  memory_ = Buffer::allocate((workspaces_.size() * (sums + weights + columns + gap) + ordered + gap) * sizeof(float));
  auto* next = static_cast<float*>(memory_->data());
  const auto take = [&](std::size_t count) { return std::span(std::exchange(next, next + count), count); };
  for (Workspace& workspace : workspaces_) {
    workspace.bias_grad = take(sums);
    workspace.weight_grad = take(weights);
    workspace.columns = take(columns);
    take(gap);
  }
  weight_ = take(ordered);
}

// body(first image, images, workspace) for blocks of images; gives the status of its matrix product.
template <class Body>
void ColumnConv2d::over_blocks(const Body& body) {
  for (Workspace& workspace : workspaces_) {
    workspace.used = false;
    workspace.status = dnnl_success;
  }
  const std::int64_t parts = std::min(static_cast<std::int64_t>(workspaces_.size()), spec_.batch / block_);
  parallel_parts(spec_.batch, parts, block_, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
    Workspace& workspace = workspaces_[static_cast<std::size_t>(part)];
    for (std::int64_t image = begin; image < end && workspace.status == dnnl_success; image += block_) {
      workspace.status = body(image, std::min(block_, end - image), workspace);
      workspace.used = true;
    }
  });
  for (const Workspace& workspace : workspaces_)
    if (workspace.status != dnnl_success)
      fail_onednn("dnnl_sgemm", static_cast<dnnl_status_t>(workspace.status), {}, __FILE__, __LINE__);
}

const float* ColumnConv2d::ordered_weight(Parameter weight) {
  if (weight_.empty()) return weight.data;
  if (ordered_.data != weight.data || ordered_.version != weight.version) {
    swap_inner(weight.data, weight_.data(), spec_.filters, spec_.channels, spec_.kernel[0] * spec_.kernel[1]);
    ordered_ = weight;
  }
  return weight_.data();
}

void ColumnConv2d::backward_data(const float* out_grad, Parameter weight, float* data_grad) {
  COHORT_CHECK(spec_.data_gradient, "conv2d: made without a data gradient");
  const float* matrix = ordered_weight(weight);
  const std::int64_t size = spec_.height * spec_.width * spec_.channels;
  over_blocks([&](std::int64_t image, std::int64_t images, Workspace& workspace) {
    float* columns = workspace.columns.data();
    const dnnl_status_t status =
        dnnl_sgemm('N', 'N', images * pixels_, columns_, spec_.filters, 1, out_grad + image * pixels_ * spec_.filters,
                   spec_.filters, matrix, columns_, 0, columns, columns_);
    for (std::int64_t i = 0; i < images; ++i)
      scatter_columns(spec_, columns + i * pixels_ * columns_, data_grad + (image + i) * size);
    return status;
  });
}

void ColumnConv2d::backward_weights(const float* data, const float* out_grad, float* weight_grad, float* bias_grad) {
  const std::int64_t size = spec_.height * spec_.width * spec_.channels;
  over_blocks([&](std::int64_t image, std::int64_t images, Workspace& workspace) {
    const std::int64_t rows = images * pixels_;
    const float* grad = out_grad + image * pixels_ * spec_.filters;
    if (spec_.bias) {
      if (!workspace.used) std::fill(workspace.bias_grad.begin(), workspace.bias_grad.end(), 0.0f);
      add_to(workspace.bias_grad.data(), grad, rows * spec_.filters);
    }
    for (std::int64_t i = 0; i < images; ++i)
      gather_columns(spec_, data + (image + i) * size, data + spec_.batch * size,
                     workspace.columns.data() + i * pixels_ * columns_);
    return dnnl_sgemm('T', 'N', spec_.filters, columns_, rows, 1, grad, spec_.filters, workspace.columns.data(),
                      columns_, workspace.used ? 1.0f : 0.0f, workspace.weight_grad.data(), columns_);
  });
  collect_weight_grad(weight_grad);
  if (spec_.bias) collect_bias_grad(bias_grad);
}

// The first workspace is always used.
void ColumnConv2d::collect_weight_grad(float* weight_grad) {
  const std::span<float> sum = workspaces_[0].weight_grad;
  for (std::size_t i = 1; i < workspaces_.size(); ++i)
    if (workspaces_[i].used) add_to(sum.data(), workspaces_[i].weight_grad.data(), spec_.filters * columns_);
  swap_inner(sum.data(), weight_grad, spec_.filters, spec_.kernel[0] * spec_.kernel[1], spec_.channels);
}

void ColumnConv2d::collect_bias_grad(float* bias_grad) {
  const std::span<float> sum = workspaces_[0].bias_grad;
  const std::int64_t count = block_ * pixels_ * spec_.filters;
  for (std::size_t i = 1; i < workspaces_.size(); ++i)
    if (workspaces_[i].used) add_to(sum.data(), workspaces_[i].bias_grad.data(), count);
  std::fill_n(bias_grad, spec_.filters, 0.0f);
  for (std::int64_t at = 0; at < count; at += spec_.filters) add_to(bias_grad, sum.data() + at, spec_.filters);
}

}  // namespace cohort::cpu

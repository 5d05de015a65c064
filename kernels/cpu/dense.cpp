// Plain row-major weights through dnnl_sgemm: for layers of this kind packing and unpacking the weights of every step
// costs more than the faster kernel saves.
#include <atomic>

#include "kernels/base/error.hpp"
#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/factories.hpp"
#include "kernels/cpu/onednn.hpp"
#include "kernels/cpu/parallel.hpp"

namespace cohort::cpu {

namespace {

COHORT_CLONES void add_bias_rows(float* out, const float* bias, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t row = 0; row < rows; ++row) {
    float* __restrict line = out + row * columns;
    for (std::int64_t column = 0; column < columns; ++column) line[column] += bias[column];
  }
}

// Sum over rows, in row order, of columns [begin, end).
COHORT_CLONES void sum_rows(const float* in, float* __restrict sum, std::int64_t rows, std::int64_t columns,
                            std::int64_t begin, std::int64_t end) {
  for (std::int64_t column = begin; column < end; ++column) sum[column] = in[column];
  for (std::int64_t row = 1; row < rows; ++row) {
    const float* line = in + row * columns;
    for (std::int64_t column = begin; column < end; ++column) sum[column] += line[column];
  }
}

// A product of fewer floating-point operations per thread is done sooner by one.
constexpr double product_grain = 2e6;

// Calls product(begin, end), a call of dnnl_sgemm, for ranges of one of the result's extents, `count` long, each on its
// own thread: oneDNN divides products of this size less evenly. Rows of weights and of their gradients stay with one
// thread from step to step.
template <class Product>
void share_product(std::int64_t count, double operations, const Product& product) {
  std::atomic<int> status{dnnl_success};
  parallel_parts(count, static_cast<std::int64_t>(operations / product_grain), 16,
                 [&](std::int64_t, std::int64_t begin, std::int64_t end) {
                   if (const dnnl_status_t own = product(begin, end); own != dnnl_success) status = own;
                 });
  if (status != dnnl_success)
    fail_onednn("dnnl_sgemm", static_cast<dnnl_status_t>(status.load()), {}, __FILE__, __LINE__);
}

class GemmDense final : public Dense {
 public:
  explicit GemmDense(const DenseSpec& spec) : spec_(spec) {
    COHORT_CHECK(spec.batch > 0 && spec.inputs > 0 && spec.outputs > 0, "dense: batch {}, inputs {}, outputs {}",
                 spec.batch, spec.inputs, spec.outputs);
  }

  void forward(const float* data, Parameter weight, const float* bias, float* out) override {
    share_product(spec_.outputs, operations(), [&](std::int64_t begin, std::int64_t end) {
      return dnnl_sgemm('N', 'T', spec_.batch, end - begin, spec_.inputs, 1, data, spec_.inputs,
                        weight.data + begin * spec_.inputs, spec_.inputs, 0, out + begin, spec_.outputs);
    });
    if (!spec_.bias) return;
    parallel_ranges(spec_.batch, element_grain / spec_.outputs + 1, 1, [&](std::int64_t begin, std::int64_t end) {
      add_bias_rows(out + begin * spec_.outputs, bias, end - begin, spec_.outputs);
    });
  }

  void backward_data(const float* out_grad, Parameter weight, float* data_grad) override {
    share_product(spec_.inputs, operations(), [&](std::int64_t begin, std::int64_t end) {
      return dnnl_sgemm('N', 'N', spec_.batch, end - begin, spec_.outputs, 1, out_grad, spec_.outputs,
                        weight.data + begin, spec_.inputs, 0, data_grad + begin, spec_.inputs);
    });
  }

  void backward_weights(const float* data, const float* out_grad, float* weight_grad, float* bias_grad) override {
    share_product(spec_.outputs, operations(), [&](std::int64_t begin, std::int64_t end) {
      return dnnl_sgemm('T', 'N', end - begin, spec_.inputs, spec_.batch, 1, out_grad + begin, spec_.outputs, data,
                        spec_.inputs, 0, weight_grad + begin * spec_.inputs, spec_.inputs);
    });
    if (!spec_.bias) return;
    parallel_ranges(spec_.outputs, element_grain / spec_.batch + 1, 16, [&](std::int64_t begin, std::int64_t end) {
      sum_rows(out_grad, bias_grad, spec_.batch, spec_.outputs, begin, end);
    });
  }

 private:
  double operations() const {
    return 2 * static_cast<double>(spec_.batch) * static_cast<double>(spec_.inputs) *
           static_cast<double>(spec_.outputs);
  }

  DenseSpec spec_;
};

}  // namespace

std::unique_ptr<Dense> make_dense(const DenseSpec& spec) { return std::make_unique<GemmDense>(spec); }

}  // namespace cohort::cpu

// Plain row-major weights through dnnl_sgemm: for layers of this kind packing and unpacking the weights of every step
// costs more than the faster kernel saves.
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

class GemmDense final : public Dense {
 public:
  explicit GemmDense(const DenseSpec& spec) : spec_(spec) {
    COHORT_CHECK(spec.batch > 0 && spec.inputs > 0 && spec.outputs > 0, "dense: batch {}, inputs {}, outputs {}",
                 spec.batch, spec.inputs, spec.outputs);
  }

  void forward(const float* data, Parameter weight, const float* bias, float* out) override {
    COHORT_ONEDNN(dnnl_sgemm('N', 'T', spec_.batch, spec_.outputs, spec_.inputs, 1, data, spec_.inputs, weight.data,
                             spec_.inputs, 0, out, spec_.outputs));
    if (!spec_.bias) return;
    parallel_ranges(spec_.batch, element_grain / spec_.outputs + 1, 1, [&](std::int64_t begin, std::int64_t end) {
      add_bias_rows(out + begin * spec_.outputs, bias, end - begin, spec_.outputs);
    });
  }

  void backward_data(const float* out_grad, Parameter weight, float* data_grad) override {
    COHORT_ONEDNN(dnnl_sgemm('N', 'N', spec_.batch, spec_.inputs, spec_.outputs, 1, out_grad, spec_.outputs,
                             weight.data, spec_.inputs, 0, data_grad, spec_.inputs));
  }

  void backward_weights(const float* data, const float* out_grad, float* weight_grad, float* bias_grad) override {
    COHORT_ONEDNN(dnnl_sgemm('T', 'N', spec_.outputs, spec_.inputs, spec_.batch, 1, out_grad, spec_.outputs, data,
                             spec_.inputs, 0, weight_grad, spec_.inputs));
    if (!spec_.bias) return;
    parallel_ranges(spec_.outputs, element_grain / spec_.batch + 1, 16, [&](std::int64_t begin, std::int64_t end) {
      sum_rows(out_grad, bias_grad, spec_.batch, spec_.outputs, begin, end);
    });
  }

 private:
  DenseSpec spec_;
};

}  // namespace

std::unique_ptr<Dense> make_dense(const DenseSpec& spec) { return std::make_unique<GemmDense>(spec); }

}  // namespace cohort::cpu

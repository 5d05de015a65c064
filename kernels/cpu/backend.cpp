#include "kernels/base/backend.hpp"

#include "kernels/cpu/factories.hpp"

namespace cohort {

const Backend& cpu_backend() {
  static constexpr Backend table{"cpu",
                                 cpu::make_activation,
                                 cpu::make_conv2d,
                                 cpu::make_dense,
                                 cpu::make_elementwise,
                                 cpu::make_pool2d,
                                 cpu::make_softmax_output};
  return table;
}

}  // namespace cohort

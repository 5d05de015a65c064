// Element-wise activations whose gradient is a function of the output.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cohort {

// softrelu: log(1+e^x), x itself above 20. softsign: x/(1+|x|). The gradient of relu at 0 is 0.
enum class ActivationKind { relu, sigmoid, tanh, softrelu, softsign };

std::string_view to_string(ActivationKind kind);
std::optional<ActivationKind> activation_from_name(std::string_view name);

struct ActivationSpec {
  ActivationKind kind = ActivationKind::relu;
  std::int64_t count = 0;
};

// `out` may be `data`, `data_grad` may be `out_grad`. A result depends on its own element alone, not on its position.
class Activation {
 public:
  virtual ~Activation() = default;
  virtual void forward(const float* data, float* out) = 0;
  virtual void backward(const float* out, const float* out_grad, float* data_grad) = 0;
};

}  // namespace cohort

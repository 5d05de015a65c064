// What layers with a weight and a bias have in common: inputs, what backward reads, and the calls of their kernel.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/operators/operator.hpp"

namespace cohort::rows {

inline std::vector<std::string> weighted_inputs(const Parameters& parameters) {
  if (parameters.flag("no_bias")) return {"data", "weight"};
  return {"data", "weight", "bias"};
}

inline BackwardReads weighted_reads(const Parameters&, const std::vector<bool>& wanted) {
  BackwardReads result;
  if (wanted[1] || (wanted.size() > 2 && wanted[2])) result.inputs.push_back(0);
  if (wanted[0]) result.inputs.push_back(1);
  return result;
}

// `Kernel` is Conv2d or Dense: forward, backward_data, backward_weights.
template <class Kernel>
class WeightedLayer final : public OperatorKernel {
 public:
  WeightedLayer(std::unique_ptr<Kernel> kernel, const KernelRequest& request)
      : kernel_(std::move(kernel)), bias_(request.inputs.size() > 2) {
    if (!request.train || (!request.wanted[1] && !(bias_ && request.wanted[2]))) return;
    // The kernel writes the gradients of weight and bias together: one that nobody asked for goes here.
    for (std::size_t i = 1; i < request.inputs.size(); ++i)
      if (!request.wanted[i]) unwanted_.resize(static_cast<std::size_t>(request.inputs[i].count()));
  }

  void forward(const ForwardCall& call, bool) override {
    kernel_->forward(call.inputs[0].data, call.inputs[1], bias_ ? call.inputs[2].data : nullptr, call.outputs[0]);
  }

  void backward(const BackwardCall& call) override {
    const float* out_grad = call.out_grads[0];
    if (call.in_grads[0] != nullptr) kernel_->backward_data(out_grad, call.inputs[1], call.in_grads[0]);
    float* weight_grad = call.in_grads[1];
    float* bias_grad = bias_ ? call.in_grads[2] : nullptr;
    if (weight_grad == nullptr && bias_grad == nullptr) return;
    if (weight_grad == nullptr) weight_grad = unwanted_.data();
    if (bias_ && bias_grad == nullptr) bias_grad = unwanted_.data();
    kernel_->backward_weights(call.inputs[0].data, out_grad, weight_grad, bias_grad);
  }

 private:
  std::unique_ptr<Kernel> kernel_;
  bool bias_;
  std::vector<float> unwanted_;
};

}  // namespace cohort::rows

// The makers behind cpu_backend(): one per kernel header, each in the file of that name.
#pragma once

#include <memory>

#include "kernels/activation.hpp"
#include "kernels/conv2d.hpp"
#include "kernels/dense.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/pool2d.hpp"
#include "kernels/softmax_output.hpp"

namespace cohort::cpu {

std::unique_ptr<Activation> make_activation(const ActivationSpec& spec);
std::unique_ptr<Conv2d> make_conv2d(const Conv2dSpec& spec);
std::unique_ptr<Dense> make_dense(const DenseSpec& spec);
std::unique_ptr<Elementwise> make_elementwise();
std::unique_ptr<Pool2d> make_pool2d(const Pool2dSpec& spec);
std::unique_ptr<SoftmaxOutput> make_softmax_output(const SoftmaxOutputSpec& spec);

}  // namespace cohort::cpu

// The table of factories a device kind offers.
#pragma once

#include <memory>
#include <string_view>

namespace cohort {

class Activation;
class Conv2d;
class Dense;
class Elementwise;
class Pool2d;
class SoftmaxOutput;
struct ActivationSpec;
struct Conv2dSpec;
struct DenseSpec;
struct Pool2dSpec;
struct SoftmaxOutputSpec;

// A plain table of functions, so that a backend can live in a module of its own. Each makes a kernel for one shape;
// wrong specs throw Error(check).
struct Backend {
  std::string_view name;
  std::unique_ptr<Activation> (*activation)(const ActivationSpec&);
  std::unique_ptr<Conv2d> (*conv2d)(const Conv2dSpec&);
  std::unique_ptr<Dense> (*dense)(const DenseSpec&);
  std::unique_ptr<Elementwise> (*elementwise)();
  std::unique_ptr<Pool2d> (*pool2d)(const Pool2dSpec&);
  std::unique_ptr<SoftmaxOutput> (*softmax_output)(const SoftmaxOutputSpec&);
};

// Kernels on the host: oneDNN and vectorised loops (kernels/cpu).
const Backend& cpu_backend();

}  // namespace cohort

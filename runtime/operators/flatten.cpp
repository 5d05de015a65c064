#include "runtime/operators/rows.hpp"

namespace cohort {
namespace {

constexpr std::string_view aliases[] = {"flatten"};

void infer(const Parameters&, std::span<Shape> in, std::span<Shape> out) {
  if (in[0].empty()) return unify(out[0], Shape{0, 0}, "the output");
  std::int64_t rest = 1;
  for (std::size_t axis = 1; axis < in[0].rank(); ++axis) rest *= in[0][axis];
  unify(out[0], Shape{in[0][0], rest}, "the output");
  if (in[0][0] == 0) in[0][0] = out[0][0];
}

}  // namespace

const OperatorRow rows::flatten{
    .name = "Flatten",
    .aliases = aliases,
    .inputs = rows::data_input,
    .infer = infer,
    .view = true,
    .gradient = GradientForm::pass,
};

}  // namespace cohort

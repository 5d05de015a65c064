#include "runtime/operators/rows.hpp"

namespace cohort {
namespace {

constexpr std::string_view identity_aliases[] = {"identity"};
constexpr std::string_view block_grad_aliases[] = {"stop_gradient"};

}  // namespace

const OperatorRow rows::identity{
    .name = "_copy",
    .aliases = identity_aliases,
    .inputs = rows::data_input,
    .infer = rows::same_shapes,
    .layout = LayoutRule::same,
    .view = true,
    .gradient = GradientForm::pass,
};

const OperatorRow rows::block_grad{
    .name = "BlockGrad",
    .aliases = block_grad_aliases,
    .inputs = rows::data_input,
    .infer = rows::same_shapes,
    .layout = LayoutRule::same,
    .view = true,
    .gradient = GradientForm::none,
};

}  // namespace cohort

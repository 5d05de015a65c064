#include "runtime/operators/rows.hpp"

namespace cohort {
namespace {

constexpr const OperatorRow* table[] = {
    &rows::activation,
    &rows::add_n,
    &rows::block_grad,
    &rows::convolution,
    &rows::elemwise_add,
    &rows::elemwise_mul,
    &rows::elemwise_sub,
    &rows::flatten,
    &rows::fully_connected,
    &rows::identity,
    &rows::linear_regression_output,
    &rows::make_loss,
    &rows::mul_scalar,
    &rows::plus_scalar,
    &rows::pooling,
    &rows::reshape,
    &rows::softmax_output,
};

}  // namespace

std::span<const OperatorRow* const> operator_table() { return table; }

}  // namespace cohort

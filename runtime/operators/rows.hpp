// The rows that table.cpp collects; one declaration per operator, defined in the file named after it.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/operators/operator.hpp"

namespace cohort::rows {

extern const OperatorRow activation;
extern const OperatorRow add_n;
extern const OperatorRow block_grad;
extern const OperatorRow convolution;
extern const OperatorRow elemwise_add;
extern const OperatorRow elemwise_mul;
extern const OperatorRow elemwise_sub;
extern const OperatorRow flatten;
extern const OperatorRow fully_connected;
extern const OperatorRow identity;
extern const OperatorRow linear_regression_output;
extern const OperatorRow make_loss;
extern const OperatorRow mul_scalar;
extern const OperatorRow plus_scalar;
extern const OperatorRow pooling;
extern const OperatorRow reshape;
extern const OperatorRow softmax_output;

// Input lists that several rows share.
std::vector<std::string> data_input(const Parameters&);
std::vector<std::string> data_label_inputs(const Parameters&);
std::vector<std::string> lhs_rhs_inputs(const Parameters&);

// Inference of operators whose arrays all have one shape.
void same_shapes(const Parameters&, std::span<Shape> inputs, std::span<Shape> outputs);

// The (height, width) entries of a tuple parameter, `fallback` for an empty one. Throws Error(usage) for another rank.
std::array<std::int64_t, 2> pair_parameter(const Parameters& parameters, std::string_view owner, std::string_view name,
                                           std::int64_t fallback);

}  // namespace cohort::rows

#include <algorithm>

#include "kernels/base/error.hpp"
#include "runtime/operators/rows.hpp"

namespace cohort {
namespace {

constexpr std::string_view aliases[] = {"reshape"};
constexpr ParameterSpec schema[] = {
    {.name = "shape", .type = ParameterType::tuple, .default_text = "()", .minimum = -4},
    {.name = "reverse", .type = ParameterType::flag, .default_text = "False"},
    {.name = "target_shape", .type = ParameterType::tuple, .default_text = "()", .minimum = 0},
    {.name = "keep_highest", .type = ParameterType::flag, .default_text = "False"},
};

std::vector<std::int64_t> reversed(const std::vector<std::int64_t>& list) { return {list.rbegin(), list.rend()}; }

// Reads the code list from left to right with a cursor in the source shape; a result of -1 is inferred by the caller.
class CodeReader {
 public:
  CodeReader(const std::vector<std::int64_t>& codes, const std::vector<std::int64_t>& source)
      : codes_(codes), source_(source) {}

  std::vector<std::int64_t> read() {
    while (at_ < codes_.size()) step(codes_[at_++]);
    return std::move(result_);
  }

 private:
  std::int64_t take() {
    if (cursor_ >= source_.size()) throw_usage("its shape codes ask for more axes than data has");
    return source_[cursor_++];
  }

  void step(std::int64_t code) {
    if (code > 0 || code == -1) {
      result_.push_back(code);
      ++cursor_;
    } else if (code == 0) {
      result_.push_back(take());
    } else if (code == -2) {
      while (cursor_ < source_.size()) result_.push_back(source_[cursor_++]);
    } else if (code == -3) {
      const std::int64_t first = take();
      result_.push_back(first * take());
    } else {
      split(take());
    }
  }

  void split(std::int64_t extent) {
    if (at_ + 2 > codes_.size()) throw_usage("the shape code -4 needs two numbers after it");
    std::int64_t first = codes_[at_++];
    std::int64_t second = codes_[at_++];
    if (first == -1 && second > 0) first = extent / second;
    if (second == -1 && first > 0) second = extent / first;
    if (first <= 0 || second <= 0 || extent % second != 0 || extent / second != first)
      throw_usage("the shape code -4 cannot split {} into {} and {}", extent, first, second);
    result_.push_back(first);
    result_.push_back(second);
  }

  const std::vector<std::int64_t>& codes_;
  const std::vector<std::int64_t>& source_;
  std::size_t at_ = 0;
  std::size_t cursor_ = 0;
  std::vector<std::int64_t> result_;
};

// Replaces the one unknown extent, `unknown`, so that the count is `count`.
void fill_unknown(std::vector<std::int64_t>& extents, std::int64_t unknown, std::int64_t count) {
  const auto place = std::ranges::find(extents, unknown);
  if (place == extents.end()) return;
  if (std::count(extents.begin(), extents.end(), unknown) > 1)
    throw_usage("only one axis of its shape can be inferred");
  *place = 1;
  const std::int64_t rest = Shape(extents).count();
  if (rest == 0 || count % rest != 0) throw_usage("{} elements do not divide by {}", count, rest);
  *place = count / rest;
}

Shape legacy_target(const Parameters& parameters, const Shape& data) {
  std::vector<std::int64_t> extents = parameters.tuple("target_shape").extents();
  if (parameters.flag("keep_highest") && !extents.empty()) extents[0] = data[0];
  fill_unknown(extents, 0, data.count());
  return Shape(extents);
}

Shape target(const Parameters& parameters, const Shape& data) {
  const Shape& codes = parameters.tuple("shape");
  if (codes.empty()) {
    if (parameters.tuple("target_shape").empty()) throw_usage("Reshape: shape is required");
    return legacy_target(parameters, data);
  }
  const bool reverse = parameters.flag("reverse");
  const std::vector<std::int64_t> list = reverse ? reversed(codes.extents()) : codes.extents();
  const std::vector<std::int64_t> source = reverse ? reversed(data.extents()) : data.extents();
  std::vector<std::int64_t> result = CodeReader(list, source).read();
  fill_unknown(result, -1, data.count());
  return Shape(reverse ? reversed(result) : result);
}

void infer(const Parameters& parameters, std::span<Shape> in, std::span<Shape> out) {
  if (!in[0].known()) return;
  const Shape result = target(parameters, in[0]);
  if (result.count() != in[0].count())
    throw_usage("data of shape {} cannot take shape {}", to_string(in[0]), to_string(result));
  unify(out[0], result, "the output");
}

}  // namespace

const OperatorRow rows::reshape{
    .name = "Reshape",
    .aliases = aliases,
    .parameters = schema,
    .inputs = rows::data_input,
    .infer = infer,
    .view = true,
    .gradient = GradientForm::pass,
};

}  // namespace cohort

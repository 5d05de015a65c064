#include "runtime/optim/initializer_arguments.hpp"

#include <cctype>
#include <cmath>
#include <utility>

#include "kernels/base/error.hpp"
#include "kernels/base/numbers.hpp"

namespace cohort {
namespace {

// Walks over the one small form there is: a list of a name and a flat map.
class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}

  InitializerText read() {
    expect('[');
    InitializerText result{quoted(), {}};
    std::map<std::string, std::string> values;
    if (accept(',')) {
      expect('{');
      while (!accept('}')) {
        if (!values.empty()) expect(',');
        const std::string name = quoted();
        expect(':');
        values[name] = value();
      }
    }
    expect(']');
    skip_spaces();
    if (at_ != text_.size()) wrong();
    result.arguments = InitializerArguments(std::move(values));
    return result;
  }

 private:
  [[noreturn]] void wrong() const {
    throw_usage("cannot read the initializer '{}' at character {}; it is written like [\"normal\", {{\"sigma\": 0.1}}]",
                text_, at_ + 1);
  }

  void skip_spaces() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }

  bool accept(char wanted) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted)) wrong();
  }

  std::string quoted() {
    expect('"');
    const std::size_t end = text_.find_first_of("\"\\", at_);
    if (end == std::string::npos || text_[end] == '\\') wrong();
    return text_.substr(std::exchange(at_, end + 1), end - at_);
  }

  std::string value() {
    skip_spaces();
    if (at_ < text_.size() && text_[at_] == '"') return quoted();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                  std::string_view("+-.").find(text_[at_]) != std::string_view::npos))
      ++at_;
    if (at_ == begin) wrong();
    return text_.substr(begin, at_ - begin);
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string InitializerArguments::take(const std::string& name, std::string otherwise) {
  const auto node = values_.extract(name);
  return node ? node.mapped() : std::move(otherwise);
}

double InitializerArguments::take_number(const std::string& name, double otherwise) {
  const auto node = values_.extract(name);
  if (!node) return otherwise;
  const std::string& text = node.mapped();
  const std::optional<double> value = parse_number<double>(text);
  if (!value || !std::isfinite(*value)) throw_usage("initializer argument {}: '{}' is not a number", name, text);
  return *value;
}

void InitializerArguments::check_empty(std::string_view initializer) const {
  if (!values_.empty()) throw_usage("initializer {} takes no argument '{}'", initializer, values_.begin()->first);
}

InitializerText parse_initializer(const std::string& text) {
  if (text.find_first_of("[{\"") == std::string::npos) return {text, {}};
  return Reader(text).read();
}

}  // namespace cohort

#include "kernels/cpu/onednn.hpp"

#include <oneapi/dnnl/dnnl_debug.h>

#include "kernels/base/error.hpp"

namespace cohort::cpu {

void fail_onednn(std::string_view call, dnnl_status_t status, std::string_view words, const char* file, int line) {
  const std::string_view name = dnnl_status2str(status);
  const std::string message =
      words.empty() ? fmt::format("{} failed: {}", call, name) : fmt::format("{} failed: {} ({})", call, words, name);
  throw Error(ErrorKind::onednn, message, source_place(file, line));
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

Primitive::Primitive(const Onednn& onednn, dnnl::primitive primitive, const dnnl::memory::desc& scratchpad,
                     std::initializer_list<Argument> arguments)
    : primitive_(std::move(primitive)) {
  for (const Argument& argument : arguments) {
    memories_.push_back(argument.memory);
    arguments_.push_back({argument.role, argument.memory.get()});
  }
  if (scratchpad.get_size() > 0) {
    memories_.emplace_back(scratchpad, onednn.engine);
    arguments_.push_back({DNNL_ARG_SCRATCHPAD, memories_.back().get()});
  }
}

void Primitive::run(const Onednn& onednn) {
  COHORT_ONEDNN(dnnl_primitive_execute(primitive_.get(), onednn.stream.get(), static_cast<int>(arguments_.size()),
                                       arguments_.data()));
}

PackedParameter::PackedParameter(const Onednn& onednn, const dnnl::memory::desc& plain,
                                 const dnnl::memory::desc& packed)
    : plain_(unbound(onednn, plain)), same_format_(plain == packed) {
  if (same_format_) {
    packed_ = plain_;
    return;
  }
  packed_ = dnnl::memory(packed, onednn.engine);
  const dnnl::reorder::primitive_desc reorder(onednn.engine, plain, onednn.engine, packed, user_scratchpad());
  reorder_ = Primitive(onednn, reorder, {{DNNL_ARG_FROM, plain_}, {DNNL_ARG_TO, packed_}});
}

void PackedParameter::renew(const Onednn& onednn, Parameter parameter) {
  if (same_format_) {
    bind(plain_, parameter.data);
    return;
  }
  if (copied_.data == parameter.data && copied_.version == parameter.version) return;
  bind(plain_, parameter.data);
  reorder_.run(onednn);
  copied_ = parameter;
}

}  // namespace cohort::cpu

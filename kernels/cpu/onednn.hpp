// The one header over dnnl.hpp: makers that read the same for oneDNN 2.6 and 3.x, bound primitives, and errors.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/parameter.hpp"

namespace cohort::cpu {

// An engine and an in-order stream; each kernel has its own pair, so kernels may run on different threads.
struct Onednn {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

[[noreturn]] void fail_onednn(std::string_view call, dnnl_status_t status, std::string_view words, const char* file,
                              int line);

// Runs `body`, a oneDNN call, and turns what it throws or the status it returns into Error(onednn).
template <class Body>
auto checked_onednn(std::string_view call, const char* file, int line, const Body& body) {
  using Result = decltype(body());
  try {
    if constexpr (std::is_same_v<Result, dnnl_status_t>) {
      const dnnl_status_t status = body();
      if (status != dnnl_success) fail_onednn(call, status, {}, file, line);
    } else {
      return body();
    }
  } catch (const dnnl::error& error) {
    fail_onednn(call, error.status, error.message, file, line);
  }
}
#define COHORT_ONEDNN(...) ::cohort::cpu::checked_onednn(#__VA_ARGS__, __FILE__, __LINE__, [&] { return __VA_ARGS__; })

// Scratch memory belongs to the kernel (class Primitive), so that running allocates none.
dnnl::primitive_attr user_scratchpad();

// P::primitive_desc from the arguments of P's descriptor; the second form for backward passes, which take the forward
// pass as a hint.
template <class P, class... Arguments>
typename P::primitive_desc make_primitive_desc(const Onednn& onednn, const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return typename P::primitive_desc(onednn.engine, arguments..., user_scratchpad());
#else
  return typename P::primitive_desc(typename P::desc(arguments...), user_scratchpad(), onednn.engine);
#endif
}
template <class P, class Hint, class... Arguments>
typename P::primitive_desc make_backward_desc(const Onednn& onednn, const Hint& hint, const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return typename P::primitive_desc(onednn.engine, arguments..., hint, user_scratchpad());
#else
  return typename P::primitive_desc(typename P::desc(arguments...), user_scratchpad(), onednn.engine, hint);
#endif
}

// A primitive with its argument list and scratch memory bound once. A memory object made by `unbound` gets its address
// before each run. Moves only.
class Primitive {
 public:
  struct Argument {
    int role;
    dnnl::memory memory;
  };

  Primitive() = default;
  template <class Desc>
  Primitive(const Onednn& onednn, const Desc& desc, std::initializer_list<Argument> arguments)
      : Primitive(onednn, dnnl::primitive(desc.get()), desc.scratchpad_desc(), arguments) {}
  Primitive(const Onednn& onednn, dnnl::primitive primitive, const dnnl::memory::desc& scratchpad,
            std::initializer_list<Argument> arguments);

  void run(const Onednn& onednn);

 private:
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;  // keep what `arguments_` points to alive
  std::vector<dnnl_exec_arg_t> arguments_;
};

// A memory object without memory, and giving one its address. Kernels' inputs are const; oneDNN has no such notion.
inline dnnl::memory unbound(const Onednn& onednn, const dnnl::memory::desc& desc) {
  return dnnl::memory(desc, onednn.engine, nullptr);
}
inline void bind(dnnl::memory& memory, const float* data) { memory.set_data_handle(const_cast<float*>(data)); }

// A parameter in the format a primitive asked for. Equal formats use the parameter's own memory; others keep a copy
// that is renewed when the parameter's address or version differs from the copy's.
class PackedParameter {
 public:
  PackedParameter() = default;
  PackedParameter(const Onednn& onednn, const dnnl::memory::desc& plain, const dnnl::memory::desc& packed);

  const dnnl::memory& memory() const { return packed_; }
  void renew(const Onednn& onednn, Parameter parameter);

 private:
  dnnl::memory plain_;
  dnnl::memory packed_;
  Primitive reorder_;
  bool same_format_ = false;
  Parameter copied_;
};

}  // namespace cohort::cpu

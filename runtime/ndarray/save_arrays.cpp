#include <algorithm>

#include "kernels/base/atomic_file.hpp"
#include "runtime/ndarray/params_file.hpp"
#include "runtime/ndarray/params_format.hpp"

namespace cohort {
namespace {

template <class T>
void put(AtomicFile& file, T value) {
  file.write(&value, sizeof value);
}

void put_array(AtomicFile& file, const NDArray& array) {
  put(file, params_format::v2_magic);
  put<std::int32_t>(file, params_format::dense);
  put(file, static_cast<std::int32_t>(array.shape().rank()));
  if (array.none()) return;
  for (const std::int64_t extent : array.shape()) put(file, extent);
  put(file, params_format::cpu_device);
  put<std::int32_t>(file, 0);
  put(file, static_cast<std::int32_t>(array.dtype()));
  const View data = array.view();
  file.write(data.data, data.bytes());
}

}  // namespace

void save_arrays(const std::string& path, const NamedArrays& arrays) {
  AtomicFile file(path);
  put(file, params_format::list_magic);
  put<std::uint64_t>(file, 0);
  put<std::uint64_t>(file, arrays.size());
  for (const auto& [name, array] : arrays) put_array(file, array);
  const bool named = std::any_of(arrays.begin(), arrays.end(), [](const auto& entry) { return !entry.first.empty(); });
  put<std::uint64_t>(file, named ? arrays.size() : 0);
  for (const auto& [name, array] : arrays) {
    if (!named) break;
    put<std::uint64_t>(file, name.size());
    file.write(name);
  }
  file.commit();
}

}  // namespace cohort

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "kernels/base/error.hpp"
#include "kernels/base/files.hpp"
#include "runtime/ndarray/params_file.hpp"
#include "runtime/ndarray/params_format.hpp"

namespace cohort {
namespace {

// Element types of files beyond those that arrays can have, by code.
struct ForeignType {
  std::int32_t code;
  std::string_view name;
  std::size_t bytes;
};
constexpr ForeignType foreign_types[] = {
    {7, "bool", 1}, {8, "int16", 2}, {9, "uint16", 2}, {10, "uint32", 4}, {11, "uint64", 8}};

// A file of known length that gives out no more than it has.
class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path), file_(open_regular(path)) {
    struct stat status {};
    if (::fstat(::fileno(file_.get()), &status) != 0) throw_usage("cannot read {}: {}", path, std::strerror(errno));
    size_ = left_ = static_cast<std::uint64_t>(status.st_size);
  }

  std::uint64_t left() const { return left_; }

  template <class T>
  T number(std::string_view what) {
    T value{};
    bytes(&value, sizeof value, what);
    return value;
  }

  void bytes(void* to, std::uint64_t count, std::string_view what) {
    require(count, what);
    if (count > 0 && std::fread(to, 1, count, file_.get()) != count)
      throw_usage("cannot read {}: {}", path_, std::ferror(file_.get()) != 0 ? std::strerror(errno) : "it got shorter");
    left_ -= count;
  }

  void skip(std::uint64_t count, std::string_view what) {
    require(count, what);
    if (::fseeko(file_.get(), static_cast<off_t>(count), SEEK_CUR) != 0)
      throw_usage("cannot read {}: {}", path_, std::strerror(errno));
    left_ -= count;
  }

  void require(std::uint64_t count, std::string_view what) const {
    if (count > left_)
      wrong("{} needs {} bytes at byte {}, but the file ends at byte {}", what, count, size_ - left_, size_);
  }

  template <class... Args>
  [[noreturn]] void wrong(fmt::format_string<Args...> format, Args&&... args) const {
    throw_usage("{}: {}", path_, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  std::string path_;
  FilePointer file_;
  std::uint64_t size_ = 0;
  std::uint64_t left_ = 0;
};

class ListReader {
 public:
  ListReader(Context& context, const std::string& path) : context_(context), in_(path) {}

  NamedArrays read() {
    if (in_.number<std::uint64_t>("the list's head") != params_format::list_magic)
      in_.wrong("not an NDArray list (wrong magic)");
    if (in_.number<std::uint64_t>("the list's head") != 0) in_.wrong("not an NDArray list (reserved word set)");
    const auto count = in_.number<std::uint64_t>("the list's head");
    if (count > in_.left() / sizeof(std::uint32_t))
      in_.wrong("{} arrays do not fit the {} bytes after the head", count, in_.left());
    NamedArrays arrays;
    for (at_ = 0; at_ < count; ++at_) arrays.emplace_back(std::string(), read_array());
    read_names(arrays);
    if (in_.left() != 0) in_.wrong("{} bytes follow the end of the list", in_.left());
    if (refused_) {
      const std::string& name = arrays[refused_->first].first;
      in_.wrong("array {} ({}) is not supported yet: {}", refused_->first, name.empty() ? "unnamed" : name,
                refused_->second);
    }
    return arrays;
  }

 private:
  std::string place(std::string_view part) const { return fmt::format("array {}: {}", at_, part); }

  NDArray read_array() {
    const auto magic = in_.number<std::uint32_t>(place("its head"));
    switch (magic) {
      case params_format::v1_magic: return read_body(read_shape<std::int64_t>(read_axes(0)), params_format::dense);
      case params_format::v2_magic:
      case params_format::v3_magic: return read_typed(magic == params_format::v3_magic);
      default:
        if (magic > static_cast<std::uint32_t>(params_format::max_axes))
          in_.wrong("{}", place(fmt::format("its first word {:#x} is no version known", magic)));
        return read_body(read_shape<std::uint32_t>(static_cast<std::int32_t>(magic)), params_format::dense);
    }
  }

  // V2 and V3: a storage type before the shape.
  NDArray read_typed(bool numpy_shapes) {
    const auto storage = in_.number<std::int32_t>(place("its head"));
    if (storage < params_format::dense || storage > params_format::csr ||
        (numpy_shapes && storage != params_format::dense))
      in_.wrong("{}", place(fmt::format("its storage type {} is not known", storage)));
    Shape storage_shape;
    if (storage != params_format::dense) storage_shape = read_shape<std::int64_t>(read_axes(0));
    if (!numpy_shapes) return read_body(read_shape<std::int64_t>(read_axes(0)), storage, storage_shape);
    const std::int32_t axes = read_axes(-1);
    if (axes == -1) return {};
    if (axes == 0) return read_body({1}, storage);
    Shape shape = read_shape<std::int64_t>(axes, -1);
    for (const std::int64_t extent : shape)
      if (extent == -1) return {};
    return read_body(shape, storage);
  }

  std::int32_t read_axes(std::int32_t least) {
    const auto axes = in_.number<std::int32_t>(place("its shape"));
    if (axes < least || axes > params_format::max_axes) in_.wrong("{}", place(fmt::format("{} axes", axes)));
    return axes;
  }

  template <class Extent>
  Shape read_shape(std::int32_t axes, std::int64_t least = 0) {
    Shape shape;
    for (std::int32_t axis = 0; axis < axes; ++axis) {
      const auto extent = static_cast<std::int64_t>(in_.number<Extent>(place("its shape")));
      if (extent < least) in_.wrong("{}", place(fmt::format("an extent of {}", extent)));
      shape.push_back(extent);
    }
    return shape;
  }

  NDArray read_body(const Shape& shape, std::int32_t storage, const Shape& storage_shape = {}) {
    if (shape.empty()) return {};
    in_.number<std::int32_t>(place("its device"));
    in_.number<std::int32_t>(place("its device"));
    const Type type = read_type();
    if (storage != params_format::dense) return refuse_sparse(storage, storage_shape, type);
    const std::uint64_t bytes = checked_bytes(shape, type.bytes);
    if (!type.dtype) return refuse(bytes, type.name);
    NDArray array = make_array(shape, *type.dtype);
    in_.bytes(array.raw_data(), bytes, place("its data"));
    array.bump_version();
    return array;
  }

  NDArray make_array(const Shape& shape, DType dtype) {
    try {
      return NDArray::zeros(context_, shape, dtype);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::memory) throw;
      in_.wrong("{}", place(fmt::format("shape {}: {}", to_string(shape), error.message())));
    }
  }

  struct Type {
    std::optional<DType> dtype;  // none for one that arrays cannot have
    std::string_view name;
    std::size_t bytes = 0;
  };

  Type read_type() {
    const auto code = in_.number<std::int32_t>(place("its element type"));
    if (const auto dtype = dtype_from_code(code)) return {dtype, to_string(*dtype), dtype_bytes(*dtype)};
    for (const ForeignType& type : foreign_types)
      if (type.code == code) return {std::nullopt, type.name, type.bytes};
    in_.wrong("{}", place(fmt::format("its element type {} is not known", code)));
  }

  // Bytes of the elements, which must be left in the file: a product of sizes a file may lie about.
  std::uint64_t checked_bytes(const Shape& shape, std::size_t element_bytes) {
    const bool none = std::find(shape.begin(), shape.end(), 0) != shape.end();
    // The other extents of an array without elements are bounded too: their product must not overflow.
    const std::uint64_t limit = none ? std::uint64_t{1} << 60 : in_.left();
    std::uint64_t bytes = element_bytes;
    for (const std::int64_t extent : shape) {
      const auto factor = static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 1));
      if (bytes > limit / factor)
        in_.wrong("{}", place(fmt::format("shape {} needs more than the {} bytes left", to_string(shape), in_.left())));
      bytes *= factor;
    }
    return none ? 0 : bytes;
  }

  // An array that cannot be held: skipped, and reported once its name is known.
  NDArray refuse(std::uint64_t bytes, std::string_view why) {
    in_.skip(bytes, place("its data"));
    if (!refused_) refused_.emplace(at_, why);
    return {};
  }

  NDArray refuse_sparse(std::int32_t storage, const Shape& storage_shape, const Type& type) {
    const int indices = storage == params_format::row_sparse ? 1 : 2;
    std::array<std::pair<Type, Shape>, 2> parts;
    for (int i = 0; i < indices; ++i) {
      const Type index = read_type();
      parts[static_cast<std::size_t>(i)] = {index, read_shape<std::int64_t>(read_axes(0))};
    }
    NDArray none =
        refuse(checked_bytes(storage_shape, type.bytes), storage == params_format::row_sparse ? "row_sparse" : "csr");
    for (int i = 0; i < indices; ++i) {
      const auto& [index, shape] = parts[static_cast<std::size_t>(i)];
      in_.skip(checked_bytes(shape, index.bytes), place("its indices"));
    }
    return none;
  }

  void read_names(NamedArrays& arrays) {
    const auto count = in_.number<std::uint64_t>("the number of names");
    if (count == 0) return;
    if (count != arrays.size()) in_.wrong("{} names for {} arrays", count, arrays.size());
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const std::string what = fmt::format("the name of array {}", i);
      const auto length = in_.number<std::uint64_t>(what);
      in_.require(length, what);
      arrays[i].first.resize(length);
      in_.bytes(arrays[i].first.data(), length, what);
    }
  }

  Context& context_;
  Reader in_;
  std::uint64_t at_ = 0;
  std::optional<std::pair<std::uint64_t, std::string_view>> refused_;
};

}  // namespace

NamedArrays load_arrays(Context& context, const std::string& path) { return ListReader(context, path).read(); }

}  // namespace cohort

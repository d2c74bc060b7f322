// Two datasets and the attributes that say what they are about.
#include "core/evaluation/per_token_file.h"

#include <algorithm>
#include <cmath>

#include "data_pipeline/hdf5_memory_file.h"

namespace segue {

namespace {

constexpr const char* kFormat = "segue-per-token";
constexpr int64_t kVersion = 1;
constexpr int64_t kMostTokens = int64_t{1} << 36;  // a file says its size in a few bytes, whatever they hold
constexpr int64_t kBestCompression = 1000;         // of losses, beyond what any file of them reaches

// One table for both directions: what an attribute is called and which member holds it.
struct TextAttribute {
  const char* name;
  std::string PerTokenInfo::*member;
};
constexpr TextAttribute kTexts[] = {
    {"dataset", &PerTokenInfo::dataset},     {"split", &PerTokenInfo::split},
    {"tokenizer", &PerTokenInfo::tokenizer}, {"tokenizer_checksum", &PerTokenInfo::tokenizer_checksum},
    {"unit", &PerTokenInfo::unit},           {"checkpoint", &PerTokenInfo::checkpoint}};
struct IntegerAttribute {
  const char* name;
  int64_t PerTokenInfo::*member;
};
constexpr IntegerAttribute kIntegers[] = {
    {"context", &PerTokenInfo::context}, {"mem_len", &PerTokenInfo::mem_len}, {"tgt_len", &PerTokenInfo::tgt_len}};

void write_attribute(const Hdf5MemoryFile& file, const char* name, hid_t type, const void* value) {
  const Hdf5Handle scalar(H5Screate(H5S_SCALAR), H5Sclose);
  const Hdf5Handle attribute(H5Acreate2(file.get(), name, type, scalar.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  hdf5_checked(attribute.get(), file.path(), "create an attribute");
  hdf5_checked(H5Awrite(attribute.get(), type, value), file.path(), "write an attribute");
}

void write_text(const Hdf5MemoryFile& file, const char* name, const std::string& text) {
  if (text.empty()) return;  // HDF5 has no strings of no length
  const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  hdf5_checked(H5Tset_size(type.get(), text.size()), file.path(), "size an attribute");
  write_attribute(file, name, type.get(), text.data());
}

void write_dataset(const Hdf5MemoryFile& file, const char* name, hid_t stored, hid_t held, size_t size,
                   const void* values) {
  constexpr hsize_t kChunk = 32768;
  const auto extent = static_cast<hsize_t>(size);
  const hsize_t chunk = std::min(kChunk, extent);
  const Hdf5Handle space(H5Screate_simple(1, &extent, nullptr), H5Sclose);
  const Hdf5Handle layout(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  hdf5_checked(H5Pset_chunk(layout.get(), 1, &chunk), file.path(), "set the chunk size");
  hdf5_checked(H5Pset_obj_track_times(layout.get(), false), file.path(), "leave out when it was written");
  hdf5_checked(H5Pset_fletcher32(layout.get()), file.path(), "add the checksum filter");
  const Hdf5Handle dataset(
      hdf5_checked(H5Dcreate2(file.get(), name, stored, space.get(), H5P_DEFAULT, layout.get(), H5P_DEFAULT),
                   file.path(), "create a dataset"),
      H5Dclose);
  hdf5_checked(H5Dwrite(dataset.get(), held, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), file.path(), "write a dataset");
}

// Reads what may have been written by any program: every call is checked, every attribute may be missing.
class PerTokenReader {
 public:
  explicit PerTokenReader(const std::filesystem::path& path) : path_(path) {
    if (!std::filesystem::exists(path)) throw DataError("{}: the file is missing", path.string());
    const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    hdf5_checked(H5Pset_file_locking(access.get(), false, true), path, "switch file locking off");
    file_ = {hdf5_checked(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), path, "open the HDF5 file"), H5Fclose};
  }

  // Empty when there is none.
  std::string text(const char* name) const {
    if (!has(name)) return {};
    const Hdf5Handle attribute = open(name);
    const Hdf5Handle type(H5Aget_type(attribute.get()), H5Tclose);
    const Hdf5Handle space(H5Aget_space(attribute.get()), H5Sclose);
    if (H5Tget_class(type.get()) != H5T_STRING || H5Sget_simple_extent_npoints(space.get()) != 1)
      throw DataError("{}: attribute \"{}\": expected one text, found something else", path_.string(), name);
    return H5Tis_variable_str(type.get()) > 0 ? variable_text(attribute.get(), name)
                                              : fixed_text(attribute.get(), type.get(), name);
  }

  // -1 when there is none.
  int64_t integer(const char* name) const {
    if (!has(name)) return -1;
    const Hdf5Handle attribute = open(name);
    const Hdf5Handle type(H5Aget_type(attribute.get()), H5Tclose);
    const Hdf5Handle space(H5Aget_space(attribute.get()), H5Sclose);
    if (H5Tget_class(type.get()) != H5T_INTEGER || H5Sget_simple_extent_npoints(space.get()) != 1)
      throw DataError("{}: attribute \"{}\": expected one whole number, found something else", path_.string(), name);
    int64_t value = -1;
    hdf5_checked(H5Aread(attribute.get(), H5T_NATIVE_INT64, &value), path_, fmt::format("read attribute \"{}\"", name));
    return value;
  }

  template <typename T>
  std::vector<T> row(const char* name, H5T_class_t expected, hid_t held) const {
    const Hdf5Handle dataset(
        hdf5_checked(H5Dopen2(file_.get(), name, H5P_DEFAULT), path_, fmt::format("open dataset \"{}\"", name)),
        H5Dclose);
    const Hdf5Handle type(H5Dget_type(dataset.get()), H5Tclose);
    const Hdf5Handle space(H5Dget_space(dataset.get()), H5Sclose);
    const int rank = H5Sget_simple_extent_ndims(space.get());
    if (rank != 1)
      throw DataError("{}: \"{}\": expected a one-dimensional dataset, found rank {}", path_.string(), name, rank);
    if (H5Tget_class(type.get()) != expected)
      throw DataError("{}: \"{}\": expected {} numbers, found another type", path_.string(), name,
                      expected == H5T_FLOAT ? "floating-point" : "whole");
    const auto tokens = static_cast<int64_t>(H5Sget_simple_extent_npoints(space.get()));
    if (tokens > kMostTokens)
      throw DataError(R"({}: "{}": expected at most {} tokens, found {})", path_.string(), name, kMostTokens, tokens);
    const auto bytes = static_cast<int64_t>(std::filesystem::file_size(path_));
    const int64_t stored = bytes * kBestCompression / static_cast<int64_t>(sizeof(T));
    if (tokens > stored)
      throw DataError(R"({}: "{}": expected at most {} tokens in a file of {} bytes, found {})", path_.string(), name,
                      stored, bytes, tokens);
    std::vector<T> values(static_cast<size_t>(tokens));
    hdf5_checked(H5Dread(dataset.get(), held, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), path_,
                 fmt::format("read dataset \"{}\"", name));
    return values;
  }

 private:
  bool has(const char* name) const {
    return hdf5_checked(H5Aexists(file_.get(), name), path_, fmt::format("look for attribute \"{}\"", name)) > 0;
  }
  Hdf5Handle open(const char* name) const {
    return {hdf5_checked(H5Aopen(file_.get(), name, H5P_DEFAULT), path_, fmt::format("open attribute \"{}\"", name)),
            H5Aclose};
  }
  std::string fixed_text(hid_t attribute, hid_t type, const char* name) const {
    std::string text(H5Tget_size(type), '\0');
    hdf5_checked(H5Aread(attribute, type, text.data()), path_, fmt::format("read attribute \"{}\"", name));
    return text.substr(0, text.find('\0'));
  }
  // As h5py writes a Python string.
  std::string variable_text(hid_t attribute, const char* name) const {
    const Hdf5Handle type(H5Aget_type(attribute), H5Tclose);
    char* held = nullptr;
    hdf5_checked(H5Aread(attribute, type.get(), &held), path_, fmt::format("read attribute \"{}\"", name));
    std::string text = held == nullptr ? "" : held;
    H5free_memory(held);
    return text;
  }

  const std::filesystem::path& path_;
  Hdf5Handle file_;
};

void check_format(const PerTokenReader& reader, const std::filesystem::path& path) {
  const std::string format = reader.text("format");
  if (!format.empty() && format != kFormat)
    throw DataError(R"({}: attribute "format": expected "{}", found "{}")", path.string(), kFormat, format);
  const int64_t version = reader.integer("version");
  if (!format.empty() && version != kVersion)
    throw DataError(R"({}: attribute "version": expected {}, found {})", path.string(), kVersion, version);
}

}  // namespace

void write_per_token_file(const std::filesystem::path& path, const PerTokenLosses& losses) {
  Hdf5MemoryFile file(path);
  const Hdf5Silence silence;
  write_text(file, "format", kFormat);
  write_attribute(file, "version", H5T_STD_I64LE, &kVersion);
  for (const TextAttribute& text : kTexts) write_text(file, text.name, losses.info.*text.member);
  for (const IntegerAttribute& integer : kIntegers)
    if (losses.info.*integer.member >= 0)
      write_attribute(file, integer.name, H5T_STD_I64LE, &(losses.info.*integer.member));
  write_dataset(file, "nll", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, losses.nll.size(), losses.nll.data());
  write_dataset(file, "targets", H5T_STD_I32LE, H5T_NATIVE_INT32, losses.targets.size(), losses.targets.data());
  file.write_out();
}

PerTokenLosses read_per_token_file(const std::filesystem::path& path) {
  const Hdf5Silence silence;
  const PerTokenReader reader(path);
  check_format(reader, path);
  PerTokenLosses losses;
  for (const TextAttribute& text : kTexts) losses.info.*text.member = reader.text(text.name);
  for (const IntegerAttribute& integer : kIntegers) losses.info.*integer.member = reader.integer(integer.name);
  losses.nll = reader.row<float>("nll", H5T_FLOAT, H5T_NATIVE_FLOAT);
  losses.targets = reader.row<int32_t>("targets", H5T_INTEGER, H5T_NATIVE_INT32);
  if (losses.nll.size() != losses.targets.size())
    throw DataError("{}: expected as many targets as losses, found {} losses and {} targets", path.string(),
                    losses.nll.size(), losses.targets.size());
  const auto infinite = std::ranges::find_if(losses.nll, [](float nll) { return std::isinf(nll); });
  if (infinite != losses.nll.end())
    throw DataError("{}: nll[{}]: expected a finite loss, or NaN for a token that is not scored, found {}",
                    path.string(), infinite - losses.nll.begin(), *infinite);
  return losses;
}

}  // namespace segue

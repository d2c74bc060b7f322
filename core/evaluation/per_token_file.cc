#include "core/evaluation/per_token_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "base/directory_content.h"
#include "base/document_kind.h"
#include "base/json_text.h"
#include "base/text.h"
#include "data_pipeline/hdf5/row.h"
#include "data_pipeline/hdf5_memory_file.h"

namespace segue {

namespace {

constexpr const char* kFormat = "segue-per-token";
constexpr int64_t kVersion = 1;
constexpr uint64_t kMostTokens = uint64_t{1} << 36;
constexpr uint64_t kBestCompression = 64;  // of losses with their targets, beyond what any file of them reaches
constexpr uint64_t kBlockElements = 65536;
constexpr size_t kLongestShown = 256;

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
constexpr IntegerAttribute kIntegers[] = {{"bytes", &PerTokenInfo::bytes},
                                          {"answers", &PerTokenInfo::answers},
                                          {"example_runs", &PerTokenInfo::example_runs},
                                          {"unknown_token", &PerTokenInfo::unknown_token},
                                          {"context", &PerTokenInfo::context},
                                          {"mem_len", &PerTokenInfo::mem_len},
                                          {"tgt_len", &PerTokenInfo::tgt_len}};

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

// Text of a file that is not ours, as part of a message or a line.
std::string shown(const std::string& text) { return printable_line(text, kLongestShown); }

std::string text_of(const Hdf5Object& root, const char* name) { return hdf5_text_attribute(root, name).value_or(""); }

// All elements of a dataset, written by any program.
template <typename T>
std::vector<T> read_row(const Hdf5Object& root, const char* name, Hdf5Type::Kind expected) {
  const Hdf5Bytes& file = root.file();
  Hdf5Row row(file, open_hdf5_child(root, name));
  const Hdf5Type type = row.type();
  if (type.kind != expected)
    file.fail("\"{}\": expected {} numbers, found another type", name,
              expected == Hdf5Type::Kind::kFloat ? "floating-point" : "whole");
  const uint64_t most = std::min(kMostTokens, file.size() * kBestCompression / sizeof(T));
  if (row.elements() > most)
    file.fail(R"("{}": expected at most {} tokens in a file of {} bytes, found {})", name, most, file.size(),
              row.elements());
  std::vector<T> values(row.elements());
  std::vector<std::byte> block(kBlockElements * type.bytes);
  for (uint64_t begin = 0; begin < values.size(); begin += kBlockElements) {
    const uint64_t count = std::min<uint64_t>(kBlockElements, values.size() - begin);
    row.read(begin, std::span(block).first(count * type.bytes));
    for (uint64_t i = 0; i < count; ++i) {
      const std::span<const std::byte> element = std::span(block).subspan(i * type.bytes, type.bytes);
      if constexpr (std::is_floating_point_v<T>)
        values[begin + i] = static_cast<T>(hdf5_float(type, element));
      else
        values[begin + i] = static_cast<T>(hdf5_whole_number(type, element));
    }
  }
  return values;
}

// One after another they are all tokens.
void check_runs(const Hdf5Object& root, const PerTokenLosses& losses) {
  auto left = std::ssize(losses.nll);
  for (size_t i = 0; i < losses.runs.size(); ++i) {
    if (losses.runs[i] < 1 || losses.runs[i] > left)
      root.file().fail("runs[{}]: expected 1 to {} tokens, found {}", i, left, losses.runs[i]);
    left -= losses.runs[i];
  }
  if (!losses.runs.empty() && left > 0)
    root.file().fail("runs: expected {} tokens in all, found {}", losses.nll.size(), std::ssize(losses.nll) - left);
}

// As many as tokens, and of as many bytes in all as the text is said to have.
void check_token_bytes(const Hdf5Object& root, const PerTokenLosses& losses) {
  const std::vector<int32_t>& bytes = losses.token_bytes;
  if (bytes.empty()) return;
  if (bytes.size() != losses.nll.size())
    root.file().fail("expected as many token_bytes as losses, found {} and {}", bytes.size(), losses.nll.size());
  const auto negative = std::ranges::find_if(bytes, [](int32_t count) { return count < 0; });
  if (negative != bytes.end())
    root.file().fail("token_bytes[{}]: expected 0 or more bytes, found {}", negative - bytes.begin(), *negative);
  const int64_t all = std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
  if (losses.info.bytes >= 0 && losses.info.bytes != all)
    root.file().fail("attribute \"bytes\": expected {}, the sum of token_bytes, found {}", all, losses.info.bytes);
}

void check_format(const Hdf5Object& root) {
  const std::string format = text_of(root, "format");
  if (!format.empty() && format != kFormat)
    root.file().fail(R"(attribute "format": expected "{}", found "{}")", kFormat, shown(format));
  const int64_t version = hdf5_integer_attribute(root, "version").value_or(-1);
  if (!format.empty() && version != kVersion)
    root.file().fail(R"(attribute "version": expected {}, found {})", kVersion, version);
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
  if (!losses.right.empty())
    write_dataset(file, "right", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, losses.right.size(), losses.right.data());
  if (!losses.runs.empty())
    write_dataset(file, "runs", H5T_STD_I64LE, H5T_NATIVE_INT64, losses.runs.size(), losses.runs.data());
  if (!losses.token_bytes.empty())
    write_dataset(file, "token_bytes", H5T_STD_I32LE, H5T_NATIVE_INT32, losses.token_bytes.size(),
                  losses.token_bytes.data());
  write_dataset(file, "targets", H5T_STD_I32LE, H5T_NATIVE_INT32, losses.targets.size(), losses.targets.data());
  file.write_out();
}

namespace {

// "; its losses: runs/a/evaluations/b/losses-mem-0.h5" of the result of an evaluation or its directory, or of a run
// with some; "" where there are none.
std::string losses_beside(const std::filesystem::path& path) {
  constexpr size_t kMostShown = 3;
  namespace fs = std::filesystem;
  std::error_code error;
  const bool is_directory = fs::is_directory(path, error);
  if (!is_directory && kind_of_file(path) != DocumentKind::kEvaluation) return {};
  std::vector<fs::path> directories{is_directory ? path : path.parent_path()};
  if (is_directory)
    for (const std::string& name : names_in(path / "evaluations")) directories.push_back(path / "evaluations" / name);
  std::vector<std::string> losses;
  for (const fs::path& directory : directories)
    for (const std::string& name : names_in(directory))
      if (name.starts_with("losses-") && name.ends_with(".h5"))
        losses.push_back(shell_word((directory / name).string()));
  if (losses.empty()) return is_directory ? "" : "; it was made without --per-token, so there are no losses beside it";
  const size_t shown = std::min(losses.size(), kMostShown);
  return fmt::format("; its losses: {}{}",
                     fmt::join(losses.begin(), losses.begin() + static_cast<int64_t>(shown), ", "),
                     shown < losses.size() ? ", ..." : "");
}

}  // namespace

PerTokenLosses read_per_token_file(const std::filesystem::path& path) {
  const std::string found = describe_path(path);
  if (found.empty()) throw DataError("{}: the file is missing; segue eval --per-token writes it", path.string());
  if (!found.starts_with(kHdf5File))
    throw DataError("{}: expected losses, as segue eval --per-token writes them, found {}{}", path.string(), found,
                    losses_beside(path));
  return read_per_token_file(Hdf5Bytes(path));
}

PerTokenLosses read_per_token_file(const Hdf5Bytes& file) {
  const Hdf5Object root = open_hdf5_root(file);
  check_format(root);
  PerTokenLosses losses;
  for (const TextAttribute& text : kTexts) losses.info.*text.member = shown(text_of(root, text.name));
  for (const IntegerAttribute& integer : kIntegers)
    losses.info.*integer.member = hdf5_integer_attribute(root, integer.name).value_or(-1);
  losses.nll = read_row<float>(root, "nll", Hdf5Type::Kind::kFloat);
  losses.targets = read_row<int32_t>(root, "targets", Hdf5Type::Kind::kWhole);
  if (losses.nll.size() != losses.targets.size())
    file.fail("expected as many targets as losses, found {} losses and {} targets", losses.nll.size(),
              losses.targets.size());
  if (has_hdf5_child(root, "token_bytes"))
    losses.token_bytes = read_row<int32_t>(root, "token_bytes", Hdf5Type::Kind::kWhole);
  check_token_bytes(root, losses);
  if (losses.info.answers >= 0) losses.right = read_row<float>(root, "right", Hdf5Type::Kind::kFloat);
  if (!losses.right.empty() && losses.right.size() != losses.nll.size())
    file.fail("expected as many marks of right answers as losses, found {} and {}", losses.right.size(),
              losses.nll.size());
  for (size_t i = 0; i < losses.right.size(); ++i)
    if (const float right = losses.right[i]; right != 0.0F && right != 1.0F && !std::isnan(right))
      file.fail("right[{}]: expected 1, 0, or NaN where no answer begins, found {}", i, right);
  if (losses.info.example_runs >= 0) losses.runs = read_row<int64_t>(root, "runs", Hdf5Type::Kind::kWhole);
  check_runs(root, losses);
  const auto infinite = std::ranges::find_if(losses.nll, [](float nll) { return std::isinf(nll); });
  if (infinite != losses.nll.end())
    file.fail("nll[{}]: expected a finite loss, or NaN for a token that is not scored, found {}",
              infinite - losses.nll.begin(), *infinite);
  return losses;
}

}  // namespace segue

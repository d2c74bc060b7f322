#include "core/extension/extension_file.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "core/extension/stamp.h"

namespace segue {

namespace {

constexpr int64_t kMostSections = 1 << 16;  // of one file
constexpr int64_t kLongestStamp = 1024;     // bytes
constexpr size_t kLongestName = 64;         // of an extension
constexpr std::string_view kBegin = SEGUE_STAMP_BEGIN;
constexpr std::string_view kSection = SEGUE_STAMP_SECTION;

// Every offset and size comes from the file: nothing is read beyond its end.
class ElfFile {
 public:
  explicit ElfFile(const std::filesystem::path& path) : source_(path.string()), file_(path) {
    const auto header = at<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) refuse("another file");
    header_ = *header;
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB ||
        header_.e_machine != EM_X86_64)
      refuse("one for another machine");
    if (header_.e_type != ET_DYN) refuse("an object file or a program");
    if (header_.e_shentsize != sizeof(Elf64_Shdr)) refuse("one without sections");
  }

  // The bytes of the section of this name; empty where there is none.
  std::string section(std::string_view name, int64_t most) const {
    const auto names = section_at(header_.e_shstrndx);
    if (!names) refuse("one without names of sections");
    for (int64_t i = 0; i < std::min<int64_t>(header_.e_shnum, kMostSections); ++i) {
      const auto found = section_at(i);
      if (!found || found->sh_type != SHT_PROGBITS || !is_named(*found, *names, name)) continue;
      if (found->sh_size > static_cast<uint64_t>(most)) return {};
      return bytes_at(found->sh_offset, static_cast<int64_t>(found->sh_size));
    }
    return {};
  }

  [[noreturn]] void refuse(std::string_view found) const {
    throw ConfigError("{}: expected an extension, a shared library for x86-64, found {}", source_, found);
  }

 private:
  // Of all that many bytes, or none.
  std::string bytes_at(uint64_t offset, int64_t count) const {
    const auto size = static_cast<uint64_t>(file_.size());
    if (offset > size || static_cast<uint64_t>(count) > size - offset) return {};
    std::string bytes(static_cast<size_t>(count), '\0');
    const std::span<std::byte> read =
        file_.read_at(static_cast<int64_t>(offset), std::as_writable_bytes(std::span(bytes)));
    return std::ssize(read) == count ? bytes : std::string();
  }

  template <typename T>
  std::optional<T> at(uint64_t offset) const {
    const std::string bytes = bytes_at(offset, sizeof(T));
    if (bytes.size() != sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }

  std::optional<Elf64_Shdr> section_at(int64_t index) const {
    if (index >= header_.e_shnum || header_.e_shoff > static_cast<uint64_t>(file_.size())) return std::nullopt;
    return at<Elf64_Shdr>(header_.e_shoff + static_cast<uint64_t>(index) * sizeof(Elf64_Shdr));
  }

  bool is_named(const Elf64_Shdr& section, const Elf64_Shdr& names, std::string_view name) const {
    if (section.sh_name >= names.sh_size || names.sh_size - section.sh_name <= name.size()) return false;
    if (names.sh_offset > static_cast<uint64_t>(file_.size())) return false;
    const std::string found = bytes_at(names.sh_offset + section.sh_name, std::ssize(name) + 1);
    return found.size() == name.size() + 1 && found.starts_with(name) && found.back() == '\0';
  }

  std::string source_;
  FileReader file_;
  Elf64_Ehdr header_ = {};
};

bool is_name(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  return !text.empty() && text.size() <= kLongestName && text.find_first_not_of(kLetters) == std::string_view::npos;
}

}  // namespace

ExtensionStamp read_extension_stamp(const std::filesystem::path& path) {
  const ElfFile file(path);
  const std::string bytes = file.section(kSection, kLongestStamp);
  std::string_view text = bytes;
  if (text.starts_with(kBegin) && text.ends_with(std::string_view("\n\0", 2))) {
    text.remove_prefix(kBegin.size());
    text.remove_suffix(2);
    const size_t end = text.find('\n');
    if (end != std::string_view::npos && is_name(text.substr(0, end)))
      return {.name = std::string(text.substr(0, end)), .build = std::string(text.substr(end + 1))};
  }
  file.refuse("one without the stamp of SEGUE_EXTENSION");
}

}  // namespace segue

// libzip opens the archive and unpacks.
#include "data_pipeline/token_files/npz_tokens.h"

#include <zip.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json_text.h"
#include "data_pipeline/zip_error.h"

namespace segue {
namespace {

constexpr std::string_view kArraySuffix = ".npy";
constexpr size_t kLongestName = 100;
constexpr size_t kLongestList = 400;
constexpr zip_uint64_t kMostArrays = 20000;
constexpr size_t kArrayHeaderRoom = 4096;
// Tokens pack better than this only in files made to fill disks.
constexpr zip_uint64_t kBestPackedTokens = 256;
constexpr zip_uint64_t kPackedTokensWell = zip_uint64_t{64} << 20;  // as much may be, whatever it takes in the archive

}  // namespace

struct NpzArchive::Handle {
  explicit Handle(zip_source_t* source, const std::string& name) {
    zip_error_t error;
    zip_error_init(&error);
    archive = zip_open_from_source(source, ZIP_RDONLY, &error);
    if (archive != nullptr) return;
    zip_source_free(source);
    throw DataError("{}: expected an .npz archive: {}", name, message_of(error));
  }
  ~Handle() {
    if (archive != nullptr) zip_discard(archive);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  zip_t* archive = nullptr;
};

namespace {

// The bytes of a member.
class MemberStream : public ByteStream {
 public:
  MemberStream(std::shared_ptr<void> owner, zip_t* archive, zip_uint64_t index, std::string where)
      : owner_(std::move(owner)), where_(std::move(where)), file_(zip_fopen_index(archive, index, 0)) {
    if (file_ == nullptr) throw DataError("{}: cannot be read: {}", where_, zip_strerror(archive));
  }

  std::span<std::byte> read(std::span<std::byte> block) override {
    size_t filled = 0;
    while (filled < block.size()) {
      const zip_int64_t count = zip_fread(file_.get(), block.data() + filled, block.size() - filled);
      if (count < 0) throw DataError("{}: cannot be read: {}", where_, zip_file_strerror(file_.get()));
      if (count == 0) break;
      filled += static_cast<size_t>(count);
    }
    return block.first(filled);
  }

 private:
  struct Close {
    void operator()(zip_file_t* file) const { zip_fclose(file); }
  };
  std::shared_ptr<void> owner_;
  std::string where_;
  std::unique_ptr<zip_file_t, Close> file_;
};

// The elements of a member; reading on behind the last is what compares the checksum.
class ElementStream : public ByteStream {
 public:
  ElementStream(std::unique_ptr<ByteStream> member, int64_t bytes) : member_(std::move(member)), left_(bytes) {}

  std::span<std::byte> read(std::span<std::byte> block) override {
    const auto wanted = static_cast<size_t>(std::min(left_, std::ssize(block)));
    const std::span<std::byte> part = member_->read(block.first(wanted));
    left_ -= std::ssize(part);
    std::array<std::byte, 1> beyond{};
    if (left_ == 0 && !std::exchange(is_checked_, true)) member_->read(beyond);
    return part;
  }

 private:
  std::unique_ptr<ByteStream> member_;
  int64_t left_;
  bool is_checked_ = false;
};

std::string where_of(const std::string& name, std::string_view array) {
  return fmt::format("{}: array {}", name, printable_line(array, kLongestName));
}

void check_packing(const zip_stat_t& stat, const std::string& where) {
  if (stat.size > kPackedTokensWell && stat.size / kBestPackedTokens > stat.comp_size)
    throw DataError("{}: unpacks to {} bytes from {}, more than tokens do", where, stat.size, stat.comp_size);
}

}  // namespace

NpzArchive::NpzArchive(const std::filesystem::path& path, std::string name) : name_(std::move(name)) {
  static_cast<void>(FileReader(path));  // refuses what is no regular file
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* const source = zip_source_file_create(path.c_str(), 0, 0, &error);
  if (source == nullptr) throw FileError("{}: cannot open: {}", name_, message_of(error));
  handle_ = std::make_shared<Handle>(source, name_);
}

NpzArchive::NpzArchive(std::span<const std::byte> bytes, std::string name) : name_(std::move(name)) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* const source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  if (source == nullptr) throw DataError("{}: {}", name_, message_of(error));
  handle_ = std::make_shared<Handle>(source, name_);
}

NpzArray NpzArchive::find(const std::string& field) const {
  const zip_int64_t count = zip_get_num_entries(handle_->archive, 0);
  if (count > static_cast<zip_int64_t>(kMostArrays))
    throw DataError("{}: expected at most {} arrays, found {}", name_, kMostArrays, count);
  NpzArray array;
  zip_stat_t found;
  zip_stat_init(&found);
  int64_t matches = 0;
  std::string names;
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t stat;
    zip_stat_init(&stat);
    constexpr zip_uint64_t kNeeded = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
    if (zip_stat_index(handle_->archive, static_cast<zip_uint64_t>(i), 0, &stat) != 0 ||
        (stat.valid & kNeeded) != kNeeded)
      throw DataError("{}: member {} cannot be read: {}", name_, i, zip_strerror(handle_->archive));
    std::string_view name = stat.name;
    if (!name.ends_with(kArraySuffix)) throw DataError("{}: expected a name that ends in .npy", where_of(name_, name));
    name.remove_suffix(kArraySuffix.size());
    if (names.size() < kLongestList)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", printable_line(name, kLongestName));
    if (!field.empty() && name != field) continue;
    ++matches;
    array.index = static_cast<uint64_t>(i);
    array.name = name;
    found = stat;
  }
  if (matches != 1 && field.empty())
    throw DataError("{}: expected one array, found {}: {}; --field takes one of them", name_, matches, names);
  if (matches != 1)
    throw DataError("{}: expected one array {}, found {} among {}", name_, printable_line(field, kLongestName), matches,
                    names);
  const std::string where = where_of(name_, array.name);
  check_packing(found, where);
  std::array<std::byte, kArrayHeaderRoom> begin{};
  const auto head = MemberStream(handle_, handle_->archive, array.index, where).read(begin);
  array.tokens = read_npy_tokens({reinterpret_cast<const char*>(head.data()), head.size()}, where);
  const auto bytes = static_cast<zip_uint64_t>(array.tokens.bytes());
  if (found.size - static_cast<zip_uint64_t>(array.tokens.header_bytes) != bytes)
    throw DataError("{}: expected {} bytes for its {} elements, found {}", where, bytes, array.tokens.tokens,
                    found.size - static_cast<zip_uint64_t>(array.tokens.header_bytes));
  return array;
}

std::unique_ptr<ByteStream> NpzArchive::open(const NpzArray& array) const {
  auto member = std::make_unique<MemberStream>(handle_, handle_->archive, array.index, where_of(name_, array.name));
  std::array<std::byte, kArrayHeaderRoom> header{};
  member->read(std::span(header).first(static_cast<size_t>(array.tokens.header_bytes)));
  return std::make_unique<ElementStream>(std::move(member), array.tokens.bytes());
}

bool is_npz(std::string_view beginning) {
  constexpr size_t kNameLengthAt = 26;
  constexpr size_t kNameAt = 30;
  if (!beginning.starts_with("PK\x03\x04") || beginning.size() < kNameAt) return false;
  uint16_t length = 0;
  std::memcpy(&length, beginning.data() + kNameLengthAt, sizeof length);
  return beginning.substr(kNameAt, length).ends_with(kArraySuffix);
}

}  // namespace segue

// libzip opens the archive and unpacks; sizes are judged before memory is taken for them.
#include "core/convert/npz_file.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/text.h"
#include "data_pipeline/zip_error.h"

namespace segue {

namespace {

constexpr std::string_view kSuffix = ".npy";
constexpr size_t kLongestName = 200;
constexpr zip_int64_t kWholeFile = 0;

// Far more than a model with its optimizer has.
constexpr zip_uint64_t kMostMembers = 20000;
// Weights hardly pack at all; what packs better than this is made to fill memory.
constexpr zip_uint64_t kBestPacking = 64;
constexpr zip_uint64_t kPackedWell = zip_uint64_t{64} << 20;  // as much may be, whatever it takes in the archive

// A member while it is read.
class MemberReader {
 public:
  MemberReader(zip_t* archive, zip_uint64_t index, const std::string& where)
      : where_(where), file_(zip_fopen_index(archive, index, 0)) {
    if (file_ == nullptr) throw CheckpointError("{}: cannot be read: {}", where, zip_strerror(archive));
  }

  // As many bytes as there are, at most `block`.
  size_t read(std::span<std::byte> block) {
    size_t filled = 0;
    while (filled < block.size()) {
      const zip_int64_t count = zip_fread(file_.get(), block.data() + filled, block.size() - filled);
      if (count < 0) throw CheckpointError("{}: cannot be read: {}", where_, zip_file_strerror(file_.get()));
      if (count == 0) break;
      filled += static_cast<size_t>(count);
    }
    return filled;
  }

 private:
  struct Close {
    void operator()(zip_file_t* file) const { zip_fclose(file); }
  };
  const std::string& where_;
  std::unique_ptr<zip_file_t, Close> file_;
};

zip_stat_t stat_of(zip_t* archive, zip_uint64_t index, const std::string& source) {
  zip_stat_t stat;
  zip_stat_init(&stat);
  constexpr zip_uint64_t kNeeded = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
  if (zip_stat_index(archive, index, 0, &stat) != 0 || (stat.valid & kNeeded) != kNeeded)
    throw CheckpointError("{}: member {} cannot be read: {}", source, index, zip_strerror(archive));
  return stat;
}

}  // namespace

NpzFile::NpzFile(const std::filesystem::path& path) : source_(path.string()) {
  static_cast<void>(FileReader(path));  // refuses what is no regular file
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* const file = zip_source_file_create(path.c_str(), 0, kWholeFile, &error);
  if (file == nullptr) throw FileError("{}: cannot open: {}", source_, message_of(error));
  open(file);
}

NpzFile::NpzFile(std::string source, std::span<const std::byte> bytes) : source_(std::move(source)) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* const buffer = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  if (buffer == nullptr) throw CheckpointError("{}: {}", source_, message_of(error));
  open(buffer);
}

// Takes the source over.
void NpzFile::open(zip_source_t* source) {
  zip_error_t error;
  zip_error_init(&error);
  archive_.reset(zip_open_from_source(source, ZIP_RDONLY, &error));
  if (archive_ == nullptr) {
    zip_source_free(source);
    throw CheckpointError("{}: expected an .npz archive: {}", source_, message_of(error));
  }
  read_headers();
}

// Looks at the archive's directory alone; nothing is unpacked.
zip_uint64_t NpzFile::check_directory() {
  const auto count = static_cast<zip_uint64_t>(std::max<zip_int64_t>(zip_get_num_entries(archive_.get(), 0), 0));
  if (count > kMostMembers)
    throw CheckpointError("{}: expected at most {} arrays, found {}", source_, kMostMembers, count);
  zip_uint64_t unpacked = 0;
  zip_uint64_t packed = 0;
  for (zip_uint64_t index = 0; index < count; ++index) {
    const zip_stat_t stat = stat_of(archive_.get(), index, source_);
    const std::string where = where_of(stat);
    if (!std::string_view(stat.name).ends_with(kSuffix))
      throw CheckpointError("{}: expected a name that ends in .npy", where);
    packed += std::min(stat.comp_size, stat.size);
    if (__builtin_add_overflow(unpacked, stat.size, &unpacked) || unpacked > kPackedWell + kBestPacking * packed)
      throw CheckpointError("{}: unpacks to {} bytes from {}, more than weights do", where, stat.size, stat.comp_size);
  }
  return count;
}

std::string NpzFile::where_of(const zip_stat_t& stat) const {
  return fmt::format("{}: array {}", source_, printable_line(stat.name, kLongestName));
}

void NpzFile::read_headers() {
  const zip_uint64_t count = check_directory();
  std::array<std::byte, kLongestNpyHeader> begin{};
  for (zip_uint64_t index = 0; index < count; ++index) {
    const zip_stat_t stat = stat_of(archive_.get(), index, source_);
    const std::string_view name = stat.name;
    Member member{index, where_of(stat), {}};
    const size_t filled = MemberReader(archive_.get(), index, member.where).read(begin);
    member.header = read_npy_header(std::span(begin).first(filled), member.where);
    const int64_t expected = ConstTensorView{nullptr, member.header.dtype, member.header.shape}.bytes();
    if (stat.size - static_cast<zip_uint64_t>(member.header.bytes) != static_cast<zip_uint64_t>(expected))
      throw CheckpointError("{}: shape {} of {} needs {} bytes, found {}", member.where, member.header.shape.text(),
                            name_of(member.header.dtype), expected, stat.size - member.header.bytes);
    const std::string where = member.where;
    if (!members_.emplace(name.substr(0, name.size() - kSuffix.size()), std::move(member)).second)
      throw CheckpointError("{}: appears twice", where);
  }
}

std::vector<std::string> NpzFile::names() const {
  std::vector<std::string> names;
  for (const auto& [name, member] : members_) names.push_back(name);
  return names;
}

const NpzFile::Member& NpzFile::member(const std::string& name) const {
  const auto found = members_.find(name);
  if (found != members_.end()) return found->second;
  std::vector<std::string_view> candidates;
  for (const auto& [known, member] : members_) candidates.emplace_back(known);
  const std::string_view nearest = nearest_word(name, candidates);
  throw CheckpointError("{}: expected an array {}, found {}{}", source_, name, counted(std::ssize(members_), "other"),
                        nearest.empty() ? "" : fmt::format(", the nearest {}", nearest));
}

HostTensor NpzFile::read(const std::string& name) const {
  const Member& wanted = member(name);
  MemberReader reader(archive_.get(), wanted.index, wanted.where);
  std::array<std::byte, kLongestNpyHeader> header{};
  reader.read(std::span(header).first(static_cast<size_t>(wanted.header.bytes)));
  OwnedTensor tensor(wanted.header.dtype, wanted.header.shape);
  const auto bytes = static_cast<size_t>(tensor.view().bytes());
  const size_t filled = reader.read({tensor.view().data, bytes});
  std::byte beyond{};
  if (filled != bytes || reader.read({&beyond, 1}) != 0)  // reading to the end is what checks the CRC
    throw CheckpointError("{}: expected {} bytes of elements, found others", wanted.where, bytes);
  return HostTensor(std::move(tensor));
}

}  // namespace segue

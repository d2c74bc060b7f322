// The layout of megatron/core/datasets/indexed_dataset.py: magic, version, code of the type, number of sequences,
// number of entries; then lengths (int32), pointers in bytes (int64), and the sequences that documents begin with
// (int64).
#include "data_pipeline/token_files/megatron_index.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace segue {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kIndexMagic = "MMIDIDX\0\0"sv;
constexpr int64_t kVersionAt = 9;
constexpr int64_t kTypeAt = 17;
constexpr int64_t kSequencesAt = 18;
constexpr int64_t kEntriesAt = 26;
constexpr int64_t kIndexHeaderBytes = 34;
constexpr int64_t kFairseqHeaderBytes = 26;  // of the same layout without documents
constexpr int64_t kLengthBytes = 4;
constexpr int64_t kPointerBytes = 8;
constexpr size_t kIndexBlock = 8192;

template <typename T>
T index_number(const IndexBytes& bytes, int64_t offset) {
  T number{};
  bytes.read_at(offset, std::as_writable_bytes(std::span(&number, 1)));
  return number;
}

// Numbers one behind the other, read block by block.
template <typename T>
class IndexColumn {
 public:
  IndexColumn(const IndexBytes& bytes, int64_t offset, int64_t count) : bytes_(&bytes), offset_(offset), left_(count) {}

  T next() {
    if (given_ == block_.size()) refill();
    return block_[given_++];
  }

 private:
  void refill() {
    block_.resize(static_cast<size_t>(std::min<int64_t>(left_, kIndexBlock)));
    given_ = 0;
    const auto room = std::as_writable_bytes(std::span(block_));
    if (room.empty() || bytes_->read_at(offset_, room).size() < room.size())
      throw DataError("{}: ends before byte {}: the file changed while it was read", bytes_->name,
                      offset_ + std::ssize(room));
    offset_ += std::ssize(room);
    left_ -= std::ssize(block_);
  }

  const IndexBytes* bytes_;
  int64_t offset_;
  int64_t left_;
  std::vector<T> block_;
  size_t given_ = 0;
};

IndexColumn<int32_t> lengths_of(const IndexBytes& bytes, const MegatronIndex& index) {
  return {bytes, kIndexHeaderBytes, index.sequences};
}
IndexColumn<int64_t> pointers_of(const IndexBytes& bytes, const MegatronIndex& index) {
  return {bytes, kIndexHeaderBytes + kLengthBytes * index.sequences, index.sequences};
}
IndexColumn<int64_t> entries_of(const IndexBytes& bytes, const MegatronIndex& index) {
  return {bytes, kIndexHeaderBytes + (kLengthBytes + kPointerBytes) * index.sequences, index.entries};
}

ElementType element_of_code(uint8_t code, const std::string& name) {
  using enum ElementType;
  constexpr std::array<std::optional<ElementType>, 9> kCodes{std::nullopt, kUInt8,       kInt8,        kInt16, kInt32,
                                                             kInt64,       std::nullopt, std::nullopt, kUInt16};
  if (code < kCodes.size() && kCodes.at(code)) return *kCodes.at(code);
  throw DataError("{}: byte {}: expected a code of whole numbers (1 to 5, or 8), found {}{}", name, kTypeAt, code,
                  code == 6 || code == 7 ? ", of floating point" : "");
}

void check_index_counts(const IndexBytes& bytes, const MegatronIndex& index, int64_t token_file_bytes) {
  // Unsigned, and each bounded by the file: no product overflows, and a negative count is a large one.
  const auto size = static_cast<uint64_t>(bytes.size);
  const auto sequences = static_cast<uint64_t>(index.sequences);
  const auto entries = static_cast<uint64_t>(index.entries);
  constexpr uint64_t kSequenceBytes = kLengthBytes + kPointerBytes;
  const bool countable = sequences <= size / kSequenceBytes;
  if (countable && size == kFairseqHeaderBytes + kSequenceBytes * sequences)
    throw DataError("{}: expected an index of Megatron-LM, found fairseq's, which has no documents", bytes.name);
  const uint64_t expected = countable && entries <= size / kPointerBytes
                                ? kIndexHeaderBytes + kSequenceBytes * sequences + kPointerBytes * entries
                                : 0;
  if (expected > 0 && sequences > 0 && size == expected + sequences)
    throw DataError("{}: expected an index of text, found one of several modes (multimodal)", bytes.name);
  if (size != expected)
    throw DataError("{}: expected {} sequences and {} entries of documents, found {} bytes: it is cut off or damaged",
                    bytes.name, sequences, entries, size);
  // Empty ones are rare; without a limit, zeros without end would be looked at one by one.
  const int64_t likely = 1024 + 8 * (token_file_bytes / bytes_of(index.element));
  if (index.sequences > likely || index.entries > likely)
    throw DataError(
        "{}: expected at most 8 sequences and documents for a token, found {} sequences and {} entries for "
        "{} bytes of tokens",
        bytes.name, index.sequences, index.entries, token_file_bytes);
}

void check_index_sequences(const IndexBytes& bytes, MegatronIndex& index, int64_t token_file_bytes) {
  const int64_t width = bytes_of(index.element);
  IndexColumn<int32_t> lengths = lengths_of(bytes, index);
  IndexColumn<int64_t> pointers = pointers_of(bytes, index);
  for (int64_t i = 0; i < index.sequences; ++i) {
    const int64_t length = lengths.next();
    const int64_t pointer = pointers.next();
    if (length < 0) throw DataError("{}: sequence {}: expected a length, found {}", bytes.name, i, length);
    if (pointer != index.tokens * width)
      throw DataError("{}: sequence {}: expected to begin at byte {}, where the one before it ends, found {}",
                      bytes.name, i, index.tokens * width, pointer);
    if (length > token_file_bytes / width - index.tokens)
      throw DataError("{}: sequence {}: expected to end within the {} bytes of tokens, found {} tokens from byte {} on",
                      bytes.name, i, token_file_bytes, length, pointer);
    index.tokens += length;
  }
  if (index.tokens * width != token_file_bytes)
    throw DataError("{}: expected sequences of all {} bytes of tokens, found {} bytes in {} sequences", bytes.name,
                    token_file_bytes, index.tokens * width, index.sequences);
}

void check_index_documents(const IndexBytes& bytes, MegatronIndex& index) {
  IndexColumn<int64_t> entries = entries_of(bytes, index);
  IndexColumn<int32_t> lengths = lengths_of(bytes, index);
  int64_t last = 0;
  for (int64_t i = 0; i < index.entries; ++i) {
    const int64_t entry = entries.next();
    if (i == 0 ? entry != 0 : entry < last || entry > index.sequences)
      throw DataError("{}: document {}: expected to begin with a sequence from {} to {}, found {}", bytes.name, i, last,
                      i == 0 ? 0 : index.sequences, entry);
    int64_t tokens = 0;
    for (; last < entry; ++last) tokens += lengths.next();
    index.documents += tokens > 0 ? 1 : 0;
  }
  if (index.entries == 0 || last != index.sequences)
    throw DataError("{}: expected documents to end with sequence {}, the last, found {}", bytes.name, index.sequences,
                    last);
}

}  // namespace

bool is_megatron_index(std::string_view beginning) { return beginning.starts_with(kIndexMagic); }

std::filesystem::path megatron_index_of(const std::filesystem::path& tokens) {
  if (tokens.extension() != ".bin") return {};
  std::filesystem::path path = tokens;
  path.replace_extension(".idx");
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return {};
  std::array<std::byte, kIndexMagic.size()> begin{};
  const auto got = FileReader(path).read(begin);
  return is_megatron_index({reinterpret_cast<const char*>(got.data()), got.size()}) ? path : std::filesystem::path();
}

IndexBytes open_index(const std::filesystem::path& path) {
  const auto file = std::make_shared<FileReader>(path);
  return {path.string(), file->size(),
          [file](int64_t offset, std::span<std::byte> block) { return file->read_at(offset, block); }};
}

MegatronIndex read_megatron_index(const IndexBytes& bytes, int64_t token_file_bytes) {
  std::array<std::byte, kIndexMagic.size()> magic{};
  const auto got = bytes.read_at(0, magic);
  if (!is_megatron_index({reinterpret_cast<const char*>(got.data()), got.size()}))
    throw DataError("{}: expected an index of Megatron-LM, found something else", bytes.name);
  if (bytes.size < kIndexHeaderBytes)
    throw DataError("{}: expected a header of {} bytes, found {} bytes", bytes.name, kIndexHeaderBytes, bytes.size);
  if (const auto version = index_number<uint64_t>(bytes, kVersionAt); version != 1)
    throw DataError("{}: expected version 1 of Megatron-LM's indexes, found {}", bytes.name, version);
  MegatronIndex index{.element = element_of_code(index_number<uint8_t>(bytes, kTypeAt), bytes.name),
                      .sequences = index_number<int64_t>(bytes, kSequencesAt),
                      .entries = index_number<int64_t>(bytes, kEntriesAt)};
  check_index_counts(bytes, index, token_file_bytes);
  check_index_sequences(bytes, index, token_file_bytes);
  check_index_documents(bytes, index);
  return index;
}

NextDocument documents_of(IndexBytes bytes, const MegatronIndex& index) {
  struct State {
    State(IndexBytes source, const MegatronIndex& from)
        : bytes(std::move(source)), lengths(lengths_of(bytes, from)), entries(entries_of(bytes, from)) {}
    IndexBytes bytes;
    IndexColumn<int32_t> lengths;
    IndexColumn<int64_t> entries;
    int64_t read = 0;
    int64_t sequence = 0;
  };
  return [state = std::make_shared<State>(std::move(bytes), index), count = index.entries]() -> int64_t {
    int64_t tokens = 0;
    while (tokens == 0 && state->read < count) {
      ++state->read;
      for (const int64_t end = state->entries.next(); state->sequence < end; ++state->sequence)
        tokens += state->lengths.next();
    }
    return tokens;
  };
}

}  // namespace segue

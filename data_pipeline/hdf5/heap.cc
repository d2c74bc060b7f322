// A heap is one row of addresses, cut into blocks: two rows of the smallest size, then each row of twice the size. Rows
// of larger blocks than those for objects have tables of blocks in their place.
#include "data_pipeline/hdf5/heap.h"

#include <algorithm>
#include <bit>

#include "data_pipeline/hdf5/btree_v2.h"

namespace segue {

namespace {

constexpr uint64_t kLargestBlock = uint64_t{1} << 20;  // the library's own take 64 KiB at most
constexpr uint64_t kMostLevels = 16;
constexpr size_t kMostOfOneName = 64;

}  // namespace

Hdf5Heap::Hdf5Heap(const Hdf5Bytes& file, uint64_t address, std::string_view what) : file_(file), what_(what) {
  constexpr uint64_t kHeadBytes = 146;
  constexpr uint64_t kSealedFlag = 0x02;
  constexpr uint64_t kMostWidth = 1024;
  constexpr uint64_t kMostOffsetBits = 64;
  const std::vector<std::byte> head = file.piece(address, kHeadBytes, what);
  Hdf5Cursor cursor(file, head, what);
  cursor.expect_signature("FRHP");
  cursor.expect_version(0);
  cursor.skip(2);
  if (cursor.number(2) != 0) file.fail("{}: keeps its parts in a heap with filters, which is not read", what);
  check_hdf5_seal(file, head, what);
  is_sealed_ = (cursor.number(1) & kSealedFlag) != 0;
  const uint64_t longest = cursor.number(4);
  cursor.skip(12 * kHdf5AddressBytes);  // what is free in it, and how much it holds
  width_ = cursor.number(2);
  first_bytes_ = cursor.number(8);
  most_bytes_ = cursor.number(8);
  const uint64_t offset_bits = cursor.number(2);
  cursor.skip(2);
  root_ = cursor.number(kHdf5AddressBytes);
  root_rows_ = cursor.number(2);
  if (!std::has_single_bit(width_) || width_ > kMostWidth || !std::has_single_bit(first_bytes_) ||
      !std::has_single_bit(most_bytes_) || first_bytes_ > most_bytes_ || most_bytes_ > kLargestBlock ||
      offset_bits == 0 || offset_bits > kMostOffsetBits || root_rows_ > kMostOffsetBits)
    file.fail("{}: its heap is damaged", what);
  offset_bytes_ = (offset_bits + 7) / 8;
  length_bytes_ =
      std::min((static_cast<uint64_t>(std::countr_zero(most_bytes_)) + 7) / 8, hdf5_bytes_of_number(longest));
}

uint64_t Hdf5Heap::row_bytes(uint64_t row) const { return first_bytes_ << (row == 0 ? 0 : row - 1); }

// Rows that would begin beyond 2^62 are none.
Hdf5Heap::Block Hdf5Heap::direct_block(uint64_t offset) const {
  constexpr uint64_t kFarthest = uint64_t{1} << 62;
  if (root_rows_ == 0) return {root_, 0, first_bytes_};
  uint64_t table = root_;
  uint64_t rows = root_rows_;
  uint64_t begin = 0;  // of the table, within the heap
  for (uint64_t level = 0; level < kMostLevels; ++level) {
    uint64_t row = 0;
    uint64_t row_begin = begin;
    while (row < rows && row_bytes(row) < kFarthest / width_ && offset - row_begin >= row_bytes(row) * width_)
      row_begin += row_bytes(row++) * width_;
    if (row == rows || row_bytes(row) >= kFarthest / width_) break;
    const uint64_t column = (offset - row_begin) / row_bytes(row);
    const uint64_t entries_at = table + 5 + kHdf5AddressBytes + offset_bytes_;
    const std::vector<std::byte> signature = file_.piece(table, 4, what_);
    Hdf5Cursor(file_, signature, what_).expect_signature("FHIB");
    const std::vector<std::byte> entry =
        file_.piece(entries_at + (row * width_ + column) * kHdf5AddressBytes, kHdf5AddressBytes, what_);
    const uint64_t address = Hdf5Cursor(file_, entry, what_).number(kHdf5AddressBytes);
    begin = row_begin + column * row_bytes(row);
    if (row_bytes(row) <= most_bytes_) return {address, begin, row_bytes(row)};
    if (row_bytes(row) / first_bytes_ < width_) break;
    table = address;
    rows = 1 + static_cast<uint64_t>(std::countr_zero(row_bytes(row) / first_bytes_ / width_));
  }
  file_.fail("{}: its heap is damaged", what_);
}

std::vector<std::byte> Hdf5Heap::object(std::span<const std::byte> identifier) const {
  constexpr uint64_t kFormMask = 0xf0;  // version 0, managed by the heap
  Hdf5Cursor cursor(file_, identifier, what_);
  if ((cursor.number(1) & kFormMask) != 0)
    file_.fail("{}: keeps a part of itself outside of its heap, which is not read", what_);
  const uint64_t offset = cursor.number(offset_bytes_);
  const uint64_t length = cursor.number(length_bytes_);
  const Block block = direct_block(offset);
  const uint64_t head_bytes = 5 + kHdf5AddressBytes + offset_bytes_ + (is_sealed_ ? kHdf5SealBytes : 0);
  const uint64_t within = offset - block.begin;
  if (block.address == kHdf5Nowhere || within < head_bytes || within > block.bytes || length > block.bytes - within)
    file_.fail("{}: its heap is damaged", what_);
  std::vector<std::byte> bytes = file_.piece(block.address, block.bytes, what_);
  Hdf5Cursor(file_, bytes, what_).expect_signature("FHDB");
  if (is_sealed_) {  // computed while its own place was zero
    const std::span<std::byte> seal = std::span(bytes).subspan(head_bytes - kHdf5SealBytes, kHdf5SealBytes);
    const uint64_t found = Hdf5Cursor(file_, seal, what_).number(kHdf5SealBytes);
    std::ranges::fill(seal, std::byte{0});
    if (found != hdf5_checksum(bytes)) file_.fail("{} is damaged: wrong checksum", what_);
  }
  const std::span<const std::byte> object = std::span<const std::byte>(bytes).subspan(within, length);
  return {object.begin(), object.end()};
}

std::vector<std::vector<std::byte>> find_in_hdf5_heap(const Hdf5Bytes& file, uint64_t heap, uint64_t tree,
                                                      uint64_t kind, std::string_view name, std::string_view what) {
  constexpr uint64_t kLinkNames = 5;
  constexpr uint64_t kIdentifierBytes = 8;        // of attributes; of links one less
  constexpr uint64_t kAttributeRecordBytes = 17;  // identifier, flags, order, checksum of the name
  constexpr uint64_t kLinkRecordBytes = 11;       // checksum of the name, identifier
  constexpr uint64_t kSharedFlag = 0x02;
  const bool is_link = kind == kLinkNames;
  const uint32_t sum = hdf5_checksum(std::as_bytes(std::span(name)));
  const Hdf5BTreeV2 names(file, tree, kind, what);
  if (names.record_bytes() != (is_link ? kLinkRecordBytes : kAttributeRecordBytes))
    file.fail("{}: its tree is damaged", what);
  const Hdf5Heap objects(file, heap, what);
  std::vector<std::vector<std::byte>> found;
  names.visit([&](Hdf5Cursor record) {
    const uint64_t first = is_link ? record.number(4) : 0;
    const std::span<const std::byte> identifier = record.block(is_link ? kIdentifierBytes - 1 : kIdentifierBytes);
    const uint64_t flags = is_link ? 0 : record.number(1);
    if (!is_link) record.skip(4);
    if ((is_link ? first : record.number(4)) != sum) return;
    if ((flags & kSharedFlag) != 0) file.fail("{}: a part of it is shared with others, which is not read", what);
    if (found.size() == kMostOfOneName) file.fail("{}: its tree is damaged", what);
    found.push_back(objects.object(identifier));
  });
  return found;
}

}  // namespace segue

// Arrays of fixed size, and arrays that grow without moving what they hold.
#include <algorithm>
#include <bit>

#include "data_pipeline/hdf5/chunk_index.h"

namespace segue {

namespace {

bool is_set(std::span<const std::byte> bits, uint64_t index) {
  return (std::to_integer<uint64_t>(bits[index / 8]) >> (7 - index % 8) & 1) != 0;
}

// A piece of the file that ends with a checksum of itself, from its beginning on.
class SealedPiece {
 public:
  SealedPiece(const Hdf5ChunkList& list, uint64_t address, uint64_t bytes)
      : bytes_(list.file.piece(address, bytes, list.name)), cursor(list.file, bytes_, list.name) {
    check_hdf5_seal(list.file, bytes_, list.name);
  }
  SealedPiece(const SealedPiece&) = delete;
  SealedPiece& operator=(const SealedPiece&) = delete;

 private:
  std::vector<std::byte> bytes_;

 public:
  Hdf5Cursor cursor;
};

// What both kinds of arrays begin with; the size of an entry, which is sound.
uint64_t read_head_of_array(Hdf5Cursor& head, std::string_view signature, const Hdf5ChunkList& list) {
  head.expect_signature(signature);
  head.expect_version(0);
  const bool has_sizes = head.number(1) == 1;
  const uint64_t entry_bytes = head.number(1);
  if (has_sizes != list.is_filtered || !list.can_take(entry_bytes)) list.fail_damaged();
  return entry_bytes;
}

// Pages of entries, one after another, each with its own checksum; `is_used` tells which have been written.
template <typename IsUsed>
void take_pages(Hdf5ChunkList& list, uint64_t address, uint64_t first, uint64_t count, uint64_t page_entries,
                uint64_t entry_bytes, IsUsed is_used) {
  for (uint64_t page = 0; page * page_entries < count && first + page * page_entries < list.needed(); ++page) {
    const uint64_t begin = page * page_entries;
    const uint64_t here = std::min(page_entries, count - begin);
    const uint64_t bytes = here * entry_bytes + kHdf5SealBytes;
    if (is_used(page)) {
      const SealedPiece piece(list, address, bytes);
      list.take(piece.cursor, first + begin, here, entry_bytes);
    }
    address += bytes;
  }
}

// A block of entries, in one piece or in pages behind a bitmap of those that are in use.
void read_fixed_block(uint64_t address, uint64_t entries, uint64_t entry_bytes, uint64_t page_entries,
                      Hdf5ChunkList& list) {
  const bool is_paged = entries > page_entries;
  const uint64_t pages = is_paged ? (entries - 1) / page_entries + 1 : 0;
  const uint64_t bitmap_bytes = pages / 8 + (pages % 8 != 0 ? 1 : 0);
  const uint64_t entries_here = is_paged ? 0 : entries;
  const uint64_t bytes = 6 + kHdf5AddressBytes + bitmap_bytes + entries_here * entry_bytes + kHdf5SealBytes;
  SealedPiece block(list, address, bytes);
  Hdf5Cursor& cursor = block.cursor;
  cursor.expect_signature("FADB");
  cursor.skip(2 + kHdf5AddressBytes);
  const std::span<const std::byte> bitmap = cursor.block(bitmap_bytes);
  if (!is_paged) return list.take(cursor, 0, entries, entry_bytes);
  take_pages(list, address + bytes, 0, entries, page_entries, entry_bytes,
             [&](uint64_t page) { return is_set(bitmap, page); });
}

// How an extensible array is divided: some entries in its index block, then data blocks in groups. Group g has
// 2^(g/2) blocks of `least` 2^((g+1)/2) entries. The blocks of the first groups are listed by the index block, those of
// each later one by a super block.
class ExtensibleArray {
 public:
  ExtensibleArray(uint64_t address, Hdf5ChunkList& list) : list_(list), address_(address) {}

  void read() {
    const uint64_t index_block = read_head();
    if (index_block != kHdf5Nowhere) read_index_block(index_block);
  }

 private:
  struct Group {
    uint64_t blocks;
    uint64_t entries;  // of each
    uint64_t first;    // entry of the first one
  };

  uint64_t read_head() {
    constexpr uint64_t kHeadBytes = 72;
    SealedPiece head(list_, address_, kHeadBytes);
    Hdf5Cursor& cursor = head.cursor;
    entry_bytes_ = read_head_of_array(cursor, "EAHD", list_);
    index_bits_ = cursor.number(1);
    index_entries_ = cursor.number(1);
    least_ = cursor.number(1);
    least_pointers_ = cursor.number(1);
    page_bits_ = cursor.number(1);
    cursor.skip(48);  // how much of it is in use
    constexpr uint64_t kMostIndexBits = 64;
    constexpr uint64_t kMostPageBits = 32;
    const bool is_sound = index_bits_ > 0 && index_bits_ <= kMostIndexBits && std::has_single_bit(least_) &&
                          std::has_single_bit(least_pointers_) && least_pointers_ > 1 && page_bits_ <= kMostPageBits;
    if (!is_sound) list_.fail_damaged();
    const auto least_bits = static_cast<uint64_t>(std::countr_zero(least_));
    groups_listed_ = 2 * static_cast<uint64_t>(std::countr_zero(least_pointers_));
    if (index_bits_ < least_bits || 1 + index_bits_ - least_bits < groups_listed_) list_.fail_damaged();
    groups_ = 1 + index_bits_ - least_bits;
    return cursor.number(kHdf5AddressBytes);
  }

  uint64_t offset_bytes() const { return (index_bits_ + 7) / 8; }

  void read_index_block(uint64_t address) {
    const uint64_t listed = 2 * (least_pointers_ - 1);
    const uint64_t later = groups_ - groups_listed_;
    SealedPiece block(
        list_, address,
        6 + kHdf5AddressBytes + index_entries_ * entry_bytes_ + (listed + later) * kHdf5AddressBytes + kHdf5SealBytes);
    Hdf5Cursor& cursor = block.cursor;
    take_prefix(cursor, "EAIB");
    list_.take({list_.file, cursor.block(index_entries_ * entry_bytes_), list_.name}, 0, index_entries_, entry_bytes_);
    Group group{.blocks = 1, .entries = least_, .first = index_entries_};
    for (uint64_t number = 0; number < groups_ && group.first < list_.needed(); ++number) {
      number < groups_listed_ ? read_group(group, cursor) : read_super_block(group, cursor.number(kHdf5AddressBytes));
      group.first += group.blocks * group.entries;
      (number % 2 == 0 ? group.entries : group.blocks) *= 2;
    }
  }

  void take_prefix(Hdf5Cursor& cursor, std::string_view signature) const {
    cursor.expect_signature(signature);
    cursor.expect_version(0);
    cursor.skip(1);
    if (cursor.number(kHdf5AddressBytes) != address_) list_.fail_damaged();
  }

  bool is_paged(const Group& group) const { return group.entries >> page_bits_ > 1; }

  // `addresses` of the group's blocks, one after another.
  void read_group(const Group& group, Hdf5Cursor& addresses) {
    for (uint64_t i = 0; i < group.blocks; ++i) {
      const uint64_t address = addresses.number(kHdf5AddressBytes);
      const uint64_t first = group.first + i * group.entries;
      if (address != kHdf5Nowhere && first < list_.needed()) read_block(address, first, group.entries);
    }
  }

  void read_block(uint64_t address, uint64_t first, uint64_t entries) {
    SealedPiece block(list_, address, block_prefix() + entries * entry_bytes_ + kHdf5SealBytes);
    take_prefix(block.cursor, "EADB");
    block.cursor.skip(offset_bytes());
    list_.take(block.cursor, first, entries, entry_bytes_);
  }

  uint64_t block_prefix() const { return 6 + kHdf5AddressBytes + offset_bytes(); }

  void read_super_block(const Group& group, uint64_t address) {
    if (address == kHdf5Nowhere) return;
    const uint64_t pages = is_paged(group) ? group.entries >> page_bits_ : 0;  // of each block
    const uint64_t bitmap_bytes = group.blocks * ((pages + 7) / 8);
    SealedPiece block(list_, address,
                      block_prefix() + bitmap_bytes + group.blocks * kHdf5AddressBytes + kHdf5SealBytes);
    Hdf5Cursor& cursor = block.cursor;
    take_prefix(cursor, "EASB");
    cursor.skip(offset_bytes());
    const std::span<const std::byte> bitmap = cursor.block(bitmap_bytes);
    if (pages == 0) return read_group(group, cursor);
    for (uint64_t i = 0; i < group.blocks; ++i) {
      const uint64_t paged = cursor.number(kHdf5AddressBytes);
      const uint64_t first = group.first + i * group.entries;
      if (paged == kHdf5Nowhere || first >= list_.needed()) continue;
      check_paged_block(paged);
      take_pages(list_, paged + block_prefix() + kHdf5SealBytes, first, group.entries, uint64_t{1} << page_bits_,
                 entry_bytes_, [&](uint64_t page) { return is_set(bitmap, i * pages + page); });
    }
  }

  void check_paged_block(uint64_t address) const {
    SealedPiece prefix(list_, address, block_prefix() + kHdf5SealBytes);
    take_prefix(prefix.cursor, "EADB");
  }

  Hdf5ChunkList& list_;
  uint64_t address_;
  uint64_t entry_bytes_ = 0;
  uint64_t index_bits_ = 0;      // of the number of the last entry there may ever be
  uint64_t index_entries_ = 0;   // in the index block itself
  uint64_t least_ = 0;           // entries of the smallest data block
  uint64_t least_pointers_ = 0;  // of the smallest super block
  uint64_t page_bits_ = 0;       // of the entries of a page
  uint64_t groups_ = 0;
  uint64_t groups_listed_ = 0;  // by the index block
};

}  // namespace

bool Hdf5ChunkList::can_take(uint64_t entry_bytes) const {
  constexpr uint64_t kMostSizeBytes = 8;
  const uint64_t others = kHdf5AddressBytes + kHdf5MaskBytes;
  return is_filtered ? entry_bytes > others && entry_bytes <= others + kMostSizeBytes
                     : entry_bytes == kHdf5AddressBytes;
}

void Hdf5ChunkList::take(Hdf5Cursor cursor, uint64_t first, uint64_t count, uint64_t entry_bytes) {
  for (uint64_t i = first; i < first + count && i < needed(); ++i) {
    const std::span<const std::byte> entry = cursor.block(entry_bytes);
    if (i % step != 0) continue;
    Hdf5Cursor fields(file, entry, name);
    Hdf5Chunk& chunk = chunks[i / step];
    chunk.address = fields.number(kHdf5AddressBytes);
    chunk.bytes = is_filtered ? fields.number(entry_bytes - kHdf5AddressBytes - kHdf5MaskBytes) : chunk_bytes;
    if (is_filtered) chunk.skipped_filters = fields.number(kHdf5MaskBytes);
  }
}

void read_hdf5_fixed_array(uint64_t address, Hdf5ChunkList& list) {
  constexpr uint64_t kHeadBytes = 28;
  constexpr uint64_t kMostPageBits = 32;
  SealedPiece head(list, address, kHeadBytes);
  Hdf5Cursor& cursor = head.cursor;
  const uint64_t entry_bytes = read_head_of_array(cursor, "FAHD", list);
  const uint64_t page_bits = cursor.number(1);
  const uint64_t entries = cursor.number(8);
  const uint64_t block = cursor.number(kHdf5AddressBytes);
  if (entries < list.needed() || page_bits > kMostPageBits) list.fail_damaged();
  if (block != kHdf5Nowhere && entries > 0)
    read_fixed_block(block, entries, entry_bytes, uint64_t{1} << page_bits, list);
}

void read_hdf5_extensible_array(uint64_t address, Hdf5ChunkList& list) { ExtensibleArray(address, list).read(); }

}  // namespace segue

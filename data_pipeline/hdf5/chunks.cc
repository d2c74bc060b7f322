// Where the chunks of a dataset are, by each of the indices that datasets of one dimension and fixed size have.
#include <algorithm>
#include <optional>
#include <utility>

#include "data_pipeline/hdf5/layout.h"

namespace segue {

namespace {

// Deflate packs 1032 bytes into one at best.
constexpr uint64_t kBestPacking = 1032;

constexpr uint64_t kAddressBytes = 8;

class ChunkIndex {
 public:
  ChunkIndex(const Hdf5Object& dataset, const Hdf5Layout& layout, uint64_t chunks, uint64_t chunk_bytes)
      : file_(dataset.file()), name_(dataset.name()), layout_(layout), chunk_bytes_(chunk_bytes), chunks_(chunks) {}

  std::vector<Hdf5Chunk> read(bool is_filtered) {
    switch (layout_.index) {
      case Hdf5Layout::Index::kSingle:
        chunks_.at(0) = {layout_.address, is_filtered ? layout_.bytes : chunk_bytes_, layout_.skipped_filters};
        break;
      case Hdf5Layout::Index::kImplicit:
        for (uint64_t i = 0; i < chunks_.size(); ++i) chunks_[i] = {layout_.address + i * chunk_bytes_, chunk_bytes_};
        break;
      case Hdf5Layout::Index::kFixedArray:
        read_fixed_array(is_filtered);
        break;
      case Hdf5Layout::Index::kTree:
        if (layout_.address != kHdf5Nowhere) visit_node(layout_.address, std::nullopt);
        break;
    }
    return std::move(chunks_);
  }

 private:
  void read_fixed_array(bool is_filtered) {
    constexpr uint64_t kHeadBytes = 28;
    if (layout_.address == kHdf5Nowhere) return;
    const std::vector<std::byte> head = file_.piece(layout_.address, kHeadBytes, name_);
    check_hdf5_seal(file_, head, name_);
    Hdf5Cursor cursor(file_, head, name_);
    cursor.expect_signature("FAHD");
    cursor.expect_version(0);
    const bool has_sizes = cursor.number(1) == 1;
    const uint64_t entry_bytes = cursor.number(1);
    const uint64_t page_bits = cursor.number(1);
    const uint64_t entries = cursor.number(8);
    const uint64_t block = cursor.number(8);
    const uint64_t least = kAddressBytes + (is_filtered ? 5 : 0);
    if (has_sizes != is_filtered || entries != chunks_.size() || entry_bytes < least || entry_bytes > least + 7 ||
        page_bits > 32 || (!is_filtered && entry_bytes != least))
      file_.fail("{}: its index of chunks is damaged", name_);
    if (block != kHdf5Nowhere) read_block(block, entry_bytes, uint64_t{1} << page_bits, is_filtered);
  }

  // The array itself: in one piece, or in pages behind a bitmap of those that are in use.
  void read_block(uint64_t address, uint64_t entry_bytes, uint64_t page_entries, bool is_filtered) {
    const bool is_paged = chunks_.size() > page_entries;
    const uint64_t pages = is_paged ? (chunks_.size() + page_entries - 1) / page_entries : 0;
    const uint64_t bitmap_bytes = (pages + 7) / 8;
    const uint64_t prefix_bytes = 6 + kAddressBytes + bitmap_bytes;
    const uint64_t entries_here = is_paged ? 0 : chunks_.size();
    const std::vector<std::byte> block =
        file_.piece(address, prefix_bytes + entries_here * entry_bytes + kHdf5SealBytes, name_);
    check_hdf5_seal(file_, block, name_);
    Hdf5Cursor cursor(file_, block, name_);
    cursor.expect_signature("FADB");
    cursor.skip(2 + kAddressBytes);
    const std::span<const std::byte> bitmap = cursor.block(bitmap_bytes);
    if (!is_paged) return read_entries(cursor, 0, entries_here, entry_bytes, is_filtered);
    uint64_t page_address = address + block.size();
    for (uint64_t page = 0; page < pages; ++page) {
      const uint64_t first = page * page_entries;
      const uint64_t count = std::min(page_entries, chunks_.size() - first);
      const bool is_used = (std::to_integer<uint64_t>(bitmap[page / 8]) >> (7 - page % 8) & 1) != 0;
      if (is_used) {
        const std::vector<std::byte> bytes = file_.piece(page_address, count * entry_bytes + kHdf5SealBytes, name_);
        check_hdf5_seal(file_, bytes, name_);
        read_entries({file_, bytes, name_}, first, count, entry_bytes, is_filtered);
      }
      page_address += count * entry_bytes + kHdf5SealBytes;
    }
  }

  void read_entries(Hdf5Cursor cursor, uint64_t first, uint64_t count, uint64_t entry_bytes, bool is_filtered) {
    for (uint64_t i = first; i < first + count; ++i) {
      Hdf5Chunk& chunk = chunks_[i];
      chunk.address = cursor.number(kAddressBytes);
      chunk.bytes = is_filtered ? cursor.number(entry_bytes - kAddressBytes - 4) : chunk_bytes_;
      if (is_filtered) chunk.skipped_filters = cursor.number(4);
    }
  }

  // Levels fall by one from node to node, and chunks come in order: no way leads round, nothing is read twice.
  void visit_node(uint64_t address, std::optional<uint64_t> level) {
    constexpr uint64_t kHeadBytes = 24;
    constexpr uint64_t kKeyBytes = 24;
    constexpr uint64_t kChunkTree = 1;
    if (++nodes_ > chunks_.size() + 64) file_.fail("{}: its index of chunks is damaged", name_);
    const std::vector<std::byte> head = file_.piece(address, kHeadBytes, name_);
    Hdf5Cursor cursor(file_, head, name_);
    cursor.expect_signature("TREE");
    const uint64_t kind = cursor.number(1);
    const uint64_t here = cursor.number(1);
    if (kind != kChunkTree || (level && here != *level)) file_.fail("{}: its index of chunks is damaged", name_);
    const uint64_t children = cursor.number(2);
    const std::vector<std::byte> body =
        file_.piece(address + kHeadBytes, children * (kKeyBytes + kAddressBytes), name_);
    Hdf5Cursor entries(file_, body, name_);
    for (uint64_t i = 0; i < children; ++i) {
      Hdf5Chunk chunk;
      chunk.bytes = entries.number(4);
      chunk.skipped_filters = entries.number(4);
      const uint64_t element = entries.number(8);
      entries.skip(8);  // within an element
      chunk.address = entries.number(kAddressBytes);
      if (here > 0)
        visit_node(chunk.address, here - 1);
      else
        place(chunk, element);
    }
  }

  void place(const Hdf5Chunk& chunk, uint64_t element) {
    if (element != next_ * layout_.chunk_elements || next_ >= chunks_.size())
      file_.fail("{}: expected its chunks in order, found the one of element {}", name_, element);
    chunks_[next_++] = chunk;
  }

  const Hdf5Bytes& file_;
  const std::string& name_;
  const Hdf5Layout& layout_;
  uint64_t chunk_bytes_;
  std::vector<Hdf5Chunk> chunks_;
  uint64_t next_ = 0;   // chunk of a tree that comes next
  uint64_t nodes_ = 0;  // of a tree, visited
};

void check_chunk(const Hdf5Object& dataset, const Hdf5Chunk& chunk, uint64_t index, uint64_t chunk_bytes) {
  const Hdf5Bytes& file = dataset.file();
  if (chunk.address == kHdf5Nowhere) file.fail("{}: chunk {} is missing", dataset.name(), index);
  if (chunk.address > file.size() || chunk.bytes > file.size() - chunk.address)
    file.fail("{}: chunk {} is said to lie at byte {} with {} bytes, in a file of {}", dataset.name(), index,
              chunk.address, chunk.bytes, file.size());
  if (chunk.bytes < chunk_bytes / kBestPacking || chunk.bytes > 2 * chunk_bytes + 1024)
    file.fail("{}: chunk {} has {} bytes for {}", dataset.name(), index, chunk.bytes, chunk_bytes);
}

}  // namespace

std::vector<Hdf5Chunk> read_hdf5_chunks(const Hdf5Object& dataset, const Hdf5Layout& layout, uint64_t elements,
                                        uint64_t element_bytes, bool is_filtered) {
  const Hdf5Bytes& file = dataset.file();
  const uint64_t chunks = (elements + layout.chunk_elements - 1) / layout.chunk_elements;
  const uint64_t chunk_bytes = layout.chunk_elements * element_bytes;
  const bool is_single = layout.index == Hdf5Layout::Index::kSingle;
  if (chunks > file.size() / kAddressBytes || elements > file.size() * kBestPacking || (is_single && chunks != 1))
    file.fail("{}: {} elements in {} chunks do not fit in a file of {} bytes", dataset.name(), elements, chunks,
              file.size());
  std::vector<Hdf5Chunk> found = ChunkIndex(dataset, layout, chunks, chunk_bytes).read(is_filtered);
  uint64_t sum = 0;
  for (uint64_t i = 0; i < found.size(); ++i) {
    check_chunk(dataset, found[i], i, chunk_bytes);
    sum += found[i].bytes;
  }
  if (sum > file.size())
    file.fail("{}: chunks of {} bytes in a file of {}: some lie over others", dataset.name(), sum, file.size());
  return found;
}

}  // namespace segue

// Where the chunks of a row are, by each of the indices that datasets have.
#include <algorithm>
#include <optional>
#include <utility>

#include "data_pipeline/hdf5/btree_v2.h"
#include "data_pipeline/hdf5/chunk_index.h"

namespace segue {

namespace {

// Deflate packs 1032 bytes into one at best.
constexpr uint64_t kBestPacking = 1032;

constexpr uint64_t kMostChunks = uint64_t{1} << 22;

// The two trees, which find chunks by their places in the dataset.
class ChunkTree {
 public:
  ChunkTree(Hdf5ChunkList& list, const Hdf5Layout& layout, size_t axis) : list_(list), layout_(layout), axis_(axis) {}

  void read_first() { visit_node(layout_.address, std::nullopt); }

  void read_second() {
    constexpr uint64_t kWithoutFilters = 10;
    constexpr uint64_t kWithFilters = 11;
    const Hdf5BTreeV2 tree(list_.file, layout_.address, list_.is_filtered ? kWithFilters : kWithoutFilters, list_.name);
    const uint64_t places_bytes = 8 * layout_.chunk.size();
    if (tree.record_bytes() < places_bytes || !list_.can_take(tree.record_bytes() - places_bytes)) list_.fail_damaged();
    tree.visit([&](Hdf5Cursor record) {
      Hdf5Chunk chunk{.address = record.number(kHdf5AddressBytes), .bytes = list_.chunk_bytes};
      if (list_.is_filtered) {
        chunk.bytes = record.number(tree.record_bytes() - places_bytes - kHdf5AddressBytes - kHdf5MaskBytes);
        chunk.skipped_filters = record.number(kHdf5MaskBytes);
      }
      place(chunk, read_place(record, 1));
    });
  }

 private:
  // Levels fall by one from node to node, and chunks come in order: no way leads round, nothing is read twice.
  void visit_node(uint64_t address, std::optional<uint64_t> level) {
    constexpr uint64_t kHeadBytes = 24;
    constexpr uint64_t kChunkTree = 1;
    constexpr uint64_t kFewNodes = 64;
    const uint64_t key_bytes = 8 + 8 * (layout_.chunk.size() + 1);
    if (++nodes_ > list_.chunks.size() + kFewNodes) list_.fail_damaged();
    const std::vector<std::byte> head = list_.file.piece(address, kHeadBytes, list_.name);
    Hdf5Cursor cursor(list_.file, head, list_.name);
    cursor.expect_signature("TREE");
    const uint64_t kind = cursor.number(1);
    const uint64_t here = cursor.number(1);
    if (kind != kChunkTree || (level && here != *level)) list_.fail_damaged();
    const uint64_t children = cursor.number(2);
    const std::vector<std::byte> body =
        list_.file.piece(address + kHeadBytes, children * (key_bytes + kHdf5AddressBytes), list_.name);
    Hdf5Cursor entries(list_.file, body, list_.name);
    for (uint64_t i = 0; i < children; ++i) {
      Hdf5Chunk chunk;
      chunk.bytes = entries.number(4);
      chunk.skipped_filters = entries.number(kHdf5MaskBytes);
      const std::optional<uint64_t> number = read_place(entries, layout_.chunk[axis_]);
      entries.skip(8);  // within an element
      chunk.address = entries.number(kHdf5AddressBytes);
      if (here > 0)
        visit_node(chunk.address, here - 1);
      else
        place(chunk, number);
    }
  }

  // The number of the chunk that begins `unit` times that far along the row; nothing for one that is not of the row.
  std::optional<uint64_t> read_place(Hdf5Cursor& cursor, uint64_t unit) const {
    uint64_t along = 0;
    bool is_beside = false;
    for (size_t dimension = 0; dimension < layout_.chunk.size(); ++dimension) {
      const uint64_t offset = cursor.number(8);
      if (dimension == axis_) along = offset;
      is_beside = is_beside || (dimension != axis_ && offset != 0);
    }
    return is_beside || along % unit != 0 ? std::nullopt : std::optional(along / unit);
  }

  void place(const Hdf5Chunk& chunk, std::optional<uint64_t> number) {
    if (number != next_ || next_ >= list_.chunks.size())
      list_.file.fail("{}: expected its {} chunks in order, found another after {}", list_.name, list_.chunks.size(),
                      next_);
    list_.chunks[next_++] = chunk;
  }

  Hdf5ChunkList& list_;
  const Hdf5Layout& layout_;
  size_t axis_;
  uint64_t next_ = 0;   // chunk that comes next
  uint64_t nodes_ = 0;  // of the first tree, visited
};

void find_chunks(const Hdf5Layout& layout, const Hdf5Extent& extent, Hdf5ChunkList& list) {
  if (list.chunks.empty() || layout.address == kHdf5Nowhere) return;
  switch (layout.index) {
    case Hdf5Layout::Index::kSingle:
      list.chunks.at(0) = {layout.address, list.is_filtered ? layout.bytes : list.chunk_bytes, layout.skipped_filters};
      return;
    case Hdf5Layout::Index::kImplicit:
      for (uint64_t i = 0; i < list.chunks.size(); ++i)
        list.chunks[i] = {layout.address + i * list.step * list.chunk_bytes, list.chunk_bytes};
      return;
    case Hdf5Layout::Index::kFixedArray:
      return read_hdf5_fixed_array(layout.address, list);
    case Hdf5Layout::Index::kExtensibleArray:
      return read_hdf5_extensible_array(layout.address, list);
    case Hdf5Layout::Index::kTree:
      return ChunkTree(list, layout, extent.axis).read_first();
    case Hdf5Layout::Index::kSecondTree:
      return ChunkTree(list, layout, extent.axis).read_second();
  }
}

// How far apart two neighbours of the row are where all chunks that there may ever be are counted. The last dimension
// is the fastest; in an extensible array the one without a limit is the slowest. Nothing where that is too far.
std::optional<uint64_t> step_of(const Hdf5Layout& layout, const Hdf5Extent& extent) {
  constexpr uint64_t kFarthest = uint64_t{1} << 16;
  using Index = Hdf5Layout::Index;
  if (layout.index == Index::kTree || layout.index == Index::kSecondTree) return 1;
  const auto is_slowest = [&](size_t dimension) {
    return layout.index == Index::kExtensibleArray && extent.most[dimension] == kHdf5Unlimited;
  };
  uint64_t step = 1;
  for (size_t dimension = 0; dimension < extent.most.size(); ++dimension) {
    const bool is_faster = is_slowest(extent.axis) || (dimension > extent.axis && !is_slowest(dimension));
    if (dimension == extent.axis || !is_faster) continue;
    const uint64_t chunks = (std::max<uint64_t>(extent.most[dimension], 1) - 1) / layout.chunk[dimension] + 1;
    if (chunks > kFarthest / step) return std::nullopt;
    step *= chunks;
  }
  return step;
}

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

std::vector<Hdf5Chunk> read_hdf5_chunks(const Hdf5Object& dataset, const Hdf5Layout& layout, const Hdf5Extent& extent,
                                        uint64_t element_bytes, bool is_filtered) {
  const Hdf5Bytes& file = dataset.file();
  const uint64_t elements = extent.elements();
  const uint64_t along = layout.chunk[extent.axis];
  const uint64_t chunks = elements / along + (elements % along != 0 ? 1 : 0);
  const uint64_t chunk_bytes = layout.chunk_elements() * element_bytes;
  const bool is_single = layout.index == Hdf5Layout::Index::kSingle;
  if (chunks > file.size() / kHdf5AddressBytes || chunks > kMostChunks || elements > file.size() * kBestPacking ||
      (is_single && chunks != 1))
    file.fail("{}: {} elements in {} chunks do not fit in a file of {} bytes", dataset.name(), elements, chunks,
              file.size());
  const std::optional<uint64_t> step = step_of(layout, extent);
  if (!step)
    file.fail("{}: is one row of a dataset that may grow too broad for its index, which is not read", dataset.name());
  Hdf5ChunkList list{file, dataset.name(), is_filtered, chunk_bytes, *step, std::vector<Hdf5Chunk>(chunks)};
  find_chunks(layout, extent, list);
  uint64_t sum = 0;
  for (uint64_t i = 0; i < list.chunks.size(); ++i) {
    check_chunk(dataset, list.chunks[i], i, chunk_bytes);
    sum += list.chunks[i].bytes;
  }
  if (sum > file.size())
    file.fail("{}: chunks of {} bytes in a file of {}: some lie over others", dataset.name(), sum, file.size());
  return std::move(list.chunks);
}

}  // namespace segue

#include "data_pipeline/hdf5/layout.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>
#include <utility>

namespace segue {

namespace {

// More than other programs choose of themselves (h5py: 1 MiB), and little enough to be held in memory.
constexpr uint64_t kLargestChunk = uint64_t{16} << 20;

enum LayoutClass : uint64_t { kCompactClass = 0, kContiguousClass = 1, kChunkedClass = 2, kVirtualClass = 3 };

// Takes the extents of a chunk, and the size of an element, which stands for one more dimension.
std::vector<uint64_t> read_chunk_extents(Hdf5Cursor& cursor, uint64_t stated_ranks, uint64_t rank,
                                         uint64_t number_bytes, uint64_t element_bytes) {
  const Hdf5Bytes& file = cursor.file();
  if (stated_ranks != rank + 1)
    file.fail("{}: expected chunks of {} dimension{}, found {}", cursor.what(), rank, rank == 1 ? "" : "s",
              stated_ranks == 0 ? 0 : stated_ranks - 1);
  std::vector<uint64_t> chunk(rank);
  for (uint64_t& extent : chunk) extent = cursor.number(number_bytes);
  if (const uint64_t stated_bytes = cursor.number(number_bytes); stated_bytes != element_bytes)
    file.fail("{}: chunks of elements of {} bytes, expected {}", cursor.what(), stated_bytes, element_bytes);
  uint64_t elements = 1;
  for (const uint64_t extent : chunk) {
    if (extent == 0 || extent > kLargestChunk / element_bytes / elements)
      file.fail("{}: expected chunks of at most {} bytes, found {} elements of {} bytes", cursor.what(), kLargestChunk,
                fmt::join(chunk, " x "), element_bytes);
    elements *= extent;
  }
  return chunk;
}

void read_chunked_before_v110(Hdf5Cursor cursor, uint64_t rank, uint64_t element_bytes, Hdf5Layout& layout) {
  layout.kind = Hdf5Layout::Kind::kChunked;
  const uint64_t ranks = cursor.number(1);
  layout.address = cursor.number(8);
  layout.chunk = read_chunk_extents(cursor, ranks, rank, 4, element_bytes);
}

// Versions 4 and 5, which differ in how indices note sizes: the indices themselves say it too.
void read_chunked(Hdf5Cursor cursor, uint64_t rank, uint64_t element_bytes, Hdf5Layout& layout) {
  constexpr uint64_t kUnfilteredEdgeFlag = 0x01;
  constexpr uint64_t kFilteredFlag = 0x02;
  enum IndexKind : uint64_t { kSingle = 1, kImplicit = 2, kFixedArray = 3, kExtensibleArray = 4, kSecondTree = 5 };
  layout.kind = Hdf5Layout::Kind::kChunked;
  const uint64_t flags = cursor.number(1);
  if ((flags & kUnfilteredEdgeFlag) != 0)
    cursor.file().fail("{}: leaves its last chunk without filters, which is not read", cursor.what());
  const uint64_t ranks = cursor.number(1);
  const uint64_t number_bytes = cursor.number(1);
  if (number_bytes < 1 || number_bytes > 8)
    cursor.file().fail("{}: chunk sizes of {} bytes, expected 1 to 8", cursor.what(), number_bytes);
  layout.chunk = read_chunk_extents(cursor, ranks, rank, number_bytes, element_bytes);
  const uint64_t index = cursor.number(1);
  if (index == kSingle) {
    layout.index = Hdf5Layout::Index::kSingle;
    if ((flags & kFilteredFlag) != 0) {
      layout.bytes = cursor.number(8);
      layout.skipped_filters = cursor.number(4);
    }
  } else if (index == kImplicit) {
    layout.index = Hdf5Layout::Index::kImplicit;
  } else if (index == kFixedArray) {
    layout.index = Hdf5Layout::Index::kFixedArray;
    cursor.skip(1);  // how it is divided, which the index says too
  } else if (index == kExtensibleArray) {
    layout.index = Hdf5Layout::Index::kExtensibleArray;
    cursor.skip(5);
  } else if (index == kSecondTree) {
    layout.index = Hdf5Layout::Index::kSecondTree;
    cursor.skip(6);
  } else {
    cursor.file().fail("{}: expected an index of chunks of kind 1 to 5, found {}", cursor.what(), index);
  }
  layout.address = cursor.number(8);
}

}  // namespace

uint64_t Hdf5Layout::chunk_elements() const {
  return std::accumulate(chunk.begin(), chunk.end(), uint64_t{1}, std::multiplies<>());
}

Hdf5Layout read_hdf5_layout(const Hdf5Object& dataset, const Hdf5Extent& extent, uint64_t element_bytes) {
  constexpr uint64_t kOldest = 3;
  constexpr uint64_t kNewest = 5;
  const Hdf5Bytes& file = dataset.file();
  if (!dataset.all(Hdf5Kind::kExternalFiles).empty())
    file.fail("{}: expected elements in this file, found external files, which are not read", dataset.name());
  Hdf5Cursor cursor(file, dataset.need(Hdf5Kind::kLayout, "layout").body, dataset.name());
  const uint64_t version = cursor.number(1);
  if (version < kOldest || version > kNewest)
    file.fail("{}: layout: expected version {} to {}, found {}", dataset.name(), kOldest, kNewest, version);
  const uint64_t kind = cursor.number(1);
  Hdf5Layout layout;
  if (kind == kCompactClass) {
    const std::span<const std::byte> values = cursor.block(cursor.number(2));
    layout.values.assign(values.begin(), values.end());
  } else if (kind == kContiguousClass) {
    layout.kind = Hdf5Layout::Kind::kContiguous;
    layout.address = cursor.number(8);
    layout.bytes = cursor.number(8);
  } else if (kind == kVirtualClass) {
    file.fail("{}: expected elements in this file, found a virtual dataset, which is not read", dataset.name());
  } else if (kind != kChunkedClass) {
    file.fail("{}: layout: expected kind 0 to 2, found {}", dataset.name(), kind);
  } else {
    const uint64_t rank = extent.extents.size();
    version == kOldest ? read_chunked_before_v110(cursor, rank, element_bytes, layout)
                       : read_chunked(cursor, rank, element_bytes, layout);
  }
  return layout;
}

namespace {

// Of those that are registered with the HDF Group, what files of numbers are packed with.
std::string_view name_of_filter(uint64_t kind) {
  static constexpr std::pair<uint64_t, std::string_view> kNames[] = {
      {4, " (szip)"},    {5, " (nbit)"},      {6, " (scaleoffset)"}, {307, " (bzip2)"},
      {32000, " (lzf)"}, {32001, " (blosc)"}, {32004, " (lz4)"},     {32008, " (bitshuffle)"},
      {32013, " (zfp)"}, {32015, " (zstd)"},  {32026, " (blosc2)"}};
  for (const auto& [known, name] : kNames)
    if (known == kind) return name;
  return "";
}

}  // namespace

std::vector<Hdf5Filter> read_hdf5_filters(const Hdf5Object& dataset) {
  constexpr uint64_t kFirstNamed = 256;
  const Hdf5Message* const message = dataset.find(Hdf5Kind::kFilters);
  if (message == nullptr) return {};
  Hdf5Cursor cursor(dataset.file(), message->body, dataset.name());
  const uint64_t version = cursor.number(1);
  if (version != 1 && version != 2)
    dataset.file().fail("{}: filters: expected version 1 or 2, found {}", dataset.name(), version);
  const uint64_t count = cursor.number(1);
  if (version == 1) cursor.skip(6);
  std::vector<Hdf5Filter> filters;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t kind = cursor.number(2);
    const uint64_t name_bytes = version == 1 || kind >= kFirstNamed ? cursor.number(2) : 0;
    cursor.skip(2);
    const uint64_t values = cursor.number(2);
    cursor.skip(name_bytes + 4 * (version == 1 ? (values + 1) / 2 * 2 : values));
    const auto filter = static_cast<Hdf5Filter>(kind);
    const bool is_known = kind >= 1 && kind <= 3;
    if (!is_known || std::ranges::find(filters, filter) != filters.end())
      dataset.file().fail(
          "{}: expected the filters deflate, shuffle and fletcher32, each at most once, found filter {}{}; h5repack -f "
          "GZIP=4 writes such a file anew",
          dataset.name(), kind, name_of_filter(kind));
    filters.push_back(filter);
  }
  return filters;
}

}  // namespace segue

// Where the elements of an HDF5 dataset lie, and how their chunks are packed.
#pragma once

#include <cstdint>
#include <vector>

#include "data_pipeline/hdf5/object.h"

namespace segue {

// A dataset of one row: its extents are 1 but for one of them, the axis. Section IV.A.2.b.
struct Hdf5Extent {
  std::vector<uint64_t> extents;
  std::vector<uint64_t> most;  // what the dataset may grow to; kHdf5Unlimited without a limit
  size_t axis = 0;
  uint64_t elements() const { return extents[axis]; }
};
inline constexpr uint64_t kHdf5Unlimited = ~uint64_t{0};

// Refuses a dataset of more than one row.
Hdf5Extent read_hdf5_extent(const Hdf5Object& dataset);

// Section IV.A.2.i.
struct Hdf5Layout {
  enum class Kind : uint8_t { kCompact, kContiguous, kChunked };
  enum class Index : uint8_t { kTree, kSingle, kImplicit, kFixedArray, kExtensibleArray, kSecondTree };
  Kind kind = Kind::kCompact;
  std::vector<std::byte> values;  // of a compact one
  uint64_t address = 0;           // of the elements, the only chunk, or the index
  uint64_t bytes = 0;             // of the elements, or of the only chunk where it is filtered
  uint64_t skipped_filters = 0;   // of the only chunk
  Index index = Index::kTree;
  std::vector<uint64_t> chunk;  // extents of a chunk

  // Elements of a chunk, of the row and of what lies beside it in chunks that are broader than the row.
  uint64_t chunk_elements() const;
};

// Refuses virtual datasets, external files, and chunks of another number of dimensions or of unreasonable size.
Hdf5Layout read_hdf5_layout(const Hdf5Object& dataset, const Hdf5Extent& extent, uint64_t element_bytes);

enum class Hdf5Filter : uint64_t { kDeflate = 1, kShuffle = 2, kFletcher32 = 3 };

// In the order in which they were applied when writing. Refuses others. Section IV.A.2.l.
std::vector<Hdf5Filter> read_hdf5_filters(const Hdf5Object& dataset);

struct Hdf5Chunk {
  uint64_t address = kHdf5Nowhere;
  uint64_t bytes = 0;            // in the file
  uint64_t skipped_filters = 0;  // a bit each
};

// Every chunk of a chunked dataset in the order of its row, all inside the file. Refuses a dataset of which some are
// missing, and chunks that are smaller than what they are said to hold could be packed to. Section III.A, VII.
std::vector<Hdf5Chunk> read_hdf5_chunks(const Hdf5Object& dataset, const Hdf5Layout& layout, const Hdf5Extent& extent,
                                        uint64_t element_bytes, bool is_filtered);

// A chunk's bytes as they were before the filters: `wanted` of them, otherwise it is refused. `what` names the chunk in
// messages.
std::vector<std::byte> unpack_hdf5_chunk(const Hdf5Bytes& file, const Hdf5Chunk& chunk,
                                         const std::vector<Hdf5Filter>& filters, uint64_t element_bytes,
                                         uint64_t wanted, std::string_view what);

}  // namespace segue

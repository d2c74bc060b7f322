// Where the elements of an HDF5 dataset lie, and how their chunks are packed.
#pragma once

#include <cstdint>
#include <vector>

#include "data_pipeline/hdf5/object.h"

namespace segue {

// Section IV.A.2.i. Every dataset is one-dimensional.
struct Hdf5Layout {
  enum class Kind : uint8_t { kCompact, kContiguous, kChunked };
  enum class Index : uint8_t { kTree, kSingle, kImplicit, kFixedArray };
  Kind kind = Kind::kCompact;
  std::vector<std::byte> values;  // of a compact one
  uint64_t address = 0;           // of the elements, the only chunk, or the index
  uint64_t bytes = 0;             // of the elements, or of the only chunk where it is filtered
  uint64_t skipped_filters = 0;   // of the only chunk
  Index index = Index::kTree;
  uint64_t chunk_elements = 0;
};

// Refuses virtual datasets, external files, and chunks of more than one dimension or unreasonable size.
Hdf5Layout read_hdf5_layout(const Hdf5Object& dataset, uint64_t element_bytes);

enum class Hdf5Filter : uint64_t { kDeflate = 1, kShuffle = 2, kFletcher32 = 3 };

// In the order in which they were applied when writing. Refuses others. Section IV.A.2.l.
std::vector<Hdf5Filter> read_hdf5_filters(const Hdf5Object& dataset);

struct Hdf5Chunk {
  uint64_t address = kHdf5Nowhere;
  uint64_t bytes = 0;            // in the file
  uint64_t skipped_filters = 0;  // a bit each
};

// Every chunk of a chunked dataset, all inside the file. Refuses a dataset of which some are missing, and chunks that
// are smaller than what they are said to hold could be packed to. Section III.A, VII.
std::vector<Hdf5Chunk> read_hdf5_chunks(const Hdf5Object& dataset, const Hdf5Layout& layout, uint64_t elements,
                                        uint64_t element_bytes, bool is_filtered);

// A chunk's bytes as they were before the filters: `wanted` of them, otherwise it is refused. `what` names the chunk in
// messages.
std::vector<std::byte> unpack_hdf5_chunk(const Hdf5Bytes& file, const Hdf5Chunk& chunk,
                                         const std::vector<Hdf5Filter>& filters, uint64_t element_bytes,
                                         uint64_t wanted, std::string_view what);

}  // namespace segue

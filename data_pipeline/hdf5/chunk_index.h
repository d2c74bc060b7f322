// The indices of chunks that HDF5 1.10 added: arrays and trees of entries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data_pipeline/hdf5/layout.h"

namespace segue {

inline constexpr uint64_t kHdf5MaskBytes = 4;  // of the filters that a chunk has not passed

// The chunks of one row, found by an index that counts all chunks that the dataset may ever have.
struct Hdf5ChunkList {
  const Hdf5Bytes& file;
  const std::string& name;  // of the dataset, for messages
  bool is_filtered;
  uint64_t chunk_bytes;           // of one before the filters
  uint64_t step;                  // from a chunk of the row to the next one, among all
  std::vector<Hdf5Chunk> chunks;  // of the row; those not found are nowhere

  // Entries of the index up to the last one that the row needs.
  uint64_t needed() const { return chunks.empty() ? 0 : (chunks.size() - 1) * step + 1; }
  [[noreturn]] void fail_damaged() const { file.fail("{}: its index of chunks is damaged", name); }

  // Whether an entry of an array may take so many bytes: an address and, of chunks with filters, size and mask.
  bool can_take(uint64_t entry_bytes) const;
  // The entries [first, first + count) of an array.
  void take(Hdf5Cursor cursor, uint64_t first, uint64_t count, uint64_t entry_bytes);
};

// Section VII.C.
void read_hdf5_fixed_array(uint64_t address, Hdf5ChunkList& list);

// Section VII.D.
void read_hdf5_extensible_array(uint64_t address, Hdf5ChunkList& list);

}  // namespace segue

// The format of one shard file: the names that its writer and its reader share.
//
// A shard is an HDF5 file with one dataset, `tokens`: one-dimensional, little-endian, chunked, each chunk under a
// Fletcher32 checksum and deflated if so asked. Three attributes of the dataset tell it from other files and from
// other shards: `format`, `split`, `index`.
#pragma once

#include <cstdint>
#include <string>

#include "data_pipeline/hdf5_handle.h"
#include "data_pipeline/token_type.h"

namespace segue {

constexpr const char* kShardDataset = "tokens";
constexpr const char* kShardFormat = "segue-shard-1";

// Small enough that many streams keep their chunks in memory, large enough that a chunk's overhead vanishes.
constexpr int64_t kChunkTokens = 32768;

struct ShardIdentity {
  std::string split;
  int64_t index = 0;  // among the shards of its split
  TokenType type = TokenType::kUInt8;
  int64_t tokens = 0;
};

// HDF5's name for the type, on disk and (Segue runs on little-endian machines only) in memory.
hid_t hdf5_type(TokenType type);

// A one-dimensional extent, of which [offset, offset + count) is selected.
Hdf5Handle hdf5_selection(int64_t extent, int64_t offset, int64_t count);

}  // namespace segue

// Mutated shards: the tokens that are asked for, or a DataError in one printable line.
#include <algorithm>
#include <vector>

#include "data_pipeline/shard_reader.h"
#include "tests/fuzz/demand.h"

namespace {

constexpr int64_t kTokens = 40;  // of the seeds

void try_shard(std::span<const std::byte> bytes, segue::TokenType type) {
  try {
    segue::ShardReader reader(segue::Hdf5Bytes("fuzz", bytes), {"train", 0, type, kTokens});
    std::vector<int32_t> tokens(kTokens, -1);
    reader.read(0, tokens);
    segue::demand(std::all_of(tokens.begin(), tokens.end(), [](int32_t token) { return token >= 0; }));
    std::vector<int32_t> part(7);
    reader.read(11, part);
    segue::demand(std::equal(part.begin(), part.end(), tokens.begin() + 11));
  } catch (const segue::DataError& error) {
    segue::demand_message(error.what());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try_shard(bytes, segue::TokenType::kUInt16);
  try_shard(bytes, segue::TokenType::kUInt32);
  return 0;
}

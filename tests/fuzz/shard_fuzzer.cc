// Mutated shards: the tokens that are asked for, or a DataError in one printable line.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "data_pipeline/shard_reader.h"
#include "tests/fuzz/hdf5_seals.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace {

constexpr int64_t kTokens = 40;  // of the seeds

void demand(bool condition) {
  if (!condition) std::abort();
}

void try_shard(std::span<const std::byte> bytes, segue::TokenType type) {
  try {
    segue::ShardReader reader(segue::Hdf5Bytes("fuzz", bytes), {"train", 0, type, kTokens});
    std::vector<int32_t> tokens(kTokens, -1);
    reader.read(0, tokens);
    demand(std::all_of(tokens.begin(), tokens.end(), [](int32_t token) { return token >= 0; }));
    std::vector<int32_t> part(7);
    reader.read(11, part);
    demand(std::equal(part.begin(), part.end(), tokens.begin() + 11));
  } catch (const segue::DataError& error) {
    const std::string_view message = error.what();
    demand(message.starts_with("fuzz: "));
    demand(std::all_of(message.begin(), message.end(), [](char c) { return c >= 0x20 && c <= 0x7e; }));
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned int seed) {
  const size_t mutated = LLVMFuzzerMutate(data, size, most);
  if (seed % 8 != 0) segue::Hdf5Seals({data, mutated}).mend();
  return mutated;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try_shard(bytes, segue::TokenType::kUInt16);
  try_shard(bytes, segue::TokenType::kUInt32);
  return 0;
}

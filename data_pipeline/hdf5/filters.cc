// Undoes what HDF5's own filters do to a chunk.
#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "data_pipeline/hdf5/layout.h"

namespace segue {

namespace {

constexpr uint64_t kSumBytes = 4;

// Fletcher's checksum over pairs of bytes, as HDF5 computes it.
uint32_t fletcher32(std::span<const std::byte> bytes) {
  constexpr size_t kPairsWithoutCarry = 360;
  uint32_t first = 0;
  uint32_t second = 0;
  const auto carry = [](uint32_t sum) { return (sum & 0xffff) + (sum >> 16); };
  while (bytes.size() > 1) {
    const size_t pairs = std::min(bytes.size() / 2, kPairsWithoutCarry);
    for (size_t i = 0; i < pairs; ++i) {
      first += std::to_integer<uint32_t>(bytes[2 * i]) << 8 | std::to_integer<uint32_t>(bytes[2 * i + 1]);
      second += first;
    }
    first = carry(first);
    second = carry(second);
    bytes = bytes.subspan(2 * pairs);
  }
  if (!bytes.empty()) {
    first = carry(first + (std::to_integer<uint32_t>(bytes[0]) << 8));
    second = carry(second + first);
  }
  return carry(second) << 16 | carry(first);
}

void take_sum(const Hdf5Bytes& file, std::string_view what, std::vector<std::byte>& bytes) {
  uint32_t found = 0;
  if (bytes.size() < kSumBytes) file.fail("{}: damaged: too short for a checksum", what);
  std::memcpy(&found, bytes.data() + bytes.size() - kSumBytes, kSumBytes);
  bytes.resize(bytes.size() - kSumBytes);
  if (found != fletcher32(bytes)) file.fail("{}: damaged: wrong checksum", what);
}

void inflate_bytes(const Hdf5Bytes& file, std::string_view what, std::vector<std::byte>& bytes, uint64_t most) {
  std::vector<std::byte> whole(most);
  uLongf length = whole.size();
  const int result = ::uncompress(reinterpret_cast<Bytef*>(whole.data()), &length,
                                  reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  if (result != Z_OK) file.fail("{}: damaged: cannot be inflated to at most {} bytes", what, most);
  whole.resize(length);
  bytes = std::move(whole);
}

// First bytes of all elements, second bytes of all elements, ...; what is no whole element stays at the end.
void unshuffle(std::vector<std::byte>& bytes, uint64_t element_bytes) {
  const uint64_t elements = bytes.size() / element_bytes;
  std::vector<std::byte> whole = bytes;
  for (uint64_t b = 0; b < element_bytes; ++b)
    for (uint64_t i = 0; i < elements; ++i) whole[i * element_bytes + b] = bytes[b * elements + i];
  bytes = std::move(whole);
}

}  // namespace

std::vector<std::byte> unpack_hdf5_chunk(const Hdf5Bytes& file, const Hdf5Chunk& chunk,
                                         const std::vector<Hdf5Filter>& filters, uint64_t element_bytes,
                                         uint64_t wanted, std::string_view what) {
  std::vector<std::byte> bytes(chunk.bytes);
  file.read(chunk.address, bytes, what);
  for (size_t i = filters.size(); i-- > 0;) {
    if ((chunk.skipped_filters >> i & 1) != 0) continue;
    if (filters[i] == Hdf5Filter::kFletcher32) take_sum(file, what, bytes);
    if (filters[i] == Hdf5Filter::kDeflate) inflate_bytes(file, what, bytes, wanted + kSumBytes);
    if (filters[i] == Hdf5Filter::kShuffle) unshuffle(bytes, element_bytes);
  }
  if (bytes.size() != wanted) file.fail("{}: damaged: expected {} bytes, found {}", what, wanted, bytes.size());
  return bytes;
}

}  // namespace segue

// Mutated weight files: views inside the file and aligned, tiling the data, or a CheckpointError in one line.
// Every input is tried twice: as a whole file, and as a header up to the first line's end with the data after it, whose
// length is then stated truthfully; otherwise mutation would hardly get past the length.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "core/checkpoint/safetensors.h"
#include "tests/fuzz/demand.h"

namespace {

// Reads every byte, so that AddressSanitizer sees every view.
uint64_t sum_of(segue::ConstTensorView view) {
  segue::demand(view.empty() ||
                reinterpret_cast<uintptr_t>(view.data) % static_cast<uintptr_t>(bytes_of(view.dtype)) == 0);
  return std::accumulate(view.data, view.data + view.bytes(), uint64_t{0},
                         [](uint64_t sum, std::byte byte) { return sum + std::to_integer<uint64_t>(byte); });
}

void try_file(std::span<const std::byte> bytes) {
  try {
    const segue::SafetensorsFile file("fuzz", bytes);
    uint64_t header_length = 0;
    std::memcpy(&header_length, bytes.data(), sizeof header_length);
    const auto data = bytes.subspan(sizeof header_length + header_length);
    uint64_t sum = 0;
    for (const std::string& name : file.names()) sum += sum_of(file.tensor(name));
    segue::demand(sum == sum_of(segue::view_of(reinterpret_cast<const uint8_t*>(data.data()),
                                               {static_cast<int64_t>(data.size())})));
  } catch (const segue::CheckpointError& error) {
    segue::demand_message(error.what());
  }
}

std::string with_length(std::string_view input) {
  const std::string_view header = input.substr(0, input.find('\n'));
  const std::string_view data = input.substr(std::min(header.size() + 1, input.size()));
  const uint64_t length = header.size();
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  return file.append(header).append(data);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span input(data, size);
  try_file(std::as_bytes(input));
  const std::string file = with_length({reinterpret_cast<const char*>(data), size});
  try_file(std::as_bytes(std::span(file)));
  return 0;
}

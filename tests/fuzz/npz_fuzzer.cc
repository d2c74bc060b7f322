// Mutated .npz archives, and the headers of their arrays: arrays of the stated size, or a CheckpointError in one line.
// Every input is tried as an archive and as the beginning of one array, since mutation hardly gets through a checksum.
#include <numeric>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "core/convert/npz_file.h"
#include "tests/fuzz/demand.h"

namespace {

constexpr int64_t kMostElements = 1 << 17;

void read_array(const segue::NpzFile& file, const std::string& name) {
  const segue::HostTensor read = file.read(name);
  const segue::ConstTensorView view = read.view();
  segue::demand(view.shape == file.shape(name));
  volatile uint64_t sum = std::accumulate(view.data, view.data + view.bytes(), uint64_t{0},
                                          [](uint64_t s, std::byte b) { return s + std::to_integer<uint64_t>(b); });
  static_cast<void>(sum);
}

void try_archive(std::span<const std::byte> bytes) {
  try {
    const segue::NpzFile file("fuzz", bytes);
    for (const std::string& name : file.names()) {
      if (file.shape(name).elements() <= kMostElements) read_array(file, name);
    }
  } catch (const segue::CheckpointError& error) {
    segue::demand_message(error.what());
  }
}

void try_header(std::span<const std::byte> bytes) {
  try {
    const segue::NpyHeader header = segue::read_npy_header(bytes, "fuzz");
    segue::demand(header.bytes > 0 && header.bytes <= std::ssize(bytes));
  } catch (const segue::CheckpointError& error) {
    segue::demand_message(error.what());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try_archive(bytes);
  try_header(bytes);
  return 0;
}

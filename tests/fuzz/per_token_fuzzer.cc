// Mutated files of losses: as many losses as targets, none infinite, or a DataError in one printable line.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "core/evaluation/per_token_file.h"
#include "tests/fuzz/hdf5_seals.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace {

void demand(bool condition) {
  if (!condition) std::abort();
}

bool is_one_line(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned int seed) {
  const size_t mutated = LLVMFuzzerMutate(data, size, most);
  if (seed % 8 != 0) segue::Hdf5Seals({data, mutated}).mend();
  return mutated;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const segue::Hdf5Bytes file("fuzz", std::as_bytes(std::span(data, size)));
    const segue::PerTokenLosses losses = segue::read_per_token_file(file);
    demand(losses.nll.size() == losses.targets.size());
    demand(std::none_of(losses.nll.begin(), losses.nll.end(), [](float nll) { return std::isinf(nll); }));
    demand(is_one_line(losses.info.dataset) && is_one_line(losses.info.unit));
  } catch (const segue::DataError& error) {
    const std::string_view message = error.what();
    demand(message.starts_with("fuzz: ") && is_one_line(message));
  }
  return 0;
}

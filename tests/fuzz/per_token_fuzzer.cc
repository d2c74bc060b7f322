// Mutated files of losses: as many losses as targets, none infinite, or a DataError in one printable line.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "core/evaluation/per_token_file.h"
#include "tests/fuzz/demand.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const segue::Hdf5Bytes file("fuzz", std::as_bytes(std::span(data, size)));
    const segue::PerTokenLosses losses = segue::read_per_token_file(file);
    segue::demand(losses.nll.size() == losses.targets.size());
    segue::demand(std::none_of(losses.nll.begin(), losses.nll.end(), [](float nll) { return std::isinf(nll); }));
    segue::demand_one_line(losses.info.dataset);
    segue::demand_one_line(losses.info.unit);
  } catch (const segue::DataError& error) {
    segue::demand_message(error.what());
  }
  return 0;
}

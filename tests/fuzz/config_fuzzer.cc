// Mutated configs and overrides: whatever the text, a config that survives a round trip or a ConfigError in one line.
// The first byte decides: 's' is followed by an override, as after --set; anything else by the text of a file.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/error.h"
#include "core/config/config.h"
#include "tests/fuzz/demand.h"

namespace {

void try_override(const std::string& text) {
  const std::string overrides[] = {text};
  try {
    segue::parse_config(R"({"data": {"path": "d"}})", "fuzz", overrides);
  } catch (const segue::ConfigError& error) {
    segue::demand_message(error.what(), error.what()[0] == '-' ? "--set " : "fuzz: ");
  }
}

void try_file(std::string_view text) {
  try {
    const segue::Config config = segue::parse_config(text, "fuzz");
    const std::string written = segue::to_json(config).dump(-1, ' ', true);
    segue::demand(segue::to_json(segue::parse_config(written, "fuzz")).dump(-1, ' ', true) == written);
  } catch (const segue::ConfigError& error) {
    segue::demand_message(error.what(), "fuzz: ");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 's')
    try_override(text);
  else
    try_file(text);
  return 0;
}

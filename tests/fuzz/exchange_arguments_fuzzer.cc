// Mutated arguments of other programs' models: a model whose every tensor has a name there, and whose arguments survive
// a round trip where they can be written, or a ConfigError in one line. The first byte chooses the program.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"
#include "core/exchange/arguments.h"
#include "core/exchange/tensor_names.h"

namespace {

void demand(bool condition) {
  if (!condition) std::abort();
}

bool is_one_line(std::string_view message) {
  return std::all_of(message.begin(), message.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
}

bool is_exportable(segue::ExchangeFormat format, const segue::ModelConfig& model) {
  try {
    segue::check_exportable(format, model);
    return true;
  } catch (const segue::ConfigError& error) {
    demand(is_one_line(error.what()));
    return false;
  }
}

void try_arguments(segue::ExchangeFormat format, std::string_view text) {
  try {
    const segue::ForeignArguments arguments = segue::parse_arguments(format, text, "fuzz");
    for (const std::string& note : arguments.notes) demand(is_one_line(note));
    for (const segue::ForeignTensor& tensor : segue::foreign_tensors(format, arguments.model, arguments.vocab_size))
      demand(!tensor.names.empty());
    for (const auto written : {segue::ExchangeFormat::kTransformerXl, segue::ExchangeFormat::kHuggingFace}) {
      if (!is_exportable(written, arguments.model)) continue;
      const std::string once = segue::arguments_text(written, arguments);
      demand(segue::arguments_text(written, segue::parse_arguments(written, once, "again")) == once);
    }
  } catch (const segue::ConfigError& error) {
    const std::string_view message = error.what();
    demand(message.starts_with("fuzz: ") && is_one_line(message));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto formats = choices_of(segue::ExchangeFormat{}).size();
  try_arguments(static_cast<segue::ExchangeFormat>(data[0] % formats),
                {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}

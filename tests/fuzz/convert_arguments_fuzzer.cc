// Mutated arguments of other programs' models: a model whose every tensor has a name there, and whose arguments survive
// a round trip where they can be written, or a ConfigError in one line. The first byte chooses the program.
#include <string>
#include <string_view>

#include "base/error.h"
#include "core/convert/arguments.h"
#include "core/convert/tensor_names.h"
#include "tests/fuzz/demand.h"

namespace {

bool is_exportable(segue::WeightFormat format, const segue::ModelConfig& model) {
  try {
    segue::check_exportable(format, model);
    return true;
  } catch (const segue::ConfigError& error) {
    segue::demand_one_line(error.what());
    return false;
  }
}

void try_arguments(segue::WeightFormat format, std::string_view text) {
  try {
    const segue::ForeignArguments arguments = segue::parse_arguments(format, text, "fuzz");
    for (const std::string& note : arguments.notes) segue::demand_one_line(note);
    for (const segue::ForeignTensor& tensor : segue::foreign_tensors(format, arguments.model, arguments.vocab_size))
      segue::demand(!tensor.names.empty());
    for (const auto written : {segue::WeightFormat::kTransformerXl, segue::WeightFormat::kHuggingFace}) {
      if (!is_exportable(written, arguments.model)) continue;
      const std::string once = segue::arguments_text(written, arguments);
      segue::demand(segue::arguments_text(written, segue::parse_arguments(written, once, "again")) == once);
    }
  } catch (const segue::ConfigError& error) {
    segue::demand_message(error.what());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto formats = choices_of(segue::WeightFormat{}).size();
  try_arguments(static_cast<segue::WeightFormat>(data[0] % formats),
                {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}

#include "core/generate/options.h"

#include <cmath>
#include <utility>

#include "base/error.h"
#include "core/config/bounds.h"
#include "core/config/config.h"
#include "core/config/device_choice.h"

namespace segue {

namespace {

template <typename Options>
struct Described {
  Options options;
  void describe(JsonFields& fields) { describe_options(fields, options); }
};

template <typename Options>
void check(const Options& options) {
  check_fields<ConfigError>(Described<Options>{options}, "options");
}

void describe_lengths(JsonFields& fields, LengthOptions& lengths) {
  fields.optional("tgt_len", lengths.tgt_len,
                  {.meaning = "length of a segment. By default, the length of training is used",
                   .unit = "tokens",
                   .minimum = 1,
                   .maximum = kLongest});
  fields.optional("mem_len", lengths.mem_len,
                  {.meaning = "length of the memory. By default, the length of training is used",
                   .unit = "tokens",
                   .minimum = 0,
                   .maximum = kLongest});
  describe_use(fields, lengths.clamp_len, lengths.same_length, lengths.set);
}

}  // namespace

void describe_options(JsonFields& fields, SamplingOptions& options) {
  fields.optional(
      "temperature", options.temperature,
      {.meaning = "below 1: more certain, above 1: more varied; 0: always the most probable token", .minimum = 0});
  fields.optional("top_k", options.top_k,
                  {.meaning = "sample from this many most probable tokens; 0: all", .minimum = 0});
  fields.optional(
      "top_p", options.top_p,
      {.meaning = "sample from the fewest tokens that together have this probability", .above = 0, .maximum = 1});
  fields.optional("seed", options.seed,
                  {.meaning = "the same seed gives the same text", .minimum = 0, .maximum = kLargestSeed});
}

void describe_options(JsonFields& fields, GenerationOptions& options) {
  fields.optional("tokens", options.tokens, {.meaning = "largest number of tokens in a sample", .minimum = 1});
  fields.optional("samples", options.samples,
                  {.meaning = "number of samples, generated side by side", .minimum = 1, .maximum = kMostStreams});
  describe_options(fields, options.sampling);
  fields.optional("stop", options.stop, {.meaning = "end a sample before this string"});
}

void describe_options(JsonFields& fields, ModelOptions& options) {
  describe_lengths(fields, options.lengths);
  describe_compute(fields, options.device, options.precision, options.threads);
}

void check_options(const SamplingOptions& options) {
  for (const auto& [name, value] : {std::pair("temperature", options.temperature), std::pair("top_p", options.top_p)})
    if (!std::isfinite(value)) throw ConfigError("options: {}: expected a finite number, found {}", name, value);
  check(options);
}
void check_options(const GenerationOptions& options) {
  check_options(options.sampling);
  check(options);
}

void check_options(const ModelOptions& options) { check(options); }

}  // namespace segue

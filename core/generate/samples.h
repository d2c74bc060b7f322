// Samples that grow side by side from one prompt.
#pragma once

#include <segue/options.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/generate/generator.h"
#include "core/generate/sample_text.h"

namespace segue {

struct Sample {
  SampleText text;
  int64_t tokens = 0;  // until it stopped
};

struct Samples {
  std::vector<Sample> samples;
  int64_t steps = 0;
};

struct SampleObserver {
  std::function<void(int64_t sample, std::string_view text)> on_text = nullptr;  // as it comes, what was held back last
  std::function<void(int64_t steps)> on_step = nullptr;
};

// The generator has read the prompt. Samples that are stopped go on unseen until all are.
Samples grow_samples(Generator& generator, const Tokenizer& tokenizer, const std::string& prompt,
                     const GenerationOptions& options, const SampleObserver& observer = {});

}  // namespace segue

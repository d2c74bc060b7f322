#include "core/generate/samples.h"

#include <algorithm>

#include "core/generate/sampler.h"

namespace segue {

Samples grow_samples(Generator& generator, const Tokenizer& tokenizer, const std::string& prompt,
                     const GenerationOptions& options, const SampleObserver& observer) {
  Samples grown;
  for (int64_t b = 0; b < options.samples; ++b) grown.samples.push_back({SampleText(tokenizer, prompt, options.stop)});
  const auto show = [&](size_t b, std::string_view text) {
    if (observer.on_text) observer.on_text(static_cast<int64_t>(b), text);
  };
  const auto all_stopped = [&] {
    return std::all_of(grown.samples.begin(), grown.samples.end(),
                       [](const Sample& sample) { return sample.text.is_stopped(); });
  };
  Sampler sampler(options.sampling);
  std::vector<int32_t> chosen(grown.samples.size());
  while (grown.steps < options.tokens && !all_stopped()) {
    for (size_t b = 0; b < chosen.size(); ++b) {
      const auto number = static_cast<int64_t>(b);
      chosen[b] = sampler.choose(generator.next(number), number, grown.steps);
      Sample& sample = grown.samples[b];
      if (!sample.text.is_stopped()) ++sample.tokens;
      show(b, sample.text.add(chosen[b]));
    }
    ++grown.steps;
    if (observer.on_step) observer.on_step(grown.steps);
    if (grown.steps < options.tokens) generator.read_each(chosen);
  }
  for (size_t b = 0; b < chosen.size(); ++b) show(b, grown.samples[b].text.rest());
  return grown;
}

}  // namespace segue

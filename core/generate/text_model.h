// A checkpoint's model with its tokenizer, ready to read text: what `segue generate` and the library are made of.
#pragma once

#include <segue/error.h>
#include <segue/options.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/checkpoint/checkpoint.h"
#include "core/config/option_names.h"
#include "core/generate/generator.h"
#include "core/generate/length_overrides.h"
#include "core/generate/samples.h"
#include "core/generate/text_tokens.h"
#include "core/model/stored_model.h"
#include "data_pipeline/tokenizer/tokenizer.h"

namespace segue {

struct SourcedText {
  std::string text;
  std::string source;  // that errors name
  int64_t offset = 0;  // of the text there
};

class TextModel {
 public:
  // Throws CheckpointError, also when the checkpoint has no tokenizer; ConfigError naming the option, by `names`, or
  // `source` and the lengths that cannot go together; DeviceError.
  TextModel(const Checkpoint& checkpoint, const ModelOptions& options, std::string_view source, OptionNames names);

  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const Lengths& lengths() const { return lengths_; }
  const ModelConfig& config() const { return stored_.model; }
  Device device() const { return queue_.device(); }
  int threads() const { return queue_.threads(); }

  void enter_thread() { queue_.enter_thread(); }  // before another thread uses the model (kernels/queue.h)

  // At least one token; DataError naming what in the text is not in the vocabulary.
  std::vector<int32_t> encode(const SourcedText& text) const { return encode_with_bytes(text).tokens; }

  // As `encode`, of each; the context may be empty, and the text then begins the stream.
  TextTokens read(const SourcedText& context, const SourcedText& text) const;

  // In nats, of every token but those known; `progress` hears of how many tokens so far.
  std::vector<float> losses(const TextTokens& tokens, const std::function<void(int64_t)>& progress = nullptr);

  // The generator uses the model, and at most one does at a time.
  Generator make_generator(int64_t samples);

  // grow_samples() of such a generator.
  Samples grow(Generator& generator, const std::string& prompt, const GenerationOptions& options,
               const SampleObserver& observer = {});

 private:
  [[noreturn]] void diverge(const DivergedError& error, const std::string& where) const;
  EncodedText encode_with_bytes(const SourcedText& text) const;
  ModelInUse in_use() { return {model_, lengths_.use, parameters_, arena_, queue_}; }

  std::string checkpoint_;
  PrecisionKind precision_;
  StoredModel stored_;
  Lengths lengths_;
  std::unique_ptr<Tokenizer> tokenizer_;
  kernels::Queue queue_;
  Transformer model_;
  Parameters parameters_;
  Arena arena_;
};

}  // namespace segue

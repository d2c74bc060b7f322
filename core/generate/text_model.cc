#include "core/generate/text_model.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "core/config/device_choice.h"
#include "core/generate/surprisal.h"
#include "core/model/overflow_advice.h"
#include "core/model/stored_tokenizer.h"

namespace segue {

namespace {

// How many of a text's tokens are those of its context.
int64_t tokens_of_context(const std::vector<int32_t>& tokens, const std::vector<int32_t>& context) {
  return std::mismatch(context.begin(), context.end(), tokens.begin(), tokens.end()).first - context.begin();
}

DataError no_token_in(const SourcedText& text) {
  return DataError("{}: expected text of at least one token, found none", text.source);
}

// A masked model knows both sides of a token, and no distribution of what comes next.
StoredModel next_token_model(const Checkpoint& checkpoint) {
  StoredModel stored = read_model(checkpoint);
  if (stored.model.objective.is_masked())
    throw CheckpointError(
        R"({}: model.objective.kind: expected "next_token" to generate or score text, found "masked", )"
        "which predicts tokens from both sides; segue eval tells its loss",
        checkpoint.directory().string());
  return stored;
}

}  // namespace

TextModel::TextModel(const Checkpoint& checkpoint, const ModelOptions& options, std::string_view source,
                     OptionNames names)
    : checkpoint_(checkpoint.directory().string()),
      precision_(options.precision),
      stored_(next_token_model(checkpoint)),
      lengths_(lengths_of(stored_, options.lengths, source, names)),
      tokenizer_(read_tokenizer(checkpoint)),
      queue_(usable_device(options.device, option_name(names, "device")), static_cast<int>(options.threads)),
      model_(stored_.model, stored_.vocab_size),
      parameters_(model_.parameter_specs(), compute_of(stored_.model, options.precision, queue_.device())),
      arena_(queue_.device()) {
  if (tokenizer_ == nullptr)
    throw CheckpointError("{}: expected a tokenizer in the checkpoint, found none: text cannot be read or written{}",
                          checkpoint.directory().string(),
                          stored_.tokenizer.empty() ? "; segue import adds one with --data or --tokenizer" : "");
  read_weights(checkpoint, parameters_);
}

EncodedText TextModel::encode_with_bytes(const SourcedText& text) const {
  EncodedText encoded = tokenizer_->encode_with_bytes(text.text, text.source, text.offset);
  if (encoded.tokens.empty()) throw no_token_in(text);
  return encoded;
}

TextTokens TextModel::read(const SourcedText& context, const SourcedText& text) const {
  const std::vector<int32_t> before = context.text.empty() ? std::vector<int32_t>() : encode(context);
  if (!context.text.empty() && text.text.empty()) throw no_token_in(text);
  SourcedText both{context.text + text.text, text.source, text.offset - std::ssize(context.text)};
  EncodedText whole = encode_with_bytes(both);
  const int64_t begin = context.text.empty() ? 0 : tokens_of_context(whole.tokens, before);
  return {.source = text.source,
          .text = std::move(both.text),
          .tokens = std::move(whole.tokens),
          .bytes = std::move(whole.bytes),
          .begin = begin};
}

std::vector<float> TextModel::losses(const TextTokens& tokens, const std::function<void(int64_t)>& progress) try {
  return token_losses(in_use(), tokens.tokens, tokens.known(), lengths_.tgt_len, progress);
} catch (const DivergedError& error) {
  diverge(error, tokens.begin == 0
                     ? tokens.source
                     : fmt::format("{} behind a context of {} tokens", tokens.source, human_count(tokens.begin)));
}

Samples TextModel::grow(Generator& generator, const std::string& prompt, const GenerationOptions& options,
                        const SampleObserver& observer) try {
  return grow_samples(generator, *tokenizer_, prompt, options, observer);
} catch (const DivergedError& error) {
  diverge(error, "generating");
}

void TextModel::diverge(const DivergedError& error, const std::string& where) const {
  throw DivergedError("{}: {} with checkpoint {}: {}", where, error.what(), checkpoint_,
                      overflow_advice(stored_, lengths_.tgt_len, lengths_.use.mem_len, precision_));
}

Generator TextModel::make_generator(int64_t samples) { return {in_use(), samples, lengths_.tgt_len}; }

}  // namespace segue

// The library's model over what `segue generate` uses.
#include <segue/error.h>
#include <segue/language_model.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "base/cpu_quota.h"
#include "base/error.h"
#include "core/checkpoint/checkpoint_store.h"
#include "core/evaluation/loss_units.h"
#include "core/generate/options.h"
#include "core/generate/samples.h"
#include "core/generate/text_model.h"
#include "data_pipeline/text_file.h"
#include "kernels/thread_team.h"

namespace segue {

namespace {

// A model's queue sets how the calling thread's OpenMP regions run: this sets it back.
class CallersTeam {
 public:
  CallersTeam() = default;
  ~CallersTeam() { before_.enter(); }
  CallersTeam(const CallersTeam&) = delete;
  CallersTeam& operator=(const CallersTeam&) = delete;

 private:
  kernels::ThreadTeam before_ = kernels::ThreadTeam::current();
};

std::vector<ScoredToken> unscored_tokens(const Tokenizer& tokenizer, const TextTokens& read) {
  std::vector<ScoredToken> found;
  for (TokenText& token : texts_of_tokens(tokenizer, read))
    found.push_back({.text = std::move(token.added), .is_unknown = token.is_unknown});
  return found;
}

}  // namespace

class LoadedLanguageModel {
 public:
  LoadedLanguageModel(const std::filesystem::path& checkpoint, const ModelOptions& options)
      : LoadedLanguageModel(resolve_checkpoint(checkpoint), options) {}

  const std::vector<std::string>& warnings() const { return warnings_; }

  ScoredText score(const SourcedText& text, std::string_view context) {
    const CallersTeam callers;
    model_.enter_thread();
    const TextTokens read = model_.read({std::string(context), "context"}, text);
    const std::vector<float> losses = model_.losses(read);
    ScoredText scored{.tokens = unscored_tokens(model_.tokenizer(), read)};
    const size_t unscored = scored.tokens.size() - losses.size();
    for (size_t i = 0; i < losses.size(); ++i) {
      const auto nats = static_cast<double>(losses[i]);
      scored.tokens[unscored + i].nats = nats;
      scored.nats += nats;
    }
    const auto of_scored = std::span(read.bytes).last(losses.size());
    const MeanLoss loss =
        mean_loss(scored.nats, std::ssize(losses), std::reduce(of_scored.begin(), of_scored.end(), int64_t{0}));
    scored.bits_per_byte = bits_per_byte(loss);
    return scored;
  }

  ScoredText score_file(const std::filesystem::path& path, std::string_view context) {
    FileText file = read_text_file(path, {});
    ScoredText scored = score({std::move(file.text), path.string(), file.skipped}, context);
    scored.warnings = file.signs.warnings(model_.tokenizer().info().kind, TextUse::kReading);
    return scored;
  }

  std::vector<GeneratedText> generate(std::string_view prompt, const GenerationOptions& options) {
    check_options(options);
    const CallersTeam callers;
    model_.enter_thread();
    const SourcedText read{std::string(prompt), "prompt"};
    const std::vector<int32_t> tokens = model_.encode(read);
    Generator generator = model_.make_generator(options.samples);
    generator.read(tokens);
    std::vector<GeneratedText> texts;
    for (const Sample& sample : model_.grow(generator, read.text, options).samples)
      texts.push_back(
          {.text = std::string(sample.text.text()), .tokens = sample.tokens, .stopped = sample.text.is_stopped()});
    return texts;
  }

 private:
  LoadedLanguageModel(ResolvedCheckpoint resolved, const ModelOptions& options)
      : warnings_(std::move(resolved.complaints)),
        model_(resolved.checkpoint, options, resolved.checkpoint.directory().string(), OptionNames::kFields) {
    const std::string complaint = complaint_of_threads(model_.threads(), "threads", options.threads);
    if (!complaint.empty()) warnings_.push_back(complaint);
  }

  std::vector<std::string> warnings_;
  TextModel model_;
};

LanguageModel::LanguageModel(const std::filesystem::path& checkpoint, const ModelOptions& options)
    : loaded_(with_typed_errors([&] {
        const CallersTeam callers;
        check_options(options);
        return std::make_unique<LoadedLanguageModel>(checkpoint, options);
      })) {}

LanguageModel::~LanguageModel() = default;
LanguageModel::LanguageModel(LanguageModel&& other) noexcept = default;
LanguageModel& LanguageModel::operator=(LanguageModel&& other) noexcept = default;

const std::vector<std::string>& LanguageModel::warnings() const { return loaded_->warnings(); }

ScoredText LanguageModel::score(std::string_view text, std::string_view context) {
  return with_typed_errors([&] { return loaded_->score({std::string(text), "text"}, context); });
}

ScoredText LanguageModel::score_file(const std::filesystem::path& file, std::string_view context) {
  return with_typed_errors([&] { return loaded_->score_file(file, context); });
}

std::vector<GeneratedText> LanguageModel::generate(std::string_view prompt, const GenerationOptions& options) {
  return with_typed_errors([&] { return loaded_->generate(prompt, options); });
}

}  // namespace segue

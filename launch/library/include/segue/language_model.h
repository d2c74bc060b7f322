// A trained model that scores text and writes it, as `segue generate` does. All functions throw the errors of
// segue/error.h and nothing else; the library prints nothing.
#pragma once

#include <segue/error.h>
#include <segue/export.h>
#include <segue/options.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace segue {

struct ScoredToken {
  std::string text = {};            // what it adds to the text of the tokens before it
  std::optional<double> nats = {};  // -ln p(token | all before it); nothing where nothing foretells it
  bool is_unknown = false;          // to the vocabulary: `nats` are those of the unknown token, whatever `text` is
};

struct ScoredText {
  std::vector<ScoredToken> tokens = {};
  double nats = 0.0;  // the sum
  // Per byte of the text of the scored tokens, one that begins in the context counting whole; nothing where none was
  // scored.
  std::optional<double> bits_per_byte = {};
  std::vector<std::string> warnings = {};  // one line for each sign of another encoding or system that the file has
};

struct GeneratedText {
  std::string text = {};    // without the prompt
  std::int64_t tokens = 0;  // that were drawn for it
  bool stopped = false;     // by the stop string, which is not part of the text
};

class LoadedLanguageModel;

// A model may be used by one thread at a time, whichever that is; several models by as many, or by one in turns. When a
// function returns, the number of the calling thread's OpenMP threads is as it was; its current CUDA device is the
// model's, for a model on a GPU.
class SEGUE_EXPORT LanguageModel {
 public:
  // `checkpoint` is a run, whose newest intact checkpoint is taken, or one checkpoint. Throws CheckpointError when
  // there is none, or it is damaged or has no tokenizer; ConfigError when it cannot be used as `options` say; FileError
  // when a file cannot be read; DeviceError, and OutOfMemoryError.
  explicit LanguageModel(const std::filesystem::path& checkpoint, const ModelOptions& options = {});
  ~LanguageModel();
  LanguageModel(LanguageModel&& other) noexcept;
  LanguageModel& operator=(LanguageModel&& other) noexcept;
  LanguageModel(const LanguageModel&) = delete;
  LanguageModel& operator=(const LanguageModel&) = delete;

  // One line for every damaged checkpoint that was passed over, and one for more threads than processors to use.
  const std::vector<std::string>& warnings() const;

  // The tokens of a text of any length with their losses, the memory beginning empty. `context` is the text before,
  // which is read and not scored: without it the first token is not scored either. A token that begins in the context
  // and ends in the text is the text's. Throws DataError for text without a token, or text or context with what the
  // vocabulary does not have, DeviceError.
  ScoredText score(std::string_view text, std::string_view context = {});
  // The same of a file, which errors name, read as `segue prepare` reads its sources: decompressed, without a byte
  // order mark. What looks like no text is a DataError; also FileError.
  ScoredText score_file(const std::filesystem::path& file, std::string_view context = {});

  // What the model writes after a prompt of at least one token; the same seed gives the same text. Throws ConfigError
  // naming the option that is out of range, DataError and DeviceError as above.
  std::vector<GeneratedText> generate(std::string_view prompt, const GenerationOptions& options = {});

 private:
  std::unique_ptr<LoadedLanguageModel> loaded_;
};

}  // namespace segue

// segue generate
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/text.h"
#include "core/checkpoint/checkpoint_store.h"
#include "core/generate/generator.h"
#include "core/generate/options.h"
#include "core/generate/samples.h"
#include "core/generate/surprisal.h"
#include "core/generate/text_model.h"
#include "launch/segue/commands.h"
#include "launch/segue/flags.h"

namespace segue {

namespace {

constexpr const char* kGenerateExamples =
    "Examples:\n"
    "  segue generate --checkpoint runs/books --prompt 'It was the best of times'\n"
    "  segue generate --checkpoint runs/books --prompt-file chapter.txt --mem-len 1024 --tokens 500 --top-p 0.9\n"
    "  segue generate --checkpoint runs/books --prompt 'She said' --samples 4 --stop '.' --seed 7 --json samples.json\n"
    "  segue generate --checkpoint runs/books --score story.txt > surprisal.tsv    # bits of every word\n"
    "The same seed gives the same text. What a token sees is what it would see in `segue eval` with the same lengths.";

struct GenerateOptions {
  std::string checkpoint;
  std::optional<std::string> prompt;
  std::string prompt_file;
  std::string score;
  GenerationOptions generation;
  ModelOptions model;
  std::string json;
  bool quiet = false;

  void describe(JsonFields& fields) {
    fields.required("checkpoint", checkpoint, {.meaning = kCheckpointMeaning, .flag = {.value = "DIR"}});
    fields.optional("prompt", prompt, {.meaning = "text to continue"});
    fields.optional("prompt_file", prompt_file,
                    {.meaning = "the same, of any length, from a file", .flag = {.value = "FILE"}});
    describe_options(fields, generation);
    fields.optional("score", score,
                    {.meaning = "generate nothing: print the surprisal of every word of this file in bits, the prompt "
                                "being its context. A table of tabs in which words with a quote are quoted as in CSV; "
                                "without a prompt the bits of the first word are empty, since it has no context",
                     .flag = {.value = "FILE"}});
    describe_options(fields, model);
    fields.optional("json", json, {.meaning = "write the samples here as JSON", .flag = {.value = "FILE"}});
    fields.optional("quiet", quiet, {.meaning = "nothing but the text"});
  }
};

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void show(std::string_view text) {
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stdout));
  static_cast<void>(std::fflush(stdout));
}

SourcedText read_prompt(const GenerateOptions& options) {
  if (!options.prompt_file.empty()) return {read_file(options.prompt_file), options.prompt_file};
  return {options.prompt.value_or(""), "--prompt"};
}

// One sample is shown as it comes.
Samples grow_visibly(Generator& generator, const GenerateOptions& options, const Tokenizer& tokenizer,
                     const std::string& prompt) {
  const GenerationOptions& generation = options.generation;
  const bool is_shown = generation.samples == 1;
  Progress progress("generate", generation.tokens, "tokens", 1.0, options.quiet || is_shown);
  SampleObserver observer{.on_step = [&](int64_t steps) { progress.advance_to(steps); }};
  if (is_shown) observer.on_text = [](int64_t, std::string_view text) { show(text); };
  Samples samples = grow_samples(generator, tokenizer, prompt, generation, observer);
  progress.finish();
  return samples;
}

int64_t tokens_drawn(const GenerateOptions& options, const Samples& samples) {
  return samples.steps * options.generation.samples;
}

OrderedJson samples_json(const GenerateOptions& options, const Lengths& lengths, const SourcedText& prompt,
                         const Samples& samples, double seconds) {
  const SamplingOptions& sampling = options.generation.sampling;
  OrderedJson json{{"checkpoint", options.checkpoint},
                   {"tgt_len", lengths.tgt_len},
                   {"mem_len", lengths.use.mem_len},
                   {"clamp_len", lengths.use.clamp_len},
                   {"same_length", lengths.use.same_length},
                   {"set", options.model.lengths.set},
                   {"temperature", sampling.temperature},
                   {"top_k", sampling.top_k},
                   {"top_p", sampling.top_p},
                   {"seed", sampling.seed},
                   {"stop", options.generation.stop},
                   {"prompt", prompt.text},
                   {"samples", OrderedJson::array()},
                   {"seconds", seconds},
                   {"tokens_per_second", static_cast<double>(tokens_drawn(options, samples)) / seconds}};
  for (const Sample& sample : samples.samples) {
    json["samples"].push_back(
        {{"text", sample.text.text()}, {"tokens", sample.tokens}, {"stopped", sample.text.is_stopped()}});
  }
  return json;
}

void say_speed(const GenerateOptions& options, const std::string& line) {
  if (!options.quiet) static_cast<void>(std::fprintf(stderr, "%s\n", line.c_str()));
}

void generate(const GenerateOptions& options, TextModel& model, Logger& logger) {
  const int64_t count = options.generation.samples;
  const SourcedText prompt = read_prompt(options);
  const std::vector<int32_t> tokens = model.encode(prompt);
  Generator generator = model.make_generator(count);
  logger.info("{}", generator.bytes().text(model.device(), "KV cache"));
  const Stopwatch reading;
  Progress progress("prompt", std::ssize(tokens), "tokens", 1.0,
                    options.quiet || std::ssize(tokens) <= model.lengths().tgt_len);
  generator.read(tokens, [&](int64_t read) { progress.advance_to(read); });
  progress.finish();
  const double reading_seconds = reading.seconds();

  if (count == 1) show(prompt.text);
  const Stopwatch writing;
  const Samples samples = grow_visibly(generator, options, model.tokenizer(), prompt.text);
  const double seconds = writing.seconds();
  for (size_t b = 0; count > 1 && b < samples.samples.size(); ++b)
    show(fmt::format("== sample {}\n{}{}\n\n", b + 1, prompt.text, samples.samples[b].text.text()));
  if (count == 1) show("\n");
  const int64_t drawn = tokens_drawn(options, samples);
  say_speed(options, fmt::format("prompt: {} tokens in {:.2f} s; generated {} tokens in {:.2f} s, {:.0f} tokens/s",
                                 human_count(std::ssize(tokens)), reading_seconds, human_count(drawn), seconds,
                                 static_cast<double>(drawn) / seconds));
  if (!options.json.empty())
    write_file_atomically(options.json, samples_json(options, model.lengths(), prompt, samples, seconds)
                                                .dump(2, ' ', false, OrderedJson::error_handler_t::replace) +
                                            "\n");
}

std::string describe_words(const std::vector<WordSurprisal>& words, double tokens_per_second) {
  double bits = 0.0;
  int64_t scored = 0;
  for (const WordSurprisal& word : words) {
    bits += word.bits.value_or(0.0);
    scored += word.bits ? 1 : 0;
  }
  return fmt::format("{} words{}, {:.3f} bits per word; {:.0f} tokens/s", human_count(std::ssize(words)),
                     scored == std::ssize(words) ? "" : ", all but the first of them scored",
                     bits / static_cast<double>(std::max<int64_t>(1, scored)), tokens_per_second);
}

void score(const GenerateOptions& options, TextModel& model) {
  const SourcedText context = read_prompt(options);
  const TextTokens read = model.read(context, {read_file(options.score), options.score});
  const Stopwatch reading;
  Progress progress("score", std::ssize(read.tokens), "k tokens", 1e3, options.quiet);
  const std::vector<float> losses = model.losses(read, [&](int64_t count) { progress.advance_to(count); });
  progress.finish();
  const std::vector<WordSurprisal> words = word_surprisals(model.tokenizer(), read.tokens, read.begin, losses);
  show(surprisal_table(words));
  say_speed(options, describe_words(words, static_cast<double>(read.tokens.size()) / reading.seconds()));
}

void run_generate(const GenerateOptions& options) try {
  if (!options.prompt && options.prompt_file.empty() && options.score.empty())
    throw UsageError("generate: expected --prompt, --prompt-file or --score");
  if (!options.json.empty()) check_writable(options.json);
  const std::shared_ptr<Logger> logger = make_logger(options.quiet);
  const ResolvedCheckpoint resolved = resolve_checkpoint(options.checkpoint);
  for (const std::string& complaint : resolved.complaints) logger->warn("{}", complaint);
  TextModel model(resolved.checkpoint, options.model, "segue generate", OptionNames::kFlags);
  if (options.score.empty()) {
    generate(options, model, *logger);
  } else {
    score(options, model);
  }
} catch (const OutOfMemoryError& error) {
  throw DeviceError("{}; lower --samples ({}), --tgt-len or --mem-len", error.what(), options.generation.samples);
}

}  // namespace

void add_generate_command(CLI::App& app) {
  CLI::App& command = add_command(app, "generate", "Text that a model writes, or how surprising it finds a text",
                                  kGenerateExamples, run_generate);
  flag_excludes(command, "--prompt-file", "--prompt");
  for (const char* of_samples :
       {"--tokens", "--samples", "--temperature", "--top-k", "--top-p", "--seed", "--stop", "--json"})
    flag_excludes(command, "--score", of_samples);
}

}  // namespace segue

// segue generate
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/text.h"
#include "core/checkpoint/checkpoint_store.h"
#include "core/config/device_choice.h"
#include "core/generate/generator.h"
#include "core/generate/sample_text.h"
#include "core/generate/sampler.h"
#include "core/generate/surprisal.h"
#include "core/model/stored_tokenizer.h"
#include "launch/segue/commands.h"
#include "launch/segue/lengths.h"
#include "launch/segue/options.h"

namespace segue {

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  segue generate --checkpoint runs/books --prompt 'It was the best of times'\n"
    "  segue generate --checkpoint runs/books --prompt-file chapter.txt --mem-len 1024 --tokens 500 --top-p 0.9\n"
    "  segue generate --checkpoint runs/books --prompt 'She said' --samples 4 --stop '.' --seed 7 --json samples.json\n"
    "  segue generate --checkpoint runs/books --score story.txt > surprisal.tsv    # bits of every word\n"
    "The same seed gives the same text. What a token sees is what it would see in `segue eval` with the same lengths.";

struct GenerateOptions {
  std::string checkpoint;
  std::string prompt;
  std::string prompt_file;
  std::string score;
  int64_t tokens = 256;
  int64_t samples = 1;
  SamplingOptions sampling;
  std::string stop;
  std::shared_ptr<LengthOptions> lengths = std::make_shared<LengthOptions>();
  std::string device = "auto";
  PrecisionKind precision = PrecisionKind::kFp32;
  int threads = 0;
  std::string json;
  bool quiet = false;
};

// A checkpoint's model, ready to read text.
struct LoadedModel {
  LoadedModel(const Checkpoint& checkpoint, const GenerateOptions& options)
      : stored(read_model(checkpoint)),
        lengths(lengths_of(stored, *options.lengths, "segue generate")),
        tokenizer(read_tokenizer(checkpoint)),
        queue(choose_device(options.device, "--device"), options.threads),
        model(stored.model, stored.vocab_size),
        parameters(model.parameter_specs(), compute_of(stored.model, options.precision, queue.device())),
        arena(queue.device()) {
    if (tokenizer == nullptr)
      throw CheckpointError("{}: expected a tokenizer in the checkpoint, found none: text cannot be read or written",
                            checkpoint.directory().string());
    read_weights(checkpoint, parameters);
  }

  // At least one token; DataError naming what in the text is not in the vocabulary.
  std::vector<int32_t> encode(const std::string& text, const std::string& source) const {
    std::vector<int32_t> tokens = tokenizer->encode(text, source);
    if (tokens.empty()) throw DataError("{}: expected text of at least one token, found none", source);
    return tokens;
  }

  ModelInUse in_use() { return {model, lengths.use, parameters, arena, queue}; }

  StoredModel stored;
  Lengths lengths;
  std::unique_ptr<Tokenizer> tokenizer;
  kernels::Queue queue;
  Transformer model;
  Parameters parameters;
  Arena arena;
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

struct Prompt {
  std::string text;
  std::string source;
};

Prompt read_prompt(const GenerateOptions& options) {
  if (!options.prompt_file.empty()) return {read_file(options.prompt_file), options.prompt_file};
  return {options.prompt, "--prompt"};
}

// Samples that grow together; those that are stopped continue unseen until all are.
struct Samples {
  std::vector<SampleText> texts;
  std::vector<int64_t> tokens;  // of each, until it stopped
  int64_t steps = 0;
  bool all_stopped() const {
    return std::all_of(texts.begin(), texts.end(), [](const SampleText& text) { return text.is_stopped(); });
  }
};

Samples grow_samples(Generator& generator, const GenerateOptions& options, const Tokenizer& tokenizer,
                     const std::string& prompt) {
  Samples samples;
  const bool is_shown = options.samples == 1;  // as it comes
  for (int64_t b = 0; b < options.samples; ++b) samples.texts.emplace_back(tokenizer, prompt, options.stop);
  samples.tokens.assign(samples.texts.size(), 0);
  Sampler sampler(options.sampling);
  Progress progress("generate", options.tokens, "tokens", 1.0, options.quiet || is_shown);
  std::vector<int32_t> chosen(samples.texts.size());
  while (samples.steps < options.tokens && !samples.all_stopped()) {
    for (size_t b = 0; b < chosen.size(); ++b) {
      const auto number = static_cast<int64_t>(b);
      chosen[b] = sampler.choose(generator.next(number), number, samples.steps);
      if (!samples.texts[b].is_stopped()) ++samples.tokens[b];
      const std::string_view fresh = samples.texts[b].add(chosen[b]);
      if (is_shown) show(fresh);
    }
    progress.advance_to(++samples.steps);
    if (samples.steps < options.tokens) generator.read_each(chosen);
  }
  progress.finish();
  if (is_shown) show(samples.texts.front().rest());
  return samples;
}

OrderedJson samples_json(const GenerateOptions& options, const LoadedModel& loaded, const Prompt& prompt,
                         const Samples& samples, double seconds) {
  OrderedJson json{{"checkpoint", options.checkpoint},
                   {"tgt_len", loaded.lengths.tgt_len},
                   {"mem_len", loaded.lengths.use.mem_len},
                   {"clamp_len", loaded.lengths.use.clamp_len},
                   {"same_length", loaded.lengths.use.same_length},
                   {"set", options.lengths->set},
                   {"temperature", options.sampling.temperature},
                   {"top_k", options.sampling.top_k},
                   {"top_p", options.sampling.top_p},
                   {"seed", options.sampling.seed},
                   {"stop", options.stop},
                   {"prompt", prompt.text},
                   {"samples", OrderedJson::array()},
                   {"seconds", seconds},
                   {"tokens_per_second", static_cast<double>(samples.steps * options.samples) / seconds}};
  for (size_t b = 0; b < samples.texts.size(); ++b) {
    json["samples"].push_back(
        {{"text", samples.texts[b].text()}, {"tokens", samples.tokens[b]}, {"stopped", samples.texts[b].is_stopped()}});
  }
  return json;
}

void say_speed(const GenerateOptions& options, const std::string& line) {
  if (!options.quiet) static_cast<void>(std::fprintf(stderr, "%s\n", line.c_str()));
}

void generate(const GenerateOptions& options, LoadedModel& loaded) {
  const Prompt prompt = read_prompt(options);
  const std::vector<int32_t> tokens = loaded.encode(prompt.text, prompt.source);
  Generator generator(loaded.in_use(), options.samples, loaded.lengths.tgt_len);
  const Stopwatch reading;
  Progress progress("prompt", std::ssize(tokens), "tokens", 1.0,
                    options.quiet || std::ssize(tokens) <= loaded.lengths.tgt_len);
  generator.read(tokens, [&](int64_t read) { progress.advance_to(read); });
  progress.finish();
  const double reading_seconds = reading.seconds();

  if (options.samples == 1) show(prompt.text);
  const Stopwatch writing;
  const Samples samples = grow_samples(generator, options, *loaded.tokenizer, prompt.text);
  const double seconds = writing.seconds();
  for (size_t b = 0; options.samples > 1 && b < samples.texts.size(); ++b)
    show(fmt::format("== sample {}\n{}{}\n\n", b + 1, prompt.text, samples.texts[b].text()));
  if (options.samples == 1) show("\n");
  say_speed(options,
            fmt::format("prompt: {} tokens in {:.2f} s; generated {} tokens in {:.2f} s, {:.0f} tokens/s",
                        human_count(std::ssize(tokens)), reading_seconds, human_count(samples.steps * options.samples),
                        seconds, static_cast<double>(samples.steps * options.samples) / seconds));
  if (!options.json.empty())
    write_file_atomically(options.json, samples_json(options, loaded, prompt, samples, seconds)
                                                .dump(2, ' ', false, OrderedJson::error_handler_t::replace) +
                                            "\n");
}

// How many tokens of a text are those of its context, whose last word may continue in the text.
int64_t tokens_of_context(const std::vector<int32_t>& tokens, const std::vector<int32_t>& context) {
  return std::mismatch(context.begin(), context.end(), tokens.begin(), tokens.end()).first - context.begin();
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

void score(const GenerateOptions& options, LoadedModel& loaded) {
  const Prompt context = read_prompt(options);
  const std::string text = read_file(options.score);
  std::vector<int32_t> tokens = loaded.encode(context.text + text, options.score);
  const int64_t begin = tokens_of_context(
      tokens, context.text.empty() ? std::vector<int32_t>() : loaded.encode(context.text, context.source));
  const int64_t known = std::max<int64_t>(1, begin);  // the first token is read: nothing could foretell it
  const Stopwatch reading;
  Progress progress("score", std::ssize(tokens), "k tokens", 1e3, options.quiet);
  const std::vector<float> losses = token_losses(loaded.in_use(), tokens, known, loaded.lengths.tgt_len,
                                                 [&](int64_t read) { progress.advance_to(read); });
  progress.finish();
  const std::vector<WordSurprisal> words = word_surprisals(*loaded.tokenizer, tokens, begin, losses);
  show(surprisal_table(words));
  say_speed(options, describe_words(words, static_cast<double>(tokens.size()) / reading.seconds()));
}

void run_generate(const GenerateOptions& options) try {
  const std::shared_ptr<Logger> logger = make_logger(options.quiet);
  check_sampling(options.sampling);
  const ResolvedCheckpoint resolved = resolve_checkpoint(options.checkpoint);
  for (const std::string& complaint : resolved.complaints) logger->warn("{}", complaint);
  LoadedModel loaded(resolved.checkpoint, options);
  if (options.score.empty()) {
    generate(options, loaded);
  } else {
    score(options, loaded);
  }
} catch (const OutOfMemoryError& error) {
  throw DeviceError("{}; lower --samples ({}), --tgt-len or --mem-len", error.what(), options.samples);
}

}  // namespace

void add_generate_command(CLI::App& app) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App* command = app.add_subcommand("generate", "Text that a model writes, or how surprising it finds a text");
  command->footer(kExamples);
  command->add_option("--checkpoint", options->checkpoint, "A run (its newest intact checkpoint) or one checkpoint")
      ->required();
  CLI::Option* prompt = command->add_option("--prompt", options->prompt, "Text to go on from");
  CLI::Option* prompt_file =
      command->add_option("--prompt-file", options->prompt_file, "The same, of any length, from a file")
          ->excludes(prompt);
  command->add_option("--tokens", options->tokens, "Most tokens to generate in a sample")
      ->check(at_least(1))
      ->capture_default_str();
  command->add_option("--samples", options->samples, "Samples, side by side")
      ->check(at_least(1))
      ->capture_default_str();
  command
      ->add_option("--temperature", options->sampling.temperature,
                   "Below 1 more certain, above 1 more varied; 0: the most probable token")
      ->capture_default_str();
  command->add_option("--top-k", options->sampling.top_k, "Choose among so many most probable tokens; 0: all")
      ->capture_default_str();
  command
      ->add_option("--top-p", options->sampling.top_p,
                   "Choose among the fewest tokens that have this probability together")
      ->capture_default_str();
  command->add_option("--seed", options->sampling.seed, "The same seed gives the same text")->capture_default_str();
  command->add_option("--stop", options->stop, "End a sample before this string");
  CLI::Option* score = command->add_option(
      "--score", options->score,
      "Generate nothing: print the surprisal of every word of this file in bits, the prompt being its context. A table "
      "of tabs in which words with a quote are quoted as in CSV; without a prompt the bits of the first word are "
      "empty, "
      "since nothing foretells how it begins");
  for (const char* of_samples : {"--tokens", "--samples", "--temperature", "--top-k", "--top-p", "--seed", "--stop"})
    score->excludes(command->get_option(of_samples));
  add_length_options(*command, options->lengths);
  add_place_options(*command, options->device, options->precision);
  command->add_option("--threads", options->threads, "Threads; 0: all")->check(at_least(0));
  command->add_option("--json", options->json, "Write the samples here as JSON")->excludes(score);
  command->add_flag("--quiet", options->quiet, "Nothing but the text");
  command->callback([=] {
    if (prompt->count() + prompt_file->count() + score->count() == 0)
      throw UsageError("generate: expected --prompt, --prompt-file or --score");
    run_generate(*options);
  });
}

}  // namespace segue

// segue generate
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/directory_content.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/output_file.h"
#include "base/progress.h"
#include "base/text.h"
#include "core/checkpoint/checkpoint_store.h"
#include "core/evaluation/loss_units.h"
#include "core/generate/generator.h"
#include "core/generate/options.h"
#include "core/generate/samples.h"
#include "core/generate/surprisal.h"
#include "core/generate/text_model.h"
#include "core/memory/memory.h"
#include "data_pipeline/text_file.h"
#include "launch/segue/commands.h"
#include "launch/segue/flags.h"
#include "launch/segue/job.h"
#include "launch/segue/options.h"

namespace segue {

namespace {

constexpr const char* kGenerateExamples =
    "Examples:\n"
    "  segue generate --checkpoint runs/books --prompt 'It was the best of times'\n"
    "  segue generate --checkpoint runs/books --prompt-file chapter.txt --mem-len 1024 --tokens 500 --top-p 0.9\n"
    "  segue generate --checkpoint runs/books --prompt 'She said' --samples 4 --stop '.' --seed 7 --json samples.json\n"
    "  segue generate --checkpoint runs/books --score story.txt > surprisal.tsv    # bits of every word\n"
    "Files are read as `segue prepare` reads its sources: decompressed, without a byte order mark.\n"
    "--stop understands escapes such as \\n. The same seed gives the same text. A token sees what it would see in\n"
    "`segue eval` with the same lengths.";

struct GenerateOptions {
  std::string checkpoint;
  std::optional<std::string> prompt;
  std::string prompt_file;
  std::string score;
  bool as_is = false;
  GenerationOptions generation;
  ModelOptions model;
  std::string json;
  bool quiet = false;

  void describe(JsonFields& fields) {
    fields.required("checkpoint", checkpoint,
                    {.meaning = kCheckpointMeaning, .flag = {.value = "DIR", .may_be_unnamed = true}});
    fields.optional("prompt", prompt, {.meaning = "text to continue", .flag = {.may_be_unnamed = true}});
    fields.optional(
        "prompt_file", prompt_file,
        {.meaning = "file with the text to continue, of any length; - is standard input", .flag = {.value = "FILE"}});
    describe_options(fields, generation);
    fields.optional(
        "score", score,
        {.meaning = "generate nothing: print the surprisal in bits of every word of this file, with the prompt as its "
                    "context; - is standard input. The output is a table with tabs, in which words with a quote are "
                    "quoted as in CSV. A word includes the white space before it on its line. Ends of lines have rows "
                    "of their own, \"line end\", and white space at the end of the text has one, \"white space\". "
                    "Without a prompt the bits of the first row are empty: nothing comes before it. Words are printed "
                    "as in the text. The column \"unknown\" counts a row's tokens that the vocabulary does not have; "
                    "their bits are those of the unknown token, whatever the word is",
         .flag = {.value = "FILE"}});
    fields.optional("as_is", as_is,
                    {.meaning = "take these files as they are: decompress, leave out and refuse nothing"});
    describe_options(fields, model);
    describe_extensions(fields);
    fields.optional("json", json,
                    {.meaning = "write the samples, or the surprisals, here as JSON",
                     .flag = {.value = "FILE", .is_output = true}});
    fields.optional("quiet", quiet, {.meaning = "print nothing but the text", .flag = {.alias = "-q"}});
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

SourcedText read_text(const std::string& path, std::string_view flag, const GenerateOptions& options,
                      const TextModel& model, Logger& logger) {
  if (path != kStandardInput && !path_exists(path))
    throw FileError("{}: there is no such file; {} takes a file, or - for standard input{}", path, flag,
                    !hint_at_missing(path).empty() ? hint_at_missing(path)
                    : flag == "--prompt-file"      ? "; --prompt takes a text itself"
                                                   : "");
  FileText file =
      read_text_file(path, {.as_is = options.as_is,
                            .as_is_flag = "--as-is",
                            .reader = fmt::format("segue generate {} {} -", shell_word(options.checkpoint), flag)});
  for (const std::string& warning : file.signs.warnings(model.tokenizer().info().kind, TextUse::kReading))
    logger.warn("{}", warning);
  const bool goes_on = file.text.find('\n') < file.text.find_last_not_of('\n');
  if (has_symbols(model.tokenizer().info().kind) && goes_on)
    logger.warn("{}: line feeds are left out, as in training, so words at ends of lines run into the next ones", path);
  return {std::move(file.text), path, file.skipped};
}

SourcedText read_prompt(const GenerateOptions& options, const TextModel& model, Logger& logger) {
  if (!options.prompt_file.empty()) return read_text(options.prompt_file, "--prompt-file", options, model, logger);
  return {options.prompt.value_or(""), "--prompt"};
}

// One sample is shown as it comes.
Samples grow_visibly(Generator& generator, const GenerateOptions& options, TextModel& model,
                     const std::string& prompt) {
  const GenerationOptions& generation = options.generation;
  const bool is_shown = generation.samples == 1;
  Progress progress("generate", generation.tokens, "tokens", 1.0, options.quiet || is_shown);
  SampleObserver observer{.on_step = [&](int64_t steps) { progress.advance_to(steps); }};
  if (is_shown) observer.on_text = [](int64_t, std::string_view text) { show(text); };
  Samples samples = model.grow(generator, prompt, generation, observer);
  progress.finish();
  return samples;
}

int64_t tokens_drawn(const GenerateOptions& options, const Samples& samples) {
  return samples.steps * options.generation.samples;
}

OrderedJson lengths_json(const GenerateOptions& options, const Lengths& lengths) {
  return {{"tgt_len", lengths.tgt_len},
          {"mem_len", lengths.use.mem_len},
          {"clamp_len", lengths.use.clamp_len},
          {"same_length", lengths.use.same_length},
          {"set", options.model.lengths.set}};
}

// Text that is no UTF-8 is replaced.
void write_json(const GenerateOptions& options, const OrderedJson& json) {
  write_file_atomically(options.json, json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n");
}

OrderedJson samples_json(const GenerateOptions& options, const Lengths& lengths, const SourcedText& prompt,
                         const Samples& samples, double seconds) {
  const SamplingOptions& sampling = options.generation.sampling;
  OrderedJson json{{"checkpoint", options.checkpoint}};
  json.update(lengths_json(options, lengths));
  json.update({{"temperature", sampling.temperature},
               {"top_k", sampling.top_k},
               {"top_p", sampling.top_p},
               {"seed", sampling.seed},
               {"stop", options.generation.stop},
               {"prompt", prompt.text},
               {"samples", OrderedJson::array()},
               {"seconds", seconds},
               {"tokens_per_second", static_cast<double>(tokens_drawn(options, samples)) / seconds}});
  for (const Sample& sample : samples.samples) {
    json["samples"].push_back(
        {{"text", sample.text.text()}, {"tokens", sample.tokens}, {"stopped", sample.text.is_stopped()}});
  }
  return json;
}

void say_speed(const GenerateOptions& options, const std::string& line) {
  if (!options.quiet) static_cast<void>(std::fprintf(stderr, "%s\n", line.c_str()));
}

// Words of a prompt that the vocabulary does not have; all of them are the same to the model.
void warn_of_unknown(const SourcedText& prompt, std::span<const int32_t> tokens, const TextModel& model,
                     Logger& logger) {
  const auto unknown = static_cast<int32_t>(model.tokenizer().info().unknown_token);
  const auto count = unknown < 0 ? 0 : std::ranges::count(tokens, unknown);
  if (count > 0)
    logger.warn("{}: {} of {} {} not in the vocabulary: the model reads an unknown word in their place", prompt.source,
                human_count(count), counted(std::ssize(tokens), "token"), count == 1 ? "is" : "are");
}

void generate(const GenerateOptions& options, TextModel& model, Logger& logger) {
  const int64_t count = options.generation.samples;
  const SourcedText prompt = read_prompt(options, model, logger);
  const std::vector<int32_t> tokens = model.encode(prompt);
  warn_of_unknown(prompt, tokens, model, logger);
  Generator generator = model.make_generator(count);
  logger.info("{}", generator.bytes().text(model.device(), name_of_memory(model.config(), true)));
  const Stopwatch reading;
  Progress progress("prompt", std::ssize(tokens), "tokens", 1.0,
                    options.quiet || std::ssize(tokens) <= model.lengths().tgt_len);
  generator.read(tokens, [&](int64_t read) { progress.advance_to(read); });
  progress.finish();
  const double reading_seconds = reading.seconds();

  if (count == 1) show(prompt.text);
  const Stopwatch writing;
  const Samples samples = grow_visibly(generator, options, model, prompt.text);
  const double seconds = writing.seconds();
  for (size_t b = 0; count > 1 && b < samples.samples.size(); ++b)
    show(fmt::format("== sample {}\n{}{}\n\n", b + 1, prompt.text, samples.samples[b].text.text()));
  if (count == 1) show("\n");
  const int64_t drawn = tokens_drawn(options, samples);
  say_speed(options, fmt::format("prompt: {} in {:.2f} s; generated {} in {:.2f} s, {:.0f} tokens/s",
                                 counted(std::ssize(tokens), "token"), reading_seconds, counted(drawn, "token"),
                                 seconds, static_cast<double>(drawn) / seconds));
  if (!options.json.empty()) write_json(options, samples_json(options, model.lengths(), prompt, samples, seconds));
}

// Of the scored tokens; nothing where the vocabulary has no unknown one.
std::optional<UnknownTokens> unknown_of(const Tokenizer& tokenizer, const TextTokens& read) {
  const auto token = static_cast<int32_t>(tokenizer.info().unknown_token);
  if (token < 0) return std::nullopt;
  return UnknownTokens{.count = std::count(read.tokens.begin() + read.known(), read.tokens.end(), token),
                       .scored = std::ssize(read.tokens) - read.known()};
}

std::string describe_score(const SurprisalSums& sums, const std::optional<UnknownTokens>& unknown,
                           double tokens_per_second) {
  std::string text = describe_surprisals(sums);
  if (unknown && unknown->count > 0)
    text += fmt::format("; {} of {} scored tokens ({}) are unknown to the vocabulary", human_count(unknown->count),
                        human_count(unknown->scored), percent_of(*unknown));
  return text + fmt::format("; {:.0f} tokens/s", tokens_per_second);
}

void check_scored(const SurprisalSums& sums, const SourcedText& text) {
  if (!sums.any_scored())
    throw DataError(
        "{}: expected text that can be scored, found only {}, with nothing before it: give it a context with --prompt",
        text.source, sums.words.count > 0 ? "a word" : "white space");
}

OrderedJson score_json(const GenerateOptions& options, const Lengths& lengths, const SourcedText& context,
                       int64_t tokens, const std::optional<UnknownTokens>& unknown, double tokens_per_second,
                       const std::vector<Surprisal>& rows) {
  OrderedJson json{{"checkpoint", options.checkpoint}};
  json.update(lengths_json(options, lengths));
  json["prompt"] = context.text;
  json["score"] = options.score;
  json["tokens"] = tokens;
  add_unknown(json, unknown);
  json["tokens_per_second"] = tokens_per_second;
  json.update(surprisals_json(rows));
  return json;
}

void score(const GenerateOptions& options, TextModel& model, Logger& logger) {
  const SourcedText context = read_prompt(options, model, logger);
  if (context.text.empty() && !options.prompt_file.empty())
    throw DataError("{}: expected text of at least one token, found none", context.source);
  const SourcedText text = read_text(options.score, "--score", options, model, logger);
  const TextTokens read = model.read(context, text);
  warn_of_unknown(context, std::span(read.tokens).first(static_cast<size_t>(read.begin)), model, logger);
  const Stopwatch reading;
  constexpr int64_t kFew = 10'000;
  const bool is_few = std::ssize(read.tokens) < kFew;
  Progress progress("score", std::ssize(read.tokens), is_few ? "tokens" : "k tokens", is_few ? 1.0 : 1e3,
                    options.quiet);
  const std::vector<float> losses = model.losses(read, [&](int64_t count) { progress.advance_to(count); });
  progress.finish();
  const double tokens_per_second = static_cast<double>(read.tokens.size()) / reading.seconds();
  const std::vector<Surprisal> rows = surprisals(model.tokenizer(), read, losses);
  const SurprisalSums sums = sums_of(rows);
  check_scored(sums, text);
  const std::optional<UnknownTokens> unknown = unknown_of(model.tokenizer(), read);
  show(surprisal_table(rows));
  say_speed(options, describe_score(sums, unknown, tokens_per_second));
  if (!options.json.empty())
    write_json(options,
               score_json(options, model.lengths(), context, std::ssize(losses), unknown, tokens_per_second, rows));
}

// What has no effect beside other options.
void check_effects(const GenerateOptions& options, Logger& logger) {
  if (options.as_is && options.prompt_file.empty() && options.score.empty())
    throw UsageError("--as-is: expected --prompt-file or --score, which name files");
  if (options.prompt_file == "-" && options.score == "-")
    throw UsageError("--prompt-file and --score: expected standard input (-) once, found it twice");
  const SamplingOptions& sampling = options.generation.sampling;
  const SamplingOptions defaults;
  if (sampling.temperature == 0.0 && (sampling.top_k != defaults.top_k || sampling.top_p != defaults.top_p ||
                                      sampling.seed != defaults.seed || options.generation.samples > 1))
    logger.warn(
        "--temperature 0 always takes the most probable token: --top-k, --top-p and --seed change nothing, and "
        "all samples are the same");
  if (options.prompt && options.prompt->find("\\n") != std::string::npos)
    logger.warn(
        "--prompt: \\n is read as a backslash and an n; a shell writes a line feed as $'\\n', and --prompt-file "
        "reads them from a file");
}

// With the escapes of --stop read.
GenerateOptions resolve(const GenerateOptions& given) {
  GenerateOptions options = given;
  const std::optional<std::string> stop = unescaped(given.generation.stop);
  if (!stop)
    throw UsageError(R"(--stop: expected two hexadecimal digits after each "\x", found "{}")", given.generation.stop);
  options.generation.stop = *stop;
  return options;
}

void run_generate(const GenerateOptions& given) try {
  const GenerateOptions options = resolve(given);
  if (!options.prompt && options.prompt_file.empty() && options.score.empty())
    throw UsageError(
        "generate: expected --prompt, --prompt-file or --score, as in: segue generate {} --prompt 'It was'",
        shell_word(options.checkpoint));
  check_output_files({{"--json", options.json, OutputKind::kGeneration}}, {options.prompt_file, options.score});
  const std::shared_ptr<Logger> logger = make_logger(options.quiet);
  warn_of_threads("--threads", options.model.threads, *logger);
  check_effects(options, *logger);
  const ResolvedCheckpoint resolved = resolve_checkpoint(options.checkpoint);
  for (const std::string& complaint : resolved.complaints) logger->warn("{}", complaint);
  if (!resolved.choice.empty()) logger->info("{}", resolved.choice);
  TextModel model(resolved.checkpoint, options.model, "segue generate", OptionNames::kFlags);
  if (options.score.empty()) {
    generate(options, model, *logger);
  } else {
    score(options, model, *logger);
  }
} catch (const OutOfMemoryError& error) {
  throw DeviceError("{}; lower --samples ({}), --tgt-len or --mem-len", error.what(), given.generation.samples);
}

}  // namespace

void add_generate_command(CLI::App& app) {
  CLI::App& command =
      add_command(app, "generate", "Generate text with a model, or print how surprising a text is to it",
                  kGenerateExamples, run_generate);
  flag_excludes(command, "--prompt-file", "--prompt");
  for (const char* of_samples : {"--tokens", "--samples", "--temperature", "--top-k", "--top-p", "--seed", "--stop"})
    flag_excludes(command, "--score", of_samples);
}

}  // namespace segue

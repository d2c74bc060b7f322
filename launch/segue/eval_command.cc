// segue eval
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/text.h"
#include "core/checkpoint/checkpoint_store.h"
#include "core/config/device_choice.h"
#include "core/evaluation/evaluator.h"
#include "core/evaluation/loss_units.h"
#include "core/evaluation/per_token_file.h"
#include "core/model/stored_tokenizer.h"
#include "data_pipeline/dataset.h"
#include "launch/segue/commands.h"
#include "launch/segue/job.h"
#include "launch/segue/options.h"

namespace segue {

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  segue eval --checkpoint runs/books --data data/books --split test\n"
    "  segue eval --checkpoint runs/books/checkpoints/best --data data/books --tgt-len 64 --mem-len 640 --clamp-len "
    "400 \\\n"
    "      --same-length --json result.json --per-token losses.h5\n"
    "The memory may be longer or shorter than in training; --mem-len 0 shows what the model is without it.";

struct EvalOptions {
  std::string checkpoint;
  std::string data;
  std::string split = "test";
  int64_t batch_size = 8;
  std::optional<int64_t> tgt_len;
  std::optional<int64_t> mem_len;
  std::optional<int64_t> clamp_len;
  std::optional<bool> same_length;
  int64_t max_tokens = 0;
  std::optional<std::string> warm_up;  // "auto" or a number; none: the split as blocks
  std::string device = "auto";
  PrecisionKind precision = PrecisionKind::kFp32;
  int threads = 0;
  std::string json;
  std::string per_token;
  bool quiet = false;
};

// The stored model with the lengths this evaluation asks for.
StoredModel requested_model(const Checkpoint& checkpoint, const EvalOptions& options) {
  StoredModel stored = read_model(checkpoint);
  stored.tgt_len = options.tgt_len.value_or(stored.tgt_len);
  stored.model.mem_len = options.mem_len.value_or(stored.model.mem_len);
  stored.model.position.clamp_len = options.clamp_len.value_or(stored.model.position.clamp_len);
  stored.model.visibility.same_length = options.same_length.value_or(stored.model.visibility.same_length);
  check_model(stored.model, "segue eval");
  return stored;
}

EvaluationPlan requested_plan(const EvalOptions& options, const StoredModel& stored, int64_t tokens) {
  if (!options.warm_up) return plan_blocks(tokens, options.batch_size, stored.tgt_len, options.max_tokens);
  const int64_t warm_up =
      *options.warm_up == "auto" ? warm_up_in_tokens(stored.model, stored.tgt_len) : std::stoll(*options.warm_up);
  return plan_streams(tokens, options.batch_size, stored.tgt_len, warm_up, options.max_tokens);
}

// The losses that come in, by their place in the split.
PerTokenLosses empty_losses(TokenSource source, const Dataset& dataset, const EvalOptions& options,
                            const StoredModel& stored, const Checkpoint& checkpoint) {
  PerTokenLosses losses{.info = {.dataset = dataset.identity(options.split),
                                 .split = options.split,
                                 .tokenizer = std::string(name_of_choice(dataset.manifest().tokenizer.kind)),
                                 .tokenizer_checksum = dataset.manifest().tokenizer.checksum,
                                 .unit = std::string(unit_of(dataset.manifest().tokenizer.kind)),
                                 .checkpoint = checkpoint.directory().string(),
                                 .context = stored.model.mem_len + stored.tgt_len,
                                 .mem_len = stored.model.mem_len,
                                 .tgt_len = stored.tgt_len}};
  losses.nll.assign(static_cast<size_t>(source.tokens()), std::numeric_limits<float>::quiet_NaN());
  losses.targets.resize(losses.nll.size());
  source.read(0, losses.targets);
  return losses;
}

OrderedJson result_json(const EvalOptions& options, const StoredModel& stored, const Checkpoint& checkpoint,
                        const EvaluationResult& result, const LossUnits& units, double seconds) {
  OrderedJson json{{"checkpoint", checkpoint.directory().string()},
                   {"step", checkpoint.step()},
                   {"data", options.data},
                   {"split", options.split},
                   {"batch_size", options.batch_size},
                   {"tgt_len", stored.tgt_len},
                   {"mem_len", stored.model.mem_len},
                   {"clamp_len", stored.model.position.clamp_len},
                   {"same_length", stored.model.visibility.same_length},
                   {"tokens", result.tokens}};
  add_loss(json, result.loss(), units);
  json["seconds"] = seconds;
  json["tokens_per_second"] = static_cast<double>(result.tokens) / seconds;
  return json;
}

void print_loss(double loss, const LossUnits& units) {
  const std::string meaning = units.unit == "token" ? "" : fmt::format("  (a token is a {})", units.unit);
  fmt::print("{:<16}{:.5f} nats per token{}\n", "loss", loss, meaning);
  fmt::print("{:<16}{:.4f} per {}\n", "perplexity", perplexity_per_token(loss), units.unit);
  if (!units.is_byte()) fmt::print("{:<16}{:.5f}\n", fmt::format("bits per {}", units.unit), bits_per_token(loss));
  if (const std::optional<double> per_byte = bits_per_byte(loss, units))
    fmt::print("{:<16}{:.5f}{}\n", "bits per byte", *per_byte, units.is_byte() ? "" : "  of the source text");
}

void print_result(const OrderedJson& result, const LossUnits& units) {
  fmt::print("{:<16}{}\n", "checkpoint", result["checkpoint"].get<std::string>());
  fmt::print("{:<16}{} of {}\n", "split", result["split"].get<std::string>(), result["data"].get<std::string>());
  fmt::print("{:<16}batch {}, tgt_len {}, mem_len {}, clamp_len {}, same_length {}\n", "lengths",
             result["batch_size"].dump(), result["tgt_len"].dump(), result["mem_len"].dump(),
             result["clamp_len"].dump(), result["same_length"].dump());
  fmt::print("{:<16}{}\n", "tokens scored", human_count(result["tokens"].get<int64_t>()));
  print_loss(result["loss"].get<double>(), units);
  fmt::print("{:<16}{} tokens/s\n", "speed",
             human_count(static_cast<int64_t>(result["tokens_per_second"].get<double>())));
}

void eval_as_rank(const EvalOptions& options, Communicator& communicator) try {
  const std::shared_ptr<Logger> logger = make_job_logger(communicator, options.quiet);
  kernels::Stream stream(choose_device(options.device, "--device", communicator.local_rank()), options.threads);
  const ResolvedCheckpoint resolved = resolve_checkpoint(options.checkpoint);
  for (const std::string& complaint : resolved.complaints) logger->warn("{}", complaint);
  const StoredModel stored = requested_model(resolved.checkpoint, options);
  const Dataset dataset(options.data);
  check_dataset(communicator, dataset, options.split);
  check_tokenizer(resolved.checkpoint, dataset);
  TokenSource source = dataset.split(options.split);

  const Compute compute = compute_of(stored.model, options.precision, stream.device());
  const Transformer model(stored.model, stored.vocab_size);
  Parameters parameters(model.parameter_specs(), compute);
  read_weights(resolved.checkpoint, parameters);
  Arena arena(stream.device());
  Evaluator evaluator(model, parameters, arena, stream, communicator);

  const EvaluationPlan plan = requested_plan(options, stored, source.tokens());
  PerTokenLosses losses;
  Evaluator::Sink sink;
  if (!options.per_token.empty()) {
    losses = empty_losses(dataset.split(options.split), dataset, options, stored, resolved.checkpoint);
    sink = [&](const ScoredTokens& scored) {
      std::copy(scored.nll.begin(), scored.nll.end(), losses.nll.begin() + scored.place);
    };
  }
  Progress progress("eval", plan.scored_rows(), "k tokens", 1e3, options.quiet || !communicator.is_first());
  const auto start = std::chrono::steady_clock::now();
  const EvaluationResult result =
      evaluator.run(std::move(source), plan, sink, [&](int64_t tokens) { progress.advance_to(tokens); });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  progress.finish();

  if (!communicator.is_first()) return;
  if (!options.per_token.empty()) write_per_token_file(options.per_token, losses);
  const LossUnits units = loss_units(dataset, options.split);
  const OrderedJson json = result_json(options, stored, resolved.checkpoint, result, units, seconds);
  if (!options.json.empty()) write_file_atomically(options.json, json.dump(2) + "\n");
  print_result(json, units);
} catch (const OutOfMemoryError& error) {
  throw DeviceError("{}; lower --batch ({}), --tgt-len or --mem-len", error.what(), options.batch_size);
}

void run_eval(const EvalOptions& options) {
  const std::unique_ptr<Communicator> communicator = open_communicator({});
  run_as_rank(*communicator, [&] { eval_as_rank(options, *communicator); });
}

}  // namespace

void add_eval_command(CLI::App& app) {
  auto options = std::make_shared<EvalOptions>();
  CLI::App* command =
      app.add_subcommand("eval", "Loss, perplexity and bits per token and byte of a checkpoint on a split");
  command->footer(kExamples);
  command->add_option("--checkpoint", options->checkpoint, "A run (its newest intact checkpoint) or one checkpoint")
      ->required();
  command->add_option("--data", options->data, "Dataset directory")->required();
  command->add_option("--split", options->split, "Split to score")->capture_default_str();
  command->add_option("--batch", options->batch_size, "Streams the split is cut into")
      ->check(at_least(1))
      ->capture_default_str();
  command->add_option("--tgt-len", options->tgt_len, "Tokens per segment (default: as trained)")->check(at_least(1));
  command->add_option("--mem-len", options->mem_len, "Memory rows per layer (default: as trained)")->check(at_least(0));
  command->add_option("--clamp-len", options->clamp_len, "Largest distance told apart; 0: none (default: as trained)");
  // As a function, since CLI11 makes an absent flag of std::optional false.
  command->add_flag_function(
      "--same-length,!--no-same-length", [options](int64_t count) { options->same_length = count > 0; },
      "Every query sees the same number of keys (default: as trained)");
  command->add_option("--max-tokens", options->max_tokens, "Stop after this many tokens; 0: the whole split")
      ->check(at_least(0));
  command
      ->add_option("--warm-up", options->warm_up,
                   "Score every token once; each stream but the first reads so many tokens before its own, \"auto\" as "
                   "many as matter")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return text == "auto" ? std::string() : at_least(0)(const_cast<std::string&>(text));
          },
          "auto or >= 0"));
  add_place_options(*command, options->device, options->precision);
  command->add_option("--threads", options->threads, "Threads; 0: all")->check(at_least(0));
  command->add_option("--json", options->json, "Write the result here as JSON");
  command->add_option("--per-token", options->per_token,
                      "Write the loss of every token here (HDF5: nll, targets [n], by place in the split)");
  command->add_flag("--quiet", options->quiet, "No progress line");
  command->callback([options] { run_eval(*options); });
}

}  // namespace segue

// segue eval
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/log.h"
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

  std::optional<PerTokenFile> per_token;
  Evaluator::SegmentSink sink;
  if (!options.per_token.empty()) {
    if (communicator.is_first()) per_token.emplace(options.per_token, options.batch_size);
    sink = [&](ConstTensorView targets, std::span<const float> nll) { per_token->append(targets, nll); };
  }
  Progress progress("eval", options.max_tokens > 0 ? options.max_tokens : source.tokens(), "k tokens", 1e3,
                    options.quiet || !communicator.is_first());
  const auto start = std::chrono::steady_clock::now();
  const EvaluationResult result = evaluator.run(
      std::move(source),
      {.batch_size = options.batch_size, .tgt_len = stored.tgt_len, .max_tokens = options.max_tokens}, sink, &progress);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  progress.finish();

  if (per_token) per_token->finish();
  if (!communicator.is_first()) return;
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
  add_place_options(*command, options->device, options->precision);
  command->add_option("--threads", options->threads, "Threads; 0: all")->check(at_least(0));
  command->add_option("--json", options->json, "Write the result here as JSON");
  command->add_option("--per-token", options->per_token,
                      "Write the loss of every token here (HDF5: nll, targets [B, n])");
  command->add_flag("--quiet", options->quiet, "No progress line");
  command->callback([options] { run_eval(*options); });
}

}  // namespace segue

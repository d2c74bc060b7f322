// segue eval
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json_text.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/text.h"
#include "core/checkpoint/checkpoint_store.h"
#include "core/checkpoint/shared_checkpoint.h"
#include "core/config/device_choice.h"
#include "core/evaluation/evaluation_report.h"
#include "core/model/stored_tokenizer.h"
#include "data_pipeline/dataset.h"
#include "data_pipeline/describe.h"
#include "data_pipeline/staged_directory.h"
#include "launch/segue/commands.h"
#include "launch/segue/flags.h"
#include "launch/segue/job.h"

namespace segue {

namespace {

constexpr const char* kEvalExamples =
    "Examples:\n"
    "  segue eval --checkpoint runs/books --data data/books --split test\n"
    "  segue eval --checkpoint runs/books/checkpoints/best --data data/books --tgt-len 64 --mem-len 640 --clamp-len "
    "400 --same-length\n"
    "  segue eval --checkpoint runs/books --data data/books --mem-len 0,128,256,512 --warm-up auto --name memory "
    "--per-token\n"
    "  segue eval --checkpoint runs/vanilla --data data/books --recompute --stride 8 --output vanilla\n"
    "  segue eval --config evaluation.json --batch-size 16\n"
    "The memory may be longer or shorter than in training; --mem-len 0 shows what the model is without it.\n"
    "A config file has the flags as keys: {\"checkpoint\": \"runs/books\", \"mem_len\": [0, 128], ...}; flags win.";

struct EvalOptions {
  std::string config;
  EvaluationSettings settings;
  bool quiet = false;

  void describe(JsonFields& fields) {
    fields.optional("config", config, {.meaning = "settings as JSON; flags replace them", .flag = {.value = "FILE"}});
    settings.describe(fields);
    fields.optional("quiet", quiet, {.meaning = "no progress line"});
  }
};

// The flags are read over what the config says.
EvalOptions resolve(const CLI::App& command) {
  EvalOptions options;
  read_flags(command, options);
  if (options.config.empty()) return options;
  options.settings = load_evaluation_settings(options.config);
  read_flags(command, options);
  return options;
}

// A config file is not for most people: who gives none hears of flags.
void check_given(const EvalOptions& options) {
  if (!options.config.empty()) return;
  std::string missing = options.settings.checkpoint.empty() ? "--checkpoint, a run or a checkpoint" : "";
  if (options.settings.data.empty())
    missing += fmt::format("{}--data, the directory of a dataset", missing.empty() ? "" : ", and ");
  if (!missing.empty()) throw UsageError("eval: expected {}", missing);
}

void report(const EvaluationSettings& settings, const EvaluationJob& job, const std::vector<PassResult>& results,
            const Checkpoint& checkpoint, const Dataset& dataset, StagedDirectory* staged) {
  const OrderedJson evaluation = evaluation_json(settings, job, results, checkpoint, dataset);
  if (staged != nullptr) {
    write_evaluation(staged->path(), evaluation);
    staged->commit();
  }
  fmt::print("{}", describe_evaluation(evaluation, loss_units(dataset, job.trained().model.objective)));
}

// The first rank's choice, opened by all.
Checkpoint checkpoint_of(const EvaluationSettings& settings, Job& job, Logger& logger) {
  const LongWork reading(job, "reading " + settings.checkpoint);
  std::optional<Checkpoint> chosen;
  if (job.is_first()) {
    ResolvedCheckpoint resolved = resolve_checkpoint(settings.checkpoint);
    for (const std::string& complaint : resolved.complaints) logger.warn("{}", complaint);
    chosen = std::move(resolved.checkpoint);
  }
  return *open_together(std::move(chosen), job, logger);
}

void eval_as_rank(const EvaluationSettings& settings, bool quiet, Job& job) try {
  const std::shared_ptr<Logger> logger = make_job_logger(job, quiet);
  std::optional<LongWork> starting(std::in_place, job, "starting");
  check_build(job);
  kernels::Queue queue(choose_device(settings.device, "--device", job.local_rank()),
                       static_cast<int>(settings.threads));
  const Checkpoint checkpoint = checkpoint_of(settings, job, *logger);
  const Dataset dataset(settings.data);
  check_dataset(job, dataset, settings.split);
  check_tokenizer(checkpoint, dataset);
  if (job.is_first()) warn_of_unknown(dataset, settings.split, *logger);
  EvaluationJob evaluation(settings, checkpoint, dataset, queue, job);

  if (job.is_first() && evaluation.documents() == 1)
    logger->warn(
        "document_boundary: split {} is one document: {} stands at its end alone, and divides nothing; name another "
        "text, "
        "or none",
        settings.split, describe_json(Json(settings.document_boundary)));

  const std::filesystem::path output = output_of(settings, checkpoint.directory());
  std::optional<StagedDirectory> staged;
  if (!output.empty() && job.is_first()) staged.emplace(output);
  job.barrier();  // some ranks have read more than others
  starting.reset();
  Progress progress("eval", evaluation.scored_tokens(), "k tokens", 1e3, quiet || !job.is_first());
  const auto say_bytes = [&](const EvaluationPass& pass, const UseBytes& bytes) {
    if (!job.is_first()) return;
    logger->info("segments of {}, mem_len {}: {}{}", human_count(pass.lengths.tgt_len),
                 human_count(pass.lengths.mem_len),
                 bytes.text(queue.device(), keeps_kv_cache(settings.kept(), pass.use) ? "KV cache" : "segment memory"),
                 job.size() > 1 ? ", of the first rank" : "");
  };
  const std::vector<PassResult> results =
      evaluation.run(staged ? staged->path() : output, say_bytes, [&](int64_t tokens) { progress.advance_to(tokens); });
  progress.finish();
  if (job.is_first()) report(settings, evaluation, results, checkpoint, dataset, staged ? &*staged : nullptr);
} catch (const OutOfMemoryError& error) {
  throw DeviceError("{}; lower --batch-size ({}), --tgt-len or --mem-len", error.what(), settings.batch_size);
}

void run_eval(const CLI::App& command) {
  const EvalOptions options = resolve(command);
  check_given(options);
  check_settings(options.settings);
  const std::unique_ptr<Job> job = open_job({});
  run_as_rank(*job, [&] { eval_as_rank(options.settings, options.quiet, *job); });
}

}  // namespace

void add_eval_command(CLI::App& app) {
  add_command_reading<EvalOptions>(
      app, "eval", "Loss, perplexity and bits per token and byte of a checkpoint on a split", kEvalExamples, run_eval);
}

}  // namespace segue

// segue eval
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json_text.h"
#include "base/log.h"
#include "base/memory_limit.h"
#include "base/progress.h"
#include "base/text.h"
#include "base/unfinished_output.h"
#include "core/checkpoint/checkpoint_store.h"
#include "core/checkpoint/shared_checkpoint.h"
#include "core/config/device_choice.h"
#include "core/evaluation/evaluation_report.h"
#include "core/model/stored_tokenizer.h"
#include "data_pipeline/dataset.h"
#include "data_pipeline/describe_dataset.h"
#include "data_pipeline/staged_directory.h"
#include "launch/segue/commands.h"
#include "launch/segue/flags.h"
#include "launch/segue/job.h"
#include "launch/segue/options.h"
#include "launch/segue/run_of_checkpoint.h"

namespace segue {

namespace {

constexpr const char* kEvalExamples =
    "Examples:\n"
    "  segue eval --checkpoint runs/books      # on the test split of its training data\n"
    "  segue eval --checkpoint runs/books/checkpoints/best --data data/books --tgt-len 64 --mem-len 640 --clamp-len "
    "400 --same-length\n"
    "  segue eval --checkpoint runs/books --mem-len 0,128,256,512 --warm-up auto --name memory --per-token\n"
    "  segue eval --checkpoint runs/vanilla --recompute --stride 8 --output vanilla\n"
    "  segue eval --checkpoint runs/books --split valid --json > valid.json\n"
    "  segue eval --config evaluation.json --batch-size 16\n"
    "  segue eval --checkpoint runs/fast --extension ./fast_weights.so   # its kind of memory comes from there\n"
    "The memory may be longer or shorter than in training. --mem-len 0 evaluates the model without memory.\n"
    "The result goes to RUN/evaluations/NAME, where segue report finds it. Without --name, the settings make the\n"
    "name. --json prints the content of evaluation.json, and nothing else.\n"
    "An evaluation that a name holds already is replaced by the same one, and with --force by any.\n"
    "A config file has the flags as keys: {\"checkpoint\": \"runs/books\", \"mem_len\": [0, 128], ...}. Flags "
    "override\n"
    "it.";

struct EvalOptions {
  std::string config;
  EvaluationSettings settings;
  bool force = false;
  bool json = false;
  bool quiet = false;

  void describe(JsonFields& fields) {
    fields.optional("config", config, {.meaning = "settings as JSON; flags override them", .flag = {.value = "FILE"}});
    settings.describe(fields);
    describe_extensions(fields);
    fields.optional("force", force,
                    {.meaning = "replace another evaluation that output or name holds already. The same settings with "
                                "the same checkpoint need no force"});
    fields.optional("json", json, {.meaning = "print the content of evaluation.json"});
    fields.optional("quiet", quiet, {.meaning = "print no progress", .flag = {.alias = "-q"}});
  }
};

// The flags are read over what the config says.
EvalOptions resolve(const CLI::App& command) {
  EvalOptions options;
  read_flags(command, options);
  if (options.config.empty()) {
    options.settings.names = OptionNames::kFlags;
    return options;
  }
  options.settings = load_evaluation_settings(options.config);
  read_flags(command, options);
  return options;
}

// A config file is not for most people: who gives none hears of flags.
void check_given(const EvalOptions& options) {
  if (options.config.empty() && options.settings.checkpoint.empty())
    throw UsageError("eval: expected --checkpoint, a run or a checkpoint");
}

// With the dataset and the name that nobody gave.
EvaluationSettings complete(const EvaluationSettings& given, const Checkpoint& checkpoint) {
  EvaluationSettings settings = given;
  if (settings.data.empty()) settings.data = data_of(checkpoint);
  if (!given.name.empty() || !given.output.empty()) return settings;
  if (run_of(checkpoint)) {
    settings.name = default_name(settings, checkpoint);
  } else if (settings.per_token) {
    throw ConfigError("{}: expected {}, the directory of the losses, as {} lies in no run", given.called("per_token"),
                      given.called("output"), checkpoint.directory().string());
  }
  return settings;
}

// Where the first rank writes. What nobody asked to be kept need not be.
class ResultFiles {
 public:
  ResultFiles(const EvaluationSettings& given, std::filesystem::path output, Logger& logger)
      : output_(std::move(output)),
        is_asked_for_(!given.name.empty() || !given.output.empty() || given.per_token),
        logger_(logger) {
    if (!output_.empty()) as_asked([&] { staged_.emplace(output_); });
  }

  std::filesystem::path directory() const { return staged_ ? staged_->path() : output_; }

  // The file that tells all; none where nothing is written.
  std::optional<std::filesystem::path> write(const OrderedJson& evaluation) {
    if (!staged_) return std::nullopt;
    if (is_asked_for_ && path_exists(output_ / "evaluation.json"))
      logger_.info("replaces the evaluation that was in {}", visible_line(output_.string()));
    const bool is_written = as_asked([&] {
      write_evaluation(staged_->path(), evaluation);
      staged_->commit();
    });
    return is_written ? std::optional(output_ / "evaluation.json") : std::nullopt;
  }

 private:
  bool as_asked(const std::function<void()>& write) try {
    write();
    return true;
  } catch (const FileError& error) {
    if (is_asked_for_) throw;
    logger_.warn("the result is printed, but not saved: {}", error.what());
    return false;
  }

  std::filesystem::path output_;
  bool is_asked_for_;
  Logger& logger_;
  std::optional<StagedDirectory> staged_ = {};
};

// From here, where it lies below.
std::string shown(const std::filesystem::path& file) {
  const std::filesystem::path near = file.lexically_proximate(std::filesystem::current_path());
  return visible_line(*near.begin() == ".." ? file.string() : near.string());
}

// A full disk is no error of a rank's work: main says it for all commands, once everything has been tried.
void print_out(const std::string& text) { static_cast<void>(std::fputs(text.c_str(), stdout)); }

void tell(const OrderedJson& evaluation, const LossUnits& units, const std::optional<std::filesystem::path>& file,
          bool as_json, Logger& logger) {
  if (as_json) {
    print_out(format_json(evaluation));
    if (file) logger.info("written to {}", shown(*file));
    return;
  }
  print_out(describe_evaluation(evaluation, units));
  if (file) print_out(fmt::format("{:<16}{}\n", "written to", shown(*file)));
}

// The first rank's choice, opened by all.
Checkpoint checkpoint_of(const EvaluationSettings& settings, Job& job, Logger& logger) {
  const LongWork reading(job, "reading " + settings.checkpoint);
  std::optional<Checkpoint> chosen;
  if (job.is_first()) {
    ResolvedCheckpoint resolved = resolve_checkpoint(settings.checkpoint);
    for (const std::string& complaint : resolved.complaints) logger.warn("{}", complaint);
    if (!resolved.choice.empty()) logger.info("{}", resolved.choice);
    chosen = std::move(resolved.checkpoint);
  }
  return *open_together(std::move(chosen), job, logger);
}

// What an evaluation is made of.
struct EvaluationInput {
  const Checkpoint& checkpoint;
  const Dataset& dataset;
  const EvaluationJob& evaluation;
};

// What is evaluated where nobody said it, and what a person may not have meant. It comes once nothing is refused.
void tell_of_input(const EvaluationSettings& given, const EvaluationSettings& settings, const EvaluationInput& input,
                   Logger& logger) {
  if (given.data.empty()) {
    tell_of_training_data(input.checkpoint, input.dataset, logger);
  } else {
    warn_of_learned_text(input.checkpoint, input.dataset, settings.split, logger);
  }
  warn_of_unknown(input.dataset, settings.split, logger);
  if (input.evaluation.documents() == 1)
    logger.warn(
        "{}: split {} is one document: {} stands only at its end, and divides nothing; name another text, or none",
        settings.called("document_boundary"), settings.split, describe_json(Json(settings.document_boundary)));
  for (const std::string& complaint : input.evaluation.complaints_of_lengths()) logger.warn("{}", complaint);
}

void eval_as_rank(const EvalOptions& options, Job& job) try {
  const bool quiet = options.quiet;
  const EvaluationSettings& given = options.settings;
  const std::shared_ptr<Logger> logger = make_job_logger(job, quiet);
  std::optional<LongWork> starting(std::in_place, job, "starting");
  check_build(job);
  kernels::Queue queue(usable_device(given.device, "--device", job.local_rank()), static_cast<int>(given.threads));
  if (job.is_first()) warn_of_threads("--threads", given.threads, *logger);
  const Checkpoint checkpoint = checkpoint_of(given, job, *logger);
  const EvaluationSettings settings = complete(given, checkpoint);
  const Dataset dataset(settings.data);
  check_dataset(job, dataset, settings.split);
  check_tokenizer(checkpoint, dataset);
  EvaluationJob evaluation(settings, checkpoint, dataset, queue, job);
  const std::filesystem::path output = output_of(settings, checkpoint.directory());
  const bool is_named = !given.name.empty() || !given.output.empty();
  if (job.is_first() && is_named && !options.force)
    check_replaceable(output, {.settings = settings,
                               .checkpoint = checkpoint.directory().string(),
                               .dataset = dataset.identity(settings.split)});
  std::optional<ResultFiles> files;
  if (job.is_first()) files.emplace(given, output, *logger);
  if (job.is_first()) tell_of_input(given, settings, {checkpoint, dataset, evaluation}, *logger);
  job.barrier();  // some ranks have read more than others
  starting.reset();
  Progress progress("eval", evaluation.scored_tokens(), "k tokens", 1e3, quiet || !job.is_first());
  const auto say_bytes = [&](const EvaluationPass& pass, const UseBytes& bytes) {
    if (!job.is_first()) return;
    logger->info("segments of {}, mem_len {}: {}{}", human_count(pass.lengths.tgt_len),
                 human_count(pass.lengths.mem_len),
                 bytes.text(queue.device(),
                            name_of_memory(evaluation.trained().model, keeps_kv_cache(settings.kept(), pass.use))),
                 job.size() > 1 ? ", of the first rank" : "");
    if (queue.device().is_cuda()) return;
    const std::string complaint =
        complaint_of_memory(bytes.total(), fmt::format("lower --batch-size ({})", settings.batch_size));
    if (!complaint.empty()) logger->warn("the evaluation takes {}", complaint);
  };
  const std::vector<PassResult> results = evaluation.run(files ? files->directory() : output, say_bytes,
                                                         [&](int64_t tokens) { progress.advance_to(tokens); });
  progress.finish();
  if (!job.is_first()) return;
  const OrderedJson found = evaluation_json(settings, evaluation, results, checkpoint, dataset);
  const std::optional<std::filesystem::path> file = files->write(found);
  tell(found, loss_units(dataset, evaluation.trained().model.objective), file, options.json, *logger);
} catch (const OutOfMemoryError& error) {
  throw DeviceError("{}; lower --batch-size ({}), --tgt-len or --mem-len", error.what(), options.settings.batch_size);
}

void run_eval(const CLI::App& command) {
  const EvalOptions options = resolve(command);
  check_given(options);
  check_settings(options.settings);
  const CleanInterrupt clean;
  const std::unique_ptr<Job> job = open_job({});
  run_as_rank(*job, [&] { eval_as_rank(options, *job); });
}

}  // namespace

void add_eval_command(CLI::App& app) {
  add_command_reading<EvalOptions>(
      app, "eval", "Compute the loss, perplexity and bits per token and byte of a checkpoint on a split", kEvalExamples,
      run_eval);
}

}  // namespace segue

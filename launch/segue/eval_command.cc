// segue eval
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/progress.h"
#include "core/checkpoint/checkpoint_store.h"
#include "core/checkpoint/shared_checkpoint.h"
#include "core/config/device_choice.h"
#include "core/evaluation/evaluation_report.h"
#include "core/model/stored_tokenizer.h"
#include "data_pipeline/dataset.h"
#include "data_pipeline/staged_directory.h"
#include "launch/segue/commands.h"
#include "launch/segue/job.h"
#include "launch/segue/options.h"

namespace segue {

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  segue eval --checkpoint runs/books --data data/books --split test\n"
    "  segue eval --checkpoint runs/books/checkpoints/best --data data/books --tgt-len 64 --mem-len 640 --clamp-len "
    "400 --same-length\n"
    "  segue eval --checkpoint runs/books --data data/books --mem-len 0,128,256,512 --warm-up auto --name memory "
    "--per-token\n"
    "  segue eval --checkpoint runs/vanilla --data data/books --recompute --stride 8 --output vanilla\n"
    "  segue eval --config evaluation.json --batch 16\n"
    "The memory may be longer or shorter than in training; --mem-len 0 shows what the model is without it.\n"
    "A config file has the flags as keys: {\"checkpoint\": \"runs/books\", \"mem_len\": [0, 128], ...}; flags win.";

// The settings as the command line gives them, and how those that it gives replace a config file's.
struct EvalFlags {
  EvaluationSettings settings;
  std::string config;
  bool quiet = false;
  std::vector<std::function<void(EvaluationSettings&)>> replacements;

  EvaluationSettings resolve() const {
    EvaluationSettings resolved = config.empty() ? EvaluationSettings{} : load_evaluation_settings(config);
    for (const auto& replace : replacements) replace(resolved);
    check_given(resolved);
    check_settings(resolved);
    return resolved;
  }

  // A config file is not for most people: who gives none hears of flags.
  void check_given(const EvaluationSettings& resolved) const {
    if (!config.empty()) return;
    std::string missing = resolved.checkpoint.empty() ? "--checkpoint, a run or a checkpoint" : "";
    if (resolved.data.empty())
      missing += fmt::format("{}--data, the directory of a dataset", missing.empty() ? "" : ", and ");
    if (!missing.empty()) throw UsageError("eval: expected {}", missing);
  }
};

void report(const EvaluationSettings& settings, const EvaluationJob& job, const std::vector<PassResult>& results,
            const Checkpoint& checkpoint, const Dataset& dataset, StagedDirectory* staged) {
  const OrderedJson evaluation = evaluation_json(settings, job, results, checkpoint, dataset);
  if (staged != nullptr) {
    write_evaluation(staged->path(), evaluation);
    staged->commit();
  }
  fmt::print("{}", describe_evaluation(evaluation, loss_units(dataset, settings.split)));
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
  EvaluationJob evaluation(settings, checkpoint, dataset, queue, job);

  const std::filesystem::path output = output_of(settings, checkpoint.directory());
  std::optional<StagedDirectory> staged;
  if (!output.empty() && job.is_first()) staged.emplace(output);
  job.barrier();  // some ranks have read more than others
  starting.reset();
  Progress progress("eval", evaluation.scored_tokens(), "k tokens", 1e3, quiet || !job.is_first());
  const std::vector<PassResult> results =
      evaluation.run(staged ? staged->path() : output, [&](int64_t tokens) { progress.advance_to(tokens); });
  progress.finish();
  if (job.is_first()) report(settings, evaluation, results, checkpoint, dataset, staged ? &*staged : nullptr);
} catch (const OutOfMemoryError& error) {
  throw DeviceError("{}; lower --batch ({}), --tgt-len or --mem-len", error.what(), settings.batch_size);
}

void run_eval(const EvalFlags& flags) {
  const EvaluationSettings settings = flags.resolve();
  const std::unique_ptr<Job> job = open_job({});
  run_as_rank(*job, [&] { eval_as_rank(settings, flags.quiet, *job); });
}

// Adds flags that set one member each.
class FlagBinder {
 public:
  FlagBinder(CLI::App& command, EvalFlags& flags) : command_(command), flags_(flags) {}

  template <typename T>
  CLI::Option* add(const std::string& names, T EvaluationSettings::*member, const std::string& meaning) {
    return bind(command_.add_option(names, flags_.settings.*member, meaning), member);
  }
  CLI::Option* add_flag(const std::string& names, bool EvaluationSettings::*member, const std::string& meaning) {
    return bind(command_.add_flag(names, flags_.settings.*member, meaning), member);
  }
  // Those of a config file come first.
  CLI::Option* append(const std::string& names, std::vector<std::string> EvaluationSettings::*member,
                      const std::string& meaning) {
    flags_.replacements.emplace_back([member, &given = flags_.settings](EvaluationSettings& settings) {
      (settings.*member).insert((settings.*member).end(), (given.*member).begin(), (given.*member).end());
    });
    return command_.add_option(names, flags_.settings.*member, meaning);
  }
  template <typename T>
  CLI::Option* bind(CLI::Option* option, T EvaluationSettings::*member) {
    flags_.replacements.push_back([option, member, &given = flags_.settings](EvaluationSettings& settings) {
      if (option->count() > 0) settings.*member = given.*member;
    });
    return option;
  }

 private:
  CLI::App& command_;
  EvalFlags& flags_;
};

void add_what_to_score(FlagBinder& flags) {
  using Settings = EvaluationSettings;
  flags.add("--checkpoint", &Settings::checkpoint, "A run (its newest intact checkpoint) or one checkpoint");
  flags.add("--data", &Settings::data, "Dataset directory");
  flags.add("--split", &Settings::split, "Split to score")->capture_default_str();
  flags.add("--batch,--batch-size", &Settings::batch_size, "Streams read side by side")
      ->check(at_least(1))
      ->capture_default_str();
  flags
      .add("--max-tokens", &Settings::max_tokens,
           "Score about so many tokens: without --warm-up whole segments of all streams; 0: the whole split")
      ->check(at_least(0));
  flags.add("--warm-up", &Settings::warm_up,
            "Score every token once, each stream but the first after reading so many tokens before its own; \"auto\": "
            "as many as its losses depend on. Without it the split is cut into blocks, each from empty memory");
  flags.add("--document-border", &Settings::document_border,
            "Text behind which another document begins, each read from empty memory; numbers for ready-made tokens");
}

void add_lengths(FlagBinder& flags, CLI::App& command, EvaluationSettings& settings) {
  using Settings = EvaluationSettings;
  flags.add("--tgt-len", &Settings::tgt_len, "Tokens per segment, one or several (default: as trained)")
      ->delimiter(',')
      ->check(at_least(1));
  flags.add("--mem-len", &Settings::mem_len, "Memory rows per layer, one or several (default: as trained)")
      ->delimiter(',')
      ->check(at_least(0));
  flags.add("--clamp-len", &Settings::clamp_len, "Largest distance told apart; 0: none (default: as trained)")
      ->check(at_least(0));
  flags.bind(command.add_flag_function(
                 "--same-length,!--no-same-length",
                 [&settings](int64_t count) { settings.same_length = count > 0 ? SameLength::kYes : SameLength::kNo; },
                 "Every query sees the same number of keys (default: as trained)"),
             &Settings::same_length);
  flags
      .append("--set", &Settings::set,
              "KEY=VALUE in place of what the model's config says of its use, e.g. model.memory.initial=zeros")
      ->allow_extra_args(false);
  flags.bind(add_choice(command, "--memory", settings.memory,
                        "Keep keys and values, made once, or hidden states as in training: slower, smaller, the same "
                        "numbers"),
             &Settings::memory);
  flags.add_flag("--recompute", &Settings::recompute,
                 "Windows of --tgt-len tokens without memory, each computed anew, as memoryless models are evaluated");
  flags.add("--stride", &Settings::stride, "Tokens from one window to the next, and scored in each")
      ->check(at_least(1))
      ->capture_default_str();
}

void add_results(FlagBinder& flags) {
  using Settings = EvaluationSettings;
  flags.add("--output", &Settings::output,
            "Directory for evaluation.json, evaluation.csv, by_position.csv and by_context.csv; one that holds an "
            "evaluation is replaced as a whole");
  flags.add("--name", &Settings::name, "The same, to RUN/evaluations/NAME of the checkpoint's run");
  flags.add_flag("--per-token", &Settings::per_token,
                 "Also write the loss of every token (HDF5: nll, targets [n], by place in the split)");
}

}  // namespace

void add_eval_command(CLI::App& app) {
  auto flags = std::make_shared<EvalFlags>();
  CLI::App* command =
      app.add_subcommand("eval", "Loss, perplexity and bits per token and byte of a checkpoint on a split");
  command->footer(kExamples);
  FlagBinder binder(*command, *flags);
  command->add_option("--config", flags->config, "Settings as JSON; flags replace them");
  add_what_to_score(binder);
  add_lengths(binder, *command, flags->settings);
  add_results(binder);
  add_place_options(*command, flags->settings.device, flags->settings.precision);
  binder.bind(command->get_option("--device"), &EvaluationSettings::device);
  binder.bind(command->get_option("--precision"), &EvaluationSettings::precision);
  binder.add("--threads", &EvaluationSettings::threads, "Threads; 0: all")->check(at_least(0));
  command->add_flag("--quiet", flags->quiet, "No progress line");
  command->callback([flags] { run_eval(*flags); });
}

}  // namespace segue

// segue train
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/cpu_quota.h"
#include "base/cuda.h"
#include "base/text.h"
#include "base/wall_clock.h"
#include "core/checkpoint/shared_checkpoint.h"
#include "core/config/device_choice.h"
#include "core/model/parameter_specs.h"
#include "core/model/stored_tokenizer.h"
#include "core/report/run_report.h"
#include "core/train/trainer.h"
#include "core/train/training_plan.h"
#include "data_pipeline/describe_dataset.h"
#include "distributed/launched_tasks.h"
#include "launch/segue/commands.h"
#include "launch/segue/dry_run.h"
#include "launch/segue/flags.h"
#include "launch/segue/job.h"
#include "launch/segue/train_options.h"
#include "launch/segue/version.h"

namespace segue {

namespace {

constexpr const char* kTrainExamples =
    "Examples:\n"
    "  segue train configs/books.json --dry-run --ranks 4   # what each rank would hold\n"
    "  segue train configs/books.json --set data.path=data/books --run runs/books\n"
    "  segue train configs/books.json --set training.report=true --run runs/watched   # also keeps report.html\n"
    "  segue train --run runs/books --resume          # continues exactly where the run was saved\n"
    "  segue train configs/books.json --set model.mem_len=256 --set optimizer.kind=adamw --run runs/books-256\n"
    "  mpirun -np 4 segue train configs/books.json --run runs/books-4   # on four ranks; may resume on any number\n"
    "If any rank gets SIGINT, SIGTERM or SIGUSR1, all ranks finish the step, save, and exit with code 75. Send mpirun\n"
    "SIGUSR1, which it passes on.";

// A run that is resumed from another working directory than it began in finds its dataset where it last had it.
void find_dataset(DataConfig& data, const RunDirectory& run) {
  if (path_exists(data.path)) return;
  const std::string last = run.dataset_path();
  if (last.empty() || last == data.path) return;
  if (!path_exists(last))
    throw DataError(
        "data.path: expected a dataset, found nothing at {}, nor at {}, where {} last had it; say "
        "where it is now with --set data.path=DIR",
        data.path, last, run.path().string());
  data.path = last;
}

Config resolve_config(const TrainOptions& options, const RunDirectory& run) {
  if (!options.config.empty()) return load_config(options.config, options.overrides);
  if (!options.resume) throw UsageError("name a config, or continue a run with --resume");
  Config config = load_config(run.config(), options.overrides);
  if (std::ranges::count(overridden_keys(options.overrides), "data.path") == 0) find_dataset(config.data, run);
  return config;
}

// Keys whose change would make another run of it, not a continuation.
bool is_fixed(const std::string& difference) {
  constexpr std::array<std::string_view, 6> kFixed{
      "seed:", "model.", "data.train_split:", "data.document_boundary:", "training.batch_size:", "training.tgt_len:"};
  return std::any_of(kFixed.begin(), kFixed.end(), [&](std::string_view key) { return difference.starts_with(key); });
}

// Where changed keys move the learning rate, from one step to the next.
void tell_learning_rate(const Config& before, const Config& now, const Checkpoint& checkpoint, Logger& logger) {
  const TrainingState state = read_training_state(checkpoint);
  const int64_t next = state.step + 1;
  if (state.step == 0 || next > now.training.max_step) return;
  const auto rate = [&](const Config& config, int64_t step) { return learning_rate(config, step, state.plateau); };
  logger.warn("learning rate: {:.4g} at step {}, {:.4g} at step {}; without these changes it would be {:.4g}",
              rate(before, state.step), state.step, rate(now, next), next, rate(before, next));
}

// Keys that say what the learning rate is.
bool is_of_learning_rate(const std::string& difference) {
  constexpr std::array<std::string_view, 4> kOfSchedule{"schedule.",
                                                        "optimizer.lr:", "training.max_step:", "training.stages"};
  return std::ranges::any_of(kOfSchedule, [&](std::string_view key) { return difference.starts_with(key); });
}

// Whether a run that is resumed has trained all its steps already.
bool is_over(const Checkpoint& checkpoint, const Config& config) {
  return checkpoint.step() >= config.training.max_step;
}

Config saved_config(const Checkpoint& checkpoint) {
  return parse_config(checkpoint.text(kConfigFile), (checkpoint.directory() / kConfigFile).string());
}

void check_differences(const Config& config, const Checkpoint& checkpoint) {
  for (const std::string& difference : diff_configs(saved_config(checkpoint), config))
    if (is_fixed(difference))
      throw ConfigError("{}: cannot resume with {}; start a new run with training.init_from",
                        checkpoint.directory().string(), difference);
}

void tell_differences(const Config& config, const Checkpoint& checkpoint, Logger& logger) {
  const Config before = saved_config(checkpoint);
  const std::vector<std::string> differences = diff_configs(before, config);
  for (const std::string& difference : differences) {
    if (is_over(checkpoint, config)) {
      logger.warn("training has ended at step {}: {} changes no weights", checkpoint.step(), difference);
    } else {
      logger.warn("resumed with {}", difference);
    }
  }
  if (std::ranges::any_of(differences, is_of_learning_rate)) tell_learning_rate(before, config, checkpoint, logger);
}

// The first rank's choice, opened by all.
std::optional<Checkpoint> checkpoint_to_resume(const RunDirectory& run, Job& job, Logger& logger) {
  IntactCheckpoint found;
  if (job.is_first()) {
    found = run.checkpoints().newest_intact();
    if (const std::string complaint = run.checkpoints().complaint_of_best(); !complaint.empty())
      logger.warn("{}; the next best evaluation makes it anew", complaint);
  }
  for (const std::string& complaint : found.complaints) logger.warn("{}", complaint);
  if (!found.checkpoint && found.newer > 0)
    throw CheckpointError("{}: a newer Segue has saved its checkpoints: resume it with that one", run.path().string());
  if (!found.checkpoint && !found.complaints.empty())
    throw CheckpointError("{}: no checkpoint of its {} is intact; to start at the beginning, name another --run",
                          run.path().string(), found.complaints.size());
  if (job.is_first() && !found.checkpoint)
    logger.warn("{}: no checkpoint to resume from, starting at the beginning", run.path().string());
  return open_together(std::move(found.checkpoint), job, logger);
}

std::optional<Checkpoint> checkpoint_to_start_from(const Config& config, Job& job, Logger& logger) {
  if (config.training.init_from.empty()) return std::nullopt;
  std::optional<Checkpoint> chosen;
  if (job.is_first()) {
    ResolvedCheckpoint resolved = resolve_checkpoint(config.training.init_from);
    for (const std::string& complaint : resolved.complaints) logger.warn("{}", complaint);
    if (!resolved.choice.empty()) logger.info("training.init_from: {}", resolved.choice);
    chosen = std::move(resolved.checkpoint);
  }
  return open_together(std::move(chosen), job, logger);
}

std::string where_it_runs(const kernels::Queue& queue) {
  const Device device = queue.device();
  if (!device.is_cuda()) {
    const std::optional<int> quota = cpu_quota();
    return fmt::format("{} on cores {}{}, {}", counted(queue.threads(), "thread"), usable_cores(),
                       quota ? fmt::format(" within a quota of {}", *quota) : "", queue.code_path());
  }
  const cuda::DeviceInfo info = cuda::describe_device(device.index);
  return fmt::format("{} ({}, {} free of {})", name_of(device), info.name, human_bytes(info.free_bytes),
                     human_bytes(info.total_bytes));
}

MadeBy made_by(const kernels::Queue& queue, const Job& job, const DataConfig& data) {
  const Device device = queue.device();
  return {.program = program_version(),
          .host = job.host(),
          .device = device.is_cuda() ? fmt::format("{} ({})", name_of(device), cuda::describe_device(device.index).name)
                                     : queue.code_path(),
          .threads = queue.threads(),
          .ranks = job.size(),
          .began = utc_second(),
          .from_step = 0,
          .data = std::filesystem::absolute(data.path).lexically_normal().string()};
}

// The checkpoint that a run resumes from, or the one whose weights it starts with.
struct Origin {
  std::optional<Checkpoint> resumed;
  std::optional<Checkpoint> weights;
};

// Finds and checks what a run begins with: all that training refuses before its first step is refused here, so that a
// dry run refuses the same.
Origin find_origin(const TrainOptions& options, const Config& config, const Dataset& dataset, const RunDirectory& run,
                   Job& job, Logger& logger) {
  Origin origin;
  if (options.resume) origin.resumed = checkpoint_to_resume(run, job, logger);
  if (origin.resumed) {
    check_differences(config, *origin.resumed);
    check_tokenizer(*origin.resumed, dataset);
    check_resumable(*origin.resumed, config, dataset);
    if (job.is_first()) tell_differences(config, *origin.resumed, logger);  // once nothing is refused
    return origin;
  }
  origin.weights = checkpoint_to_start_from(config, job, logger);
  if (origin.weights) {
    std::vector<ParameterSpec> specs = parameter_specs(config.model, dataset.vocabulary());
    check_tokenizer(*origin.weights, dataset);
    check_weights(*origin.weights, Parameters(std::move(specs)));
  }
  return origin;
}

void tell_documents(const Config& config, const Dataset& dataset, Logger& logger) {
  const DocumentsFound found = count_documents(config, dataset);
  if (!found.line.empty()) logger.info("{}", found.line);
  for (const std::string& warning : found.warnings) logger.warn("{}", warning);
}

// Keys that the checks of a config let pass though nothing reads them.
void tell_without_effect(const Config& config, Logger& logger) {
  const ScheduleConfig& schedule = config.schedule;
  const bool is_flat = schedule.kind == ScheduleKind::kConstant || schedule.kind == ScheduleKind::kInvSqrt;
  if (is_flat && schedule.eta_min > 0.0)
    logger.warn(R"(schedule.eta_min: {} changes nothing with schedule.kind = "{}")", schedule.eta_min,
                name_of_choice(schedule.kind));
}

// Every rank has the data that such a training needs, the same ones.
void check_data(const Config& config, const Dataset& dataset, Job& job, Logger& logger) {
  check_fit(config, dataset);
  check_dataset(job, dataset, config.data.train_split);
  if (config.evaluation.interval > 0) check_dataset(job, dataset, config.evaluation.split);
  if (job.is_first()) {
    tell_documents(config, dataset, logger);
    tell_without_effect(config, logger);
    if (config.evaluation.interval > 0) warn_of_unknown(dataset, config.evaluation.split, logger);
  }
  const SplitInfo& split = dataset.split_info(config.data.train_split);
  const int64_t of_stream = split.tokens / config.training.batch_size;
  if (job.is_first() && !split.examples && of_stream <= config.training.tgt_len)
    logger.warn("training.batch_size: {}: {} each, no more than training.tgt_len = {}: segments are shorter",
                counted(config.training.batch_size, "stream"), counted(of_stream, "token"), config.training.tgt_len);
}

// Draws the report of the run while it trains.
class ReportKeeper : public TrainingObserver {
 public:
  ReportKeeper(const RunDirectory& run, Logger& logger) : report_(run.path(), logger) {}
  void metrics_written() override { report_.update(); }
  void ended() override { report_.finish(); }

 private:
  report::RunReport report_;
};

// The services a rank trains with.
struct TrainingRank {
  Job& job;
  Collectives& collectives;
  kernels::Queue& queue;
  Logger& logger;
};

TrainingOutcome train(const Config& config, const Dataset& dataset, const RunDirectory& run, const Origin& origin,
                      const TrainingRank& rank, std::optional<LongWork>& starting, const StopSignal& stop) try {
  std::optional<ReportKeeper> report;  // outlives the trainer, which notifies it
  Trainer trainer(config, dataset, run, rank.queue, rank.job, rank.collectives, rank.logger);
  trainer.sign_as(made_by(rank.queue, rank.job, config.data));
  if (rank.job.is_first() && config.training.report) trainer.observe(report.emplace(run, rank.logger));
  if (origin.resumed) trainer.resume_from(*origin.resumed);
  if (origin.weights) trainer.start_from(*origin.weights);
  rank.job.barrier();  // some ranks have read or written more than others
  starting.reset();
  return trainer.run(stop);
} catch (const OutOfMemoryError& error) {
  throw DeviceError("{}; {}", error.what(), remedy_for_memory(config));
}

// The first rank holds the run's directory for all.
void open_run(RunDirectory& run, Job& job) {
  if (job.is_first()) run.lock();
  job.barrier();
}

// Refuses what training would refuse. Without a dataset, of which a config may say the vocabulary's size, a plan can
// still be made.
void check_plan(const TrainOptions& options, const RunDirectory& run, const Config& config, Job& job, Logger& logger) {
  const LongWork checking(job, "checking");
  if (!options.resume) run.check_new();
  double missing = config.data.vocab_size > 0 && !path_exists(config.data.path) ? 1.0 : 0.0;
  job.sum({&missing, 1});
  if (missing > 0.0) {
    if (job.is_first()) logger.warn("data.path: nothing is at {}, so the dataset was not checked", config.data.path);
    return;
  }
  const Dataset dataset = dataset_of(config.data);
  check_data(config, dataset, job, logger);
  find_origin(options, config, dataset, run, job, logger);
}

// Says what training would do, in a job of the ranks that there are or of as many as asked for.
void dry_run(const TrainOptions& options, const RunDirectory& run, const Config& config, Device device, Job& job,
             Logger& logger) {
  const std::vector<std::string> hosts = job.gather(job.host());
  const std::vector<std::string> processors =
      job.gather(device.is_cuda() ? name_of(device) : "cores " + usable_cores());
  std::vector<RankPlace> places(hosts.size());
  for (size_t rank = 0; rank < places.size(); ++rank) places[rank] = {hosts[rank], processors[rank]};
  if (options.ranks) {
    if (job.size() > 1) throw UsageError("--ranks: this job has {} ranks already", job.size());
    places.assign(static_cast<size_t>(*options.ranks), {});
  }
  check_shares(config, static_cast<int>(places.size()));
  compute_of(config.model, config.training.precision, device);
  check_communicator(job, device, config.training);
  check_plan(options, run, config, job, logger);
  const std::string text = describe_training(config, places, device);
  if (job.is_first()) fmt::print("{}", text);
}

// The test split where there is one, otherwise the one that training evaluates on, or any.
std::string split_to_evaluate(const Config& config, const Dataset& dataset) {
  for (const std::string& wanted : {std::string("test"), config.evaluation.split})
    if (dataset.has_split(wanted)) return wanted;
  for (const SplitInfo& split : dataset.manifest().splits)
    if (split.name != config.data.train_split) return split.name;
  return config.data.train_split;
}

TrainingOutcome train_on_device(const TrainOptions& options, RunDirectory& run, const Config& config,
                                const StopSignal& stop, const TrainingRank& rank) {
  Job& job = rank.job;
  Logger& logger = rank.logger;
  std::optional<LongWork> starting(std::in_place, job, "starting");
  const Dataset dataset = dataset_of(config.data);
  check_data(config, dataset, job, logger);
  compute_of(config.model, config.training.precision, rank.queue.device());
  const auto find = [&] { return find_origin(options, config, dataset, run, job, logger); };
  Origin origin;
  if (!options.resume) origin = find();  // before anything is made
  open_run(run, job);
  if (options.resume) origin = find();  // nobody else saves meanwhile
  job.barrier();                        // nobody reads what begin() replaces
  // A run that is over keeps the config that its weights were trained with.
  const bool replaces_run = job.is_first() && !options.resume && run.is_begun();
  const bool keeps_config = origin.resumed && is_over(*origin.resumed, config) && path_exists(run.config());
  if (job.is_first() && !keeps_config) run.begin(config, options.resume);
  if (replaces_run) logger.warn("{}: replaces a run that ended before its first checkpoint", run.path().string());

  logger.info("run {}, {}", run.path().string(), where_it_runs(rank.queue));
  if (const std::string advice = advice_to_stop(); !advice.empty()) logger.info("{}", advice);
  const TrainingOutcome outcome = train(config, dataset, run, origin, rank, starting, stop);
  if (outcome == TrainingOutcome::kStopped) return outcome;
  logger.info("finished; evaluate it with: segue eval --checkpoint {} --data {} --split {}",
              shell_word(run.path().string()), shell_word(config.data.path),
              shell_word(split_to_evaluate(config, dataset)));
  return outcome;
}

TrainingOutcome train_as_rank(const TrainOptions& options, RunDirectory& run, const Config& config,
                              const StopSignal& stop, Job& job) {
  const std::shared_ptr<Logger> logger = make_job_logger(job, options.quiet);
  if (job.is_first()) stop.speak_for(job.size());
  check_agreement(job, config);
  const TrainingConfig& training = config.training;
  const Device device = choose_device(training.device, "training.device", job.local_rank());
  if (options.dry_run) {
    dry_run(options, run, config, device, job, *logger);
    return TrainingOutcome::kFinished;
  }
  check_shares(config, job.size());
  kernels::Queue queue(usable_device(training.device, "training.device", job.local_rank()),
                       static_cast<int>(training.threads));
  if (job.is_first()) warn_of_threads("training.threads", training.threads, *logger);
  const std::unique_ptr<Collectives> collectives = open_collectives(job, device, training, *logger);
  queue.watch_with([&ranks = *collectives](double seconds) { ranks.check_progress(seconds); });
  return train_on_device(options, run, config, stop,
                         {.job = job, .collectives = *collectives, .queue = queue, .logger = *logger});
}

// A run that fails before its first step does not take its name. One that diverges then has made a step.
TrainingOutcome train_or_leave_nothing(const TrainOptions& options, RunDirectory& run, const Config& config,
                                       const StopSignal& stop, Job& job) try {
  return train_as_rank(options, run, config, stop, job);
} catch (const DivergedError&) {
  throw;
} catch (...) {
  run.remove_unused();
  throw;
}

std::string describe_stop(RunDirectory& run) {
  const bool is_saved = run.checkpoints().newest().has_value();
  if (!is_saved && run.remove_unused())
    return fmt::format("stopped before the first step; nothing is left in {}, so give the same command again",
                       run.path().string());
  return fmt::format("{}; continue with: {}", is_saved ? "stopped and saved" : "stopped before the first step",
                     resuming_command(run.path()));
}

std::exception_ptr error_of(const std::function<void()>& work) try {
  work();
  return nullptr;
} catch (...) {
  return std::current_exception();
}

JobOptions job_options(const TrainingConfig& training, bool quiet) {
  return {.timeout_seconds = training.peer_timeout,
          .stall_seconds = training.stall_timeout,
          .tell = [logger = make_logger(quiet)](const std::string& line) { logger->warn("{}", line); }};
}

// An error in the config waits until the ranks can report it together.
void run_train(const TrainOptions& given) {
  const TrainOptions options = understood(given);
  RunDirectory run(run_path(options));
  Config config;
  const std::exception_ptr error = error_of([&] {
    run.check_own();
    config = resolve_config(options, run);
  });
  const StopSignal stop;
  std::string stopped;
  auto outcome = TrainingOutcome::kFinished;
  {
    const std::unique_ptr<Job> job = open_job(job_options(config.training, options.quiet));
    run_as_rank(*job, [&] {
      if (error) std::rethrow_exception(error);
      outcome = train_or_leave_nothing(options, run, config, stop, *job);
    });
    if (outcome == TrainingOutcome::kStopped) {
      stopped = describe_stop(run);
      say_for_all(*job, stopped);
    }
  }
  if (outcome == TrainingOutcome::kStopped) throw InterruptedError("{}", stopped);
}

}  // namespace

void add_train_command(CLI::App& app) {
  CLI::App& command =
      add_command(app, "train", "Train a model from a JSON config, or continue a run", kTrainExamples, run_train);
  flag_needs(command, "--ranks", "--dry-run");
}

}  // namespace segue

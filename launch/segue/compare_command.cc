// segue compare
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/child_process.h"
#include "base/directory_content.h"
#include "base/error.h"
#include "base/file.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "base/text_table.h"
#include "core/compare/compared_runs.h"
#include "core/compare/comparison.h"
#include "core/compare/comparison_result.h"
#include "core/compare/planned_total.h"
#include "core/compare/process_notes.h"
#include "core/compare/result_text.h"
#include "core/compare/swept_rates.h"
#include "core/compare/variant_costs.h"
#include "core/train/stop_signal.h"
#include "core/train/training_plan.h"
#include "data_pipeline/dataset.h"
#include "launch/segue/commands.h"
#include "launch/segue/comparison_files.h"
#include "launch/segue/evaluation_command_lines.h"
#include "launch/segue/flags.h"
#include "launch/segue/options.h"

namespace segue {

namespace {

constexpr const char* kCompareExamples =
    "Examples:\n"
    "  segue compare configs/family/comparison.json --dry-run   # the runs, and what each may spend\n"
    "  segue compare configs/family/comparison.json --output comparisons/books   # trains, measures, and reports\n"
    "  segue compare configs/memory/comparison.json --set data.path=data/recall --output comparisons/recall\n"
    "  segue compare configs/family/comparison.json --launcher 'mpirun -np 2' --output comparisons/ranks\n"
    "  sbatch --array=1-39 --wrap 'segue compare family.json --only $SLURM_ARRAY_TASK_ID'   # a task for every run of "
    "the search for learning rates; once it has ended, --array=40-78 for the compared runs\n"
    "The file names a base config, variants as differences from it, a budget and seeds. DIR then has result.json, the\n"
    "page index.html, its figures as SVG, its tables as CSV, and the runs, each as segue train leaves it. SIGINT,\n"
    "SIGTERM and SIGUSR1 save and stop. Run the same command again to resume.";

constexpr std::chrono::milliseconds kLook(50);  // between looks whether a program has ended

struct CompareOptions {
  std::string file;
  std::vector<std::string> overrides;
  std::vector<std::string> extensions;
  std::string output;
  std::string launcher;
  std::optional<int64_t> only;
  bool dry_run = false;
  bool json = false;
  bool quiet = false;

  void describe(JsonFields& fields) {
    fields.required(
        "file", file,
        {.meaning = "description of the comparison, as JSON", .flag = {.value = "FILE", .is_positional = true}});
    fields.optional("set", overrides,
                    {.meaning = "replace a value of the base config for all variants, such as data.path=data/book",
                     .flag = {.value = "KEY=VALUE", .is_repeated = true}});
    describe_extensions(fields, extensions);
    fields.optional("output", output,
                    {.meaning = "directory of the comparison; default: comparisons/NAME-OF-FILE",
                     .flag = {.value = "DIR", .is_output = true}});
    fields.optional("launcher", launcher,
                    {.meaning = "words to put before every segue train and segue eval, such as mpirun -np 4",
                     .flag = {.value = "WORDS"}});
    fields.optional("only", only,
                    {.meaning = "train and measure only the run that has this number in --dry-run", .minimum = 1});
    fields.optional("dry_run", dry_run,
                    {.meaning = "only list the runs, which of them are done, and what they cost in total"});
    fields.optional("json", json, {.meaning = "print JSON: the content of result.json, or with --dry-run the runs"});
    fields.optional("quiet", quiet, {.meaning = "print only warnings and errors", .flag = {.alias = "-q"}});
  }
};

struct Plan : PlacedComparison, PlannedRuns {
  std::vector<SweptRate> rates = {};  // empty while the sweep goes on
  bool is_timed() const { return timings.empty() || !seconds.empty(); }
  bool is_swept() const { return is_timed() && (sweep.empty() || !rates.empty()); }
  size_t count() const { return timings.size() + sweep.size() + runs.size(); }
};

// The runs, which come to know their steps and their learning rates.
void plan_runs(Plan& plan) {
  if (plan.comparison.budget.kind == BudgetKind::kSeconds) {
    plan.seconds = {};
    plan.timings = timings_of(plan);
    plan.seconds = timed_seconds(plan, plan.timings, plan.directory);
  }
  plan.sweep = sweep_of(plan);
  if (plan.is_timed() && !plan.sweep.empty()) plan.rates = swept_rates(plan, plan.sweep, plan.directory);
  std::vector<double> found;
  for (const SweptRate& rate : plan.rates) found.push_back(rate.learning_rate());
  plan.runs = runs_of(plan, found);
}

Plan make_plan(const CompareOptions& options) {
  const std::filesystem::path file = options.file;
  Plan plan;
  plan.comparison = load_comparison(file);
  plan.source = options.file;
  plan.base = file.parent_path() / plan.comparison.base;
  plan.set = options.overrides;
  plan.directory = options.output.empty() ? std::filesystem::path("comparisons") / file.stem()
                                          : std::filesystem::path(options.output);
  const Config base = load_config(plan.base, plan.set);
  const Dataset dataset = dataset_of(base.data);
  plan.vocab_size = dataset.vocabulary();
  const auto look_at = [&](const std::string& split) {
    if (dataset.split_info(split).examples) plan.of_examples.insert(split);
  };
  look_at(plan.comparison.measure.split);
  if (!plan.comparison.learning_rates.empty()) look_at(base.evaluation.split);
  plan_runs(plan);
  if (options.only && *options.only > static_cast<int64_t>(plan.count()))
    throw UsageError("--only: expected 1 to {}, found {}", plan.count(), *options.only);
  return plan;
}

// What a page calls it: its directory, as one file may be compared on many corpora.
std::string name_of(const Plan& plan) {
  return std::filesystem::absolute(plan.directory / "").lexically_normal().parent_path().filename().string();
}

std::filesystem::path config_path(const Plan& plan, const ComparedRun& run) {
  return plan.directory / "configs" / (run.name() + ".json");
}

// A comparison begins in no directory of something else; what it makes first is the folder of its configs, and beside
// it what it was asked to measure.
void check_free(const std::filesystem::path& directory) {
  if (!path_exists(directory)) return;
  const std::vector<DirectoryKind> kinds = kinds_in(directory);
  const auto is_ours = [](const std::filesystem::path& path) {
    const std::string name = path.filename().string();
    return name == "configs" || name.starts_with("measure.json");
  };
  bool is_free = kinds == std::vector{DirectoryKind::kComparison};
  if (kinds.empty() && std::filesystem::is_directory(directory))
    is_free = std::ranges::all_of(std::filesystem::directory_iterator(directory), is_ours);
  if (!is_free)
    throw UsageError("{}: exists and holds no comparison, but {}; name another --output", directory.string(),
                     describe_content(directory));
}

// A run that has begun goes on as it began, and what was measured of it was asked for in the same words.
void check_begun(const Plan& plan) {
  check_free(plan.directory);
  std::vector<ComparedRun> all = plan.timings;
  if (plan.is_timed()) all.insert(all.end(), plan.sweep.begin(), plan.sweep.end());
  if (plan.is_swept()) all.insert(all.end(), plan.runs.begin(), plan.runs.end());
  for (const ComparedRun& run : all) {
    const std::filesystem::path path = config_path(plan, run);
    if (!path_exists(path)) continue;
    const std::vector<std::string> differences = diff_configs(load_config(path), run.config);
    if (!differences.empty())
      throw ConfigError("{}: was begun with another base, variant, budget or --set: {}; name another --output",
                        path.string(), fmt::join(differences, "; "));
  }
  const std::filesystem::path path = plan.directory / "measure.json";
  if (!path_exists(path)) return;
  const std::string found = read_file(path);
  const std::string wanted = format_json(write_fields(plan.comparison.measure));
  if (found != wanted)
    throw ConfigError("{}: was begun with another measure: expected {}, found {}; name another --output", path.string(),
                      write_fields(plan.comparison.measure).dump(), OrderedJson::parse(found).dump());
}

std::string name_in_table(const ComparedRun& run) {
  return run.timed ? fmt::format("{}@{}", run.variant, *run.timed + 1) : run.variant;
}

std::string state_of(const Plan& plan, const ComparedRun& run, std::string_view evaluation) {
  if (has_diverged(plan.directory, run)) return "diverged";
  return is_measured(plan.directory, run, evaluation) ? "done" : "";
}

// A run in the table of all, with what is known of it.
struct ListedRun {
  const ComparedRun& run;
  std::string state;  // "done", "diverged", or none
};

std::vector<ListedRun> listed(const Plan& plan) {
  std::vector<ListedRun> runs;
  for (const ComparedRun& run : plan.timings) runs.push_back({run, is_timed(plan.directory, run) ? "done" : ""});
  for (const ComparedRun& run : plan.sweep) runs.push_back({run, state_of(plan, run, kSweptEvaluation)});
  for (const ComparedRun& run : plan.runs)
    runs.push_back({run, plan.is_swept() ? state_of(plan, run, kComparedEvaluation) : ""});
  return runs;
}

std::string rate_in_table(const Plan& plan, const ComparedRun& run) {
  if (plan.sweep.empty() || run.timed) return fmt::format("{}", run.config.optimizer.lr);
  return run.learning_rate ? fmt::format("{}", *run.learning_rate) : "swept";
}

std::string table_of(const Plan& plan) {
  const std::vector<ListedRun> runs = listed(plan);
  TextColumn numbers{.head = "run", .cells = {}};
  for (size_t i = 1; i <= runs.size(); ++i) numbers.cells.push_back(std::to_string(i));
  std::vector<TextColumn> columns{std::move(numbers)};
  const auto add = [&](const char* head, bool is_text, const std::function<std::string(const ComparedRun&)>& cell) {
    columns.push_back({.head = head, .cells = {}, .is_text = is_text});
    for (const ListedRun& each : runs) columns.back().cells.push_back(cell(each.run));
  };
  add("variant", true, name_in_table);
  add("seed", false, [](const ComparedRun& run) { return std::to_string(run.seed); });
  add("rate", false, [&](const ComparedRun& run) { return rate_in_table(plan, run); });
  add("steps", false, [&](const ComparedRun& run) {
    return plan.is_timed() || run.timed ? human_count(run.config.training.max_step) : "timed";
  });
  add("tokens/step", false, [](const ComparedRun& run) {
    return human_count(run.config.training.batch_size * last_lengths(run.config).tokens());
  });
  add("FLOP", false, [&](const ComparedRun& run) {
    return fmt::format("{:.3g}", flops_of_steps(run.config, plan.vocab_size, run.config.training.max_step));
  });
  columns.push_back({.head = "", .cells = {}, .is_text = true});
  for (const ListedRun& each : runs) columns.back().cells.push_back(each.state);
  return text_table(columns);
}

std::string described(const Plan& plan) {
  std::string before =
      plan.timings.empty() ? "" : fmt::format("{} short runs to time steps, then ", plan.timings.size());
  if (!plan.sweep.empty()) before += fmt::format("{} runs to find learning rates, then ", plan.sweep.size());
  const std::string heading =
      fmt::format("{}{} runs of {} variants, {:.4g} {} each", before, plan.runs.size(), plan.comparison.variants.size(),
                  plan.comparison.budget.amount, name_of_choice(plan.comparison.budget.kind));
  return fmt::format("{}\n{}\n{}\n", wrapped(heading, kTerminalColumns), table_of(plan),
                     describe(planned_total(plan, plan, plan.is_timed(), plan.directory)));
}

// {"format": "segue-comparison-plan", "version": 1, "output", "budget", "runs": [{"run": its number, "name", "kind":
// "timing", "sweep" or "compared", "variant", "seed", "learning_rate": null until it is found, "steps": null until they
// are timed, "tokens_per_step", "flops": of these steps, "state": "left", "done" or "diverged"}], "total": of
// planned_total.h}
OrderedJson plan_json(const Plan& plan) {
  OrderedJson json{{"format", "segue-comparison-plan"},
                   {"version", 1},
                   {"output", plan.directory.string()},
                   {"budget", write_fields(plan.comparison.budget)},
                   {"runs", OrderedJson::array()}};
  const auto add = [&](const ComparedRun& run, const char* kind, bool is_rate_known, const std::string& state) {
    const TrainingConfig& training = run.config.training;
    const bool has_steps = plan.is_timed() || run.timed;
    json["runs"].push_back(
        {{"run", json["runs"].size() + 1},
         {"name", is_rate_known ? OrderedJson(run.name()) : OrderedJson()},
         {"kind", kind},
         {"variant", run.variant},
         {"seed", run.seed},
         {"learning_rate", is_rate_known ? OrderedJson(run.config.optimizer.lr) : OrderedJson()},
         {"steps", has_steps ? OrderedJson(training.max_step) : OrderedJson()},
         {"tokens_per_step", training.batch_size * last_lengths(run.config).tokens()},
         {"flops",
          has_steps ? OrderedJson(flops_of_steps(run.config, plan.vocab_size, training.max_step)) : OrderedJson()},
         {"state", state.empty() ? "left" : state}});
  };
  for (const ComparedRun& run : plan.timings) add(run, "timing", true, is_timed(plan.directory, run) ? "done" : "");
  for (const ComparedRun& run : plan.sweep) add(run, "sweep", true, state_of(plan, run, kSweptEvaluation));
  for (const ComparedRun& run : plan.runs)
    add(run, "compared", plan.is_swept(), plan.is_swept() ? state_of(plan, run, kComparedEvaluation) : "");
  json["total"] = total_json(planned_total(plan, plan, plan.is_timed(), plan.directory));
  return json;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::vector<std::string> training_words(const Plan& plan, const ComparedRun& run) {
  const std::filesystem::path directory = plan.directory / run.directory();
  std::vector<std::string> words{"train", config_path(plan, run).string(), "--run", directory.string()};
  if (path_exists(directory / "config.json")) words.emplace_back("--resume");
  return words;
}

// Trains and measures runs one after the other, each as a program of its own.
class Runner {
 public:
  Runner(Plan& plan, const CompareOptions& options)
      : plan_(plan), options_(options), program_(std::filesystem::read_symlink("/proc/self/exe").string()) {}

  void run_all() {
    make_directories(plan_.directory / "configs");
    write_for_all(plan_.directory / "measure.json", format_json(write_fields(plan_.comparison.measure)));
    const auto timings = static_cast<int64_t>(plan_.timings.size());
    const auto before = timings + static_cast<int64_t>(plan_.sweep.size());
    run_those(plan_.timings, 0, "", nullptr, 0.0);
    plan_runs(plan_);
    if (!is_ready(plan_.is_timed(), "steps to be timed", timings)) return;
    check_begun(plan_);
    run_those(plan_.sweep, timings, kSweptEvaluation, sweeping_command_line, work_after_sweep());
    plan_runs(plan_);
    if (!is_ready(plan_.is_swept(), "learning rates to be found", before)) return;
    check_begun(plan_);
    run_those(plan_.runs, before, kComparedEvaluation, measuring_command_line, 0.0);
  }

 private:
  using WordsOf = std::vector<std::string> (*)(const PlacedComparison& plan, const ComparedRun& run);

  // Whether what follows the first `runs` runs can begin. Throws UsageError when only one of these was asked for.
  bool is_ready(bool are_done, const char* expected, int64_t runs) const {
    if (are_done) return true;
    if (!options_.only || *options_.only <= runs) return false;
    throw UsageError("--only {}: expected {} first, by runs 1 to {}", *options_.only, expected, runs);
  }

  bool is_done(const ComparedRun& run, const char* evaluation) const {
    return run.timed ? is_timed(plan_.directory, run) : has_ended(plan_.directory, run, evaluation);
  }

  // Operations that are left to train it, by which the time left is told; none of what only times steps.
  double work_of(const ComparedRun& run) {
    if (run.timed || is_measured(plan_.directory, run, kSweptEvaluation)) return 0.0;
    const auto [found, is_new] = work_of_variants_.try_emplace(run.variant);
    if (is_new) found->second = flops_of_steps(run.config, plan_.vocab_size, run.config.training.max_step);
    return found->second;
  }

  // Of the runs from other seeds than that of the sweep.
  double work_after_sweep() {
    double work = 0.0;
    for (const ComparedRun& run : plan_.runs) {
      if (run.seed != plan_.comparison.seeds.front()) work += work_of(run);
    }
    return work;
  }

  // Runs are numbered from `before` + 1 on; timings are not evaluated. `work`: of what comes after them.
  void run_those(const std::vector<ComparedRun>& runs, int64_t before, const char* evaluation, WordsOf words_of_it,
                 double work) {
    std::vector<size_t> left;
    for (size_t i = 0; i < runs.size(); ++i) {
      const int64_t number = before + static_cast<int64_t>(i) + 1;
      if (options_.only.value_or(number) != number || is_done(runs[i], evaluation)) continue;
      left.push_back(i);
      work += work_of(runs[i]);
    }
    for (const size_t i : left) {
      const ComparedRun& run = runs[i];
      const double work_of_run = work_of(run);
      const auto start = std::chrono::steady_clock::now();
      tell(run, before + static_cast<int64_t>(i) + 1, work);
      const std::filesystem::path config = config_path(plan_, run);
      if (!path_exists(config)) write_file_atomically(config, format_json(to_json(run.config)));
      if (run_program(run, training_words(plan_, run)) && words_of_it != nullptr)
        run_program(run, words_of_it(plan_, run));
      if (!options_.launcher.empty() && !is_done(run, evaluation))
        throw UsageError(
            "--launcher {}: expected a program that runs the command behind it to its end, such as 'mpirun -np 2'; it "
            "ended with code 0, and {} is not trained and evaluated",
            shell_word(options_.launcher), (plan_.directory / run.directory()).string());
      work -= work_of_run;
      work_done_ += work_of_run;
      if (work_of_run > 0.0) seconds_ += seconds_since(start);
    }
  }

  // `work`: of all that is left.
  void tell(const ComparedRun& run, int64_t number, double work) const {
    if (options_.quiet) return;
    std::string text = fmt::format("run {} of {}: {}", number, plan_.count(), run.name());
    if (work_done_ > 0.0 && !options_.only)
      text += fmt::format("; about {} left of the comparison", human_duration(seconds_ / work_done_ * work));
    fmt::print(stderr, "{}\n", text);
  }

  // False when the run diverged, which is what was found of it.
  bool run_program(const ComparedRun& run, const std::vector<std::string>& arguments) {
    if (stop_.requested()) stopped();
    std::vector<std::string> words = words_of(options_.launcher);
    words.push_back(program_);
    words.insert(words.end(), arguments.begin(), arguments.end());
    for (const std::string& path : options_.extensions) words.insert(words.end(), {kExtensionFlag, path});
    if (options_.quiet) words.emplace_back("--quiet");
    const auto start = std::chrono::steady_clock::now();
    ChildProcess child(words, ChildOutput::kNone);
    const ProcessEnd end = wait_for(child);
    add_note(plan_.directory, run,
             {.command = arguments.front(),
              .code = end.code,
              .seconds = seconds_since(start),
              .peak_bytes = end.peak_bytes});
    if (end.code == 0) return true;
    if (end.code == static_cast<int>(ExitCode::kDiverged) && !run.timed) {
      note_divergence(run, arguments.front());
      return false;
    }
    if (stop_.requested() || end.code == static_cast<int>(ExitCode::kInterrupted)) stopped();
    const std::string message =
        fmt::format("{}: segue {} ended with code {}; fix the error above, then resume with: {}",
                    (plan_.directory / run.directory()).string(), arguments.front(), end.code, command());
    const bool is_known = end.code > 1 && end.code <= static_cast<int>(ExitCode::kDiverged);
    throw Error(is_known ? static_cast<ExitCode>(end.code) : ExitCode::kUnexpected, message);
  }

  ProcessEnd wait_for(ChildProcess& child) const {
    bool is_told = false;
    while (true) {
      if (const std::optional<ProcessEnd> end = child.ended()) return *end;
      if (stop_.requested() && !is_told) {
        child.send(SIGUSR1);  // which launchers pass on
        is_told = true;
      }
      std::this_thread::sleep_for(kLook);
    }
  }

  void note_divergence(const ComparedRun& run, const std::string& command) const {
    const std::filesystem::path directory = plan_.directory / run.directory();
    write_file_atomically(directory / kDivergedFile, format_json({{"command", command}}));
    if (!options_.quiet) fmt::print(stderr, "{} diverged; the comparison will say so\n", run.name());
  }

  std::string command() const {
    std::string text = "segue compare " + shell_word(options_.file);
    for (const std::string& override_text : options_.overrides) text += " --set " + shell_word(override_text);
    for (const std::string& path : options_.extensions) text += fmt::format(" {} {}", kExtensionFlag, shell_word(path));
    text += " --output " + shell_word(plan_.directory.string());
    if (!options_.launcher.empty()) text += " --launcher " + shell_word(options_.launcher);
    if (options_.only) text += fmt::format(" --only {}", *options_.only);
    return text;
  }

  [[noreturn]] void stopped() const {
    const std::string text = fmt::format("stopped; resume with: {}", command());
    fmt::print(stderr, "segue: {}\n", text);
    throw InterruptedError("{}", text);
  }

  Plan& plan_;
  const CompareOptions& options_;
  std::string program_;
  StopSignal stop_;
  std::map<std::string, double> work_of_variants_ = {};
  double work_done_ = 0.0;
  double seconds_ = 0.0;  // that it took
};

void run_compare(const CompareOptions& options) {
  Plan plan = make_plan(options);
  check_begun(plan);
  if (options.dry_run) {
    fmt::print("{}", options.json ? format_json(plan_json(plan)) : described(plan));
    return;
  }
  Runner(plan, options).run_all();
  const ComparisonResult result = read_result(plan, plan.runs, plan.rates, plan.directory);
  const OrderedJson json = result_json(result);
  if (!result.variants.empty()) write_comparison(plan.directory, result, name_of(plan));
  fmt::print("{}", options.json ? format_json(json) : describe_result(result));
  if (!options.json && !result.variants.empty()) fmt::print("\n{}\n", (plan.directory / "index.html").string());
}

}  // namespace

void add_compare_command(CLI::App& app) {
  add_command(app, "compare", "Train variants within the same budget, and tell which is better and how certain that is",
              kCompareExamples, run_compare);
}

}  // namespace segue

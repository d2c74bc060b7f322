// segue bench
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/json_fields.h"
#include "base/output_file.h"
#include "base/text.h"
#include "base/text_table.h"
#include "base/unfinished_output.h"
#include "core/attention/visibility.h"
#include "core/bench/attention_bench.h"
#include "core/bench/ceilings.h"
#include "core/bench/eval_speed_bench.h"
#include "core/bench/exchange_bench.h"
#include "core/bench/gemm_bench.h"
#include "core/bench/head_bench.h"
#include "core/bench/slow_link.h"
#include "core/bench/state_bench.h"
#include "core/bench/step_bench.h"
#include "core/config/device_choice.h"
#include "core/config/memory_kind.h"
#include "core/config/memory_row.h"
#include "core/config/visibility_kind.h"
#include "launch/segue/commands.h"
#include "launch/segue/flags.h"
#include "launch/segue/job.h"
#include "launch/segue/options.h"

namespace segue {

namespace {

constexpr std::string_view kInterrupted = "interrupted; nothing was measured to the end";

constexpr const char* kBenchExamples =
    "Examples:\n"
    "  segue bench attention --device cuda --precision bf16 --batch-size 16 --heads 8 --d-head 64 \\\n"
    "      --tgt-len 512 --mem-len 3584 --json attention.json\n"
    "  segue bench attention --device cpu --batch-size 2 --tgt-len 128 --mem-len 128 --forward-only\n"
    "  segue bench state --device cpu --batch-size 2 --tgt-len 4096 --decay token --erases\n"
    "  segue bench head --vocab-size 267735 --cutoffs 20000,40000,200000 --div-val 4 --d-model 1024 --tokens 8192\n"
    "  segue bench step configs/books.json --set training.batch_size=16 --vocab-size 256\n"
    "  segue bench eval configs/books.json --set model.mem_len=1024\n"
    "  segue bench eval-speed configs/books.json --lengths 800,1800 --samples 3   # memory against recomputation\n"
    "  mpirun -np 2 segue bench exchange configs/books.json --threads 1 --link 100   # over 100 MB/s\n"
    "  segue bench gemm 4096,1024,1024 4096,4096,1024,bT   # plain, and by a weight\n"
    "  segue bench gemm 1024,4096,4096,aT,+                # the gradient of one\n"
    "Rates count the operations that the formulas need, not masked scores or what is computed twice. The peak is the\n"
    "best rate of a large matrix product of the same precision in the same run. The bandwidth is that of the best\n"
    "copy in the run.";

struct BenchOptions {
  WorkbenchOptions workbench;
  Effort effort;
  CeilingSizes ceilings;
  std::string json;

  void describe(JsonFields& fields) {
    describe_compute(fields, workbench.device, workbench.precision, workbench.threads);
    effort.describe(fields);
    ceilings.describe(fields);
    fields.optional("json", json,
                    {.meaning = "write the result here as JSON", .flag = {.value = "FILE", .is_output = true}});
  }
};

// Before anything is measured, and lost.
Workbench make_workbench(const BenchOptions& options) {
  check_output_files({{"--json", options.json, OutputKind::kBenchmark}});
  warn_of_threads("--threads", options.workbench.threads, *make_logger(false));
  return Workbench(options.workbench);
}

void write(const BenchOptions& options, const OrderedJson& json) {
  if (!options.json.empty()) write_file_atomically(options.json, format_json(json));
}

void report(const BenchOptions& options, const BenchReport& result, const OrderedJson& setting) {
  fmt::print("{}", format_table(result));
  write(options, to_json(result, setting));
}

OrderedJson setting_of(const Workbench& workbench, const char* what) {
  return {
      {"bench", what}, {"device", name_of(workbench.device())}, {"precision", name_of_choice(workbench.precision())}};
}

struct AttentionOptions : BenchOptions {
  AttentionShape shape;
  bool forward_only = false;
  bool no_distances = false;
  std::string visibility;

  void describe(JsonFields& fields) {
    shape.describe(fields);
    fields.optional("visibility", visibility,
                    {.meaning = "what heads see, as an object like model.visibility", .flag = {.value = "JSON"}});
    fields.optional("forward_only", forward_only, {.meaning = "leave out the backward pass"});
    fields.optional("no_distances", no_distances, {.meaning = "score by content alone, as with absolute positions"});
    BenchOptions::describe(fields);
  }
};

// The shape with what --visibility says.
AttentionShape shape_of(const AttentionOptions& options) {
  AttentionShape shape = options.shape;
  shape.has_distances = !options.no_distances;
  if (options.visibility.empty()) return shape;
  if (shape.window > 0) throw UsageError("--window and --visibility: expected one of them");
  const std::string source = "--visibility";
  ModelConfig model{.n_head = shape.heads, .mem_len = shape.mem_len};
  model.visibility =
      read_fields<ConfigError, VisibilityConfig>(parse_json<ConfigError>(options.visibility, source), source);
  if (model.visibility.kind == VisibilityKind::kAdaptive)
    throw UsageError("--visibility: expected a kind whose keys are known without weights, found adaptive");
  if (model.visibility.same_length) throw UsageError("--visibility: expected no same_length, found true");
  check_model(model, source);
  const ModelUse use = use_of(model);
  check_use(model, use, shape.tgt_len, source);
  shape.window = use.window;
  shape.patterns = use.patterns;
  return shape;
}

void run_attention(const AttentionOptions& options) {
  const CleanInterrupt clean(kInterrupted);
  const AttentionShape shape = shape_of(options);
  Workbench workbench = make_workbench(options);
  BenchReport result;
  result.ceilings = measure_ceilings(workbench, options.effort, options.ceilings);
  AttentionBench bench = bench_attention(workbench, options.effort, shape, options.forward_only);
  result.measurements = std::move(bench.measurements);
  result.title = fmt::format("{} on {}: B {}, N {}, H {}, T {}, M {}, {}",
                             shape.has_distances ? "relative attention" : "attention without distances",
                             workbench.title(), shape.streams, shape.heads, shape.d_head, shape.tgt_len, shape.mem_len,
                             shape.patterns.empty() ? fmt::format("window {}", shape.window) : options.visibility);
  OrderedJson setting = setting_of(workbench, "attention");
  setting.update({{"streams", shape.streams},
                  {"heads", shape.heads},
                  {"d_head", shape.d_head},
                  {"tgt_len", shape.tgt_len},
                  {"mem_len", shape.mem_len},
                  {"window", shape.window},
                  {"visibility", options.visibility},
                  {"pairs", visible_pairs(use_of(shape), shape.heads, shape.tgt_len, shape.mem_len)},
                  {"tiles", visible_tiles(use_of(shape), shape.heads, shape.tgt_len, shape.mem_len)},
                  {"distances", shape.has_distances},
                  {"tensor_bytes", bench.tensor_bytes},
                  {"workspace_bytes", bench.workspace_bytes}});
  report(options, result, setting);
}

struct StateOptions : BenchOptions {
  StateShape shape;
  bool forward_only = false;

  void describe(JsonFields& fields) {
    shape.describe(fields);
    fields.optional("forward_only", forward_only, {.meaning = "leave out the backward pass"});
    BenchOptions::describe(fields);
  }
};

void run_state(const StateOptions& options) {
  const CleanInterrupt clean(kInterrupted);
  const StateShape& shape = options.shape;
  Workbench workbench = make_workbench(options);
  BenchReport result;
  result.ceilings = measure_ceilings(workbench, options.effort, options.ceilings);
  StateBench bench = bench_state(workbench, options.effort, shape, options.forward_only);
  result.measurements = std::move(bench.measurements);
  result.title = fmt::format("scan of a state on {}: B {}, N {}, H {}, T {}, decay {}{}", workbench.title(),
                             shape.streams, shape.heads, shape.d_head, shape.tgt_len, name_of_choice(shape.decay),
                             shape.erases ? ", erases" : "");
  OrderedJson setting = setting_of(workbench, "state");
  setting.update({{"streams", shape.streams},
                  {"heads", shape.heads},
                  {"d_head", shape.d_head},
                  {"tgt_len", shape.tgt_len},
                  {"decay", name_of_choice(shape.decay)},
                  {"erases", shape.erases},
                  {"state_bytes", bench.state_bytes},
                  {"kept_bytes", bench.kept_bytes}});
  report(options, result, setting);
}

struct HeadOptions : BenchOptions {
  HeadShape shape;
  bool loss_only = false;

  void describe(JsonFields& fields) {
    shape.describe(fields);
    fields.optional("loss_only", loss_only, {.meaning = "leave out the gradient"});
    BenchOptions::describe(fields);
  }
};

void run_head(const HeadOptions& options) {
  const CleanInterrupt clean(kInterrupted);
  const HeadShape& shape = options.shape;
  Workbench workbench = make_workbench(options);
  BenchReport result;
  result.ceilings = measure_ceilings(workbench, options.effort, options.ceilings);
  HeadBench bench = bench_head(workbench, options.effort, shape, options.loss_only);
  result.measurements = std::move(bench.measurements);
  result.title =
      fmt::format("adaptive softmax on {}: V {}, cutoffs {}, div_val {}, D {}, {} tokens", workbench.title(),
                  shape.vocabulary, fmt::join(shape.cutoffs, " "), shape.div_val, shape.d_model, shape.tokens);
  OrderedJson setting = setting_of(workbench, "head");
  setting.update({{"vocabulary", shape.vocabulary},
                  {"cutoffs", shape.cutoffs},
                  {"div_val", shape.div_val},
                  {"d_model", shape.d_model},
                  {"tokens", shape.tokens},
                  {"cluster_tokens", bench.cluster_tokens},
                  {"scratch_bytes", bench.scratch_bytes},
                  {"logits_bytes", bench.logits_bytes}});
  report(options, result, setting);
  const std::string meaning = fmt::format(
      "Targets by cluster: {}. Scratch: {}; the logits of all tokens and words would take {}.",
      fmt::join(bench.cluster_tokens, " "), human_bytes(bench.scratch_bytes), human_bytes(bench.logits_bytes));
  fmt::print("\n{}", wrapped(meaning, kTerminalColumns));
}

// The model that is stepped.
struct StepOptions : BenchOptions {
  std::string config;
  std::vector<std::string> overrides;
  int64_t vocab_size = 256;

  void describe(JsonFields& fields) {
    fields.required("config", config,
                    {.meaning = "config file; its data, device and precision are not used",
                     .flag = {.value = "FILE", .is_positional = true}});
    describe_overrides(fields, overrides);
    fields.optional("vocab_size", vocab_size, {.meaning = "size of the vocabulary", .unit = "tokens", .minimum = 1});
    BenchOptions::describe(fields);
  }
};

OrderedJson setting_of(const Workbench& workbench, const char* what, const Config& config, int64_t vocab_size) {
  OrderedJson setting = setting_of(workbench, what);
  setting.update({{"vocabulary", vocab_size},
                  {"streams", config.training.batch_size},
                  {"tgt_len", config.training.tgt_len},
                  {"mem_len", config.model.mem_len},
                  {"config", to_json(config)}});
  return setting;
}

void run_evaluation(const StepOptions& options) {
  const CleanInterrupt clean(kInterrupted);
  const Config config = load_config(options.config, options.overrides);
  Workbench workbench = make_workbench(options);
  BenchReport result;
  result.ceilings = measure_ceilings(workbench, options.effort, options.ceilings);
  result.measurements = {bench_evaluation(workbench, options.effort, config, options.vocab_size)};
  result.title = fmt::format("evaluation on {}: B {}, T {}, M {}", workbench.title(), config.training.batch_size,
                             config.training.tgt_len, config.model.mem_len);
  report(options, result, setting_of(workbench, "eval", config, options.vocab_size));
}

void run_step(const StepOptions& options) {
  const CleanInterrupt clean(kInterrupted);
  const Config config = load_config(options.config, options.overrides);
  Workbench workbench = make_workbench(options);
  BenchReport result;
  result.ceilings = measure_ceilings(workbench, options.effort, options.ceilings);
  const StepBench bench = bench_step(workbench, options.effort, config, options.vocab_size);
  result.measurements = {bench.measurement};
  result.title =
      fmt::format("training step on {}: {} parameters, B {}, T {}, M {}", workbench.title(), bench.parameters,
                  config.training.batch_size, config.training.tgt_len, config.model.mem_len);
  OrderedJson setting = setting_of(workbench, "step", config, options.vocab_size);
  setting.update({{"parameters", bench.parameters}, {"activation_bytes", bench.activation_bytes}});
  fmt::print("{}", format_table(result));
  OrderedJson json = to_json(result, setting);
  fmt::print("{}", format_profile(bench.profile, result.ceilings));
  json["profile"] = to_json(bench.profile, result.ceilings);
  write(options, json);
}

struct EvalSpeedOptions : StepOptions {
  std::vector<int64_t> lengths = {800, 1800, 2800, 3800};
  int64_t streams = 1;
  int64_t tgt_len = 128;

  void describe(JsonFields& fields) {
    fields.optional(
        "lengths", lengths,
        {.meaning = "attention lengths: how many tokens back a token sees", .unit = "tokens", .minimum = 1});
    fields.optional("batch_size", streams, {.meaning = "batch size, B", .minimum = 1});
    fields.optional("tgt_len", tgt_len,
                    {.meaning = "length of a segment, with memory", .unit = "tokens", .minimum = 1});
    StepOptions::describe(fields);
  }
};

void run_eval_speed(const EvalSpeedOptions& options) {
  const CleanInterrupt clean(kInterrupted);
  const Config config = load_config(options.config, options.overrides);
  check_use(config.model, use_of(config.model), options.tgt_len, options.config);
  const MemoryKind kind = config.model.memory.kind;
  if (!row_of(kind).is_like_a_window)
    throw ConfigError(R"({}: model.memory.kind: expected a kind that a window of keys can stand for, found "{}")",
                      options.config, name_of_choice(kind));
  if (config.model.objective.is_masked())
    throw ConfigError(
        R"({}: model.objective.kind: expected "next_token", whose windows score the newest tokens, found )"
        R"("masked")",
        options.config);
  Workbench workbench = make_workbench(options);
  BenchReport result;
  result.ceilings = measure_ceilings(workbench, options.effort, options.ceilings);
  const std::vector<EvalSpeed> speeds = bench_eval_speed(workbench, options.effort, config, options.vocab_size,
                                                         options.streams, options.tgt_len, options.lengths);
  result.title =
      fmt::format("evaluation on {}: {}, D {}, B {}, T {}", workbench.title(), counted(config.model.n_layer, "layer"),
                  config.model.d_model, options.streams, options.tgt_len);
  OrderedJson setting = setting_of(workbench, "eval-speed");
  setting.update({{"model", write_fields(config.model)},
                  {"vocabulary", options.vocab_size},
                  {"streams", options.streams},
                  {"tgt_len", options.tgt_len},
                  {"ratios", OrderedJson::array()}});
  std::string table =
      "\nTime of a recomputed token to that of a token with memory:\n"
      "attention length   keys, values   operations   hidden states\n";
  for (const EvalSpeed& speed : speeds) {
    for (const Measurement& each : {speed.keys_and_values, speed.hidden_states, speed.window})
      result.measurements.push_back(each);
    setting["ratios"].push_back({{"length", speed.length},
                                 {"keys_and_values", speed.ratio()},
                                 {"operations", speed.ratio_of_flops()},
                                 {"hidden_states", speed.ratio_of_states()}});
    table += fmt::format("{:>16}{:>14.0f}x{:>12.0f}x{:>15.0f}x\n", speed.length, speed.ratio(), speed.ratio_of_flops(),
                         speed.ratio_of_states());
  }
  report(options, result, setting);
  fmt::print("{}", table);
}

struct ExchangeOptions : StepOptions {
  double link = 0.0;     // MB/s; 0: as fast as it is
  double latency = 0.0;  // ms

  void describe(JsonFields& fields) {
    fields.optional("link", link,
                    {.meaning = "slow the exchange down to a link of this bandwidth; 0: the link as it is",
                     .unit = "MB/s",
                     .minimum = 0});
    fields.optional("latency", latency, {.meaning = "latency of that link for each sum", .unit = "ms", .minimum = 0});
    StepOptions::describe(fields);
  }
};

void run_exchange_as_rank(const ExchangeOptions& options, const Config& config, Workbench& workbench, Job& job,
                          Collectives& collectives) {
  BenchReport result;
  result.ceilings = measure_ceilings(workbench, options.effort, options.ceilings);
  std::optional<SlowLink> slow;
  if (options.link > 0.0) slow.emplace(collectives, 1e6 * options.link, 1e-3 * options.latency);
  const ExchangeBench bench = bench_exchange(workbench, options.effort, config, options.vocab_size, job,
                                             slow ? static_cast<Collectives&>(*slow) : collectives);
  if (!job.is_first()) return;
  result.measurements = bench.measurements;
  const std::string link = slow ? fmt::format(", as over {:g} MB/s and {:g} ms", options.link, options.latency) : "";
  result.title = fmt::format("gradients of {} ranks over {}{}, first rank on {}: {} parameters, {} buckets", job.size(),
                             collectives.name(), link, workbench.title(), bench.parameters, bench.buckets);
  OrderedJson setting = setting_of(workbench, "exchange");
  setting.update({{"ranks", job.size()},
                  {"communicator", collectives.name()},
                  {"link_mb_per_second", options.link},
                  {"latency_ms", options.latency},
                  {"parameters", bench.parameters},
                  {"buckets", bench.buckets},
                  {"exposed_afterwards", bench.exposed_afterwards},
                  {"exposed_meanwhile", bench.exposed_meanwhile},
                  {"streams", config.training.batch_size},
                  {"tgt_len", config.training.tgt_len},
                  {"mem_len", config.model.mem_len}});
  report(options, result, setting);
  fmt::print("\nA step waited for {:.0f}% of the sums after the backward pass, for {:.0f}% during it.\n",
             100.0 * bench.exposed_afterwards, 100.0 * bench.exposed_meanwhile);
}

void run_exchange(const ExchangeOptions& options) {
  const std::unique_ptr<Job> job = open_job({});
  run_as_rank(*job, [&] {
    const Config config = load_config(options.config, options.overrides);
    if (job->size() == 1) throw UsageError("bench exchange: expected two ranks or more; run it under mpirun");
    check_agreement(*job, config);
    check_shares(config, job->size());
    WorkbenchOptions of_rank = options.workbench;
    of_rank.local_rank = job->local_rank();
    Workbench workbench(of_rank);
    const std::shared_ptr<Logger> logger = make_job_logger(*job, false);
    if (job->is_first()) warn_of_threads("--threads", options.workbench.threads, *logger);
    const std::unique_ptr<Collectives> collectives =
        open_collectives(*job, workbench.device(), config.training, *logger);
    run_exchange_as_rank(options, config, workbench, *job, *collectives);
  });
}

struct GemmOptions : BenchOptions {
  std::vector<std::string> shapes;

  void describe(JsonFields& fields) {
    fields.required("shapes", shapes,
                    {.meaning = "sizes of each product. Append ,aT or ,bT for a factor that is stored transposed, as "
                                "[K, M] or [N, K], and ,+ for a product that is added to what is there",
                     .flag = {.value = "M,N,K", .is_positional = true}});
    BenchOptions::describe(fields);
  }
};

void run_gemm(const GemmOptions& options) {
  const CleanInterrupt clean(kInterrupted);
  std::vector<kernels::ProductShape> parsed;
  parsed.reserve(options.shapes.size());
  for (const std::string& text : options.shapes) parsed.push_back(parse_gemm(text));
  Workbench workbench = make_workbench(options);
  BenchReport result{.title = "matrix products on " + workbench.title(),
                     .ceilings = measure_ceilings(workbench, options.effort, options.ceilings),
                     .measurements = {}};
  for (const kernels::ProductShape& shape : parsed)
    result.measurements.push_back(bench_gemm(workbench, options.effort, shape));
  report(options, result, setting_of(workbench, "gemm"));
}

}  // namespace

void add_bench_command(CLI::App& app) {
  CLI::App* bench = app.add_subcommand(
      "bench",
      "Measure attention, the scan of a state, the adaptive softmax, a training step, evaluation, the exchange between "
      "ranks, or matrix products");
  bench->require_subcommand(1);
  bench->footer(kBenchExamples);
  add_command(*bench, "attention", "Relative attention, forward and backward", "", run_attention);
  add_command(*bench, "state", "The scan of a state that tokens write and read, forward and backward", "", run_state);
  add_command(*bench, "head", "The adaptive softmax: projections, loss and gradient", "", run_head);
  add_command(*bench, "step", "A training step with full memory on random tokens, in total and by operation", "",
              run_step);
  add_command(*bench, "eval",
              "Evaluation of the config's training segments with a full KV cache, or where there is none with what "
              "training keeps",
              "", run_evaluation);
  add_command(*bench, "eval-speed", "Evaluation with memory against recomputing every context", "", run_eval_speed);
  CLI::App& exchange =
      add_command(*bench, "exchange", "What the exchange between ranks adds to a training step", "", run_exchange);
  flag_needs(exchange, "--latency", "--link");
  add_command(*bench, "gemm", "Matrix products [M, K] times [K, N]", "", run_gemm);
}

}  // namespace segue

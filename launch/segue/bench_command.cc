// segue bench
#include <fmt/format.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/json_fields.h"
#include "base/text.h"
#include "core/bench/attention_bench.h"
#include "core/bench/ceilings.h"
#include "core/bench/eval_speed_bench.h"
#include "core/bench/exchange_bench.h"
#include "core/bench/gemm_bench.h"
#include "core/bench/head_bench.h"
#include "core/bench/slow_link.h"
#include "core/bench/step_bench.h"
#include "launch/segue/commands.h"
#include "launch/segue/job.h"
#include "launch/segue/options.h"

namespace segue {

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  segue bench attention --device cuda --precision bf16 --streams 16 --heads 8 --d-head 64 \\\n"
    "      --tgt-len 512 --mem-len 3584 --json attention.json\n"
    "  segue bench attention --device cpu --streams 2 --tgt-len 128 --mem-len 128 --forward-only\n"
    "  segue bench head --vocab 267735 --cutoffs 20000,40000,200000 --div-val 4 --d-model 1024 --tokens 8192\n"
    "  segue bench step configs/books.json --set training.batch_size=16 --vocab 256\n"
    "  segue bench eval configs/books.json --set model.mem_len=1024\n"
    "  segue bench eval-speed configs/books.json --lengths 800,1800 --samples 3   # memory against re-computation\n"
    "  mpirun -np 2 segue bench exchange configs/books.json --threads 1 --link 100   # over 100 MB/s\n"
    "  segue bench gemm 4096,1024,1024 1024,4096,1024 --weights\n"
    "Rates count what the formulas need: nothing for masked scores or for what is computed twice. The peak is that of "
    "a\n"
    "large matrix product of the same precision, the best of the same run; so is the bandwidth of copies.";

struct BenchOptions {
  WorkbenchOptions place;
  Effort effort;
  CeilingSizes ceilings;
  std::string json;
};

void add_bench_options(CLI::App& command, BenchOptions& options) {
  add_place_options(command, options.place.device, options.place.precision);
  command.add_option("--threads", options.place.threads, "Threads on the CPU; 0: all")->check(at_least(0));
  command.add_option("--warm-up", options.effort.warm_up, "Calls before the first sample")
      ->check(at_least(0))
      ->capture_default_str();
  command.add_option("--samples", options.effort.samples, "Samples; the median is reported")
      ->check(at_least(1))
      ->capture_default_str();
  command
      .add_option("--sample-seconds", options.effort.sample_seconds,
                  "A sample has as many calls as it takes to last this long")
      ->check(at_least(0))
      ->capture_default_str();
  command.add_option("--peak-product", options.ceilings.product, "m = n = k of the product that is the peak")
      ->check(at_least(1))
      ->default_str("by device");
  command.add_option("--copy-bytes", options.ceilings.copy_bytes, "Size of the copy that is the bandwidth")
      ->check(CLI::Range(int64_t{64}, int64_t{1} << 40))
      ->default_str("by device");
  command.add_option("--json", options.json, "Write the result here as JSON");
}

void write(const BenchOptions& options, const OrderedJson& json) {
  if (!options.json.empty()) write_file_atomically(options.json, format_json(json));
}

void report(const BenchOptions& options, const BenchReport& result, const OrderedJson& setting) {
  fmt::print("{}", format_table(result));
  write(options, to_json(result, setting));
}

OrderedJson setting_of(const Workbench& place, const char* what) {
  return {{"bench", what}, {"device", name_of(place.device())}, {"precision", name_of_choice(place.precision())}};
}

void run_attention(const BenchOptions& options, const AttentionShape& shape, bool forward_only) {
  Workbench place(options.place);
  BenchReport result;
  result.ceilings = measure_ceilings(place, options.effort, options.ceilings);
  AttentionBench bench = bench_attention(place, options.effort, shape, forward_only);
  result.measurements = std::move(bench.measurements);
  result.title = fmt::format("{} on {}: B {}, N {}, H {}, T {}, M {}, window {}",
                             shape.has_distances ? "relative attention" : "attention without distances", place.title(),
                             shape.streams, shape.heads, shape.d_head, shape.tgt_len, shape.mem_len, shape.window);
  OrderedJson setting = setting_of(place, "attention");
  setting.update({{"streams", shape.streams},
                  {"heads", shape.heads},
                  {"d_head", shape.d_head},
                  {"tgt_len", shape.tgt_len},
                  {"mem_len", shape.mem_len},
                  {"window", shape.window},
                  {"distances", shape.has_distances},
                  {"tensor_bytes", bench.tensor_bytes},
                  {"workspace_bytes", bench.workspace_bytes}});
  report(options, result, setting);
}

void run_head(const BenchOptions& options, const HeadShape& shape, bool loss_only) {
  Workbench place(options.place);
  BenchReport result;
  result.ceilings = measure_ceilings(place, options.effort, options.ceilings);
  HeadBench bench = bench_head(place, options.effort, shape, loss_only);
  result.measurements = std::move(bench.measurements);
  result.title =
      fmt::format("adaptive softmax on {}: V {}, cutoffs {}, div_val {}, D {}, {} tokens", place.title(),
                  shape.vocabulary, fmt::join(shape.cutoffs, " "), shape.div_val, shape.d_model, shape.tokens);
  OrderedJson setting = setting_of(place, "head");
  setting.update({{"vocabulary", shape.vocabulary},
                  {"cutoffs", shape.cutoffs},
                  {"div_val", shape.div_val},
                  {"d_model", shape.d_model},
                  {"tokens", shape.tokens},
                  {"cluster_tokens", bench.cluster_tokens},
                  {"scratch_bytes", bench.scratch_bytes},
                  {"logits_bytes", bench.logits_bytes}});
  report(options, result, setting);
  fmt::print("\nTargets by cluster: {}. Scratch: {}; the logits of all tokens and words would take {}.\n",
             fmt::join(bench.cluster_tokens, " "), human_bytes(bench.scratch_bytes), human_bytes(bench.logits_bytes));
}

OrderedJson setting_of(const Workbench& place, const char* what, const Config& config, int64_t vocab_size) {
  OrderedJson setting = setting_of(place, what);
  setting.update({{"vocabulary", vocab_size},
                  {"streams", config.training.batch_size},
                  {"tgt_len", config.training.tgt_len},
                  {"mem_len", config.model.mem_len},
                  {"config", to_json(config)}});
  return setting;
}

void run_evaluation(const BenchOptions& options, const Config& config, int64_t vocab_size) {
  Workbench place(options.place);
  BenchReport result;
  result.ceilings = measure_ceilings(place, options.effort, options.ceilings);
  result.measurements = {bench_evaluation(place, options.effort, config, vocab_size)};
  result.title = fmt::format("evaluation on {}: B {}, T {}, M {}", place.title(), config.training.batch_size,
                             config.training.tgt_len, config.model.mem_len);
  report(options, result, setting_of(place, "eval", config, vocab_size));
}

void run_step(const BenchOptions& options, const Config& config, int64_t vocab_size) {
  Workbench place(options.place);
  BenchReport result;
  result.ceilings = measure_ceilings(place, options.effort, options.ceilings);
  const StepBench bench = bench_step(place, options.effort, config, vocab_size);
  result.measurements = {bench.measurement};
  result.title = fmt::format("training step on {}: {} parameters, B {}, T {}, M {}", place.title(), bench.parameters,
                             config.training.batch_size, config.training.tgt_len, config.model.mem_len);
  OrderedJson setting = setting_of(place, "step", config, vocab_size);
  setting.update({{"parameters", bench.parameters}, {"activation_bytes", bench.activation_bytes}});
  fmt::print("{}", format_table(result));
  OrderedJson json = to_json(result, setting);
  fmt::print("{}", format_profile(bench.profile, result.ceilings));
  json["profile"] = to_json(bench.profile, result.ceilings);
  write(options, json);
}

// The model that is stepped.
struct StepOptions {
  std::string config;
  std::vector<std::string> overrides;
  int64_t vocab_size = 256;
};

struct EvalSpeedOptions : StepOptions {
  std::vector<int64_t> lengths = {800, 1800, 2800, 3800};
  int64_t streams = 1;
  int64_t tgt_len = 128;
};

void run_eval_speed(const BenchOptions& options, const EvalSpeedOptions& eval) {
  const Config config = load_config(eval.config, eval.overrides);
  Workbench place(options.place);
  BenchReport result;
  result.ceilings = measure_ceilings(place, options.effort, options.ceilings);
  const std::vector<EvalSpeed> speeds =
      bench_eval_speed(place, options.effort, config, eval.vocab_size, eval.streams, eval.tgt_len, eval.lengths);
  result.title = fmt::format("evaluation on {}: {} layers, D {}, B {}, T {}", place.title(), config.model.n_layer,
                             config.model.d_model, eval.streams, eval.tgt_len);
  OrderedJson setting = setting_of(place, "eval-speed");
  setting.update({{"model", write_fields(config.model)},
                  {"vocabulary", eval.vocab_size},
                  {"streams", eval.streams},
                  {"tgt_len", eval.tgt_len},
                  {"ratios", OrderedJson::array()}});
  std::string table =
      "\nTime of a token computed anew to that of a token with memory:\n"
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
};

void run_exchange_as_rank(const BenchOptions& options, const ExchangeOptions& exchange, const Config& config,
                          Workbench& place, Job& job, Collectives& collectives) {
  BenchReport result;
  result.ceilings = measure_ceilings(place, options.effort, options.ceilings);
  std::optional<SlowLink> slow;
  if (exchange.link > 0.0) slow.emplace(collectives, 1e6 * exchange.link, 1e-3 * exchange.latency);
  const ExchangeBench bench = bench_exchange(place, options.effort, config, exchange.vocab_size, job,
                                             slow ? static_cast<Collectives&>(*slow) : collectives);
  if (!job.is_first()) return;
  result.measurements = bench.measurements;
  const std::string link = slow ? fmt::format(", as over {:g} MB/s and {:g} ms", exchange.link, exchange.latency) : "";
  result.title = fmt::format("gradients of {} ranks over {}{}, first rank on {}: {} parameters, {} buckets", job.size(),
                             collectives.name(), link, place.title(), bench.parameters, bench.buckets);
  OrderedJson setting = setting_of(place, "exchange");
  setting.update({{"ranks", job.size()},
                  {"communicator", collectives.name()},
                  {"link_mb_per_second", exchange.link},
                  {"latency_ms", exchange.latency},
                  {"parameters", bench.parameters},
                  {"buckets", bench.buckets},
                  {"exposed_afterwards", bench.exposed_afterwards},
                  {"exposed_meanwhile", bench.exposed_meanwhile},
                  {"streams", config.training.batch_size},
                  {"tgt_len", config.training.tgt_len},
                  {"mem_len", config.model.mem_len}});
  report(options, result, setting);
  fmt::print("\nOf the sums a step waited for {:.0f}% afterwards, {:.0f}% meanwhile.\n",
             100.0 * bench.exposed_afterwards, 100.0 * bench.exposed_meanwhile);
}

void run_exchange(const BenchOptions& options, const ExchangeOptions& exchange) {
  const std::unique_ptr<Job> job = open_job({});
  run_as_rank(*job, [&] {
    const Config config = load_config(exchange.config, exchange.overrides);
    if (job->size() == 1) throw UsageError("bench exchange: expected two ranks or more; run it under mpirun");
    check_agreement(*job, config);
    check_shares(config, job->size());
    WorkbenchOptions of_rank = options.place;
    of_rank.local_rank = job->local_rank();
    Workbench place(of_rank);
    const std::shared_ptr<Logger> logger = make_job_logger(*job, false);
    const std::unique_ptr<Collectives> collectives = open_collectives(*job, place.device(), config.training, *logger);
    run_exchange_as_rank(options, exchange, config, place, *job, *collectives);
  });
}

GemmShape parse_gemm(const std::string& text, bool weights) {
  std::array<int64_t, 3> extents{};
  const std::vector<std::string> words = CLI::detail::split(text, ',');
  bool read = words.size() == extents.size();
  for (size_t i = 0; read && i < extents.size(); ++i)
    read = CLI::detail::lexical_cast(words[i], extents[i]) && extents[i] > 0;
  if (!read) throw UsageError("bench gemm: expected a shape M,N,K of positive numbers, found \"{}\"", text);
  return {.m = extents[0], .n = extents[1], .k = extents[2], .transpose_b = weights};
}

void run_gemm(const BenchOptions& options, const std::vector<std::string>& shapes, bool weights) {
  std::vector<GemmShape> parsed;
  parsed.reserve(shapes.size());
  for (const std::string& text : shapes) parsed.push_back(parse_gemm(text, weights));
  Workbench place(options.place);
  BenchReport result{.title = "matrix products on " + place.title(),
                     .ceilings = measure_ceilings(place, options.effort, options.ceilings),
                     .measurements = {}};
  for (const GemmShape& shape : parsed) result.measurements.push_back(bench_gemm(place, options.effort, shape));
  report(options, result, setting_of(place, "gemm"));
}

void add_attention(CLI::App& bench) {
  struct Options : BenchOptions {
    AttentionShape shape;
    bool forward_only = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = bench.add_subcommand("attention", "Relative attention, forward and backward");
  const auto add_extent = [&](const char* name, int64_t& extent, const char* meaning) {
    command->add_option(name, extent, meaning)->check(at_least(0))->capture_default_str();
  };
  add_extent("--streams", options->shape.streams, "B");
  add_extent("--heads", options->shape.heads, "N");
  add_extent("--d-head", options->shape.d_head, "H");
  add_extent("--tgt-len", options->shape.tgt_len, "T");
  add_extent("--mem-len", options->shape.mem_len, "M");
  add_extent("--window", options->shape.window, "Keys a query sees, its own included; 0: all earlier ones");
  command->add_flag("--forward-only", options->forward_only, "Leave out the backward");
  command->add_flag("!--no-distances", options->shape.has_distances, "As absolute positions have it: content alone");
  add_bench_options(*command, *options);
  command->callback([options] { run_attention(*options, options->shape, options->forward_only); });
}

void add_head(CLI::App& bench) {
  struct Options : BenchOptions {
    HeadShape shape;
    bool loss_only = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = bench.add_subcommand("head", "The adaptive softmax: projections, loss and gradient");
  const auto add_extent = [&](const char* name, int64_t& extent, const char* meaning) {
    command->add_option(name, extent, meaning)->check(at_least(1))->capture_default_str();
  };
  add_extent("--vocab", options->shape.vocabulary, "Size of the vocabulary");
  command->add_option("--cutoffs", options->shape.cutoffs, "First word of each cluster but the first")
      ->check(at_least(1))
      ->delimiter(',')
      ->capture_default_str();
  add_extent("--div-val", options->shape.div_val, "How many times narrower each cluster is than the one before");
  add_extent("--d-model", options->shape.d_model, "D");
  add_extent("--tokens", options->shape.tokens, "Tokens of a step; their targets are drawn as words of a text are");
  command->add_flag("--loss-only", options->loss_only, "Leave out the gradient");
  add_bench_options(*command, *options);
  command->callback([options] { run_head(*options, options->shape, options->loss_only); });
}

void add_step_options(CLI::App& command, StepOptions& options) {
  command.add_option("config", options.config, "Config file; its data, device and precision are not used")->required();
  command.add_option("--set", options.overrides, "KEY=VALUE in place of the config's, e.g. model.mem_len=256")
      ->allow_extra_args(false);
  command.add_option("--vocab", options.vocab_size, "Size of the vocabulary")
      ->check(at_least(1))
      ->capture_default_str();
}

void add_step(CLI::App& bench) {
  struct Options : BenchOptions, StepOptions {};
  auto options = std::make_shared<Options>();
  CLI::App* command =
      bench.add_subcommand("step", "A training step with full memory, on random tokens; also by operation");
  add_step_options(*command, *options);
  add_bench_options(*command, *options);
  command->callback(
      [options] { run_step(*options, load_config(options->config, options->overrides), options->vocab_size); });
}

void add_evaluation(CLI::App& bench) {
  struct Options : BenchOptions, StepOptions {};
  auto options = std::make_shared<Options>();
  CLI::App* command = bench.add_subcommand(
      "eval", "Evaluation of the config's training segments with a full memory of keys and values");
  add_step_options(*command, *options);
  add_bench_options(*command, *options);
  command->callback(
      [options] { run_evaluation(*options, load_config(options->config, options->overrides), options->vocab_size); });
}

void add_eval_speed(CLI::App& bench) {
  struct Options : BenchOptions, EvalSpeedOptions {};
  auto options = std::make_shared<Options>();
  CLI::App* command = bench.add_subcommand("eval-speed", "Evaluation with memory against computing every context anew");
  add_step_options(*command, *options);
  command->add_option("--lengths", options->lengths, "Attention lengths: how many tokens back a token sees")
      ->delimiter(',')
      ->check(at_least(1))
      ->capture_default_str();
  command->add_option("--streams", options->streams, "B")->check(at_least(1))->capture_default_str();
  command->add_option("--tgt-len", options->tgt_len, "Tokens per segment, with memory")
      ->check(at_least(1))
      ->capture_default_str();
  add_bench_options(*command, *options);
  command->callback([options] { run_eval_speed(*options, *options); });
}

void add_exchange(CLI::App& bench) {
  struct Options : BenchOptions, ExchangeOptions {};
  auto options = std::make_shared<Options>();
  CLI::App* command = bench.add_subcommand("exchange", "What the ranks of a job add to a training step");
  add_step_options(*command, *options);
  CLI::Option* link =
      command->add_option("--link", options->link, "As over a link that carries so many MB/s; 0: the one that is there")
          ->check(at_least(0));
  command->add_option("--latency", options->latency, "Of that link, in ms for a sum")->check(at_least(0))->needs(link);
  add_bench_options(*command, *options);
  command->callback([options] { run_exchange(*options, *options); });
}

void add_gemm(CLI::App& bench) {
  struct Options : BenchOptions {
    std::vector<std::string> shapes;
    bool weights = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = bench.add_subcommand("gemm", "Matrix products [M, K] times [K, N]");
  command->add_option("shapes", options->shapes, "M,N,K of each product")->required()->expected(1, -1);
  command->add_flag("--weights", options->weights, "The second factor is stored as a weight: [N, K]");
  add_bench_options(*command, *options);
  command->callback([options] { run_gemm(*options, options->shapes, options->weights); });
}

}  // namespace

void add_bench_command(CLI::App& app) {
  CLI::App* bench =
      app.add_subcommand("bench",
                         "Measure attention, the adaptive softmax, a training step, evaluation, the exchange between "
                         "ranks, or matrix products");
  bench->require_subcommand(1);
  bench->footer(kExamples);
  add_attention(*bench);
  add_head(*bench);
  add_step(*bench);
  add_evaluation(*bench);
  add_eval_speed(*bench);
  add_exchange(*bench);
  add_gemm(*bench);
}

}  // namespace segue

#include "core/bench/eval_speed_bench.h"

#include <fmt/format.h>

#include "core/config/memory_kind.h"
#include "core/config/memory_row.h"
#include "core/engine/segment_engine.h"
#include "core/memory/memory.h"

namespace segue {

namespace {

double seconds_of_token(const Measurement& measurement) { return measurement.timing.median / measurement.tokens; }
double flops_of_token(const Measurement& measurement) { return measurement.flops / measurement.tokens; }

// Evaluates segments of random tokens with memories of one length after another.
class Bench {
 public:
  Bench(Workbench& workbench, const Effort& effort, const Config& config, int64_t vocab_size)
      : workbench_(workbench),
        effort_(effort),
        model_(config.model, vocab_size),
        parameters_(model_.parameter_specs(), compute_of(config.model, workbench.precision(), workbench.device())),
        arena_(workbench.device()) {
    parameters_.initialize(config.model.init, static_cast<uint64_t>(config.seed));
  }

  Measurement measure(const SegmentShape& shape, EvaluationMemory kept, int64_t mem_len, const std::string& name) {
    ModelUse use = use_of(model_.config());
    use.mem_len = mem_len;
    const ModelInUse in_use{model_, use, parameters_, arena_, workbench_.queue()};
    SegmentEngine engine(in_use, Tape::Mode::kEvaluation);
    const std::unique_ptr<Memory> memory = make_evaluation_memory(kept, in_use, shape.streams, shape.tgt_len);
    const OwnedTensor tokens = random_tokens({shape.streams, shape.tgt_len}, model_.vocab_size(), 1);
    const OwnedTensor targets = random_tokens({shape.streams, shape.scored_tokens()}, model_.vocab_size(), 2);
    const auto run = [&] { engine.queue({.tokens = tokens.view(), .targets = targets.view(), .info = {}}, *memory); };
    for (int64_t filled = 0; filled < use.remembered_tokens(); filled += shape.tgt_len) run();
    SegmentShape full = full_segment(model_.config(), use, shape.streams, shape.tgt_len, shape.scored);
    memory->fit(full);
    if (full.remembered == Remembered::kKvCache) full.memory_rows = use.memory_rows();
    return {.name = name,
            .timing = time_calls(workbench_.queue(), effort_, run),
            .flops = model_.flops(parameters_, use, full).forward,
            .tokens = static_cast<double>(shape.streams * shape.scored_tokens())};
  }

 private:
  Workbench& workbench_;
  Effort effort_;
  Transformer model_;
  Parameters parameters_;
  Arena arena_;
};

}  // namespace

double EvalSpeed::ratio() const { return seconds_of_token(window) / seconds_of_token(keys_and_values); }
double EvalSpeed::ratio_of_flops() const { return flops_of_token(window) / flops_of_token(keys_and_values); }
double EvalSpeed::ratio_of_states() const { return seconds_of_token(window) / seconds_of_token(hidden_states); }

std::vector<EvalSpeed> bench_eval_speed(Workbench& workbench, const Effort& effort, const Config& config,
                                        int64_t vocab_size, int64_t streams, int64_t tgt_len,
                                        const std::vector<int64_t>& lengths) {
  using enum EvaluationMemory;
  Config keeps_states = config;  // whose weights are the same
  MemoryKind& kind = keeps_states.model.memory.kind;
  kind = row_of(kind).has_weights_of.value_or(kind);
  Bench bench(workbench, effort, keeps_states, vocab_size);
  std::vector<EvalSpeed> speeds;
  for (const int64_t length : lengths) {
    const auto name = [length](const char* what) { return fmt::format("{} {}", what, length); };
    const SegmentShape segment{.streams = streams, .tgt_len = tgt_len};
    const SegmentShape window{.streams = streams, .tgt_len = length, .scored = 1};
    speeds.push_back({.length = length,
                      .keys_and_values = bench.measure(segment, kKvCache, length, name("keys, values")),
                      .hidden_states = bench.measure(segment, kAsTrained, length, name("hidden states")),
                      .window = bench.measure(window, kAsTrained, 0, name("window"))});
  }
  return speeds;
}

Measurement bench_evaluation(Workbench& workbench, const Effort& effort, const Config& config, int64_t vocab_size) {
  const SegmentShape segment{.streams = config.training.batch_size, .tgt_len = config.training.tgt_len};
  return Bench(workbench, effort, config, vocab_size)
      .measure(segment, EvaluationMemory::kKvCache, config.model.mem_len, "evaluation");
}

}  // namespace segue

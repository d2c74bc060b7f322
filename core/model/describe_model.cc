// Counted from a recorded tape that is never replayed: what is planned is what a run takes.
#include "core/model/describe_model.h"

#include <fmt/format.h>

#include "base/text.h"
#include "core/model/transformer.h"

namespace segue {

namespace {

constexpr int64_t kCopies = 4;  // of the parameters in training: value, gradient, two moments

std::string parameter_table(const Parameters& parameters) {
  std::string text = fmt::format("{:<38} {:>18} {:>14}\n", "parameter", "shape", "elements");
  for (const ParameterSpec& spec : parameters.specs()) {
    text += fmt::format("{:<38} {:>18} {:>14}\n", spec.name, spec.shape.text(), human_count(spec.shape.elements()));
  }
  return text + fmt::format("{:<38} {:>18} {:>14}\n", "all", "", human_count(parameters.count()));
}

}  // namespace

std::string describe_model(const ModelConfig& model, int64_t vocab_size, int64_t tgt_len, int64_t streams) {
  const Transformer transformer(model, vocab_size);
  Parameters parameters(transformer.parameter_specs());
  const SegmentShape shape{.streams = streams, .tgt_len = tgt_len, .memory_length = model.mem_len};
  Arena arena;
  const int64_t activations = transformer.record(arena, Tape::Mode::kTraining, parameters, shape)->tape.planned_bytes();
  const int64_t weights = parameters.values().bytes();
  const int64_t memory = transformer.make_memory(streams).bytes();
  const double flops = forward_flops(model, vocab_size, shape) / static_cast<double>(streams * tgt_len);

  std::string text = parameter_table(parameters);
  text += fmt::format("\n{:<38} {} tokens back ({} layers, segment {}, memory {})\n", "reach",
                      human_count(reach_in_tokens(model, tgt_len)), model.n_layer, tgt_len, model.mem_len);
  text += fmt::format("{:<38} {:.3f} MFLOP forward, {:.3f} training\n", "per token", flops / 1e6, 3.0 * flops / 1e6);
  text += fmt::format("{:<38} {} streams: {} in all\n", "training memory", streams,
                      human_bytes(kCopies * weights + memory + activations));
  text += fmt::format("{:<38} {}\n", "  weights, gradients, two moments", human_bytes(kCopies * weights));
  text += fmt::format("{:<38} {}\n", "  segment memory", human_bytes(memory));
  text += fmt::format("{:<38} {}\n", "  activations and their gradients", human_bytes(activations));
  return text;
}

}  // namespace segue

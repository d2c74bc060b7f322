// Memory and FLOPs are counted from a recorded tape that is never replayed, so they are those of a run.
#include "core/engine/describe_model.h"

#include <fmt/format.h>

#include <functional>
#include <string_view>

#include "base/json_fields.h"
#include "base/text.h"
#include "base/text_table.h"
#include "core/config/kind_requirements.h"
#include "core/config/layers.h"
#include "core/memory/memory.h"
#include "core/model/reach.h"
#include "core/model/transformer.h"

namespace segue {

namespace {

int64_t elements_of(const Parameters& parameters, const std::function<bool(const std::string&)>& counts) {
  int64_t elements = 0;
  for (const ParameterSpec& spec : parameters.specs()) {
    if (spec.is_learned() && counts(spec.name)) elements += spec.shape.elements();
  }
  return elements;
}

// Whether a parameter is one of the layers, without the biases u and w: these may be one pair for all layers.
bool is_of_layers(const std::string& name) {
  return name.starts_with("layers.") && !name.ends_with(".u") && !name.ends_with(".w");
}

bool is_of_encoder(const std::string& name) { return name.starts_with("encoder."); }

bool is_of_embedding(const std::string& name) { return name.starts_with("embedding."); }

std::string parameter_table(const Parameters& parameters) {
  std::string text = fmt::format("{:<38} {:>18} {:>14}\n", "parameter", "shape", "elements");
  for (const ParameterSpec& spec : parameters.specs()) {
    text += fmt::format("{:<38} {:>18} {:>14}{}\n", spec.name, spec.shape.text(), human_count(spec.shape.elements()),
                        spec.is_learned() ? "" : "  drawn, not learned, not counted");
  }
  const auto add_sum = [&](std::string_view name, int64_t elements) {
    text += fmt::format("{:<38} {:>18} {:>14}\n", name, "", human_count(elements));
  };
  add_sum("all", parameters.count());
  add_sum("  of layers, without u and w", elements_of(parameters, is_of_layers));
  const int64_t of_encoder = elements_of(parameters, is_of_encoder);
  if (of_encoder > 0) add_sum("  of the encoder", of_encoder);
  add_sum("  of the embedding, with projections", elements_of(parameters, is_of_embedding));
  return text;
}

// The rows of a layer that are compressed, and those that are not.
std::string parts_of_memory(const ModelConfig& model, const ModelUse& use, int64_t streams) {
  const auto part = [&](std::string_view name, int64_t rows) {
    const int64_t bytes = model.n_layer * streams * rows * model.d_model * bytes_of(DType::kFloat32);
    return fmt::format("{:<38} {} rows of a layer and stream, {}\n", name, rows, human_bytes(bytes));
  };
  return part("    inputs, at most", use.uncompressed_rows()) + part("    compressed", use.compressed_len);
}

// What a model asks of a machine.
struct Needs {
  std::optional<int64_t> reach = {};  // tokens back; none: without limit
  double forward_flops = 0.0;         // of a token
  double training_flops = 0.0;
  int64_t weights = 0;  // bytes, with gradients and moments
  int64_t memory = 0;
  int64_t activations = 0;
  int64_t schedules = 0;
  int64_t bytes() const { return weights + memory + activations + schedules; }
};

Needs needs_of(const ModelConfig& model, const Transformer& transformer, Parameters& parameters,
               const TrainingShape& training) {
  const auto [lengths, scored, streams, moments, recompute] = training;
  const ModelUse use = use_of(model);
  SegmentShape shape = full_segment(model, use, streams, lengths.tokens(), scored);
  shape.segment_length = lengths.length_among_several();
  shape.recompute = recompute;
  Arena arena;
  const std::unique_ptr<SegmentTape> segment = transformer.record(arena, Tape::Mode::kTraining, parameters, use, shape);
  const Flops flops = segment->tape.flops();
  const auto tokens = static_cast<double>(streams * shape.tgt_len);
  return {.reach = reach_in_tokens(model, use, lengths.tgt_len),
          .forward_flops = flops.forward / tokens,
          .training_flops = (flops.forward + flops.backward) / tokens,
          .weights = (2 + moments) * parameters.values().bytes(),
          .memory = make_training_memory(model, use, streams)->bytes(),
          .activations = segment->tape.planned_bytes(),
          .schedules = transformer.schedule_bytes(use, shape)};
}

}  // namespace

std::string describe_model(const ModelConfig& model, int64_t vocab_size, const TrainingShape& training) {
  const auto& [lengths, scored, streams, moments, recompute] = training;
  const Transformer transformer(model, vocab_size);
  Parameters parameters = Parameters::planned(transformer.parameter_specs());
  const ModelUse use = use_of(model);
  const Needs needs = needs_of(model, transformer, parameters, training);
  constexpr double kMega = 1e6;

  std::string text = parameter_table(parameters);
  std::string tokens = use.memory_tokens > 0 ? ", " + counted(use.memory_tokens, "memory token") : "";
  if (use.compressed_len > 0)
    tokens = fmt::format(", {} rows of {} compressed", use.compressed_len, use.compression_rate);
  if (const std::string_view memory = requirements_of(model.memory).inspected; !memory.empty())
    tokens += fmt::format(", {}", memory);
  if (use.global_tokens > 0) tokens += ", " + counted(use.global_tokens, "global token");
  if (state_layers(model) > 0) tokens += ", states of " + counted(state_layers(model), "layer");
  const std::string reach = needs.reach ? counted(*needs.reach, "token") + " back" : "without limit";
  const std::string lengths_text =
      fmt::format("{}, segment {}, memory {}{}", counted(model.n_layer, "layer"), lengths.tgt_len, use.mem_len, tokens);
  text += fmt::format("\n{}", explained("reach", fmt::format("{} ({})", reach, lengths_text)));
  text += fmt::format("{:<38} {:.3f} MFLOP forward, {:.3f} training\n", "per token", needs.forward_flops / kMega,
                      needs.training_flops / kMega);
  text +=
      fmt::format("{:<38} {}: {} in all\n", "training memory", counted(streams, "stream"), human_bytes(needs.bytes()));
  text += fmt::format("{:<38} {}\n", "  weights, gradients, " + counted(moments, "moment"), human_bytes(needs.weights));
  text += fmt::format("{:<38} {}\n", "  segment memory", human_bytes(needs.memory));
  if (use.compressed_len > 0) text += parts_of_memory(model, use, streams);
  const std::string again =
      recompute == Recompute::kNone ? "" : fmt::format(" (recompute \"{}\")", name_of_choice(recompute));
  text += fmt::format("{:<38} {}{}\n", "  activations and their gradients", human_bytes(needs.activations), again);
  if (needs.schedules > 0)
    text += fmt::format("{:<38} {}\n", "  lists of the tiles that are seen", human_bytes(needs.schedules));
  return text;
}

namespace {

std::vector<int64_t> extents_of(const Shape& shape) {
  std::vector<int64_t> extents;
  for (int i = 0; i < shape.rank(); ++i) extents.push_back(shape[i]);
  return extents;
}

}  // namespace

OrderedJson model_json(const ModelConfig& model, int64_t vocab_size, const TrainingShape& training) {
  const Transformer transformer(model, vocab_size);
  Parameters parameters = Parameters::planned(transformer.parameter_specs());
  const Needs needs = needs_of(model, transformer, parameters, training);
  OrderedJson json{{"config", write_fields(model)},
                   {"vocab_size", vocab_size},
                   {"parameters",
                    {{"all", parameters.count()},
                     {"layers", elements_of(parameters, is_of_layers)},
                     {"encoder", elements_of(parameters, is_of_encoder)},
                     {"embedding", elements_of(parameters, is_of_embedding)}}},
                   {"reach", needs.reach ? OrderedJson(*needs.reach) : OrderedJson()},
                   {"forward_flops_per_token", needs.forward_flops},
                   {"training_flops_per_token", needs.training_flops},
                   {"training",
                    {{"tgt_len", training.lengths.tgt_len},
                     {"streams", training.streams},
                     {"bytes", needs.bytes()},
                     {"weight_bytes", needs.weights},
                     {"memory_bytes", needs.memory},
                     {"activation_bytes", needs.activations},
                     {"schedule_bytes", needs.schedules}}},
                   {"tensors", OrderedJson::array()}};
  for (const ParameterSpec& spec : parameters.specs())
    json["tensors"].push_back({{"name", spec.name},
                               {"shape", extents_of(spec.shape)},
                               {"elements", spec.shape.elements()},
                               {"is_learned", spec.is_learned()}});
  return json;
}

}  // namespace segue

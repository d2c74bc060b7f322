// Project, attend, project back.
#include "core/attention/attention.h"

#include <utility>

#include "core/attention/visibility.h"
#include "core/tape/dropout_sites.h"

namespace segue {

Attention::Attention(const ModelConfig& model, const Position& position, std::shared_ptr<Schedules> schedules,
                     const LayerName& layer, std::unique_ptr<AttentionMemory> memory)
    : heads_{model.n_head, model.d_head},
      d_model_(model.d_model),
      dropatt_(model.dropatt),
      own_projections_(projects_global_tokens(model) ? model.global_stream.tokens : 0),
      position_(position),
      span_(adaptive_span_of(model, layer.number)),
      memory_(std::move(memory)),
      schedules_(std::move(schedules)),
      layer_(layer.number),
      prefix_(layer.prefix + "attention.") {}

void Attention::declare(std::vector<ParameterSpec>& specs) const {
  specs.push_back({prefix_ + "qkv", {3 * heads_.elements(), d_model_}});
  if (own_projections_ > 0) specs.push_back({prefix_ + "global_qkv", {3 * heads_.elements(), d_model_}});
  position_.declare_layer(layer_, specs);
  if (span_) span_->declare(specs);
  if (memory_) memory_->declare(specs);
  specs.push_back({prefix_ + "output", {d_model_, heads_.elements()}});
}

// Queries come from the segment only. What is kept for other segments is taken before it is turned.
Mixer::Mixed Attention::mix(Tape& tape, Parameters& parameters, const Value& x, const LayerInputs& inputs) const {
  const auto& [memory, encoding, limits, use, segment, is_read_on] = inputs;
  const bool is_frozen = memory.form == Remembered::kKvCache;
  const Value made = projected(tape, parameters, x);
  const Value kept = memory.form == Remembered::kKeysAndValues
                         ? columns_of(tape, without_gradient(made), heads_.elements(), 2 * heads_.elements())
                         : Value();
  const std::optional<AttentionMemory::Read> read =
      memory_ ? std::optional(
                    memory_->read(tape, parameters, {.x = x, .qkv = made, .is_read_on = is_read_on}, memory.states))
              : std::nullopt;
  const Value qkv = position_.turn(tape, made, 0, use);
  const Value memory_kv = remembered(tape, parameters, memory, use);
  const Value distances = is_frozen ? memory.distances : position_.distances(tape, parameters, layer_, encoding);
  const int64_t keys = tape.shape(memory_kv.data)[1] + tape.shape(qkv.data)[1];
  Value distance_biases = position_.distance_biases(tape, parameters, layer_, encoding, keys);
  if (span_) distance_biases = span_->add_to(tape, parameters, distance_biases, keys);
  const Value distance_gains = position_.distance_gains(tape, parameters, layer_, keys);
  const Position::Biases biases = position_.biases(parameters, layer_);
  const int64_t tgt_len = tape.shape(qkv.data)[1];
  const auto tiles =
      std::make_shared<LayerTiles>(schedules_, scheduled_layer(use, heads_[0], tgt_len, tape.device()), layer_);
  const double pairs = span_ ? span_->visible_pairs(parameters, tgt_len, keys - tgt_len)
                             : visible_pairs(use, heads_[0], tgt_len, keys - tgt_len);
  const DropoutSite dropatt{
      .p = dropatt_, .site = layer_dropout_site(layer_, LayerDropout::kAttentionScores), .segment = segment};
  const Value attended = relative_attention(tape, {.heads = heads_,
                                                   .qkv = qkv,
                                                   .memory_kv = memory_kv,
                                                   .is_kv_cache = is_frozen,
                                                   .r = distances,
                                                   .u = biases.u,
                                                   .w = biases.w,
                                                   .bias = distance_biases,
                                                   .gain = distance_gains,
                                                   .window = visible_window(use),
                                                   .tiles = tiles,
                                                   .reach = limits.reach,
                                                   .ahead = limits.ahead,
                                                   .pairs = pairs,
                                                   .dropatt = dropatt,
                                                   .received = memory.received});
  Mixed mixed{.output = {}, .fresh = is_frozen ? qkv : kept, .qkv = qkv, .states = {}};
  const Parameter projection = parameters[prefix_ + "output"];
  mixed.output =
      memory_ ? memory_->mixed(tape, parameters, *read, attended, projection) : linear(tape, attended, projection);
  if (memory_) mixed.states = memory_->write(tape, *read, memory.begun.empty() ? memory.states : memory.begun);
  return mixed;
}

// Queries, keys and values of a segment's rows.
Value Attention::projected(Tape& tape, Parameters& parameters, const Value& x) const {
  const Parameter qkv = parameters[prefix_ + "qkv"];
  if (own_projections_ == 0) return linear(tape, x, qkv);
  const int64_t rows = tape.shape(x.data)[1];
  const Value global = copied_rows(tape, {x, 0, own_projections_});
  const Value tokens = copied_rows(tape, {x, own_projections_, rows - own_projections_});
  return join_rows(tape, {{linear(tape, global, parameters[prefix_ + "global_qkv"]), 0, own_projections_},
                          {linear(tape, tokens, qkv), 0, rows - own_projections_}});
}

// The keys and values of a memory as this segment's queries meet them.
Value Attention::remembered(Tape& tape, Parameters& parameters, const LayerMemory& memory, const ModelUse& use) const {
  switch (memory.form) {
    case Remembered::kHiddenStates:
      return keys_and_values(tape, parameters, memory.rows, use);
    case Remembered::kKeysAndValues:
      return position_.turn(tape, memory.rows, -tape.shape(memory.rows.data)[1], use);
    case Remembered::kKvCache:
      return memory.rows;
  }
  throw ContractError("unknown form of memory");
}

Value Attention::content_of(Tape& tape, Parameters& parameters, const Value& x) const {
  return linear(tape, x, parameters[prefix_ + "qkv"].constant());
}

std::vector<Value> Attention::mixed_by_content(Tape& tape, Parameters& parameters, const Value& qkv,
                                               const std::vector<Value>& contexts) const {
  const int64_t width = heads_.elements();
  const Parameter weight = parameters[prefix_ + "qkv"].constant();
  const Shape segment = tape.shape(qkv.data);
  const ScheduledLayer seen{.memory_alone = true, .heads = heads_[0], .tgt_len = segment[1], .device = tape.device()};
  std::vector<Value> attended;
  for (const Value& context : contexts) {
    const Value kv = linear(tape, context, weight.rows(width, 2 * width));
    const int64_t keys = tape.shape(kv.data)[1];
    attended.push_back(relative_attention(tape, {.heads = heads_,
                                                 .qkv = qkv,
                                                 .memory_kv = kv,
                                                 .r = {},
                                                 .u = {},
                                                 .w = {},
                                                 .tiles = std::make_shared<LayerTiles>(schedules_, seen, layer_),
                                                 .reach = {},
                                                 .ahead = {},
                                                 .pairs = static_cast<double>(segment[1] * keys),
                                                 .dropatt = {}}));
  }
  return attended;
}

Value Attention::keys_and_values(Tape& tape, Parameters& parameters, const Value& hidden, const ModelUse& use) const {
  const int64_t width = heads_.elements();
  const Value kv = linear(tape, hidden, parameters[prefix_ + "qkv"].rows(width, 2 * width));
  return position_.turn(tape, kv, -tape.shape(hidden.data)[1], use);
}

}  // namespace segue

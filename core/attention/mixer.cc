#include "core/attention/mixer.h"

#include <fmt/format.h>

#include <utility>

#include "core/attention/attention.h"
#include "core/attention/state_attention.h"
#include "core/config/layers.h"

namespace segue {

namespace {

[[noreturn]] void refuse_keys() { throw ContractError("a layer with a state has no keys"); }

}  // namespace

Value Mixer::keys_and_values(Tape& /*tape*/, Parameters& /*parameters*/, const Value& /*hidden*/,
                             const ModelUse& /*use*/) const {
  refuse_keys();
}

bool Mixer::turns() const { refuse_keys(); }

Value Mixer::content_of(Tape& /*tape*/, Parameters& /*parameters*/, const Value& /*x*/) const { refuse_keys(); }

std::vector<Value> Mixer::mixed_by_content(Tape& /*tape*/, Parameters& /*parameters*/, const Value& /*qkv*/,
                                           const std::vector<Value>& /*contexts*/) const {
  refuse_keys();
}

LayerName layer_name(const ModelConfig& model, int64_t number) { return {number, prefix_of_layer(model, number)}; }

std::unique_ptr<Mixer> make_mixer(const ModelConfig& model, const Position& position,
                                  std::shared_ptr<Schedules> schedules, const LayerName& layer,
                                  std::unique_ptr<AttentionMemory> memory) {
  if (keeps_state(model, layer.number)) return std::make_unique<StateAttention>(model, layer);
  return std::make_unique<Attention>(model, position, std::move(schedules), layer, std::move(memory));
}

}  // namespace segue

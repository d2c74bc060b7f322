// The arguments of the kernels of relative attention, made from a model's tensors.
#include "core/attention/relative_attention.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "kernels/relative_attention.h"

namespace segue {

using kernels::Queue;

namespace {

// The memory of every stream that this replay attends to, as the kernel reads it.
struct RememberedKeys {
  ConstTensorView kv;  // [B, M, 2, N, H]
  int64_t pitch = 0;
};
RememberedKeys remembered_keys(const Tape& tape, Slot memory_kv, const Shape& heads) {
  ConstTensorView block = tape.read(memory_kv);
  const int64_t streams = block.shape[0];
  const int64_t pitch = block.shape[1];
  const MemoryRows rows = tape.info().memory_rows.value_or(MemoryRows{.first = 0, .count = pitch});
  if (block.data != nullptr) block.data += rows.first * block.shape[2] * bytes_of(block.dtype);
  block.shape = {streams, rows.count, 2, heads[0], heads[1]};
  return {.kv = block, .pitch = pitch};
}

// The schedules of a recorded operation where kernels read them, one for every length that the memory has had: the
// whole one's from the beginning, others when a KV cache first has so many rows.
class Schedules {
 public:
  using Make = std::function<std::optional<kernels::TileSchedule>(int64_t tgt_len, int64_t mem_len)>;
  Schedules(Make make, int64_t tgt_len, Device device) : make_(std::move(make)), tgt_len_(tgt_len), device_(device) {}

  kernels::VisibleTiles of(int64_t mem_len) {
    const Placed& placed = placed_for(mem_len);
    return placed.schedule ? placed.schedule->tiles_at(placed.words.view().as<int64_t>()) : kernels::VisibleTiles{};
  }
  // Seen by a head, of one stream, as the mean over heads; none: without a schedule.
  std::optional<double> pairs(int64_t mem_len) {
    const std::optional<kernels::TileSchedule>& schedule = placed_for(mem_len).schedule;
    if (!schedule) return {};
    return static_cast<double>(schedule->pairs()) / static_cast<double>(schedule->groups());
  }

 private:
  struct Placed {
    std::optional<kernels::TileSchedule> schedule;
    OwnedTensor words;
  };
  const Placed& placed_for(int64_t mem_len) {
    const auto [found, is_new] = placed_.try_emplace(mem_len);
    Placed& placed = found->second;
    if (!is_new) return placed;
    placed.schedule = make_(tgt_len_, mem_len);
    if (!placed.schedule) return placed;
    const std::vector<int64_t>& words = placed.schedule->words();
    const Shape shape{static_cast<int64_t>(words.size())};
    placed.words = OwnedTensor(DType::kInt64, shape, device_);
    copy_tensor(placed.words.view(), view_of(words.data(), shape), device_);
    return placed;
  }

  Make make_;
  int64_t tgt_len_;
  Device device_;
  std::map<int64_t, Placed> placed_;
};

// Pairs of query and key of one stream and head that are not masked.
double visible_pairs(int64_t tgt_len, int64_t mem_len, int64_t window) {
  double pairs = 0.0;
  for (int64_t i = 0; i < tgt_len; ++i) {
    const int64_t earlier = mem_len + i + 1;
    pairs += static_cast<double>(window > 0 ? std::min(window, earlier) : earlier);
  }
  return pairs;
}

}  // namespace

Value relative_attention(Tape& tape, const RelativeAttentionInputs& in) {
  const Shape& heads = in.heads;
  const Shape segment = tape.shape(in.qkv.data);
  const int64_t streams = segment[0];
  const int64_t tgt_len = segment[1];
  const int64_t mem_len = tape.shape(in.memory_kv.data)[1];
  const Shape qkv_shape{streams, tgt_len, 3, heads[0], heads[1]};
  const Shape memory_shape{streams, mem_len, 2, heads[0], heads[1]};
  const int64_t positions = in.r.data.exists() ? tape.shape(in.r.data)[0] : 0;
  const Shape r_shape{positions, heads[0], heads[1]};
  const Shape output_shape{streams, tgt_len, heads[0], heads[1]};
  const Value& by_distance = in.gain.data.exists() ? in.gain : in.bias;
  const int64_t biases = by_distance.gradient.exists() ? tape.shape(by_distance.data)[1] : 0;
  const int64_t workspace_size = kernels::relative_attention_workspace({.streams = streams,
                                                                        .tgt_len = tgt_len,
                                                                        .keys = mem_len + tgt_len,
                                                                        .positions = positions,
                                                                        .biases = biases,
                                                                        .heads = heads[0],
                                                                        .d_head = heads[1]},
                                                                       tape.device().kind);

  const Value output = tape.new_value({streams, tgt_len, heads.elements()});
  const Slot lse = tape.new_slot({streams, heads[0], tgt_len});
  const Slot workspace = tape.training() ? tape.new_slot({workspace_size}) : Slot{};
  const int64_t per_stream = heads[0] * tgt_len * (mem_len + tgt_len);
  const double products = positions > 0 ? 3.0 : 2.0;  // content, values; distances
  const int64_t per_query = output_shape.elements() / tgt_len;
  const auto schedules = std::make_shared<Schedules>(in.schedule, tgt_len, tape.device());
  const double pairs = schedules->pairs(mem_len).value_or(visible_pairs(tgt_len, mem_len, in.window));
  const double once = 2.0 * products * static_cast<double>(per_query) * pairs;
  const GradientUse dqkv = tape.overwrite_gradient(in.qkv);
  const GradientUse dmemory_kv = tape.overwrite_gradient(in.memory_kv);
  const GradientUse dr = tape.overwrite_gradient(in.r);
  const GradientUse dbias = tape.overwrite_gradient(in.bias);
  const GradientUse dgain = tape.overwrite_gradient(in.gain);
  std::vector<ConstTensorView> gradients;
  for (const Parameter& bias : {in.u, in.w})
    if (!bias.gradient.empty()) gradients.push_back(bias.gradient);
  const auto inputs = [=, &tape] {
    const RememberedKeys memory = remembered_keys(tape, in.memory_kv.data, heads);
    const int64_t distances = std::min(positions, memory.kv.shape[1] + tgt_len);
    const ConstTensorView r = positions > 0 ? tape.read(in.r.data).reshaped(r_shape).rows(0, distances) : tape.read({});
    return kernels::RelativeAttentionInputs{.qkv = tape.read(in.qkv.data).reshaped(qkv_shape),
                                            .memory_kv = memory.kv,
                                            .memory_pitch = memory.pitch,
                                            .r = r,
                                            .u = in.u.value,
                                            .w = in.w.value,
                                            .bias = tape.read(in.bias.data),
                                            .gain = tape.read(in.gain.data),
                                            .window = in.window,
                                            .tiles = schedules->of(memory.kv.shape[1]),
                                            .dropout = tape.dropout(in.dropatt, per_stream)};
  };
  tape.record({
      .name = "relative_attention",
      .forward_slots = {in.qkv.data, in.memory_kv.data, in.r.data, by_distance.data, output.data, lse},
      .forward =
          [=, &tape](Queue& queue) {
            kernels::relative_attention_forward(
                queue,
                {.inputs = inputs(), .output = tape.write(output.data).reshaped(output_shape), .lse = tape.write(lse)});
          },
      .backward_slots = {output.gradient, in.qkv.data, in.memory_kv.data, in.r.data, by_distance.data, output.data, lse,
                         workspace, dqkv.slot, dmemory_kv.slot, dr.slot, dbias.slot, dgain.slot},
      .backward =
          [=, &tape](Queue& queue) {
            kernels::relative_attention_backward(
                queue, {.inputs = inputs(),
                        .doutput = tape.read(output.gradient).reshaped(output_shape),
                        .output = tape.read(output.data).reshaped(output_shape),
                        .lse = tape.read(lse),
                        .workspace = tape.write(workspace),
                        .dqkv = tape.write(dqkv).reshaped(qkv_shape),
                        .dmemory_kv = tape.write(dmemory_kv).reshaped(memory_shape),
                        .dr = positions > 0 ? tape.write(dr).reshaped(r_shape) : tape.write(dr),
                        .du = in.u.gradient,
                        .dw = in.w.gradient,
                        .dbias = tape.write(dbias),
                        .dgain = tape.write(dgain)});
          },
      .parameter_gradients = gradients,
      .flops = {.forward = once, .backward = 2.0 * once},
  });
  return output;
}

}  // namespace segue

// The arguments of the kernels of relative attention, made from a model's tensors.
#include "core/attention/relative_attention.h"

#include <algorithm>
#include <vector>

#include "kernels/relative_attention.h"

namespace segue {

using kernels::Queue;

namespace {

// The memory of every stream that this replay attends to, as the kernel reads it.
struct RememberedKeys {
  ConstTensorView kv;  // [B, M, 2, N, H]
  int64_t pitch = 0;
};
RememberedKeys remembered_keys(const Tape& tape, const RelativeAttentionInputs& in) {
  ConstTensorView block = tape.read(in.memory_kv.data);
  const int64_t streams = block.shape[0];
  const int64_t pitch = block.shape[1];
  const MemoryRows all{.first = 0, .count = pitch};
  const MemoryRows rows = in.is_kv_cache ? tape.info().memory_rows.value_or(all) : all;
  if (block.data != nullptr) block.data += rows.first * block.shape[2] * bytes_of(block.dtype);
  block.shape = {streams, rows.count, 2, in.heads[0], in.heads[1]};
  return {.kv = block, .pitch = pitch};
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
                                                                        .d_head = heads[1],
                                                                        .activations = tape.activations()},
                                                                       tape.device().kind);

  const bool is_learned = in.qkv.gradient.exists() || in.memory_kv.gradient.exists();
  const Value output = tape.new_value({streams, tgt_len, heads.elements()}, is_learned);
  const Slot lse = tape.new_slot({streams, heads[0], tgt_len});
  const Slot workspace = tape.training() && is_learned ? tape.new_slot({workspace_size}) : Slot{};
  const int64_t per_stream = heads[0] * tgt_len * (mem_len + tgt_len);
  const double products = positions > 0 ? 3.0 : 2.0;  // content, values; distances
  const int64_t per_query = output_shape.elements() / tgt_len;
  const double once = 2.0 * products * static_cast<double>(per_query) * in.pairs;
  const GradientUse dqkv = tape.overwrite_gradient(in.qkv);
  const GradientUse dmemory_kv = tape.overwrite_gradient(in.memory_kv);
  // The kernel has one of every row; nobody reads that of rows that are given.
  const auto unread_of = [&](const GradientUse& use, const Value& rows) {
    return is_learned && !use.exists() ? tape.new_slot(tape.shape(rows.data), tape.activations()) : Slot{};
  };
  const Slot unread_dqkv = unread_of(dqkv, in.qkv);
  const Slot unread_dmemory_kv = unread_of(dmemory_kv, in.memory_kv);
  const GradientUse dr = tape.overwrite_gradient(in.r);
  const GradientUse dbias = tape.overwrite_gradient(in.bias);
  const GradientUse dgain = tape.overwrite_gradient(in.gain);
  std::vector<ConstTensorView> gradients;
  for (const Parameter& bias : {in.u, in.w})
    if (!bias.gradient.empty()) gradients.push_back(bias.gradient);
  const auto inputs = [=, &tape] {
    const RememberedKeys memory = remembered_keys(tape, in);
    const int64_t distances = std::min(positions, memory.kv.shape[1] + tgt_len);
    const LayerTiles::Seen seen =
        in.tiles->at(memory.kv.shape[1], tape.info().first_position, in.window, tape.info().head_windows);
    const ConstTensorView r = positions > 0 ? tape.read(in.r.data).reshaped(r_shape).rows(0, distances) : tape.read({});
    return kernels::RelativeAttentionInputs{.qkv = tape.read(in.qkv.data).reshaped(qkv_shape),
                                            .memory_kv = memory.kv,
                                            .memory_pitch = memory.pitch,
                                            .r = r,
                                            .u = in.u.value,
                                            .w = in.w.value,
                                            .bias = tape.read(in.bias.data),
                                            .gain = tape.read(in.gain.data),
                                            .window = seen.window,
                                            .tiles = seen.tiles,
                                            .reach = tape.read(in.reach),
                                            .ahead = tape.read(in.ahead),
                                            .dropout = tape.dropout(in.dropatt, per_stream)};
  };
  tape.record({
      .name = "relative_attention",
      .forward_slots = {in.qkv.data, in.memory_kv.data, in.r.data, by_distance.data, in.reach, in.ahead, output.data,
                        lse},
      .forward =
          [=, &tape](Queue& queue) {
            kernels::relative_attention_forward(
                queue,
                {.inputs = inputs(), .output = tape.write(output.data).reshaped(output_shape), .lse = tape.write(lse)});
          },
      .backward_slots = {output.gradient, in.qkv.data, in.memory_kv.data, in.r.data, by_distance.data, in.reach,
                         in.ahead, output.data, lse, workspace, dqkv.slot, unread_dqkv, dmemory_kv.slot,
                         unread_dmemory_kv, dr.slot, dbias.slot, dgain.slot},
      .backward =
          [=, &tape](Queue& queue) {
            const auto write = [&tape](const GradientUse& use, Slot unread) {
              return use.exists() ? tape.write(use) : tape.write(unread);
            };
            kernels::relative_attention_backward(
                queue, {.inputs = inputs(),
                        .doutput = tape.read(output.gradient).reshaped(output_shape),
                        .output = tape.read(output.data).reshaped(output_shape),
                        .lse = tape.read(lse),
                        .workspace = tape.write(workspace),
                        .dqkv = write(dqkv, unread_dqkv).reshaped(qkv_shape),
                        .dmemory_kv = write(dmemory_kv, unread_dmemory_kv).reshaped(memory_shape),
                        .dr = positions > 0 ? tape.write(dr).reshaped(r_shape) : tape.write(dr),
                        .du = in.u.gradient,
                        .dw = in.w.gradient,
                        .dbias = tape.write(dbias),
                        .dgain = tape.write(dgain)});
          },
      .parameter_gradients = gradients,
      .flops = {.forward = once, .backward = 2.0 * once},
      .is_learned = is_learned,
  });
  for (const ReceivedAttention& received : in.received) {
    const Shape sums = tape.shape(received.sums);
    tape.record({
        .name = "relative_attention_received",
        .forward_slots = {in.qkv.data, in.memory_kv.data, in.r.data, by_distance.data, in.reach, in.ahead, lse,
                          received.before, received.sums},
        .forward =
            [=, &tape](Queue& queue) {
              const MemoryRows rows = received.before.exists() ? tape.info().pushed_out.value()
                                                               : MemoryRows{.first = received.first, .count = sums[2]};
              if (rows.count == 0) return;
              const ConstTensorView before = tape.read(received.before);
              const TensorView to = tape.write(received.sums);
              const Shape shape{sums[0], sums[1], rows.count};
              kernels::relative_attention_received(
                  queue, {.inputs = inputs(),
                          .lse = tape.read(lse),
                          .first_key = rows.first,
                          .before = before.empty() ? before : ConstTensorView{before.data, before.dtype, shape},
                          .received = {to.data, to.dtype, shape}});
            },
        .backward_slots = {},
        .backward = nullptr,
        .flops = {.forward = once * (products - 1.0) / products * static_cast<double>(sums[2]) /
                             static_cast<double>(mem_len + tgt_len)},
        .is_learned = false,
    });
  }
  return output;
}

}  // namespace segue

// Relative attention: what the arguments must be.
#include "kernels/relative_attention.h"

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

namespace {

// The letters of the contract, as the shapes of qkv, memory_kv, r, bias and gain give them.
struct Extents {
  DType a;
  int64_t b, t, m, n, h, p, e;
};

Extents extents_of(const Contract& contract, const RelativeAttentionInputs& in) {
  const DType a = contract.activation("qkv", in.qkv, 5);
  contract.activation("memory_kv", in.memory_kv, 5);
  if (!in.r.empty()) contract.activation("r", in.r, 3);
  if (!in.bias.empty()) contract.rank("bias", in.bias, 2);
  if (!in.gain.empty()) contract.rank("gain", in.gain, 2);
  const ConstTensorView& by_distance = in.gain.empty() ? in.bias : in.gain;
  return {.a = a,
          .b = in.qkv.shape[0],
          .t = in.qkv.shape[1],
          .m = in.memory_kv.shape[1],
          .n = in.qkv.shape[3],
          .h = in.qkv.shape[4],
          .p = in.r.empty() ? 0 : in.r.shape[0],
          .e = by_distance.empty() ? 0 : by_distance.shape[1]};
}

void check_row_per_head(const Contract& contract, std::string_view name, ConstTensorView bias, const Extents& e) {
  if (!bias.empty()) contract.floats(name, bias, {e.n, e.h});
}

// A gradient is there when its input is.
void check_gradient(const Contract& contract, std::string_view name, TensorView found, ConstTensorView of) {
  if (of.empty()) return contract.absent(name, found, "without its input");
  contract.tensor(name, found, of.dtype, of.shape);
}

void check_distance_terms(const Contract& contract, const RelativeAttentionInputs& in, const Extents& e) {
  check_row_per_head(contract, "u", in.u, e);
  check_row_per_head(contract, "w", in.w, e);
  if (e.p > 0) {
    contract.tensor("r", in.r, e.a, {e.p, e.n, e.h});
    contract.absent("bias", in.bias, "with r");
    contract.absent("gain", in.gain, "with r");
  } else {
    contract.absent("w", in.w, "without r");
  }
  if (!in.bias.empty()) contract.floats("bias", in.bias, {e.n, e.e});
  if (in.gain.empty()) return;
  contract.absent("u", in.u, "with gain");
  contract.absent("bias", in.bias, "with gain");
  contract.floats("gain", in.gain, {e.n, e.e});
}

void check_ahead(const Contract& contract, const RelativeAttentionInputs& in, const Extents& e) {
  if (in.ahead.empty()) return;
  contract.tensor("ahead", in.ahead, DType::kInt32, {e.b, e.t});
  contract.absent("r", in.r, "with ahead");
  contract.absent("bias", in.bias, "with ahead");
  contract.absent("gain", in.gain, "with ahead");
}

// That the lists are of so many queries and keys; what they say is taken on trust.
void check_tiles(const Contract& contract, std::string_view operation, const RelativeAttentionInputs& in,
                 const Extents& e) {
  if (in.tiles.empty()) return;
  if (in.window > 0) throw ContractError("{}: window: expected 0 with tiles, found {}", operation, in.window);
  const int64_t groups = in.tiles.groups;
  if (groups != 1 && groups != e.n)
    throw ContractError("{}: tiles: expected 1 group or one per head, {}, found {}", operation, e.n, groups);
  const auto starts = [&](std::string_view name, const TileLists& lists, int64_t rows) {
    const int64_t tiles = (rows + kScheduleTile - 1) / kScheduleTile;
    contract.tensor(name, lists.starts, DType::kInt32, {groups, tiles + 1});
  };
  starts("tiles.keys_of_queries", in.tiles.keys_of_queries, e.t);
  starts("tiles.queries_of_keys", in.tiles.queries_of_keys, e.m + e.t);
  starts("tiles.queries_of_distances", in.tiles.queries_of_distances, e.m + e.t);
  starts("tiles.distances_of_queries", in.tiles.distances_of_queries, e.t);
}

void check_inputs(const Contract& contract, std::string_view operation, const RelativeAttentionInputs& in,
                  const Extents& e, Device device) {
  if (e.b * e.t * e.n * e.h == 0)
    throw ContractError("{}: qkv: expected at least one element, found {}", operation, in.qkv.shape.text());
  const int64_t widest = operations_of(device.kind).widest_head;
  if (e.h > widest)
    throw ContractError("{}: qkv: expected heads of at most {} features, found {}", operation, widest, e.h);
  if (e.p > e.m + e.t)
    throw ContractError("{}: r: expected at most {} rows, one per distance, found {}", operation, e.m + e.t, e.p);
  if (in.window < 0) throw ContractError("{}: window: expected 0 or more keys, found {}", operation, in.window);
  if (in.memory_pitch != 0 && in.memory_pitch < e.m)
    throw ContractError("{}: memory_pitch: expected 0 or at least {} rows, found {}", operation, e.m, in.memory_pitch);
  contract.tensor("qkv", in.qkv, e.a, {e.b, e.t, 3, e.n, e.h});
  contract.tensor("memory_kv", in.memory_kv, e.a, {e.b, e.m, 2, e.n, e.h});
  check_tiles(contract, operation, in, e);
  if (!in.reach.empty()) contract.tensor("reach", in.reach, DType::kInt32, {e.b, e.t});
  check_ahead(contract, in, e);
  check_distance_terms(contract, in, e);
  contract.probability("dropout.p", static_cast<double>(in.dropout.p));
}

void check_workspace(ConstTensorView workspace, int64_t needed) {
  if (workspace.dtype != DType::kFloat32 || workspace.elements() < needed || workspace.data == nullptr) {
    throw ContractError("relative_attention_backward: workspace: expected at least {} float32, found {} {}", needed,
                        name_of(workspace.dtype), workspace.shape.text());
  }
}

// An output overlaps nothing that is still read when it is written.
template <size_t kOutputs, size_t kInputs>
void check_apart(const Contract& contract, const std::pair<std::string_view, ConstTensorView> (&outputs)[kOutputs],
                 const std::pair<std::string_view, ConstTensorView> (&inputs)[kInputs]) {
  for (size_t i = 0; i < kOutputs; ++i) {
    for (const auto& [name, input] : inputs) contract.disjoint(outputs[i].first, outputs[i].second, name, input);
    for (size_t j = 0; j < i; ++j)
      contract.disjoint(outputs[i].first, outputs[i].second, outputs[j].first, outputs[j].second);
  }
}

// And nothing that all passes read.
template <size_t kOutputs>
void check_apart_from_inputs(const Contract& contract,
                             const std::pair<std::string_view, ConstTensorView> (&outputs)[kOutputs],
                             const RelativeAttentionInputs& in) {
  check_apart(contract, outputs,
              {{"qkv", in.qkv},
               {"memory_kv", in.memory_kv},
               {"r", in.r},
               {"u", in.u},
               {"w", in.w},
               {"bias", in.bias},
               {"gain", in.gain}});
}

}  // namespace

void relative_attention_forward(Queue& queue, const RelativeAttentionForward& args) {
  const std::string_view operation = "relative_attention_forward";
  const Contract contract(operation);
  const RelativeAttentionInputs& in = args.inputs;
  const Extents e = extents_of(contract, in);
  check_inputs(contract, operation, in, e, queue.device());
  contract.tensor("output", args.output, e.a, {e.b, e.t, e.n, e.h});
  contract.floats("lse", args.lse, {e.b, e.n, e.t});
  check_apart_from_inputs(contract, {{"output", args.output}, {"lse", args.lse}}, in);
  queue.operations().relative_attention_forward(queue, args);
}

void relative_attention_backward(Queue& queue, const RelativeAttentionBackward& args) {
  const std::string_view operation = "relative_attention_backward";
  const Contract contract(operation);
  const RelativeAttentionInputs& in = args.inputs;
  const Extents e = extents_of(contract, in);
  check_inputs(contract, operation, in, e, queue.device());
  contract.tensor("doutput", args.doutput, e.a, {e.b, e.t, e.n, e.h});
  contract.tensor("output", args.output, e.a, {e.b, e.t, e.n, e.h});
  contract.floats("lse", args.lse, {e.b, e.n, e.t});
  if (!args.dbias.empty()) check_gradient(contract, "dbias", args.dbias, in.bias);
  if (!args.dgain.empty()) check_gradient(contract, "dgain", args.dgain, in.gain);
  check_workspace(args.workspace, queue.operations().relative_attention_workspace(
                                      {.streams = e.b,
                                       .tgt_len = e.t,
                                       .keys = e.m + e.t,
                                       .positions = e.p,
                                       .biases = args.dbias.empty() && args.dgain.empty() ? 0 : e.e,
                                       .heads = e.n,
                                       .d_head = e.h,
                                       .activations = e.a,
                                       .score_bytes = args.score_bytes}));
  contract.tensor("dqkv", args.dqkv, e.a, {e.b, e.t, 3, e.n, e.h});
  contract.tensor("dmemory_kv", args.dmemory_kv, e.a, {e.b, e.m, 2, e.n, e.h});
  check_gradient(contract, "dr", args.dr, in.r);
  check_gradient(contract, "du", args.du, in.u);
  check_gradient(contract, "dw", args.dw, in.w);
  const std::pair<std::string_view, ConstTensorView> outputs[] = {{"workspace", args.workspace},
                                                                  {"dqkv", args.dqkv},
                                                                  {"dmemory_kv", args.dmemory_kv},
                                                                  {"dr", args.dr},
                                                                  {"du", args.du},
                                                                  {"dw", args.dw},
                                                                  {"dbias", args.dbias},
                                                                  {"dgain", args.dgain}};
  check_apart(contract, outputs, {{"doutput", args.doutput}, {"output", args.output}, {"lse", args.lse}});
  check_apart_from_inputs(contract, outputs, in);
  queue.operations().relative_attention_backward(queue, args);
}

void relative_attention_received(Queue& queue, const RelativeAttentionReceived& args) {
  const std::string_view operation = "relative_attention_received";
  const Contract contract(operation);
  const RelativeAttentionInputs& in = args.inputs;
  const Extents e = extents_of(contract, in);
  check_inputs(contract, operation, in, e, queue.device());
  if (!in.tiles.empty()) throw ContractError("{}: tiles: expected none, found {} groups", operation, in.tiles.groups);
  contract.floats("lse", args.lse, {e.b, e.n, e.t});
  contract.rank("received", args.received, 3);
  const int64_t rows = args.received.shape[2];
  contract.number("rows of received", static_cast<double>(rows), rows >= 1, "at least 1");
  const bool are_remembered = args.first_key >= 0 && args.first_key + rows <= e.m;
  contract.number("first_key", static_cast<double>(args.first_key), are_remembered, "{} rows of {} from there on", rows,
                  e.m);
  contract.floats("received", args.received, {e.b, e.n, rows});
  if (!args.before.empty()) contract.floats("before", args.before, args.received.shape);
  check_apart(contract, {{"received", args.received}}, {{"lse", args.lse}, {"before", args.before}});
  check_apart_from_inputs(contract, {{"received", args.received}}, in);
  queue.operations().relative_attention_received(queue, args);
}

int64_t relative_attention_workspace(const RelativeAttentionExtents& extents, DeviceKind device) {
  return operations_of(device).relative_attention_workspace(extents);
}

}  // namespace segue::kernels

#include "core/bench/attention_bench.h"

#include <algorithm>
#include <optional>

#include "core/attention/schedules.h"
#include "kernels/relative_attention.h"

namespace segue {

namespace {

int64_t workspace_elements(const AttentionShape& shape, DType activations, DeviceKind device) {
  return kernels::relative_attention_workspace({.streams = shape.streams,
                                                .tgt_len = shape.tgt_len,
                                                .keys = shape.mem_len + shape.tgt_len,
                                                .positions = shape.positions(),
                                                .heads = shape.heads,
                                                .d_head = shape.d_head,
                                                .activations = activations},
                                               device);
}

int64_t bytes_of_all(std::initializer_list<const OwnedTensor*> tensors) {
  int64_t bytes = 0;
  for (const OwnedTensor* tensor : tensors) bytes += tensor->view().bytes();
  return bytes;
}

// All tensors of an attention, named as in its contract.
struct Attention {
  std::optional<PlacedSchedule> schedule;
  OwnedTensor qkv, memory_kv, r, u, w, output, lse;
  OwnedTensor doutput, workspace, dqkv, dmemory_kv, dr, du, dw;
  int64_t window;

  Attention(Workbench& workbench, const AttentionShape& s)
      : qkv(workbench.random_tensor({s.streams, s.tgt_len, 3, s.heads, s.d_head})),
        memory_kv(workbench.random_tensor({s.streams, s.mem_len, 2, s.heads, s.d_head})),
        r(workbench.random_tensor({s.positions(), s.heads, s.d_head})),
        u(workbench.random_tensor(DType::kFloat32, {s.heads, s.d_head})),
        w(workbench.random_tensor(DType::kFloat32, {s.has_distances ? s.heads : 0, s.d_head})),
        output(workbench.empty_tensor({s.streams, s.tgt_len, s.heads, s.d_head})),
        lse(DType::kFloat32, {s.streams, s.heads, s.tgt_len}, workbench.device()),
        window(s.window) {
    if (auto made = schedule_of(use_of(s), s.heads, s.tgt_len, s.mem_len))
      schedule.emplace(std::move(*made), workbench.device());
  }

  void add_backward(Workbench& workbench, const AttentionShape& s) {
    doutput = workbench.random_tensor(output.shape());
    const int64_t elements = workspace_elements(s, doutput.view().dtype, workbench.device().kind);
    workspace = OwnedTensor(DType::kFloat32, {elements}, workbench.device());
    dqkv = workbench.empty_tensor(qkv.shape());
    dmemory_kv = workbench.empty_tensor(memory_kv.shape());
    dr = workbench.empty_tensor(r.shape());
    du = OwnedTensor(DType::kFloat32, u.shape(), workbench.device());
    dw = OwnedTensor(DType::kFloat32, w.shape(), workbench.device());
  }

  kernels::RelativeAttentionInputs inputs() const {
    return {.qkv = qkv.view(),
            .memory_kv = memory_kv.view(),
            .r = r.view(),
            .u = u.view(),
            .w = w.view(),
            .window = window,
            .tiles = schedule ? schedule->tiles() : kernels::VisibleTiles{},
            .dropout = {}};
  }

  void forward(kernels::Queue& queue) {
    kernels::relative_attention_forward(queue, {.inputs = inputs(), .output = output.view(), .lse = lse.view()});
  }

  void backward(kernels::Queue& queue) {
    kernels::relative_attention_backward(queue, {.inputs = inputs(),
                                                 .doutput = doutput.view(),
                                                 .output = output.view(),
                                                 .lse = lse.view(),
                                                 .workspace = workspace.view(),
                                                 .dqkv = dqkv.view(),
                                                 .dmemory_kv = dmemory_kv.view(),
                                                 .dr = dr.view(),
                                                 .du = du.view(),
                                                 .dw = dw.view()});
  }

  int64_t forward_bytes() const { return bytes_of_all({&qkv, &memory_kv, &r, &u, &w, &output, &lse}); }
  int64_t backward_bytes() const {
    return forward_bytes() + bytes_of_all({&doutput, &dqkv, &dmemory_kv, &dr, &du, &dw});
  }
};

}  // namespace

ModelUse use_of(const AttentionShape& shape) {
  ModelUse use{.mem_len = shape.mem_len, .window = shape.window};
  use.patterns = shape.patterns;
  return use;
}

// Per pair the forward has three products of length H (content, position, values), the backward six (dp, dq by content
// and by position, dk, dr, dv); without distances the forward two and the backward four.
void AttentionShape::describe(JsonFields& fields) {
  fields.optional("batch_size", streams, {.meaning = "batch size, B", .minimum = 1});
  fields.optional("heads", heads, {.meaning = "number of heads, N", .minimum = 1});
  fields.optional("d_head", d_head, {.meaning = "width of a head, H", .minimum = 1});
  fields.optional("tgt_len", tgt_len, {.meaning = "length of a segment, T", .unit = "tokens", .minimum = 1});
  fields.optional("mem_len", mem_len, {.meaning = "length of the memory, M", .unit = "tokens", .minimum = 0});
  fields.optional("window", window,
                  {.meaning = "keys that a query sees, its own included; 0: all earlier ones", .minimum = 0});
}

AttentionBench bench_attention(Workbench& workbench, const Effort& effort, const AttentionShape& shape,
                               bool forward_only) {
  Attention attention(workbench, shape);
  const double product = 2.0 * visible_pairs(use_of(shape), shape.heads, shape.tgt_len, shape.mem_len) *
                         static_cast<double>(shape.streams * shape.heads * shape.d_head);
  AttentionBench bench;
  bench.measurements.push_back(
      {.name = "forward",
       .timing = time_calls(workbench.queue(), effort, [&] { attention.forward(workbench.queue()); }),
       .flops = (shape.has_distances ? 3.0 : 2.0) * product,
       .bytes = static_cast<double>(attention.forward_bytes())});
  if (!forward_only) {
    attention.add_backward(workbench, shape);
    const auto both = [&] {
      attention.forward(workbench.queue());
      attention.backward(workbench.queue());
    };
    bench.measurements.push_back(
        {.name = "forward and backward",
         .timing = time_calls(workbench.queue(), effort, both),
         .flops = (shape.has_distances ? 9.0 : 6.0) * product,
         .bytes = static_cast<double>(attention.forward_bytes() + attention.backward_bytes())});
  }
  bench.workspace_bytes =
      bytes_of_all({&attention.lse, &attention.workspace}) + (attention.schedule ? attention.schedule->bytes() : 0);
  bench.tensor_bytes = attention.backward_bytes() - attention.lse.view().bytes();
  return bench;
}

}  // namespace segue

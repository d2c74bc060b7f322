// All rows: some of them at a time. The logits of a chunk lie in rows of a multiple of 16 bytes; classes that only fill
// up a row have a bias of -infinity, so that they weigh nothing and get no gradient. Rows that are not scored go
// through the products with a gradient of zeros.
#include <algorithm>

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/gemm.h"
#include "kernels/cuda/linear_cross_entropy.cuh"
#include "kernels/cuda/operations.h"

namespace segue::kernels::cuda {

namespace {

constexpr int kElementThreads = 256;
constexpr int64_t kLeastChunkRows = 64;

int64_t padded_classes(const LinearCrossEntropyExtents& extents) {
  const int64_t per_chunk = 16 / bytes_of(extents.activations);
  return simt::divide_up(extents.classes, per_chunk) * per_chunk;
}

struct ChunkWorkspace {
  ChunkWorkspace(const LinearCrossEntropyExtents& extents, float* data)
      : classes(padded_classes(extents)),
        rows(std::min(extents.rows,
                      std::max(kLeastChunkRows, extents.scratch_bytes / bytes_of(extents.activations) / classes))) {
    WorkspacePieces pieces(data);
    const int64_t logits_bytes = rows * classes * bytes_of(extents.activations);
    logits = pieces.take(simt::divide_up(logits_bytes, static_cast<int64_t>(sizeof(float))));
    bias = pieces.take(classes);
    dbias = pieces.take(classes);
    nll = pieces.take(rows);
    lse = pieces.take(rows);
    taken = pieces.taken();
  }

  int64_t classes;  // padded
  int64_t rows;     // of a chunk, at most
  float* logits;    // [rows, classes] A
  float* bias;      // [classes]: of the table and the gates
  float* dbias;     // [classes]
  float* nll;       // [rows]
  float* lse;       // [rows]
  int64_t taken;
};

template <typename Element>
struct PrepareArguments {
  const float* bias;
  const float* gate_bias;
  int64_t table_classes;
  int64_t classes;
  int64_t padded;
  int64_t rows;
  float* joined;
  float* dbias;
  Element* logits;
};

// A thread for each class: its bias, no gradient yet, and zeros where no product will write.
template <typename Element>
__global__ void linear_cross_entropy_prepare_kernel(PrepareArguments<Element> args) {
  const int64_t c = int64_t{simt::block()} * kElementThreads + simt::thread();
  if (c >= args.padded) return;
  args.dbias[c] = 0.0F;
  if (c < args.classes) {
    args.joined[c] = c < args.table_classes ? args.bias[c] : args.gate_bias[c - args.table_classes];
    return;
  }
  args.joined[c] = -INFINITY;
  for (int64_t row = 0; row < args.rows; ++row) args.logits[row * args.padded + c] = static_cast<Element>(0.0F);
}

struct AddArguments {
  const float* from;
  float* to;
  bool accumulate;
  int64_t elements;
};

__global__ void linear_cross_entropy_add_kernel(AddArguments args) {
  const int64_t e = int64_t{simt::block()} * kElementThreads + simt::thread();
  if (e < args.elements) args.to[e] = args.from[e] + (args.accumulate ? args.to[e] : 0.0F);
}

void add(Queue& queue, const AddArguments& args) {
  if (args.elements == 0) return;
  simt::launch(queue.cuda(), "linear_cross_entropy_add",
               {.x = simt::divide_up(args.elements, kElementThreads), .threads = kElementThreads},
               linear_cross_entropy_add_kernel, args);
}

void prepare(Queue& queue, const LinearCrossEntropy& args, const LinearCrossEntropyExtents& extents,
             const ChunkWorkspace& workspace) {
  simt::with_element(extents.activations, [&](auto element) {
    using Element = decltype(element);
    simt::launch(queue.cuda(), "linear_cross_entropy_prepare",
                 {.x = simt::divide_up(workspace.classes, kElementThreads), .threads = kElementThreads},
                 linear_cross_entropy_prepare_kernel<Element>,
                 PrepareArguments<Element>{.bias = args.bias.as<float>(),
                                           .gate_bias = args.gate_bias.as<float>(),
                                           .table_classes = args.table.shape[0],
                                           .classes = extents.classes,
                                           .padded = workspace.classes,
                                           .rows = workspace.rows,
                                           .joined = workspace.bias,
                                           .dbias = workspace.dbias,
                                           .logits = reinterpret_cast<Element*>(workspace.logits)});
  });
}

// The logits of a chunk, and those of them that belong to the table or the gates.
struct ChunkLogits {
  std::byte* data;
  DType dtype;
  int64_t rows;
  int64_t stride;

  TensorView all() const { return {data, dtype, {rows, stride}}; }
  TensorView classes(int64_t first, int64_t count) const {
    return {data + first * bytes_of(dtype), dtype, {rows, count}};
  }
};

// The classes of the table or of the gates.
struct Classes {
  ConstTensorView w;
  TensorView dw;
  TensorView logits;  // theirs, rows `stride` apart
  int64_t stride;
};

void multiply_logits(Queue& queue, const Classes& classes, ConstTensorView x) {
  gemm(queue, {.a = x, .b = classes.w, .transpose_b = true, .c = classes.logits, .c_stride = classes.stride});
}

void multiply_gradients(Queue& queue, const Classes& classes, ConstTensorView x, TensorView dx, bool accumulate_dx) {
  gemm(queue, {.a = classes.logits, .b = classes.w, .c = dx, .accumulate = accumulate_dx, .a_stride = classes.stride});
  gemm(queue, {.a = classes.logits,
               .transpose_a = true,
               .b = x,
               .c = classes.dw,
               .accumulate = true,
               .a_stride = classes.stride});
}

void run_chunk(Queue& queue, const LinearCrossEntropy& args, const ChunkWorkspace& workspace, int64_t first,
               int64_t count) {
  const LinearCrossEntropyGradient& gradient = args.gradient;
  const ChunkLogits logits{.data = reinterpret_cast<std::byte*>(workspace.logits),
                           .dtype = args.x.dtype,
                           .rows = count,
                           .stride = workspace.classes};
  const int64_t table_classes = args.table.shape[0];
  const Classes table{args.table, gradient.dtable, logits.classes(0, table_classes), logits.stride};
  const bool has_gates = !args.gates.empty();
  const Classes gates{args.gates, gradient.dgates, logits.classes(table_classes, has_gates ? args.gates.shape[0] : 0),
                      logits.stride};
  const ConstTensorView x = args.x.rows(first, count);
  const ConstTensorView bias = view_of(workspace.bias, {workspace.classes});
  const ConstTensorView targets = args.columns.rows(first, count);
  const TensorView lse = view_of(workspace.lse, {count});
  multiply_logits(queue, table, x);
  if (has_gates) multiply_logits(queue, gates, x);
  cuda::cross_entropy_forward(
      queue,
      {.logits = logits.all(), .bias = bias, .targets = targets, .nll = view_of(workspace.nll, {count}), .lse = lse});
  add(queue, {.from = workspace.nll,
              .to = args.nll.as<float>() + first,
              .accumulate = args.accumulate_nll,
              .elements = count});
  if (gradient.dx.empty()) return;
  cuda::cross_entropy_backward(queue, {.logits = logits.all(),
                                       .bias = bias,
                                       .targets = targets,
                                       .lse = lse,
                                       .scale = gradient.scale,
                                       .dbias = view_of(workspace.dbias, {workspace.classes})});
  const TensorView dx = gradient.dx.rows(first, count);
  multiply_gradients(queue, table, x, dx, gradient.accumulate_dx);
  if (has_gates) multiply_gradients(queue, gates, x, dx, true);
}

}  // namespace

void all_rows_cross_entropy(Queue& queue, const LinearCrossEntropy& args, const LinearCrossEntropyExtents& extents) {
  const ChunkWorkspace workspace(extents, args.workspace.as<float>());
  prepare(queue, args, extents, workspace);
  const int64_t chunks = simt::divide_up(extents.rows, workspace.rows);
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const int64_t first = extents.rows * chunk / chunks;
    run_chunk(queue, args, workspace, first, extents.rows * (chunk + 1) / chunks - first);
  }
  if (args.gradient.dx.empty()) return;
  const int64_t table_classes = args.table.shape[0];
  add(queue,
      {.from = workspace.dbias, .to = args.gradient.dbias.as<float>(), .accumulate = true, .elements = table_classes});
  add(queue, {.from = workspace.dbias + table_classes,
              .to = args.gradient.dgate_bias.as<float>(),
              .accumulate = true,
              .elements = extents.classes - table_classes});
}

int64_t all_rows_workspace(const LinearCrossEntropyExtents& extents) { return ChunkWorkspace(extents, nullptr).taken; }

void linear_cross_entropy(Queue& queue, const LinearCrossEntropy& args) {
  const LinearCrossEntropyExtents extents = extents_of(args);
  if (extents.listed) return listed_rows_cross_entropy(queue, args, extents);
  all_rows_cross_entropy(queue, args, extents);
}

int64_t linear_cross_entropy_workspace(const LinearCrossEntropyExtents& extents) {
  return extents.listed ? listed_rows_workspace(extents) : all_rows_workspace(extents);
}

}  // namespace segue::kernels::cuda

// A chunk of rows at a time: their logits, the cross-entropy over them, and the three products of the gradient.
#include <algorithm>
#include <atomic>
#include <exception>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/linear_cross_entropy_blocks.h"
#include "kernels/cpu/multiply.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

int64_t dx_elements(int64_t rows, int64_t width, int64_t classes) {
  const int64_t most_parts = divide_up(classes, kLeastPartClasses) * rows * width;
  return std::min(most_parts, std::max(rows * width, kDxJobs * kBlockRows * kBlockColumns));
}

// Scratch for one chunk after the other, and what they add up.
class Workspace {
 public:
  Workspace(const LinearCrossEntropyExtents& e, float* data) : next_(data) {
    const int64_t rows = with_padding(chunk_rows(e));
    logits = take_bytes(rows * e.classes * bytes_of(e.activations));
    bias = take(e.classes);
    dbias = take(e.classes);
    x = take_bytes(rows * e.width * bytes_of(e.activations));
    dx = take(dx_elements(rows, e.width, e.classes));
    columns = reinterpret_cast<int32_t*>(take(rows));
    nll = take(rows);
    lse = take(rows);
    scored = e.listed ? nullptr : reinterpret_cast<int32_t*>(take(e.rows));
  }

  std::byte* logits;  // [chunk, classes] A
  float* bias;        // [classes]: of the table and the gates
  float* dbias;
  std::byte* x;  // [chunk, E] A
  float* dx;     // [parts, chunk, E]
  int32_t* columns;
  float* nll;
  float* lse;
  int32_t* scored;  // [R]: the rows that are; null where the caller lists rows

  int64_t taken() const { return taken_; }

 private:
  float* take(int64_t elements) {
    float* piece = next_ == nullptr ? nullptr : next_ + taken_;
    taken_ += elements;
    return piece;
  }
  std::byte* take_bytes(int64_t bytes) {
    return reinterpret_cast<std::byte*>(take(divide_up(bytes, static_cast<int64_t>(sizeof(float)))));
  }

  float* next_;
  int64_t taken_ = 0;
};

// The operands of a call, as plain pointers.
struct Layer {
  Queue& queue;
  const LinearCrossEntropy& args;
  LinearCrossEntropyExtents extents;
  Workspace scratch;
  const int32_t* rows;  // the listed ones

  int64_t row(int64_t i) const { return rows[i]; }
  DType activations() const { return extents.activations; }
  int64_t bytes(int64_t elements) const { return elements * bytes_of(activations()); }
  int64_t table_classes() const { return args.table.shape[0]; }
  int64_t table_blocks() const { return divide_up(table_classes(), kBlockClasses); }
  int64_t blocks() const { return table_blocks() + divide_up(extents.classes - table_classes(), kBlockClasses); }
};

// Neighbouring classes, of the table or of the gates.
struct ClassBlock {
  int64_t column;  // of the logits
  int64_t count;
  const std::byte* w;
  float* dw;  // null without a gradient
};

ClassBlock class_block(const Layer& layer, int64_t index) {
  const LinearCrossEntropy& args = layer.args;
  const bool gates = index >= layer.table_blocks();
  const int64_t first = (gates ? index - layer.table_blocks() : index) * kBlockClasses;
  const ConstTensorView w = gates ? args.gates : args.table;
  const TensorView dw = gates ? args.gradient.dgates : args.gradient.dtable;
  const int64_t offset = first * layer.extents.width;
  return {.column = first + (gates ? layer.table_classes() : 0),
          .count = std::min(kBlockClasses, w.shape[0] - first),
          .w = w.data + layer.bytes(offset),
          .dw = dw.empty() ? nullptr : dw.as<float>() + offset};
}

// Calls job(i) for i in [0, jobs), each on one thread. An error cannot leave a parallel region: the first is thrown
// after.
template <typename Job>
void share_jobs(const Queue& queue, int64_t jobs, const Job& job) {
  std::exception_ptr error;
  std::atomic_flag failed;
#pragma omp parallel for schedule(dynamic) num_threads(queue.threads())
  for (int64_t i = 0; i < jobs; ++i) {
    try {
      job(i);
    } catch (...) {
      if (!failed.test_and_set()) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

// A chunk's rows, and zeros as padding: what these add to a sum is zero, and their results are never read.
void gather(const Layer& layer, int64_t first, int64_t count) {
  const int64_t width = layer.extents.width;
  const int64_t row_bytes = layer.bytes(width);
  const int32_t* columns = layer.args.columns.as<int32_t>();
#pragma omp parallel for schedule(static) num_threads(threads_for(layer.queue, count* width))
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = layer.row(first + i);
    std::copy_n(layer.args.x.data + row * row_bytes, row_bytes, layer.scratch.x + i * row_bytes);
    layer.scratch.columns[i] = columns[row];
  }
  std::fill_n(layer.scratch.x + count * row_bytes, (with_padding(count) - count) * row_bytes, std::byte{});
}

void compute_logits(const Layer& layer, int64_t count) {
  share_jobs(layer.queue, layer.blocks(), [&](int64_t index) {
    const ClassBlock block = class_block(layer, index);
    multiply_in_thread(layer.queue, {.m = count,
                                     .n = block.count,
                                     .k = layer.extents.width,
                                     .a = layer.scratch.x,
                                     .a_stride = layer.extents.width,
                                     .b = block.w,
                                     .b_stride = layer.extents.width,
                                     .c = layer.scratch.logits + layer.bytes(block.column),
                                     .c_stride = layer.extents.classes,
                                     .operands = layer.activations(),
                                     .result = layer.activations(),
                                     .transpose_b = true});
  });
}

void add_dw(const Layer& layer, int64_t count) {
  share_jobs(layer.queue, layer.blocks(), [&](int64_t index) {
    const ClassBlock block = class_block(layer, index);
    multiply_in_thread(layer.queue, {.m = block.count,
                                     .n = layer.extents.width,
                                     .k = count,
                                     .a = layer.scratch.logits + layer.bytes(block.column),
                                     .a_stride = layer.extents.classes,
                                     .b = layer.scratch.x,
                                     .b_stride = layer.extents.width,
                                     .c = block.dw,
                                     .c_stride = layer.extents.width,
                                     .operands = layer.activations(),
                                     .transpose_a = true,
                                     .accumulate = true});
  });
}

// to [rows, columns] (+)= dz [rows, classes] · w [classes, columns], inside larger matrices.
struct DxProduct {
  int64_t rows, columns;
  float* to;
  const std::byte* dz;
};

void multiply_dx(const Layer& layer, const DxProduct& product, int64_t classes, const std::byte* w, bool accumulate) {
  multiply_in_thread(layer.queue, {.m = product.rows,
                                   .n = product.columns,
                                   .k = classes,
                                   .a = product.dz,
                                   .a_stride = layer.extents.classes,
                                   .b = w,
                                   .b_stride = layer.extents.width,
                                   .c = product.to,
                                   .c_stride = layer.extents.width,
                                   .operands = layer.activations(),
                                   .accumulate = accumulate});
}

// The parts of dx of a chunk: each over some classes of the table, the last also over the gates.
void compute_dx(const Layer& layer, int64_t count, int64_t parts) {
  const int64_t width = layer.extents.width;
  const int64_t table = layer.table_classes();
  const int64_t row_blocks = divide_up(count, kBlockRows);
  const int64_t column_blocks = divide_up(width, kBlockColumns);
  share_jobs(layer.queue, parts * row_blocks * column_blocks, [&](int64_t job) {
    const int64_t row = share_begin(count, job % row_blocks, row_blocks);
    const int64_t column = job / row_blocks % column_blocks * kBlockColumns;
    const int64_t part = job / row_blocks / column_blocks;
    const int64_t begin = share_begin(table, part, parts);
    const int64_t end = share_begin(table, part + 1, parts);
    DxProduct product{.rows = share_begin(count, job % row_blocks + 1, row_blocks) - row,
                      .columns = std::min(kBlockColumns, width - column),
                      .to = layer.scratch.dx + (part * count + row) * width + column,
                      .dz = layer.scratch.logits + layer.bytes(row * layer.extents.classes + begin)};
    multiply_dx(layer, product, end - begin, layer.args.table.data + layer.bytes(begin * width + column), false);
    if (part + 1 < parts || table == layer.extents.classes) return;
    product.dz += layer.bytes(end - begin);
    multiply_dx(layer, product, layer.extents.classes - table, layer.args.gates.data + layer.bytes(column), true);
  });
}

// The sum of a row's parts is rounded once.
template <typename A>
void scatter_dx(const Layer& layer, int64_t first, int64_t count, int64_t parts) {
  const int64_t width = layer.extents.width;
  const int64_t part_elements = with_padding(count) * width;
  A* dx = layer.args.gradient.dx.as<A>();
#pragma omp parallel for schedule(static) num_threads(threads_for(layer.queue, parts* count* width))
  for (int64_t i = 0; i < count; ++i) {
    float* sum = layer.scratch.dx + i * width;
    for (int64_t part = 1; part < parts; ++part) add_to(sum, sum + part * part_elements, width);
    A* to = dx + layer.row(first + i) * width;
    add_to(sum, to, width);
    store_row(to, sum, width);
  }
}

void scatter_nll(const Layer& layer, int64_t first, int64_t count) {
  float* nll = layer.args.nll.as<float>();
  for (int64_t i = 0; i < count; ++i) {
    float& to = nll[layer.row(first + i)];
    to = layer.scratch.nll[i] + (layer.args.accumulate_nll ? to : 0.0F);
  }
}

void run_chunk(const Layer& layer, int64_t first, int64_t count) {
  const Workspace& scratch = layer.scratch;
  const Shape classes{layer.extents.classes};
  const Shape rows{count};
  const TensorView logits{scratch.logits, layer.activations(), {count, layer.extents.classes}};
  const int64_t padded = with_padding(count);
  gather(layer, first, count);
  compute_logits(layer, padded);
  cpu::cross_entropy_forward(layer.queue, {.logits = logits,
                                           .bias = view_of(scratch.bias, classes),
                                           .targets = view_of(scratch.columns, rows),
                                           .nll = view_of(scratch.nll, rows),
                                           .lse = view_of(scratch.lse, rows)});
  scatter_nll(layer, first, count);
  if (layer.args.gradient.dx.empty()) return;
  cpu::cross_entropy_backward(layer.queue, {.logits = logits,
                                            .bias = view_of(scratch.bias, classes),
                                            .targets = view_of(scratch.columns, rows),
                                            .lse = view_of(scratch.lse, rows),
                                            .scale = layer.args.gradient.scale,
                                            .dbias = view_of(scratch.dbias, classes)});
  add_dw(layer, padded);
  const int64_t parts = dx_parts(padded, layer.extents.width, layer.table_classes());
  compute_dx(layer, padded, parts);
  with_activations(layer.activations(), [&]<typename A>() { scatter_dx<A>(layer, first, count, parts); });
}

// Lists the rows that are scored, and returns how many they are; the loss of the others is 0.
int64_t list_scored(const LinearCrossEntropy& args, int32_t* list) {
  const int32_t* columns = args.columns.as<int32_t>();
  float* nll = args.nll.as<float>();
  int64_t count = 0;
  for (int64_t row = 0; row < args.columns.shape[0]; ++row) {
    if (columns[row] >= 0) {
      list[count++] = static_cast<int32_t>(row);
    } else if (!args.accumulate_nll) {
      nll[row] = 0.0F;
    }
  }
  return count;
}

// The biases of table and gates as one, and back.
void join_biases(const Layer& layer) {
  const int64_t table = layer.table_classes();
  std::copy_n(layer.args.bias.as<float>(), table, layer.scratch.bias);
  std::copy_n(layer.args.gate_bias.as<float>(), layer.extents.classes - table, layer.scratch.bias + table);
  std::fill_n(layer.scratch.dbias, layer.extents.classes, 0.0F);
}

void add_dbias(const Layer& layer) {
  const LinearCrossEntropyGradient& gradient = layer.args.gradient;
  const int64_t table = layer.table_classes();
  for (int64_t c = 0; c < layer.extents.classes; ++c) {
    float* to = c < table ? gradient.dbias.as<float>() + c : gradient.dgate_bias.as<float>() + (c - table);
    *to += layer.scratch.dbias[c];
  }
}

}  // namespace

void linear_cross_entropy(Queue& queue, const LinearCrossEntropy& args) {
  const LinearCrossEntropyExtents extents = extents_of(args);
  const Workspace scratch(extents, args.workspace.as<float>());
  const Layer layer{.queue = queue,
                    .args = args,
                    .extents = extents,
                    .scratch = scratch,
                    .rows = extents.listed ? args.rows.as<int32_t>() : scratch.scored};
  const TensorView dx = args.gradient.dx;
  if (!dx.empty() && !args.gradient.accumulate_dx) std::fill_n(dx.data, dx.bytes(), std::byte{});
  const int64_t count = extents.listed ? args.count.as<int32_t>()[0] : list_scored(args, scratch.scored);
  if (count == 0) return;
  join_biases(layer);
  const int64_t chunks = divide_up(count, chunk_rows(extents));
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const int64_t first = share_begin(count, chunk, chunks);
    run_chunk(layer, first, share_begin(count, chunk + 1, chunks) - first);
  }
  if (!dx.empty()) add_dbias(layer);
}

int64_t linear_cross_entropy_workspace(const LinearCrossEntropyExtents& extents) {
  return Workspace(extents, nullptr).taken();
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu

// Listed rows: four kernels whose grids depend on R alone, and whose blocks beyond the listed rows return at once.
//
//   sums  a block holds listed rows and walks over the classes of a split: their largest logit and sum of exponentials
//   loss  the splits of a row in their order: its loss
//   rows  a block holds listed rows and walks over the classes of a split: its part of dx; then the parts in order
//   classes  a block holds classes and walks over the listed rows: dw and db
//
// Each recomputes the logits. No two blocks add to the same element.
#include <algorithm>
#include <type_traits>

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/linear_cross_entropy.cuh"
#include "kernels/cuda/linear_cross_entropy_listed.cuh"

namespace segue::kernels::cuda {

namespace {

constexpr int kRowThreads = 128;
constexpr int kMostSplits = 64;

// Where a block works that holds listed rows and walks over the classes of a split.
template <typename Element>
struct RowsAndClasses {
  int i0 = simt::block() * kTile<Element>;  // the first of its rows in the list
  int listed;
  int splits = 0;

  __device__ __forceinline__ explicit RowsAndClasses(const ListedArguments<Element>& args) : listed(*args.count) {
    if (i0 < listed) splits = splits_of(args, listed);
  }
  __device__ __forceinline__ bool is_empty() const { return simt::block_y() >= splits; }
};

template <typename Element, int kWidth>
__global__ void __launch_bounds__(kThreads<Element>) linear_cross_entropy_sums_kernel(ListedArguments<Element> args) {
  const RowsAndClasses<Element> at(args);
  if (at.is_empty()) return;
  simt::SharedMemory memory;
  LayerTiles<Element, kWidth> tiles(memory);
  const ClassTiles range(args, simt::block_y(), at.splits);
  const LaneOfAccumulators lane;
  const ListedLane<Element> rows(args, at.i0, at.listed);
  SoftmaxSum sums[2];
  for (int tile = range.begin; tile < range.end; ++tile) {
    const int c0 = tile * kTile<Element>;
    Accumulators<kTile<Element>> z;
    compute_logits(args, tiles, at.i0, at.listed, c0, 0, tile > range.begin ? Stays::kRows : Stays::kNone, z);
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      SoftmaxSum piece;
#pragma unroll
      for (auto& block : z.value) piece.largest = fmaxf(piece.largest, fmaxf(block[2 * row], block[2 * row + 1]));
#pragma unroll
      for (int block = 0; block < kTile<Element> / 8; ++block) {
        for (int i = 2 * row; i < 2 * row + 2; ++i) {
          piece.sum += exp_of(z.value[block][i] - piece.largest);
          if (c0 + lane.column(block, i) == rows.column[row]) args.target[rows.place[row]] = z.value[block][i];
        }
      }
      sums[row] = joined(sums[row], piece);
    }
    simt::sync_block();  // all threads are done with these classes
  }
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    for (int mask = 1; mask < 4; mask *= 2)
      sums[row] =
          joined(sums[row], {simt::shuffle_xor(sums[row].largest, mask), simt::shuffle_xor(sums[row].sum, mask)});
    if (lane.lane.pair != 0 || rows.column[row] < 0) continue;
    const int64_t part = static_cast<int64_t>(simt::block_y()) * args.all_rows + rows.place[row];
    args.sums.largest[part] = sums[row].largest;
    args.sums.sum[part] = sums[row].sum;
  }
}

template <typename Element>
__global__ void linear_cross_entropy_loss_kernel(ListedArguments<Element> args) {
  const int place = simt::block() * kRowThreads + simt::thread();
  const int listed = *args.count;
  if (place >= listed) return;
  const int splits = splits_of(args, listed);
  SoftmaxSum sum;
  for (int split = 0; split < splits; ++split) {
    const int64_t part = static_cast<int64_t>(split) * args.all_rows + place;
    sum = joined(sum, {args.sums.largest[part], args.sums.sum[part]});
  }
  const float log_sum = logf(sum.sum);
  args.lse[place] = sum.largest + log_sum;
  float& nll = args.nll[args.rows[place]];
  nll = (sum.largest - args.target[place]) + log_sum + (args.accumulate_nll ? nll : 0.0F);
}

template <typename Element, int kWidth>
struct GradientTiles : LayerTiles<Element, kWidth> {
  Tile<Element, kTile<Element>> dz;

  template <typename Memory>
  __host__ __device__ __forceinline__ explicit GradientTiles(Memory& memory)
      : LayerTiles<Element, kWidth>(memory), dz(memory, kTile<Element>) {}
};

template <typename Element, int kWidth>
__global__ void __launch_bounds__(kThreads<Element>) linear_cross_entropy_rows_kernel(ListedArguments<Element> args) {
  const RowsAndClasses<Element> at(args);
  if (at.is_empty()) return;
  simt::SharedMemory memory;
  GradientTiles<Element, kWidth> tiles(memory);
  const ClassTiles range(args, simt::block_y(), at.splits);
  const int slice = simt::block_z();
  const int warp_row = simt::warp() * 16;
  ListedLane<Element> rows(args, at.i0, at.listed);
  rows.load_lse(args);
  Accumulators<kWidth> dx;
  for (int tile = range.begin; tile < range.end; ++tile) {
    const int c0 = tile * kTile<Element>;
    Accumulators<kTile<Element>> z;
    compute_logits(args, tiles, at.i0, at.listed, c0, slice, tile > range.begin ? Stays::kRows : Stays::kNone, z);
    rows.differentiate(args.scale, c0, z);
    store_tile(tiles.dz, warp_row, z);
    simt::sync_warp();
    multiply_rows(dx, tiles.dz, warp_row, tiles.w);
    simt::sync_block();  // all threads are done with these classes
  }
  const LaneOfAccumulators lane;
  const int first = slice * kWidth;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (rows.column[i / 2] < 0) continue;
    const int64_t part = static_cast<int64_t>(simt::block_y()) * at.listed + rows.place[i / 2];
#pragma unroll
    for (int block = 0; block < kWidth / 8; ++block) {
      const int e = first + lane.column(block, i);
      if (e < args.width) args.dx_parts[part * args.width + e] = dx.value[block][i];
    }
  }
}

// A warp for each listed row.
template <typename Element>
__global__ void linear_cross_entropy_dx_kernel(ListedArguments<Element> args) {
  const int place = simt::block() * (kRowThreads / simt::kWarp) + simt::warp();
  const int listed = *args.count;
  if (place >= listed) return;
  const int splits = splits_of(args, listed);
  Element* dx = args.dx + static_cast<int64_t>(args.rows[place]) * args.width;
  for (int e = simt::lane(); e < args.width; e += simt::kWarp) {
    float sum = args.accumulate_dx ? simt::as_float(dx[e]) : 0.0F;
    for (int split = 0; split < splits; ++split)
      sum += args.dx_parts[(static_cast<int64_t>(split) * listed + place) * args.width + e];
    dx[e] = static_cast<Element>(sum);
  }
}

template <typename Element, int kWidth>
__global__ void __launch_bounds__(kThreads<Element>)
    linear_cross_entropy_classes_kernel(ListedArguments<Element> args) {
  const int listed = *args.count;
  if (listed == 0) return;
  simt::SharedMemory memory;
  GradientTiles<Element, kWidth> tiles(memory);
  const int c0 = simt::block() * kTile<Element>;
  const int slice = simt::block_z();
  const int warp_row = simt::warp() * 16;
  Accumulators<kWidth> dw;
  float db[4] = {};
  for (int i0 = 0; i0 < listed; i0 += kTile<Element>) {
    ListedLane<Element> rows(args, i0, listed);
    rows.load_lse(args);
    Accumulators<kTile<Element>> z;
    compute_logits(args, tiles, i0, listed, c0, slice, i0 > 0 ? Stays::kClasses : Stays::kNone, z);
    rows.differentiate(args.scale, c0, z);
    store_tile(tiles.dz, warp_row, z);
    simt::sync_block();
    multiply_transposed(dw, &db, tiles.dz, warp_row, tiles.x);
    simt::sync_block();  // all threads are done with these rows
  }
  const LaneOfAccumulators lane;
  const int first = slice * kWidth;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int c = c0 + warp_row + lane.row(i);
    float* to = args.dw_row(c);
    if (to == nullptr) continue;
#pragma unroll
    for (int block = 0; block < kWidth / 8; ++block) {
      const int e = first + lane.column(block, i);
      if (e < args.width) to[e] += dw.value[block][i];
    }
    if (slice > 0 || lane.lane.pair != 0 || i % 2 != 0) continue;
    (c < args.table_classes ? args.dbias[c] : args.dgate_bias[c - args.table_classes]) += db[i];
  }
}

// The parts of the workspace.
struct ListedWorkspace {
  ListedWorkspace(const LinearCrossEntropyExtents& extents, float* data) {
    const int64_t class_tiles = simt::divide_up(extents.classes, kTile<float>);  // the smaller tile
    most_splits = static_cast<int>(std::min<int64_t>(kMostSplits, class_tiles));
    const int64_t row_elements = extents.rows * extents.width;
    dx_capacity = std::min(most_splits * row_elements,
                           std::max(row_elements, extents.scratch_bytes / static_cast<int64_t>(sizeof(float))));
    WorkspacePieces pieces(data);
    sums.largest = pieces.take(most_splits * extents.rows);
    sums.sum = pieces.take(most_splits * extents.rows);
    target = pieces.take(extents.rows);
    lse = pieces.take(extents.rows);
    dx_parts = pieces.take(dx_capacity);
    taken = pieces.taken();
  }

  int most_splits;
  int64_t dx_capacity;
  SplitSums sums{};
  float* target;
  float* lse;
  float* dx_parts;
  int64_t taken;
};

template <typename Element>
ListedArguments<Element> arguments_of(const LinearCrossEntropy& args, const LinearCrossEntropyExtents& extents) {
  const ListedWorkspace workspace(extents, args.workspace.as<float>());
  const LinearCrossEntropyGradient& gradient = args.gradient;
  return {.x = args.x.as<Element>(),
          .table = args.table.as<Element>(),
          .bias = args.bias.as<float>(),
          .gates = simt::data_of<Element>(args.gates),
          .gate_bias = simt::data_of<float>(args.gate_bias),
          .columns = args.columns.as<int32_t>(),
          .rows = args.rows.as<int32_t>(),
          .count = args.count.as<int32_t>(),
          .all_rows = static_cast<int>(extents.rows),
          .width = static_cast<int>(extents.width),
          .table_classes = static_cast<int>(args.table.shape[0]),
          .classes = static_cast<int>(extents.classes),
          .vectorised = simt::is_vectorisable(args.x.dtype, extents.width, {args.x, args.table, args.gates}),
          .most_splits =
              std::min(workspace.most_splits, static_cast<int>(simt::divide_up(extents.classes, kTile<Element>))),
          .sums = workspace.sums,
          .target = workspace.target,
          .lse = workspace.lse,
          .dx_parts = workspace.dx_parts,
          .dx_capacity = workspace.dx_capacity,
          .nll = args.nll.as<float>(),
          .accumulate_nll = args.accumulate_nll,
          .scale = gradient.scale,
          .dx = simt::data_of<Element>(gradient.dx),
          .accumulate_dx = gradient.accumulate_dx,
          .dtable = simt::data_of<float>(gradient.dtable),
          .dbias = simt::data_of<float>(gradient.dbias),
          .dgates = simt::data_of<float>(gradient.dgates),
          .dgate_bias = simt::data_of<float>(gradient.dgate_bias)};
}

// call(a slice's width as a constant): the narrowest of the compiled widths that holds a row, or the widest.
template <typename Call>
void with_slice_width(int width, const Call& call) {
  if (width <= 32) {
    call(std::integral_constant<int, 32>());
  } else if (width <= 64) {
    call(std::integral_constant<int, 64>());
  } else {
    call(std::integral_constant<int, 256>());
  }
}

template <typename Element>
void run_loss(Queue& queue, const ListedArguments<Element>& args) {
  with_slice_width(args.width, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    simt::launch(queue.cuda(), "linear_cross_entropy_sums",
                 {.x = simt::divide_up(args.all_rows, kTile<Element>),
                  .y = args.most_splits,
                  .threads = kThreads<Element>,
                  .shared_bytes = simt::shared_bytes_of<LayerTiles<Element, kWidth>>()},
                 linear_cross_entropy_sums_kernel<Element, kWidth>, args);
  });
  simt::launch(queue.cuda(), "linear_cross_entropy_loss",
               {.x = simt::divide_up(args.all_rows, kRowThreads), .threads = kRowThreads},
               linear_cross_entropy_loss_kernel<Element>, args);
}

template <typename Element>
void run_gradient(Queue& queue, const ListedArguments<Element>& args) {
  with_slice_width(args.width, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    const auto slices = static_cast<int>(simt::divide_up(args.width, kWidth));
    simt::launch(queue.cuda(), "linear_cross_entropy_rows",
                 {.x = simt::divide_up(args.all_rows, kTile<Element>),
                  .y = args.most_splits,
                  .z = slices,
                  .threads = kThreads<Element>,
                  .shared_bytes = simt::shared_bytes_of<GradientTiles<Element, kWidth>>()},
                 linear_cross_entropy_rows_kernel<Element, kWidth>, args);
    simt::launch(queue.cuda(), "linear_cross_entropy_classes",
                 {.x = simt::divide_up(args.classes, kTile<Element>),
                  .z = slices,
                  .threads = kThreads<Element>,
                  .shared_bytes = simt::shared_bytes_of<GradientTiles<Element, kWidth>>()},
                 linear_cross_entropy_classes_kernel<Element, kWidth>, args);
  });
  simt::launch(queue.cuda(), "linear_cross_entropy_dx",
               {.x = simt::divide_up(args.all_rows, kRowThreads / simt::kWarp), .threads = kRowThreads},
               linear_cross_entropy_dx_kernel<Element>, args);
}

}  // namespace

void listed_rows_cross_entropy(Queue& queue, const LinearCrossEntropy& args, const LinearCrossEntropyExtents& extents) {
  const TensorView dx = args.gradient.dx;
  simt::with_element(extents.activations, [&](auto element) {
    const auto arguments = arguments_of<decltype(element)>(args, extents);
    run_loss(queue, arguments);
    if (dx.empty()) return;
    if (!args.gradient.accumulate_dx) queue.fill_zero(dx);
    run_gradient(queue, arguments);
  });
}

int64_t listed_rows_workspace(const LinearCrossEntropyExtents& extents) {
  return ListedWorkspace(extents, nullptr).taken;
}

}  // namespace segue::kernels::cuda

// Shared by the kernels of a cross-entropy of listed rows: their arguments, and the logits of a tile.
//
// A tile is kTile listed rows by kTile classes; a warp has 16 of its rows. Rows and classes are E wide, and are held
// kWidth elements at a time: a slice. A block that needs a slice for its own result loads that one last.
#pragma once

#include "kernels/cuda/softmax_sum.cuh"
#include "kernels/cuda/tile_products.cuh"

namespace segue::kernels::cuda {

// The sums of each split of the classes: see SoftmaxSum.
struct SplitSums {
  float* largest;  // [splits, R]
  float* sum;      // [splits, R]
};

template <typename Element>
struct ListedArguments {
  const Element* x;
  const Element* table;
  const float* bias;
  const Element* gates;
  const float* gate_bias;
  const int32_t* columns;
  const int32_t* rows;
  const int32_t* count;
  int all_rows;  // R
  int width;     // E
  int table_classes;
  int classes;
  bool vectorised;

  int most_splits;
  SplitSums sums;
  float* target;        // [R]: the target's logit, by position in the list
  float* lse;           // [R]: by position in the list
  float* dx_parts;      // [splits, listed rows, E]
  int64_t dx_capacity;  // elements of it

  float* nll;
  bool accumulate_nll;
  float scale;
  Element* dx;
  bool accumulate_dx;
  float* dtable;
  float* dbias;
  float* dgates;
  float* dgate_bias;

  __device__ __forceinline__ const Element* x_row(int place, int listed) const {
    return place < listed ? x + static_cast<int64_t>(rows[place]) * width : nullptr;
  }
  __device__ __forceinline__ const Element* w_row(int c) const {
    if (c >= classes) return nullptr;
    return c < table_classes ? table + static_cast<int64_t>(c) * width
                             : gates + static_cast<int64_t>(c - table_classes) * width;
  }
  __device__ __forceinline__ float* dw_row(int c) const {
    if (c >= classes) return nullptr;
    return c < table_classes ? dtable + static_cast<int64_t>(c) * width
                             : dgates + static_cast<int64_t>(c - table_classes) * width;
  }
  // -infinity where there is no class.
  __device__ __forceinline__ float bias_of(int c) const {
    if (c >= classes) return -INFINITY;
    return c < table_classes ? bias[c] : gate_bias[c - table_classes];
  }
};

// Into how many splits the classes are cut: as many blocks as a large GPU holds, as far as there is room for their
// parts. It depends on the sizes and the number of listed rows alone.
template <typename Element>
__device__ __forceinline__ int splits_of(const ListedArguments<Element>& args, int listed) {
  constexpr int kWantedBlocks = 4 * 132;
  const int row_tiles = (listed + kTile<Element> - 1) / kTile<Element>;
  const int wanted = (kWantedBlocks + row_tiles - 1) / row_tiles;
  const int64_t room = args.dx_capacity / (static_cast<int64_t>(listed) * args.width);
  const int most = wanted < args.most_splits ? wanted : args.most_splits;
  return room < most ? static_cast<int>(room) : most;
}

// The tiles of classes of a split: [begin, end).
struct ClassTiles {
  int begin, end;

  template <typename Element>
  __device__ __forceinline__ ClassTiles(const ListedArguments<Element>& args, int split, int splits) {
    const int64_t tiles = (args.classes + kTile<Element> - 1) / kTile<Element>;
    begin = static_cast<int>(tiles * split / splits);
    end = static_cast<int>(tiles * (split + 1) / splits);
  }
};

template <typename Element, int kWidth>
struct LayerTiles {
  Tile<Element, kWidth> x;  // listed rows
  Tile<Element, kWidth> w;  // classes

  template <typename Memory>
  __host__ __device__ __forceinline__ explicit LayerTiles(Memory& memory)
      : x(memory, kTile<Element>), w(memory, kTile<Element>) {}
};

// Which operand stays from one tile to the next, when rows are a single slice wide.
enum class Stays { kNone, kRows, kClasses };

// z = x · wᵀ + b of the warp's rows, listed from index i0 on, and the classes from c0 on; -infinity where there is no
// class. Afterwards the tiles hold slice `own`. Before it is called again, all warps must be done with them.
template <typename Element, int kWidth>
__device__ __forceinline__ void compute_logits(const ListedArguments<Element>& args,
                                               const LayerTiles<Element, kWidth>& tiles, int i0, int listed, int c0,
                                               int own, Stays stays, Accumulators<kTile<Element>>& z) {
  const int slices = (args.width + kWidth - 1) / kWidth;
  for (int step = 1; step <= slices; ++step) {
    const int first = (own + step) % slices * kWidth;
    const RowFormat format{args.width - first < kWidth ? args.width - first : kWidth, args.vectorised};
    if (step > 1) simt::sync_block();  // all threads are done with the slice before
    if (slices > 1 || stays != Stays::kRows) {
      load_rows(tiles.x, 0, kTile<Element>, format, [&](int row) {
        const Element* from = args.x_row(i0 + row, listed);
        return from == nullptr ? nullptr : from + first;
      });
    }
    if (slices > 1 || stays != Stays::kClasses) {
      load_rows(tiles.w, 0, kTile<Element>, format, [&](int row) {
        const Element* from = args.w_row(c0 + row);
        return from == nullptr ? nullptr : from + first;
      });
    }
    simt::async_commit();
    simt::async_wait<0>();
    simt::sync_block();
    multiply_straight(z, tiles.x, simt::warp() * 16, tiles.w);
  }
  const LaneOfAccumulators lane;
#pragma unroll
  for (int block = 0; block < kTile<Element> / 8; ++block) {
#pragma unroll
    for (int i = 0; i < 4; ++i) z.value[block][i] += args.bias_of(c0 + lane.column(block, i));
  }
}

// The two listed rows that a lane holds.
template <typename Element>
struct ListedLane {
  int place[2];
  int column[2];  // the target; -1 beyond the list
  float lse[2] = {};

  __device__ __forceinline__ ListedLane(const ListedArguments<Element>& args, int i0, int listed) {
    const LaneOfAccumulators lane;
    for (int row = 0; row < 2; ++row) {
      place[row] = i0 + simt::warp() * 16 + lane.row(2 * row);
      column[row] = place[row] < listed ? args.columns[args.rows[place[row]]] : -1;
    }
  }
  __device__ __forceinline__ void load_lse(const ListedArguments<Element>& args) {
    for (int row = 0; row < 2; ++row) lse[row] = column[row] >= 0 ? args.lse[place[row]] : 0.0F;
  }

  // Logits become gradients; zero beyond the list and beyond the classes.
  __device__ __forceinline__ void differentiate(float scale, int c0, Accumulators<kTile<Element>>& z) const {
    const LaneOfAccumulators lane;
#pragma unroll
    for (int block = 0; block < kTile<Element> / 8; ++block) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int target = column[i / 2];
        const float hit = c0 + lane.column(block, i) == target ? 1.0F : 0.0F;
        z.value[block][i] = target < 0 ? 0.0F : scale * (exp_of(z.value[block][i] - lse[i / 2]) - hit);
      }
    }
  }
};

}  // namespace segue::kernels::cuda

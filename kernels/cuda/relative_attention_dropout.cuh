// Which of a tile's weights dropout keeps. A block of random words serves four neighbouring keys of a query: of the
// four lanes that hold a query's weights each draws a quarter of its blocks, and they exchange the results.
#pragma once

#include "kernels/cuda/dropout_mask.cuh"

namespace segue::kernels::cuda {

// How keys follow from a tile's column to the next.
enum class KeyOrder { kAscending, kDescending };

// A bit for each of a lane's accumulators of kColumns columns.
class KeptWeights {
 public:
  // first[r] is the element of dropatt, counted from the first one of the run, that lies at column 0 and row row(2 * r)
  // of a lane.
  template <KeyOrder kOrder, int kColumns>
  static __device__ __forceinline__ KeptWeights draw(const simt::DropoutMask& mask, const RandomSequence& random,
                                                     const uint64_t (&first)[2]) {
    static_assert(kColumns % 16 == 0 && kColumns <= 64);
    constexpr int kBlocks = kColumns / 16;      // that a lane draws of a row
    constexpr int kPiece = 4 * kBlocks;         // their bits
    constexpr uint32_t kOfPairs = 0x03030303U;  // two columns of every eight
    const int quarter = simt::lane() % 4;
    uint64_t blocks[2 * kBlocks];
    uint32_t bits[2 * kBlocks];
    uint32_t mine = 0;
#pragma unroll
    for (int i = 0; i < 2 * kBlocks; ++i)
      blocks[i] = block_from<kOrder>(first[i / kBlocks], quarter * kBlocks + i % kBlocks);
    mask.kept<kOrder == KeyOrder::kDescending>(random, blocks, bits);
#pragma unroll
    for (int i = 0; i < 2 * kBlocks; ++i) mine |= bits[i] << (4 * i);
    // Rows that begin inside a block end inside one more.
    const int offset[2] = {offset_of<kOrder>(first[0]), offset_of<kOrder>(first[1])};
    uint32_t beyond[1] = {};
    if (simt::any((offset[0] | offset[1]) != 0)) {
      const uint64_t block[1] = {block_from<kOrder>(quarter % 2 == 0 ? first[0] : first[1], kColumns / 4)};
      mask.kept<kOrder == KeyOrder::kDescending>(random, block, beyond);
    }

    uint32_t pieces[4];
#pragma unroll
    for (int q = 0; q < 4; ++q) pieces[q] = simt::shuffle(mine, simt::lane() - quarter + q);
    KeptWeights kept;
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      uint64_t columns = 0;
#pragma unroll
      for (int q = 0; q < 4; ++q)
        columns |= static_cast<uint64_t>(pieces[q] >> (row * kPiece) & ((1U << kPiece) - 1U)) << (q * kPiece);
      const uint64_t last = simt::shuffle(beyond[0], simt::lane() - quarter + row);
      columns = columns >> offset[row] | last << (kColumns - 4) << (4 - offset[row]);
      columns >>= 2 * quarter;
      kept.bits_ |= (static_cast<uint32_t>(columns) & kOfPairs) << (4 * row);
      kept.bits_ |= (static_cast<uint32_t>(columns >> 32U) & kOfPairs) << (4 * row + 2);
    }
    return kept;
  }

  __device__ __forceinline__ bool keeps(int block, int i) const {
    return (bits_ >> (block % 4 * 8 + block / 4 * 2 + i / 2 * 4 + i % 2) & 1U) != 0;
  }

 private:
  // The n-th block from that of `first` on, in the order of columns.
  template <KeyOrder kOrder>
  static __device__ __forceinline__ uint64_t block_from(uint64_t first, int n) {
    return kOrder == KeyOrder::kAscending ? first / 4 + static_cast<uint64_t>(n) : first / 4 - static_cast<uint64_t>(n);
  }
  // Elements of the block of `first` that come before it.
  template <KeyOrder kOrder>
  static __device__ __forceinline__ int offset_of(uint64_t first) {
    const int place = static_cast<int>(first % 4);
    return kOrder == KeyOrder::kAscending ? place : 3 - place;
  }

  uint32_t bits_ = 0;
};

}  // namespace segue::kernels::cuda

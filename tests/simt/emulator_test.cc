// The emulation itself: each operation against what the hardware's manual says, and broken kernels that must show.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "kernels/cuda/element.cuh"

namespace segue::simt {

namespace {

using emulation::run;

TEST(Emulator, EveryThreadOfEveryBlockRunsOnce) {
  std::vector<int> visits(3 * 2 * 2 * 64);
  run({.kernel = "count", .x = 3, .y = 2, .z = 2, .threads = 64}, [&] {
    const int place = ((block_z() * 2 + block_y()) * 3 + block()) * 64 + thread();
    ++visits[static_cast<size_t>(place)];
  });
  EXPECT_EQ(visits, std::vector<int>(visits.size(), 1));
}

TEST(Emulator, ABarrierOrdersSharedMemory) {
  std::vector<float> sums(96);
  run({.kernel = "barrier", .threads = 96}, [&] {
    auto& values = static_shared<float[96], 0>();
    values[thread()] = static_cast<float>(thread());
    sync_block();
    sums[static_cast<size_t>(thread())] = std::accumulate(values, values + 96, 0.0F);
  });
  EXPECT_EQ(sums, std::vector<float>(96, 96 * 95 / 2));
}

TEST(Emulator, ABarrierOfTheWarpOrdersItsLanes) {
  run({.kernel = "warp_barrier", .threads = 64}, [] {
    auto& values = static_shared<int[64], 0>();
    for (int round = 0; round < 3; ++round) {
      values[thread()] = thread() + round;
      sync_warp();
      EXPECT_EQ(values[thread() ^ 1], (thread() ^ 1) + round);
      EXPECT_EQ(values[thread() ^ 2], (thread() ^ 2) + round);
      sync_warp();
    }
  });
}

struct TwoPieces {
  int* first;
  int* second;
  template <typename Memory>
  explicit TwoPieces(Memory& memory) : first(memory.template take<int>(3)), second(memory.template take<int>(32)) {}
};

TEST(Emulator, PiecesOfSharedMemoryAreTheBlocksOwn) {
  std::vector<int> found(4);
  EXPECT_EQ(shared_bytes_of<TwoPieces>(), 256);
  run({.kernel = "pieces", .x = 4, .threads = 32, .shared_bytes = shared_bytes_of<TwoPieces>()}, [&] {
    SharedMemory memory;
    const TwoPieces pieces(memory);
    pieces.second[thread()] = block();
    if (thread() < 3) pieces.first[thread()] = 7;
    sync_block();
    const int sum = std::accumulate(pieces.second, pieces.second + 32, 0);
    if (thread() == 0) found[static_cast<size_t>(block())] = sum + pieces.first[2];
  });
  EXPECT_EQ(found, (std::vector<int>{7, 39, 71, 103}));
}

TEST(Emulator, WarpsExchangeValues) {
  run({.kernel = "exchange", .threads = 64}, [] {
    EXPECT_EQ(shuffle(10 * thread(), 5), 10 * (32 * warp() + 5));
    EXPECT_EQ(shuffle_xor(thread(), 3), thread() ^ 3);
    EXPECT_EQ(ballot(lane() % 2 == 0), 0x55555555U);
    EXPECT_TRUE(any(lane() == 31));
    EXPECT_FALSE(all(lane() == 31));
    EXPECT_TRUE(all(lane() < 32));
  });
}

TEST(Emulator, CopiesLandWhenWaitedFor) {
  alignas(16) float source[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  run({.kernel = "copies", .threads = 32, .shared_bytes = kSharedAlignment}, [&] {
    float* tile = SharedMemory().take<float>(12);
    if (thread() == 0) {
      async_copy_16(tile, source, true);
      async_commit();
      async_copy_16(tile + 4, source + 4, true);
      async_copy_16(tile + 8, nullptr, false);
      async_commit();
      async_wait<1>();
      EXPECT_EQ(tile[3], 4.0F);
      async_wait<0>();
      EXPECT_EQ(tile[4], 5.0F);
      EXPECT_EQ(tile[8], 0.0F);
    }
  });
}

// c += a · b for one warp, the fragments loaded by ldmatrix from row-major tiles: a [16, 16], b [16, 8] in rows of k.
TEST(Emulator, MatrixFragmentsMultiply) {
  BFloat16 a[16 * 16];
  BFloat16 b[16 * 8];
  for (int i = 0; i < 256; ++i) a[i] = BFloat16(static_cast<float>(i % 13 - 6));
  for (int i = 0; i < 128; ++i) b[i] = BFloat16(static_cast<float>(i % 7 - 3));
  std::vector<float> found(16 * 8);
  run({.kernel = "product", .threads = 32, .shared_bytes = 1024}, [&] {
    SharedMemory memory;
    auto* a_tile = memory.take<BFloat16>(256);
    auto* b_tile = memory.take<BFloat16>(128);
    for (int i = thread(); i < 256; i += 32) a_tile[i] = a[i];
    for (int i = thread(); i < 128; i += 32) b_tile[i] = b[i];
    sync_warp();
    uint32_t a_fragment[4];
    uint32_t b_fragments[4];
    float c[4] = {0.5F, 0.5F, 0.5F, 0.5F};
    ldmatrix_x4(a_fragment, a_tile + (lane() % 16) * 16 + (lane() / 16) * 8);
    ldmatrix_x4_transposed(b_fragments, b_tile + (lane() % 16) * 8);
    mma_bf16_16x8x16(c, a_fragment, {b_fragments[0], b_fragments[1]});
    const int row = lane() / 4;
    const int column = 2 * (lane() % 4);
    for (int i = 0; i < 4; ++i) found[static_cast<size_t>((row + 8 * (i / 2)) * 8 + column + i % 2)] = c[i];
  });
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      float expected = 0.5F;
      for (int k = 0; k < 16; ++k)
        expected += static_cast<float>(a[row * 16 + k]) * static_cast<float>(b[k * 8 + column]);
      EXPECT_EQ(found[static_cast<size_t>(row * 8 + column)], expected) << row << ", " << column;
    }
  }
}

// A tile's element as group products read it: rows of 128 bytes, their 16-byte chunks permuted by the row.
size_t place_in_tile(int row, int column) {
  return static_cast<size_t>(row * 64 + (column / 8 ^ row % 8) * 8 + column % 8);
}

// c [64, 64] += a · b by four warps, where `a` and `b` [outer, along the sum] lie in their tiles so or transposed.
template <Columns kOfA, Columns kOfB>
void expect_group_product() {
  const auto a = [](int row, int k) { return static_cast<float>((row * 5 + k * 3) % 11 - 5); };
  const auto b = [](int column, int k) { return static_cast<float>((column * 7 + k) % 5 - 2); };
  std::vector<float> found(64 * 64), found_of_registers(64 * 64);
  run({.kernel = "group", .threads = 128, .shared_bytes = int64_t{2} * 64 * 128}, [&] {
    SharedMemory memory;
    auto* a_tile = memory.take<BFloat16>(64 * 64, kTileAlignment);
    auto* b_tile = memory.take<BFloat16>(64 * 64, kTileAlignment);
    for (int i = thread(); i < 64 * 64; i += 128) {
      const int row = i / 64;
      const int column = i % 64;
      a_tile[place_in_tile(row, column)] = BFloat16(kOfA == Columns::kAlongSum ? a(row, column) : a(column, row));
      b_tile[place_in_tile(row, column)] = BFloat16(kOfB == Columns::kAlongSum ? b(row, column) : b(column, row));
    }
    sync_block();
    float c[8][4] = {};
    multiply_in_group(c, GroupOperand<kOfA>(a_tile), GroupOperand<kOfB>(b_tile));
    const int group = warp() * 16 + lane() / 4;
    const int pair = 2 * (lane() % 4);
    uint32_t rows[4][4];
    for (int step = 0; step < 4; ++step) {
      for (int i = 0; i < 4; ++i) {
        const int row = group + i % 2 * 8;
        const int k = 16 * step + pair + i / 2 * 8;
        rows[step][i] = pack_bf16(a(row, k), a(row, k + 1));
      }
    }
    float from_registers[8][4] = {};
    multiply_in_group(from_registers, rows, GroupOperand<kOfB>(b_tile));
    for (int block = 0; block < 8; ++block) {
      for (int i = 0; i < 4; ++i) {
        const auto place = static_cast<size_t>((group + i / 2 * 8) * 64 + block * 8 + pair + i % 2);
        found[place] = c[block][i];
        found_of_registers[place] = from_registers[block][i];
      }
    }
  });
  for (int row = 0; row < 64; ++row) {
    for (int column = 0; column < 64; ++column) {
      float expected = 0.0F;
      for (int k = 0; k < 64; ++k) expected += a(row, k) * b(column, k);
      ASSERT_EQ(found[static_cast<size_t>(row * 64 + column)], expected) << row << ", " << column;
      ASSERT_EQ(found_of_registers[static_cast<size_t>(row * 64 + column)], expected) << row << ", " << column;
    }
  }
}

TEST(Emulator, FourWarpsMultiplyTogether) {
  expect_group_product<Columns::kAlongSum, Columns::kAlongSum>();
  expect_group_product<Columns::kAlongSum, Columns::kAcross>();
  expect_group_product<Columns::kAcross, Columns::kAlongSum>();
  expect_group_product<Columns::kAcross, Columns::kAcross>();
}

// 1 + 3/4 of its last place, by a tensor core.
TEST(Emulator, SumsAreRoundedAsTheEnvironmentSays) {
  float found = 0.0F;
  run({.kernel = "sum", .threads = 32}, [&] {
    const bool first = lane() == 0;
    const uint32_t a[4] = {first ? pack_bf16(0x3p-13F, 0.0F) : 0};
    const uint32_t b[2] = {first ? pack_bf16(0x1p-12F, 0.0F) : 0};
    float c[4] = {1.0F};
    mma_bf16_16x8x16(c, a, b);
    if (first) found = c[0];
  });
  EXPECT_EQ(found, std::getenv("SEGUE_SIMT_SUMS") == nullptr ? 0x1.000002p0F : 1.0F);
}

void expect_death(int threads, const std::function<void()>& body, const char* words) {
  EXPECT_DEATH(run({.kernel = "broken", .threads = threads, .shared_bytes = 256}, body), words);
}

TEST(EmulatorDeathTest, BrokenRulesEndTheProcess) {
  expect_death(
      64,
      [] {
        if (warp() == 0) sync_block();
      },
      "broken.*sync_block");
  expect_death(
      32,
      [] {
        if (lane() < 31) sync_warp();
      },
      "sync_warp");
  expect_death(
      32, [] { lane() == 0 ? sync_warp() : void(shuffle(1, 0)); }, "is in");
  expect_death(
      32, [] { SharedMemory().take<float>(65); }, "launched with 256");
  expect_death(
      32, [] { SharedMemory().take<float>(lane() == 3 ? 2 : 1); }, "different pieces");
  expect_death(
      33, [] {}, "cannot be launched");
  expect_death(
      32,
      [] {
        uint32_t r[4];
        ldmatrix_x4(r, reinterpret_cast<const void*>(8));
      },
      "aligned");
  expect_death(
      32,
      [] {
        alignas(16) BFloat16 row[8] = {};
        uint32_t r[4];
        ldmatrix_x4(r, row);
      },
      "outside the pieces");
  expect_death(
      32, [] { async_copy_16(SharedMemory().take<float>(8) + 1, nullptr, false); }, "aligned");
  expect_death(
      32,
      [] {
        alignas(16) float source[5] = {};
        async_copy_16(SharedMemory().take<float>(8), source + 1, true);
      },
      "aligned");
  expect_death(
      32,
      [] {
        async_copy_16(SharedMemory().take<float>(8), nullptr, false);
        async_commit();
      },
      "landed");
}

// One operation asked for at two call sites: lanes may wait there for each other for ever.
TEST(EmulatorDeathTest, LanesMeetAtOnePlaceAlone) {
  constexpr const char* kWords = "broken.*called .* at .*emulator_test.cc.*thread .* at .*emulator_test.cc";
  expect_death(
      32, [] { lane() < 16 ? shuffle_xor(1, 1) : shuffle_xor(1, 1); }, kWords);
  expect_death(
      32, [] { lane() < 16 ? any(true) : any(true); }, kWords);
  expect_death(
      64, [] { warp() == 0 ? sync_block() : sync_block(); }, kWords);
  run({.kernel = "sync_warp", .threads = 32}, [] { lane() < 16 ? sync_warp() : sync_warp(); });
}

#if defined(__SANITIZE_ADDRESS__)
TEST(EmulatorDeathTest, TheSanitizerSeesTheEndOfAPiece) {
  const auto write_past = [] { SharedMemory().take<float>(5)[thread()] = 1.0F; };
  EXPECT_DEATH(run({.kernel = "past", .threads = 32, .shared_bytes = 128}, write_past), "AddressSanitizer");
}
#endif

#if defined(__SANITIZE_THREAD__)  // the compiler reports every access
// Values of 64 threads that each has written its own of.
int* written_ints() {
  int* values = SharedMemory().take<int>(64);
  values[thread()] = thread();
  return values;
}
void look_at(int value) { static_cast<void>(shuffle(value, 0)); }

constexpr const char* kRace = "broken.*byte .* which thread .* with no barrier between";

TEST(EmulatorDeathTest, ReadingWhatAnotherThreadWroteNeedsABarrier) {
  expect_death(
      64, [] { look_at(written_ints()[thread() ^ 1]); }, kRace);
  expect_death(
      32,
      [] {
        const int* values = written_ints();
        static_cast<void>(ballot(true));  // all have come here, but that orders no memory
        look_at(values[thread() ^ 1]);
      },
      kRace);
  expect_death(
      64,
      [] {
        const int* values = written_ints();
        sync_warp();
        look_at(values[thread() ^ 32]);  // of the other warp
      },
      kRace);
  expect_death(
      32,
      [] {
        auto* row = SharedMemory().take<BFloat16>(64) + thread() % 8 * 8;
        if (thread() < 8) row[7] = BFloat16(1.0F);
        uint32_t r[4];
        ldmatrix_x4(r, row);
      },
      "broken.*reads byte .* which thread .* wrote with no barrier between");
}

TEST(EmulatorDeathTest, WritingOverWhatAnotherThreadTouchedNeedsABarrier) {
  const auto read_first = [] {
    int* values = written_ints();
    sync_warp();
    look_at(values[0]);
    return values;
  };
  expect_death(
      32,
      [&] {
        int* values = read_first();
        if (thread() == 31) values[0] = 2;
      },
      "broken.*thread 31 writes byte 0 .* read with no barrier between");
  expect_death(
      32,
      [&] {
        int* values = read_first();
        if (thread() == 31) async_copy_16(values, nullptr, false);
      },
      "broken.*thread 31 writes byte 0 .* read with no barrier between");
  expect_death(
      64,
      [&] {
        int* values = written_ints();
        sync_block();
        look_at(values[0]);
        sync_warp();
        if (thread() == 63) values[0] = 2;  // the other warp has read it, or is about to
      },
      "broken.*(thread 63 writes byte 0 .* read|reads byte 0 .* thread 63 wrote) with no barrier between");
  expect_death(
      32, [] { *SharedMemory().take<int>(1) = 2; }, "broken.*writes byte 0 .* wrote with no barrier between");
}

TEST(EmulatorDeathTest, NobodyTouchesWhatACopyIsOnItsWayTo) {
  expect_death(
      32,
      [] {
        int* values = SharedMemory().take<int>(64);
        if (thread() == 3) {
          async_copy_16(values, nullptr, false);
          async_commit();
          values[1] = 0;
          async_wait<0>();
        }
      },
      "broken.*thread 3 writes byte 4 .* a copy of thread 3 has not landed");
  expect_death(
      32,
      [] {
        int* values = SharedMemory().take<int>(64);
        if (thread() == 3) async_copy_16(values, nullptr, false);
        async_commit();
        sync_warp();
        look_at(values[0]);
        async_wait<0>();
      },
      "broken.*reads byte 0 .* a copy of thread 3 has not landed");
}

TEST(EmulatorDeathTest, PiecesEndWhereTheyEnd) {
  expect_death(
      64, [] { SharedMemory().take<float>(5)[thread()] = 1.0F; }, "broken.*thread .* outside the pieces");
}

TEST(EmulatorDeathTest, VectorsAreAligned) {
  alignas(16) float values[8] = {};
  expect_death(
      32,
      [&] {
        float four[4];
        load(values + 1, four);
      },
      "broken.*element.cuh.*not aligned to 16 bytes");
  expect_death(
      32,
      [&] {
        const float four[4] = {};
        store(values + 2, four);
      },
      "broken.*element.cuh.*not aligned to 16 bytes");
}
#endif

}  // namespace

}  // namespace segue::simt

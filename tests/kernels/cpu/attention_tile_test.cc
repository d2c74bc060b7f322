// The parts of fused attention: tile products, tile transposes, and the cut of the score matrix into tiles.
#include "kernels/cpu/attention_tile.h"

#include "tests/kernels/testing.h"

namespace segue::kernels::cpu {

namespace {

AttentionShape shape_of(int64_t queries, int64_t memory, int64_t width, int64_t window = 0) {
  static constexpr std::byte kUnread{};
  const auto view = [](const Shape& shape) { return ConstTensorView{&kUnread, DType::kFloat32, shape}; };
  return AttentionShape({.qkv = view({1, queries, 3, 1, width}),
                         .memory_kv = view({1, memory, 2, 1, width}),
                         .r = view({memory + queries, 1, width}),
                         .u = {},
                         .w = {},
                         .window = window,
                         .dropout = {}});
}

void expect_product(TileGemm args) {
  const int64_t rows = (args.rows + kBlockRows - 1) / kBlockRows * kBlockRows;
  const TestTensor a = random_tensor({args.depth + rows, args.depth + rows}, 1);
  const TestTensor b = random_tensor({args.depth, args.columns + 3}, 2);
  TestTensor c = random_tensor({rows + 1, args.columns + 5}, 3);
  std::vector<double> expected = oracle_values(c.view());
  args.a.data = a.as<float>();
  args.b = b.as<float>();
  args.b_stride = args.columns + 3;
  args.c = c.as<float>();
  args.c_stride = args.columns + 5;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < args.columns; ++j) {
      double& sum = expected[static_cast<size_t>(i * args.c_stride + j)];
      if (!args.accumulate) sum = 0.0;
      for (int64_t k = 0; k < args.depth; ++k) {
        sum += static_cast<double>(args.a.data[i * args.a.row_stride + k * args.a.column_stride]) *
               static_cast<double>(args.b[k * args.b_stride + j]);
      }
    }
  }
  tile_gemm(args);
  expect_close("c", c.view(), expected, kReduction);
}

// Beside rows of c's stride, or c itself, to which the product is added.
void expect_product_onto(int64_t rows, int64_t columns, bool in_place, bool has_shares) {
  constexpr int64_t kDepth = 5;
  const int64_t whole = (rows + kBlockRows - 1) / kBlockRows * kBlockRows;
  const TestTensor a = random_tensor({whole, kDepth}, 1), b = random_tensor({kDepth, columns}, 2);
  const TestTensor other = random_tensor({whole, columns}, 4), shares = random_tensor({whole}, 5);
  TestTensor c = random_tensor({whole, columns}, 3);
  const TestTensor& onto = in_place ? c : other;
  std::vector<double> expected = oracle_values(onto.view());
  for (int64_t i = 0; i < whole; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      double& sum = expected[static_cast<size_t>(i * columns + j)];
      if (has_shares) sum *= static_cast<double>(shares.as<float>()[i]);
      for (int64_t k = 0; k < kDepth; ++k) {
        sum += static_cast<double>(a.as<float>()[i * kDepth + k]) * static_cast<double>(b.as<float>()[k * columns + j]);
      }
    }
  }
  int64_t multiplications = 0;
  tile_gemm_onto({onto.as<float>(), has_shares ? shares.as<float>() : nullptr},
                 {.rows = rows,
                  .columns = columns,
                  .depth = kDepth,
                  .a = {a.as<float>(), kDepth, 1},
                  .b = b.as<float>(),
                  .b_stride = columns,
                  .c = c.as<float>(),
                  .c_stride = columns},
                 [&](int64_t of_block) { multiplications += of_block; });
  expect_close("c", c.view(), expected, kReduction);
  EXPECT_GE(multiplications, whole * columns * kDepth);
}

TEST(TileGemm, AddsToRowsElsewhereByTheirShares) {
  for (const int64_t rows : {int64_t{1}, kBlockRows + 1, int64_t{64}}) {
    for (const int64_t columns : {kLanes, 2 * kLanes, 3 * kLanes}) {
      for (const bool in_place : {false, true}) {
        for (const bool has_shares : {false, true}) expect_product_onto(rows, columns, in_place, has_shares);
      }
    }
  }
}

// The elements beside c keep their values: expected holds them too.
TEST(TileGemm, EqualsPlainLoops) {
  for (const int64_t rows : {int64_t{1}, kBlockRows, kBlockRows + 1, int64_t{64}}) {
    for (const int64_t columns : {kLanes, 2 * kLanes, 3 * kLanes, 4 * kLanes}) {
      for (const int64_t depth : {0, 1, 5, 64}) {
        for (const bool accumulate : {false, true}) {
          const TileOperand a{.row_stride = depth + rows};
          expect_product({.rows = rows, .columns = columns, .depth = depth, .a = a, .accumulate = accumulate});
          expect_product(
              {.rows = rows, .columns = columns, .depth = depth, .a = a.transposed(), .accumulate = accumulate});
        }
      }
    }
  }
}

TEST(LoadColumns, ExchangesRowsAndFeatures) {
  for (const int64_t width : {1, 16, 33, 64, 129, 256}) {
    const AttentionShape shape = shape_of(64, 0, width);
    for (const int64_t count : {int64_t{1}, kLanes, kLanes + 1, shape.tile}) {
      const TestTensor from = random_tensor({shape.tile, width}, 1);
      const auto row_at = [&](int64_t row) { return row == 0 ? nullptr : from.as<float>() + row * width; };
      TestTensor to = unset_tensor({shape.row_stride, shape.tile});
      load_columns(shape, count, row_at, to.as<float>());
      for (int64_t row = 0; row < count; ++row) {
        for (int64_t h = 0; h < width; ++h)
          ASSERT_EQ(to.as<float>()[h * shape.tile + row], row == 0 ? 0.0F : row_at(row)[h]);
      }
    }
  }
}

TEST(AttentionShape, TilesFitTheirBuffers) {
  for (int64_t width = 1; width <= kMaxHeadWidth; ++width) {
    const AttentionShape shape = shape_of(1, 0, width);
    EXPECT_LE(shape.strip * shape.row_stride, kTileFloats);
    EXPECT_LE((shape.strip + shape.tile) * shape.row_stride, 2 * kTileFloats);
    EXPECT_LE(shape.tile, kMaxTile);
    EXPECT_GE(shape.tile, kLanes);
    EXPECT_EQ(shape.tile % kLanes, 0);
    EXPECT_EQ(shape.strip % shape.tile, 0);
    EXPECT_LE(shape.strip, kMaxStripTiles * shape.tile);
  }
}

template <typename Visit>
void visit_all_tiles(const AttentionShape& shape, Visit visit) {
  for (int64_t first = 0; first < shape.queries; first += shape.strip) {
    const Range strip{first, std::min(shape.strip, shape.queries - first)};
    visit_keys(shape, {}, strip, [&](const KeyTile& met) { visit_tiles(shape, {}, strip, met, visit); });
  }
}

// Every visible pair lies in exactly one tile, whose keys are the same in any strip, and no tile is all in the future.
TEST(VisitTiles, CoversWhatIsVisible) {
  for (const int64_t memory : {0, 1, 63, 64, 200}) {
    for (const int64_t window : {0, 1, 64, 65, 500}) {
      const AttentionShape shape = shape_of(150, memory, 16, window);
      std::vector<int> visits(static_cast<size_t>(shape.queries * shape.keys()));
      visit_all_tiles(shape, [&](const Tile& tile) {
        EXPECT_EQ(tile.queries.first % shape.strip, tile.place * shape.tile);
        EXPECT_EQ(tile.keys.first % shape.tile, 0);
        EXPECT_LT(tile.keys.first, memory + tile.queries.first + tile.queries.count);
        for (int64_t query = tile.queries.first; query < tile.queries.first + tile.queries.count; ++query) {
          for (int64_t key = tile.keys.first; key < tile.keys.first + tile.keys.count; ++key)
            ++visits[static_cast<size_t>(query * shape.keys() + key)];
        }
      });
      for (int64_t query = 0; query < shape.queries; ++query) {
        for (int64_t key = 0; key < shape.keys(); ++key) {
          const int times = visits[static_cast<size_t>(query * shape.keys() + key)];
          const bool seen = key <= memory + query && (window == 0 || key > memory + query - window);
          EXPECT_TRUE(times == 1 || (times == 0 && !seen)) << query << ' ' << key;
        }
      }
    }
  }
}

bool holds(Range range, int64_t i) { return i >= range.first && i < range.first + range.count; }

// Rows and columns leave out the same pairs of a tile, and none that is visible.
void expect_bounds(const AttentionShape& shape, const Tile& tile, Range rows, int64_t row, int64_t key) {
  const int64_t distance = shape.memory + tile.queries.first + row - tile.keys.first - key;
  const bool seen = holds(seen_columns(shape, tile, rows), key);
  EXPECT_EQ(seen, holds(seeing_rows(shape, tile, {key / kLanes * kLanes, kLanes}), row));
  if (distance < 0 || (shape.window > 0 && distance >= shape.window)) return;
  EXPECT_TRUE(seen);
  EXPECT_TRUE(holds(rows_at_distances(shape, tile.queries, distance), row));
  const int64_t column = farthest_distance(shape, tile.queries.first, tile.keys.first) - distance;
  const Range band = band_columns(shape, {tile.queries.first + row, 1}, column + distance);
  EXPECT_EQ(holds(band, column), column < shape.tile);
}

TEST(SeenColumns, HoldWhatIsVisible) {
  for (const int64_t memory : {0, 1, 63, 200}) {
    for (const int64_t window : {0, 1, 30, 64, 65, 500}) {
      const AttentionShape shape = shape_of(150, memory, 16, window);
      visit_all_tiles(shape, [&](const Tile& tile) {
        visit_row_blocks(tile.queries.count, [&](Range rows) {
          for (int64_t row = rows.first; row < rows.first + rows.count; ++row) {
            for (int64_t key = 0; key < tile.keys.count; ++key) expect_bounds(shape, tile, rows, row, key);
          }
        });
      });
    }
  }
}

}  // namespace

}  // namespace segue::kernels::cpu

// Copies of blocks against loops over their indices.
#include "kernels/copy_block.h"

#include "tests/kernels/testing.h"

namespace segue::kernels {

namespace {

struct Case {
  int64_t streams;
  int64_t from_rows, from_columns, from_row, from_column;
  int64_t to_rows, to_columns, to_row, to_column;
  int64_t rows, columns;
};

class CopyBlockTest : public testing::TestWithParam<Case> {
 protected:
  void expect_block(bool accumulate) {
    const Case& c = GetParam();
    const TestTensor from = random_tensor({c.streams, c.from_rows, c.from_columns}, 1);
    TestTensor to = random_tensor({c.streams, c.to_rows, c.to_columns}, 2);
    std::vector<float> expected(to.as<float>(), to.as<float>() + to.view().elements());
    for (int64_t b = 0; b < c.streams; ++b) {
      for (int64_t i = 0; i < c.rows; ++i) {
        for (int64_t j = 0; j < c.columns; ++j) {
          const float source =
              from.as<float>()[(b * c.from_rows + c.from_row + i) * c.from_columns + c.from_column + j];
          float& target =
              expected[static_cast<size_t>((b * c.to_rows + c.to_row + i) * c.to_columns + c.to_column + j)];
          target = accumulate ? target + source : source;
        }
      }
    }
    Queue queue(test_device(), 2);
    copy_block(queue, {.from = from.view(),
                       .from_row = c.from_row,
                       .from_column = c.from_column,
                       .to = to.view(),
                       .to_row = c.to_row,
                       .to_column = c.to_column,
                       .rows = c.rows,
                       .columns = c.columns,
                       .accumulate = accumulate});
    EXPECT_EQ(std::vector<float>(to.as<float>(), to.as<float>() + to.view().elements()), expected);
  }
};

TEST_P(CopyBlockTest, OverwritesTheBlockAndNothingElse) { expect_block(false); }
TEST_P(CopyBlockTest, AddsToTheBlockAndToNothingElse) { expect_block(true); }

INSTANTIATE_TEST_SUITE_P(Sizes, CopyBlockTest,
                         testing::Values(Case{1, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1},          // one element
                                         Case{3, 7, 5, 4, 0, 3, 5, 0, 0, 3, 5},          // the newest rows
                                         Case{2, 33, 96, 0, 32, 80, 64, 41, 0, 33, 64},  // keys and values of a segment
                                         Case{2, 5, 12, 1, 3, 6, 9, 2, 1, 3, 7},         // rows begin anywhere
                                         Case{2, 4, 8, 0, 4, 4, 8, 0, 0, 4, 4},
                                         Case{2, 4, 8, 0, 0, 4, 8, 0, 0, 0, 8},  // nothing
                                         Case{4, 64, 192, 0, 64, 128, 128, 64, 0, 64, 128}));

TEST(CopyBlock, WithinOneTensor) {
  Queue queue(test_device(), 1);
  TestTensor rows = random_tensor({2, 6, 4}, 3);
  const std::vector<float> before(rows.as<float>(), rows.as<float>() + rows.view().elements());
  copy_block(queue, {.from = rows.view(), .from_row = 3, .to = rows.view(), .rows = 3, .columns = 4});
  for (size_t b = 0; b < 2; ++b) {
    for (size_t i = 0; i < 12; ++i) EXPECT_EQ(rows.as<float>()[b * 24 + i], before[b * 24 + 12 + i]);
  }
}

TEST(CopyBlock, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  TestTensor a(DType::kFloat32, {2, 6, 4}), b(DType::kFloat32, {2, 6, 4});
  const auto refused = [&](const CopyBlock& args, const std::vector<std::string>& words) {
    expect_contract_error([&] { copy_block(queue, args); }, words);
  };
  refused({.from = a.view(), .from_row = 4, .to = b.view(), .rows = 3, .columns = 4}, {"from_row", "[0, 3]", "4"});
  refused({.from = a.view(), .to = b.view(), .to_column = 1, .rows = 1, .columns = 4}, {"to_column", "found 1"});
  refused({.from = a.view(), .from_row = 2, .to = a.view(), .rows = 3, .columns = 4}, {"to", "apart from from"});
}

}  // namespace

}  // namespace segue::kernels

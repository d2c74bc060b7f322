// The rows that were used most, in both precisions.
#include "kernels/most_used_rows.h"

#include <cmath>

#include "tests/kernels/bfloat16.h"
#include "tests/oracle/most_used_rows.h"

namespace segue::kernels {

namespace {

struct Case {
  int64_t streams, heads, rows, kept, columns;
};

struct Result {
  TestTensor usage, y;
};
Result chosen(const TestTensor& received, const TestTensor& x, int64_t kept, int threads = 2) {
  Queue queue(test_device(), threads);
  const Shape& shape = x.shape();
  Result result{unset_tensor({shape[0], shape[1]}), TestTensor(x.view().dtype, {shape[0], kept, shape[2]})};
  TestTensor ranked(DType::kInt32, {shape[0], kept});
  most_used_rows(queue, {.received = received.view(),
                         .x = x.view(),
                         .usage = result.usage.view(),
                         .ranked = ranked.view(),
                         .y = result.y.view()});
  return result;
}

TestTensor usage_tensor(const Shape& shape) {
  TestTensor received = random_tensor(shape, 3);
  for (int64_t i = 0; i < shape.elements(); ++i) received.as<float>()[i] = std::abs(received.as<float>()[i]);
  return received;
}

void expect_most_used(const TestTensor& received, const TestTensor& x, const Case& c) {
  const Result found = chosen(received, x, c.kept);
  std::vector<double> usage, rows;
  for (int64_t b = 0; b < c.streams; ++b) {
    std::vector<double> of_stream;
    for (int64_t row = 0; row < c.rows; ++row) {
      float sum = 0.0F;
      for (int64_t n = 0; n < c.heads; ++n) sum += received.as<float>()[(b * c.heads + n) * c.rows + row];
      of_stream.push_back(static_cast<double>(sum));
    }
    for (const int64_t row : oracle::most_used(of_stream, c.kept)) {
      const std::vector<double> all = values(x);
      const auto first = all.begin() + (b * c.rows + row) * c.columns;
      rows.insert(rows.end(), first, first + c.columns);
    }
    usage.insert(usage.end(), of_stream.begin(), of_stream.end());
  }
  EXPECT_EQ(values(found.usage), usage);
  EXPECT_EQ(values(found.y), rows);
}

TEST(MostUsedRows, EqualTheOracle) {
  for (const Case& c : {Case{1, 1, 1, 1, 1}, Case{2, 3, 12, 4, 31}, Case{3, 2, 40, 39, 32}, Case{2, 8, 300, 75, 16},
                        Case{5, 1, 129, 1, 40}, Case{1, 4, 64, 64, 8}}) {
    for (const bool in_bfloat16 : {false, true}) {
      SCOPED_TRACE(c.rows);
      const Shape shape{c.streams, c.rows, c.columns};
      expect_most_used(usage_tensor({c.streams, c.heads, c.rows}),
                       in_bfloat16 ? random_bfloat16(shape, 1) : random_tensor(shape, 1), c);
    }
  }
}

// The older of rows that were used alike stays, also where nothing was used at all.
TEST(MostUsedRows, OfEqualsAreTheFirst) {
  const Case c{.streams = 2, .heads = 2, .rows = 140, .kept = 35, .columns = 4};
  TestTensor received(DType::kFloat32, {c.streams, c.heads, c.rows});
  for (const int64_t levels : {1, 2, 5}) {
    for (int64_t i = 0; i < c.streams * c.heads * c.rows; ++i)
      received.as<float>()[i] = static_cast<float>(i % c.rows * 7 % levels);
    expect_most_used(received, random_tensor({c.streams, c.rows, c.columns}, 1), c);
  }
}

TEST(MostUsedRows, OfAllAreTheRows) {
  const TestTensor x = random_tensor({3, 50, 33}, 1);
  const Result found = chosen(usage_tensor({3, 2, 50}), x, 50);
  expect_identical("y", found.y.view(), x.view());
}

// Rows whose usage is no number stay, and every row is one of x.
TEST(MostUsedRows, NaNIsMost) {
  const TestTensor x = random_tensor({1, 6, 3}, 1);
  TestTensor received = usage_tensor({1, 2, 6});
  received.as<float>()[2] = received.as<float>()[5] = NAN;
  const Result found = chosen(received, x, 2);
  for (int64_t d = 0; d < 3; ++d) {
    EXPECT_EQ(found.y.as<float>()[d], x.as<float>()[2 * 3 + d]);
    EXPECT_EQ(found.y.as<float>()[3 + d], x.as<float>()[5 * 3 + d]);
  }
}

TEST(MostUsedRows, ThreadsDoNotChangeABit) {
  const TestTensor x = random_tensor({6, 90, 128}, 1), received = usage_tensor({6, 4, 90});
  const Result once = chosen(received, x, 30, 1);
  for (const int threads : {2, 3}) {
    const Result found = chosen(received, x, 30, threads);
    expect_identical("usage", found.usage.view(), once.usage.view());
    expect_identical("y", found.y.view(), once.y.view());
  }
}

TEST(MostUsedRows, RefuseWhatTheirContractForbids) {
  Queue queue(test_device(), 1);
  TestTensor received(DType::kFloat32, {1, 2, 4}), x(DType::kFloat32, {1, 4, 3}), usage(DType::kFloat32, {1, 4});
  TestTensor ranked(DType::kInt32, {1, 2}), y(DType::kFloat32, {1, 2, 3}), longer(DType::kFloat32, {1, 5, 3});
  const MostUsedRows right{
      .received = received.view(), .x = x.view(), .usage = usage.view(), .ranked = ranked.view(), .y = y.view()};
  const auto refused = [&](const auto& change, const std::vector<std::string>& words) {
    MostUsedRows args = right;
    change(args);
    expect_contract_error([&] { most_used_rows(queue, args); }, words);
  };
  refused([&](MostUsedRows& args) { args.y = longer.view(); }, {"rows of y", "at most 4"});
  refused([&](MostUsedRows& args) { args.y = x.view().reshaped({4, 3}).rows(0, 2).reshaped({1, 2, 3}); }, {"y", "x"});
  refused([&](MostUsedRows& args) { args.received = x.view(); }, {"received", "[1, 4, 4]"});
  refused([&](MostUsedRows& args) { args.ranked = {}; }, {"ranked", "[1, 2]"});
}

}  // namespace

}  // namespace segue::kernels

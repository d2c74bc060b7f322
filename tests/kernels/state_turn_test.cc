// Turns of states against the oracle, and what they are for: products with queries know their distance from the keys.
#include "kernels/state_turn.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "kernels/rotary.h"
#include "tests/kernels/testing.h"
#include "tests/oracle/state_turn.h"

namespace segue::kernels {

namespace {

constexpr double kBase = 1000.0;

struct Case {
  Shape shape;
  int64_t position, width;
  double scaling = 1.0;

  std::string text() const { return fmt::format("{} position {} width {}", shape.text(), position, width); }
  std::vector<double> expected(ConstTensorView from, int64_t at) const {
    return oracle::state_turn(
        oracle_values(from),
        {.keys = shape[2], .values = shape[3], .position = at, .width = width, .base = kBase, .scaling = scaling});
  }
};

const std::array kCases = {Case{{1, 1, 1, 1}, 5, 0},            // no pair
                           Case{{1, 1, 2, 1}, 1, 2},            // one
                           Case{{2, 3, 5, 7}, -3, 4},           // the odd row stays
                           Case{{1, 2, 31, 33}, 128, 30},       // columns end within 16 bytes
                           Case{{3, 1, 32, 31}, 97, 32},        //
                           Case{{2, 2, 33, 32}, 512, 16},       // half of the rows and one
                           Case{{2, 5, 64, 65}, 512, 64, 3.7},  //
                           Case{{1, 3, 256, 20}, 4096, 256},    // the widest
                           Case{{2, 2, 17, 12}, 9, 0},          // copied
                           Case{{4, 4, 64, 64}, 128, 32}};

TestTensor turned(const Case& c, const TestTensor& from, int threads = 2) {
  Queue queue(test_device(), threads);
  TestTensor to = unset_tensor(c.shape);
  state_turn(queue, {.from = from.view(),
                     .position = c.position,
                     .width = c.width,
                     .base = kBase,
                     .scaling = c.scaling,
                     .to = to.view()});
  return to;
}

TEST(StateTurnTest, EqualsTheOracle) {
  for (Case c : kCases) {
    const TestTensor from = random_tensor(c.shape, 1);
    for (int direction = 0; direction < 2; ++direction, c.position = -c.position) {
      SCOPED_TRACE(c.text());
      expect_close("to", turned(c, from).view(), c.expected(from.view(), c.position), kElementwise);
    }
  }
}

TEST(StateTurnTest, InPlaceIsTheSame) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.text());
    Queue queue(test_device(), 2);
    const TestTensor from = random_tensor(c.shape, 1);
    TestTensor to = copy_of(from.view());
    state_turn(queue, {.from = to.view(),
                       .position = c.position,
                       .width = c.width,
                       .base = kBase,
                       .scaling = c.scaling,
                       .to = to.view()});
    expect_identical("to", to.view(), turned(c, from).view());
  }
}

TEST(StateTurnTest, ThreadsDoNotChangeABit) {
  const Case c{{3, 5, 64, 70}, 77, 62};
  const TestTensor from = random_tensor(c.shape, 1);
  for (const int threads : {2, 3}) expect_identical("to", turned(c, from, threads).view(), turned(c, from, 1).view());
}

TEST(StateTurnTest, PositionZeroChangesNothing) {
  const Case c{{2, 3, 16, 9}, 0, 16};
  const TestTensor from = random_tensor(c.shape, 1);
  expect_identical("to", turned(c, from).view(), from.view());
}

TEST(StateTurnTest, AnglesAreExactFarFromTheStart) {
  for (const int64_t position : {(int64_t{1} << 30) - 3, -(int64_t{1} << 30), (int64_t{1} << 32) + 1}) {
    const Case c{{1, 2, 64, 8}, position, 64};
    const TestTensor from = random_tensor(c.shape, 1);
    expect_close("to", turned(c, from).view(), c.expected(from.view(), position), kReduction);
  }
}

// A state of one key is that key's row of its value, and turns as rows of rotary positions do.
TEST(StateTurnTest, TurnsWhatIsWrittenAsItsKeyWouldBeTurned) {
  constexpr int64_t kKeys = 12, kWidth = 8;
  Queue queue(test_device(), 1);
  const TestTensor key = random_tensor({1, 1, 1, kKeys}, 1);
  TestTensor row = unset_tensor(key.shape());
  rotary_forward(
      queue,
      {.x = key.view(), .turn = {.first_position = -40, .heads = 1, .width = kWidth, .base = kBase}, .y = row.view()});
  const Case c{{1, 1, kKeys, 1}, -40, kWidth};
  // To rounding: compilers fuse products and sums of the two kernels as the instructions of a level allow.
  const TestTensor found = turned(c, copy_of(key.view().reshaped(c.shape)));
  expect_close("to", found.view(), oracle_values(row.view()), kElementwise);
}

TEST(StateTurnTest, NaNStaysInItsPairAndColumn) {
  const Case c{{1, 2, 5, 3}, 7, 4};
  TestTensor from = random_tensor(c.shape, 1);
  from.as<float>()[15 + 2 * 3 + 1] = NAN;  // row 2 of the second state, column 1
  const std::vector<double> to = oracle_values(turned(c, from).view());
  for (size_t e = 0; e < to.size(); ++e) EXPECT_EQ(std::isnan(to[e]), e == 22 || e == 25) << e;
}

TEST(StateTurnTest, TheTurnBackIsTheGradient) {
  const oracle::StateTurn turn{.keys = 7, .values = 3, .position = 11, .width = 6, .base = kBase};
  oracle::StateTurn back = turn;
  back.position = -turn.position;
  const std::vector<double> from = oracle_values(random_tensor({2, 7, 3}, 1).view());
  const std::vector<double> dto = oracle_values(random_tensor({2, 7, 3}, 2).view());
  const auto loss = [&](const ComplexVector& at) { return weighted_sum(oracle::state_turn(at, turn), dto); };
  expect_close("dfrom", oracle::state_turn(dto, back), complex_step_gradient(from, loss), kComplexStep);
}

TEST(StateTurnTest, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  TestTensor state(DType::kFloat32, {1, 2, 6, 5}), other(DType::kFloat32, {1, 2, 5, 6});
  const TestTensor bfloat16(DType::kBFloat16, {1, 2, 6, 5});
  const auto refused = [&](const StateTurn& args, const std::vector<std::string>& words) {
    expect_contract_error([&] { state_turn(queue, args); }, words);
  };
  StateTurn args{.from = std::as_const(state).view(), .width = 6, .to = state.view()};
  args.width = 5;
  refused(args, {"width", "even", "[0, 6]", "5"});
  args.width = 8;
  refused(args, {"width", "[0, 6]", "8"});
  args.width = 6;
  args.base = 0.5;
  refused(args, {"base", "at least 1", "0.5"});
  args.base = kBase;
  args.scaling = 0.5;
  refused(args, {"scaling", "at least 1", "0.5"});
  args.scaling = 1.0;
  args.position = kFarthestRotaryPosition + 1;
  refused(args, {": position", "2^52"});
  args.position = 1;
  args.to = other.view();
  refused(args, {"to", "[1, 2, 6, 5]", "[1, 2, 5, 6]"});
  args.from = bfloat16.view();
  refused(args, {"from", "float32", "bfloat16"});
  const ConstTensorView whole = std::as_const(state).view();
  args.from = {whole.data, whole.dtype, {1, 1, 6, 5}};
  args.to = {state.view().data + 4, whole.dtype, {1, 1, 6, 5}};
  refused(args, {"to", "from", "overlap"});
}

}  // namespace

}  // namespace segue::kernels

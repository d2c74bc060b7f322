// LAMB against the oracle: tensors in chunks of all sizes, whole and dealt out to two holders.
#include "kernels/lamb.h"

#include <algorithm>
#include <array>

#include "tests/kernels/testing.h"
#include "tests/oracle/lamb.h"

namespace segue::kernels {

namespace {

constexpr oracle::LambConstants kConstants{
    .learning_rate = 0.5, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-6, .weight_decay = 0.1};
constexpr double kGradientScale = 0.5;

// Sizes of tensors that lie one behind the other. The norms of the larger ones are above the clamp.
constexpr std::array<int64_t, 5> kSizes{5, 64, 1, 2048, 1031};

int64_t total() {
  int64_t sum = 0;
  for (const int64_t size : kSizes) sum += size;
  return sum;
}

TestTensor int64_tensor(const std::vector<int64_t>& values, const Shape& shape) {
  TestTensor tensor(DType::kInt64, shape);
  std::copy(values.begin(), values.end(), tensor.as<int64_t>());
  return tensor;
}

// The chunks of one holder, and what it keeps: gradients and moments of its chunks alone, one behind the other.
class Holder {
 public:
  // Tensors are cut into chunks of `chunk` elements, of which this holder takes those that `mine` says.
  Holder(int64_t chunk, const std::function<bool(int64_t)>& mine) {
    std::vector<int64_t> rows, starts{0};
    int64_t first = 0, number = 0;
    for (size_t n = 0; n < kSizes.size(); ++n) {
      for (int64_t begin = 0; begin < kSizes[n]; begin += chunk) {
        if (!mine(number++)) continue;
        const int64_t count = std::min(chunk, kSizes[n] - begin);
        rows.insert(rows.end(), {static_cast<int64_t>(n), first + begin, held_, count});
        held_ += count;
      }
      first += kSizes[n];
      starts.push_back(static_cast<int64_t>(rows.size()) / kLambChunkFields);
    }
    chunks = int64_tensor(rows, {starts.back(), kLambChunkFields});
    starts_ = int64_tensor(starts, {static_cast<int64_t>(starts.size())});
    sums_ = TestTensor(DType::kFloat64, {starts.back(), 2});
    squares = TestTensor(DType::kFloat64, {static_cast<int64_t>(kSizes.size()), 2});
    gradients_ = filled_tensor({held_}, 0.0F);
    m = filled_tensor({held_}, 0.0F);
    v = filled_tensor({held_}, 0.0F);
  }

  void queue_norms(Queue& queue, ConstTensorView p, ConstTensorView flat_gradients, ConstTensorView clipped) {
    const HostTensor gradients(flat_gradients, test_device());
    const auto* values = gradients.view().as<float>();
    for_elements([&](int64_t flat, int64_t own) { gradients_.as<float>()[own] = values[flat]; });
    LambMoments args = moments(p);
    args.clipped = clipped;
    lamb_moments(queue, args);
    lamb_norms(queue, {.sums = sums_.view(), .starts = starts_.view(), .squares = squares.view()});
  }
  LambMoments moments(ConstTensorView p) {
    return {.parameters = p,
            .gradients = gradients_.view(),
            .first_moment = m.view(),
            .second_moment = v.view(),
            .chunks = chunks.view(),
            .sums = sums_.view(),
            .beta1 = kConstants.beta1,
            .beta2 = kConstants.beta2,
            .weight_decay = kConstants.weight_decay};
  }
  LambStep step(TensorView p, ConstTensorView all_squares, ConstTensorView clipped) {
    return {.parameters = p,
            .first_moment = m.view(),
            .second_moment = v.view(),
            .chunks = chunks.view(),
            .squares = all_squares,
            .clipped = clipped,
            .learning_rate = kConstants.learning_rate,
            .weight_decay = kConstants.weight_decay};
  }
  // call(index among the parameters, index among its own)
  template <typename Call>
  void for_elements(const Call& call) const {
    const int64_t* row = chunks.as<int64_t>();
    for (int64_t c = 0; c < chunks.shape()[0]; ++c, row += kLambChunkFields) {
      for (int64_t i = 0; i < row[3]; ++i) call(row[1] + i, row[2] + i);
    }
  }

  TestTensor chunks, squares, m, v;

 private:
  int64_t held_ = 0;
  TestTensor starts_, sums_, gradients_;
};

Holder whole(int64_t chunk) {
  return {chunk, [](int64_t) { return true; }};
}

std::vector<double> part(const std::vector<double>& flat, size_t tensor) {
  int64_t first = 0;
  for (size_t n = 0; n < tensor; ++n) first += kSizes[n];
  return {flat.begin() + first, flat.begin() + first + kSizes[tensor]};
}

// Tensor by tensor.
void oracle_step(std::vector<oracle::OptimizerState>& tensors, const TestTensor& gradients) {
  const std::vector<double> flat = oracle_values(gradients.view());
  for (size_t n = 0; n < tensors.size(); ++n)
    tensors[n] = oracle::lamb_step(std::move(tensors[n]), part(flat, n), kConstants, kGradientScale);
}

// Parameters of which one tensor is zero: its ratio is 1.
TestTensor parameters() {
  TestTensor p = random_tensor({total()}, 1);
  std::fill_n(p.as<float>() + kSizes[0], kSizes[1], 0.0F);
  return p;
}

TestTensor outcome_of(double norm) {
  TestTensor outcome(DType::kFloat64, {2});
  outcome.as<double>()[0] = norm;
  outcome.as<double>()[1] = kGradientScale;
  return outcome;
}

void take_step(Queue& queue, std::vector<Holder>& holders, TestTensor& p, const TestTensor& gradients) {
  const TestTensor outcome = outcome_of(1.0);
  TestTensor squares(DType::kFloat64, holders[0].squares.shape());
  for (Holder& holder : holders) holder.queue_norms(queue, p.view(), gradients.view(), outcome.view());
  for (const Holder& holder : holders) {
    for (int64_t i = 0; i < squares.shape().elements(); ++i) squares.as<double>()[i] += holder.squares.as<double>()[i];
  }
  for (Holder& holder : holders) lamb_step(queue, holder.step(p.view(), squares.view(), outcome.view()));
}

void expect_oracle(std::vector<Holder>& holders) {
  Queue queue(test_device(), 2);
  TestTensor p = parameters();
  std::vector<oracle::OptimizerState> tensors;
  for (size_t n = 0; n < kSizes.size(); ++n) {
    const std::vector<double> zeros(static_cast<size_t>(kSizes[n]), 0.0);
    tensors.push_back({part(oracle_values(p.view()), n), zeros, zeros});
  }
  for (int64_t t = 1; t <= 5; ++t) {
    const TestTensor gradients = random_tensor({total()}, static_cast<uint16_t>(10 + t));
    oracle_step(tensors, gradients);
    take_step(queue, holders, p, gradients);
  }
  TestTensor m = unset_tensor({total()}), v = unset_tensor({total()});
  for (Holder& holder : holders) {
    holder.for_elements([&](int64_t flat, int64_t own) {
      m.as<float>()[flat] = holder.m.as<float>()[own];
      v.as<float>()[flat] = holder.v.as<float>()[own];
    });
  }
  for (size_t n = 0; n < tensors.size(); ++n) {
    expect_close("p", part(oracle_values(p.view()), n), tensors[n].p, kReduction);
    expect_close("m", part(oracle_values(m.view()), n), tensors[n].m, kReduction);
    expect_close("v", part(oracle_values(v.view()), n), tensors[n].v, kReduction);
  }
}

TEST(Lamb, FollowsTheOracleInChunksOfAnySize) {
  for (const int64_t chunk : {7, 32, 4096}) {
    std::vector<Holder> holders;
    holders.push_back(whole(chunk));
    expect_oracle(holders);
  }
}

TEST(Lamb, FollowsTheOracleWhenChunksAreDealtOut) {
  std::vector<Holder> holders;
  holders.emplace_back(64, [](int64_t c) { return c % 3 == 0; });
  holders.emplace_back(64, [](int64_t c) { return c % 3 != 0; });
  expect_oracle(holders);
}

TEST(Lamb, SameBitsOnAnyNumberOfThreads) {
  const auto run = [](int threads) {
    Queue queue(test_device(), threads);
    std::vector<Holder> holders;
    holders.push_back(whole(32));
    TestTensor p = parameters();
    take_step(queue, holders, p, random_tensor({total()}, 2));
    return p;
  };
  const TestTensor one = run(1);
  expect_identical("two", run(2).view(), one.view());
  expect_identical("three", run(3).view(), one.view());
}

TEST(Lamb, DoesNothingWhenTheNormIsNotFinite) {
  Queue queue(test_device(), 2);
  for (const double norm : {std::nan(""), HUGE_VAL}) {
    const TestTensor outcome = outcome_of(norm), gradients = random_tensor({total()}, 2);
    Holder holder = whole(32);
    TestTensor p = parameters();
    holder.queue_norms(queue, p.view(), gradients.view(), outcome.view());
    lamb_step(queue, holder.step(p.view(), holder.squares.view(), outcome.view()));
    expect_identical("p", p.view(), parameters().view());
    expect_identical("m", holder.m.view(), filled_tensor({total()}, 0.0F).view());
    expect_identical("v", holder.v.view(), filled_tensor({total()}, 0.0F).view());
  }
}

TEST(Lamb, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  Holder holder = whole(32);
  TestTensor p = parameters();
  LambMoments moments = holder.moments(p.view());
  moments.second_moment = holder.m.view();
  expect_contract_error([&] { lamb_moments(queue, moments); }, {"first_moment", "apart from second_moment"});
  moments = holder.moments(p.view());
  moments.beta1 = 1.0;
  expect_contract_error([&] { lamb_moments(queue, moments); }, {"beta1", "[0, 1)"});
  LambStep step = holder.step(p.view(), holder.chunks.view(), {});
  expect_contract_error([&] { lamb_step(queue, step); }, {"squares", "float64", "int64"});
  if (test_device().is_cuda()) return;
  step = holder.step(p.view().rows(0, 2048), holder.squares.view(), {});
  expect_contract_error([&] { lamb_step(queue, step); }, {"chunks[", "2048 parameters"});
}

}  // namespace

}  // namespace segue::kernels

// Products by cuBLASLt, as its stand-in computes and checks them: all forms, and every way to be refused.
#include "kernels/cuda/gemm.h"

#include <algorithm>
#include <numeric>

#include "kernels/cuda/queue.h"
#include "tests/cuda_standins/fixture.h"
#include "tests/kernels/bfloat16.h"
#include "tests/message_of.h"
#include "tests/oracle/matmul.h"

namespace segue::kernels {

namespace {

using cuda::Gemm;

enum class Behind : uint8_t { kNothing, kBias, kRelu, kBiasRelu, kWhatWasThere };

struct Form {
  oracle::Extents size;
  bool transpose_a = false, transpose_b = false;
  DType operands = DType::kFloat32, result = DType::kFloat32;
  Behind behind = Behind::kNothing;
  int64_t gap = 0;       // elements between one row and the next
  bool shifted = false;  // each matrix by another number of elements from where memory is aligned

  bool accumulates() const { return behind == Behind::kWhatWasThere; }
  bool has_bias() const { return behind == Behind::kBias || behind == Behind::kBiasRelu; }
  bool has_relu() const { return behind == Behind::kRelu || behind == Behind::kBiasRelu; }
};

// A matrix inside a larger block of the GPU's memory.
struct Block {
  int64_t rows, columns, stride, start;
  OwnedTensor memory;

  Block(const Form& form, int64_t of_rows, int64_t of_columns, DType dtype, uint16_t site)
      : rows(of_rows), columns(of_columns), stride(of_columns + form.gap), start(form.shifted ? 3 + site : 0) {
    OwnedTensor host(DType::kFloat32, {start + rows * stride});
    const RandomSequence numbers{2024, 0, site};
    for (int64_t e = 0; e < host.shape().elements(); ++e)
      host.as<float>()[e] = static_cast<float>(random_normal(numbers, static_cast<uint64_t>(e)));
    memory = converted_copy(host.view(), dtype, kGpu);
  }
  TensorView view() {
    const TensorView all = memory.view();
    return {all.data + start * bytes_of(all.dtype), all.dtype, {rows, columns}};
  }
  std::vector<double> everything() const { return oracle_values(host_copy(memory.view(), kGpu).view()); }
  std::vector<double> part_of(const std::vector<double>& all) const {
    std::vector<double> values;
    for (int64_t i = 0; i < rows; ++i) {
      const auto row = all.begin() + start + i * stride;
      values.insert(values.end(), row, row + columns);
    }
    return values;
  }
  std::vector<double> values() const { return part_of(everything()); }
};

// One product in the GPU's memory, and what the oracle makes of it.
class Problem {
 public:
  explicit Problem(const Form& form)
      : form_(form),
        a_(form, form.transpose_a ? form.size.k : form.size.m, form.transpose_a ? form.size.m : form.size.k,
           form.operands, 1),
        b_(form, form.transpose_b ? form.size.n : form.size.k, form.transpose_b ? form.size.k : form.size.n,
           form.operands, 2),
        c_(form, form.size.m, form.size.n, form.result, 3),
        bias_(form, 1, form.size.n, form.result, 4),
        before_(c_.everything()) {}

  Gemm arguments() {
    return {.a = a_.view(),
            .transpose_a = form_.transpose_a,
            .b = b_.view(),
            .transpose_b = form_.transpose_b,
            .c = c_.view(),
            .accumulate = form_.accumulates(),
            .bias = form_.has_bias() ? bias_.view().reshaped({form_.size.n}) : TensorView{},
            .relu = form_.has_relu(),
            .a_stride = a_.stride,
            .b_stride = b_.stride,
            .c_stride = c_.stride};
  }

  void expect_solved() const {
    const std::vector<double> exact = solution(false);
    const std::vector<double> after = c_.everything();
    if (form_.result == DType::kFloat32) {
      expect_close("c", c_.part_of(after), exact, kReduction);
    } else {
      const OwnedTensor found = converted_copy(tensor_of(c_.part_of(after)).view(), DType::kBFloat16, {});
      expect_near_as_naive("c", found.view(), exact, solution(true), kBFloat16Output);
    }
    for (size_t e = 0; e < after.size(); ++e) {
      if (is_inside(static_cast<int64_t>(e))) continue;
      ASSERT_EQ(after[e], before_[e]) << "beside c, at " << e;
    }
  }

 private:
  static OwnedTensor tensor_of(const std::vector<double>& values) {
    OwnedTensor tensor(DType::kFloat32, {static_cast<int64_t>(values.size())});
    for (size_t e = 0; e < values.size(); ++e) tensor.as<float>()[e] = static_cast<float>(values[e]);
    return tensor;
  }
  bool is_inside(int64_t element) const {
    const int64_t place = element - c_.start;
    return place >= 0 && place % c_.stride < c_.columns;
  }
  // Rounded to bfloat16 after every operation when it is the naive one.
  std::vector<double> solution(bool naive) const {
    const auto settle = [naive](std::vector<double> values) { return naive ? rounded(std::move(values)) : values; };
    std::vector<double> values =
        settle(oracle::matmul(form_.size, a_.values(), form_.transpose_a, b_.values(), form_.transpose_b));
    if (form_.accumulates()) values = settle(oracle::sum_of(values, c_.part_of(before_)));
    if (form_.has_bias()) {
      const std::vector<double> bias = bias_.values();
      for (size_t e = 0; e < values.size(); ++e) values[e] += bias[e % bias.size()];
      values = settle(values);
    }
    if (form_.has_relu())
      std::replace_if(
          values.begin(), values.end(), [](double value) { return value < 0.0; }, 0.0);
    return values;
  }

  Form form_;
  Block a_, b_, c_, bias_;
  std::vector<double> before_;
};

constexpr std::array<Behind, 5> kAllBehind{Behind::kNothing, Behind::kBias, Behind::kRelu, Behind::kBiasRelu,
                                           Behind::kWhatWasThere};

std::vector<Form> all_forms(DType operands, DType result) {
  std::vector<Form> forms;
  for (const oracle::Extents size : {oracle::Extents{1, 1, 1}, {3, 5, 7}, {16, 32, 8}, {33, 31, 17}, {8, 6, 130}})
    for (const int transposed : {0, 1, 2, 3})
      for (const Behind behind : kAllBehind)
        for (const bool shifted : {false, true})
          forms.push_back({.size = size,
                           .transpose_a = (transposed & 1) != 0,
                           .transpose_b = (transposed & 2) != 0,
                           .operands = operands,
                           .result = result,
                           .behind = behind,
                           .gap = shifted ? 3 : 0,
                           .shifted = shifted});
  return forms;
}

class CudaGemm : public OnStandIns {
 protected:
  void SetUp() override {
    OnStandIns::SetUp();
    queue_ = std::make_unique<Queue>(kGpu, 1);
  }
  void TearDown() override {
    queue_.reset();
    OnStandIns::TearDown();
  }

  void solve(const Form& form) {
    Problem problem(form);
    cuda::gemm(*queue_, problem.arguments());
    queue_->synchronize();
    problem.expect_solved();
  }
  void solve_all(DType operands, DType result) {
    for (const Form& form : all_forms(operands, result)) {
      SCOPED_TRACE(testing::Message() << form.size.m << " x " << form.size.n << " x " << form.size.k << ", transposed "
                                      << form.transpose_a << form.transpose_b << ", behind "
                                      << static_cast<int>(form.behind) << ", shifted " << form.shifted);
      ASSERT_NO_FATAL_FAILURE(solve(form));
    }
  }

  std::unique_ptr<Queue> queue_;
};

TEST_F(CudaGemm, EveryFormInFloat32) { solve_all(DType::kFloat32, DType::kFloat32); }
TEST_F(CudaGemm, EveryFormInBFloat16) { solve_all(DType::kBFloat16, DType::kBFloat16); }
TEST_F(CudaGemm, EveryFormOfBFloat16InFloat32) { solve_all(DType::kBFloat16, DType::kFloat32); }

TEST_F(CudaGemm, EveryFormWhereNothingIsFused) {
  standin::machine().has_epilogues = false;
  solve_all(DType::kBFloat16, DType::kBFloat16);
  solve({.size = {33, 31, 17}, .behind = Behind::kBiasRelu, .gap = 3, .shifted = true});
  EXPECT_EQ(standin::counts().fused_epilogues, 0);
}

TEST_F(CudaGemm, FusesWhatItCan) {
  Form form{.size = {4, 6, 8}, .operands = DType::kBFloat16, .result = DType::kBFloat16, .behind = Behind::kBiasRelu};
  solve(form);
  EXPECT_EQ(standin::counts().fused_epilogues, 1);
  form.size.n = 7;  // as hardware, the stand-in fuses nothing behind these
  solve(form);
  EXPECT_EQ(standin::counts().fused_epilogues, 1);
  EXPECT_EQ(standin::counts().products, 2);
}

TEST_F(CudaGemm, ChoosesOnceForEachFormAndAlignment) {
  const Form form{.size = {4, 6, 8}, .behind = Behind::kBias};
  for (int i = 0; i < 3; ++i) solve(form);
  EXPECT_EQ(standin::counts().heuristics, 1);
  Problem problem(form);
  Gemm args = problem.arguments();
  const OwnedTensor other_bias = holding({0, 1, 2, 3, 4, 5, 6});
  for (const int64_t start : {0, 1}) {  // of another alignment, the second
    args.bias = other_bias.view().rows(start, 6);
    cuda::gemm(*queue_, args);
  }
  queue_->synchronize();
  EXPECT_EQ(standin::counts().heuristics, 2);
}

TEST_F(CudaGemm, BiasesMayLieElsewhereNextTime) {
  std::vector<float> numbers(128);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  const OwnedTensor biases = holding(numbers), one = holding({1}), row = holding({1, 2});
  OwnedTensor c = holding({0, 0});
  for (const int64_t start : {0, 64}) {
    cuda::gemm(*queue_, {.a = one.view().reshaped({1, 1}),
                         .b = row.view().reshaped({1, 2}),
                         .c = c.view().reshaped({1, 2}),
                         .bias = biases.view().rows(start, 2)});
    const auto first = static_cast<float>(start);
    EXPECT_EQ(values_of(c), (std::vector<float>{first + 1, first + 3}));
  }
  EXPECT_EQ(standin::counts().heuristics, 1);
}

TEST_F(CudaGemm, TakesTheFirstAlgorithmThatCanRun) {
  standin::machine().failed_results = 3;
  solve({.size = {4, 6, 8}, .behind = Behind::kBiasRelu});
  EXPECT_EQ(standin::counts().fused_epilogues, 1);
}

TEST_F(CudaGemm, SaysWhatCannotBeMultiplied) {
  const auto message = [&] {
    return message_of<DeviceError>([&] {
      solve({.size = {4, 6, 8}, .operands = DType::kBFloat16, .behind = Behind::kBias});
    });
  };
  const std::string words =
      "cuBLASLt has no way to multiply [4, 8] by [8, 6] in bfloat16 to float32: CUBLAS_STATUS_NOT_SUPPORTED";
  standin::machine().failed_results = 100;
  EXPECT_EQ(message(), words);
  standin::machine().failed_results = 0;
  standin::machine().has_algorithms = false;
  EXPECT_EQ(message(), words);
  standin::machine().has_algorithms = true;  // nothing of it is kept
  solve({.size = {4, 6, 8}, .operands = DType::kBFloat16, .behind = Behind::kBias});
}

TEST_F(CudaGemm, NothingToMultiply) {
  OwnedTensor c = holding({1, 2}), nothing = holding({});
  const ConstTensorView a = nothing.view().reshaped({2, 0}), b = nothing.view().reshaped({0, 1});
  cuda::gemm(*queue_, {.a = a, .b = b, .c = c.view().reshaped({2, 1}), .accumulate = true});
  EXPECT_EQ(values_of(c), (std::vector<float>{1, 2}));
  cuda::gemm(*queue_, {.a = a, .b = b, .c = c.view().reshaped({2, 1})});
  EXPECT_EQ(values_of(c), (std::vector<float>{0, 0}));
  cuda::gemm(
      *queue_,
      {.a = nothing.view().reshaped({0, 2}), .b = c.view().reshaped({2, 1}), .c = nothing.view().reshaped({0, 1})});
  EXPECT_EQ(standin::counts().products, 0);
}

// Choosing how to multiply is allowed while a graph is recorded, and bias and ReLU behind it are recorded too.
TEST_F(CudaGemm, IsRecorded) {
  for (const int64_t columns : {6, 7}) {
    Problem problem({.size = {4, columns, 8},
                     .operands = DType::kBFloat16,
                     .result = DType::kBFloat16,
                     .behind = Behind::kBiasRelu});
    const Gemm args = problem.arguments();
    segue::cuda::Graph graph;
    graph.record(queue_->cuda(), [&] { cuda::gemm(*queue_, args); });
    for (int i = 0; i < 2; ++i) {
      queue_->cuda().fill_zero(args.c.data, args.c.bytes());
      graph.launch(queue_->cuda());
      queue_->synchronize();
      problem.expect_solved();
    }
  }
}

// Each stream has a workspace of its own; sums that are made in parts lie there.
TEST_F(CudaGemm, TwoStreamsAtOnce) {
  queue_.reset();
  for (uint64_t seed = 0; seed < kOrders; ++seed) {
    standin::reset({.seed = seed});
    Queue first(kGpu, 1), second(kGpu, 1);
    Problem one({.size = {4, 6, 8}}), other({.size = {5, 3, 9}});
    cuda::gemm(first, one.arguments());
    cuda::gemm(second, other.arguments());
    first.synchronize();
    one.expect_solved();
    other.expect_solved();
  }
}

TEST_F(CudaGemm, RepeatsItselfBitForBit) {
  Problem problem({.size = {33, 31, 130}});
  const Gemm args = problem.arguments();
  cuda::gemm(*queue_, args);
  const TensorView c{args.c.data, args.c.dtype, args.c.shape};
  const OwnedTensor first = host_copy(c, kGpu);
  Queue other(kGpu, 1);
  other.fill_zero(c);
  cuda::gemm(other, args);
  expect_identical("c", host_copy(c, kGpu).view(), first.view());
}

}  // namespace

}  // namespace segue::kernels

// Properties of memories that compress, and which parameters learn from which loss.
#include <gtest/gtest.h>

#include "core/config/memory_kind.h"
#include "core/config/position_kind.h"
#include "core/kinds/memory/compressed/kept_rows.h"
#include "core/model/reach.h"
#include "tests/core/model/model_problem.h"
#include "tests/oracle/kinds_of_memory.h"

namespace segue {
namespace {

constexpr int64_t kStreams = 2;

ModelConfig compressed_model(const MemoryConfig& memory, int64_t mem_len, int64_t n_layer = 2) {
  ModelConfig config = small_model();
  config.memory = memory;
  config.memory.kind = MemoryKind::kCompressed;
  config.mem_len = mem_len;
  config.n_layer = n_layer;
  return config;
}

// The losses of all of a problem's tokens, segment after segment, and those of reconstruction.
struct Losses {
  std::vector<std::vector<float>> nll;
  std::vector<double> reconstruction;  // of a segment, the sum over streams
};
Losses losses_of(ModelProblem& problem, int64_t tgt_len, Tape::Mode mode = Tape::Mode::kTraining,
                 const ReplayInfo& info = {}) {
  SegmentEngine engine = problem.engine(mode);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(problem.streams());
  Losses losses;
  for (int64_t begin = 0; begin < problem.length(); begin += tgt_len) {
    const int64_t count = std::min(tgt_len, problem.length() - begin);
    const OwnedTensor inputs = columns_of(problem.tokens, begin, count);
    const OwnedTensor outputs = columns_of(problem.targets, begin, count);
    const TokenLosses found = engine.queue({.tokens = inputs.view(), .targets = outputs.view(), .info = info}, *memory);
    problem.queue.synchronize();
    const float* nll = found.nll.as<float>();
    losses.nll.emplace_back(nll, nll + found.nll.elements());
    double sum = 0.0;
    for (const double loss : kernels::oracle_values(found.reconstruction)) sum += loss;
    losses.reconstruction.push_back(sum);
  }
  return losses;
}

struct Case {
  std::string name;
  MemoryConfig memory;
  int64_t mem_len, tgt_len;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

using enum CompressionKind;

// Segments whose length is no multiple of c, of c that divides neither, of one, and longer than all that is compressed.
std::vector<Case> cases() {
  return {
      {"convolution_of_3", {.compressed_len = 4, .compression_rate = 3}, 7, 5},
      {"convolution_of_4", {.compressed_len = 2, .compression_rate = 4}, 9, 9},
      {"mean_of_5", {.compressed_len = 3, .compression_rate = 5, .compression = kMean}, 6, 6},
      {"max_of_2", {.compressed_len = 5, .compression_rate = 2, .compression = kMax}, 5, 3},
      {"dilated_of_4", {.compressed_len = 3, .compression_rate = 4, .compression = kDilatedConvolution}, 5, 5},
      {"dilated_of_8", {.compressed_len = 2, .compression_rate = 8, .compression = kDilatedConvolution}, 8, 7},
      {"auto_encoding",
       {.compressed_len = 4, .compression_rate = 3, .reconstruction = ReconstructionKind::kAutoEncoding},
       8,
       4},
      {"one_compressed_row", {.compressed_len = 1, .compression_rate = 2}, 6, 6},
      {"single_tokens", {.compressed_len = 3, .compression_rate = 3}, 4, 1},
      {"most_used_of_3", {.compressed_len = 4, .compression_rate = 3, .compression = kMostUsed}, 7, 5},
      {"most_used_of_4", {.compressed_len = 5, .compression_rate = 4, .compression = kMostUsed}, 13, 11},
      {"most_used_single_tokens", {.compressed_len = 3, .compression_rate = 3, .compression = kMostUsed}, 4, 1},
      {"most_used_begins_full",
       {.initial = InitialMemory::kZeros, .compressed_len = 2, .compression_rate = 2, .compression = kMostUsed},
       6,
       4},
      {"begins_full", {.initial = InitialMemory::kZeros, .compressed_len = 2, .compression_rate = 3}, 5, 4},
  };
}

class CompressedMemories : public testing::TestWithParam<Case> {
 protected:
  ModelConfig config() const { return compressed_model(GetParam().memory, GetParam().mem_len); }
};
INSTANTIATE_TEST_SUITE_P(All, CompressedMemories, testing::ValuesIn(cases()),
                         [](const auto& each) { return each.param.name; });

// Losses, what is remembered at every phase of a group, and the loss of reconstruction; the last segment is short.
TEST_P(CompressedMemories, EqualTheOracleOverManySegments) {
  const int64_t tgt_len = GetParam().tgt_len;
  const ModelConfig model = config();
  ModelProblem problem(model, kStreams, 21 * tgt_len + std::max<int64_t>(tgt_len / 2, 1));
  const auto oracle = problem.oracle<double>();
  const Losses found = losses_of(problem, tgt_len);
  SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
  CompressedMemory memory(model, use_of(model), kStreams);
  std::vector<oracle::Memory> memories(kStreams, oracle::initial_memory(model));
  double most = 0.0;
  for (int64_t number = 0; number * tgt_len < problem.length(); ++number) {
    const std::vector<float> evaluated = problem.run(engine, number * tgt_len, tgt_len, memory);
    EXPECT_EQ(evaluated, found.nll[static_cast<size_t>(number)]) << number;
    double reconstruction = 0.0;
    std::vector<double> nll;
    for (int64_t b = 0; b < kStreams; ++b) {
      const oracle::StreamTokens part = problem.stream_tokens(b).part(number * tgt_len, tgt_len);
      oracle::Memory& remembered = memories[static_cast<size_t>(b)];
      const auto segment = oracle.segment(part.tokens, part.targets, remembered, oracle::segment_masks(model));
      reconstruction += oracle::reconstruction_loss(model, oracle, segment, remembered);
      oracle::update_memory(model, oracle, segment, remembered);
      nll.insert(nll.end(), segment.nll.begin(), segment.nll.end());
    }
    kernels::expect_close("nll", std::vector<double>(evaluated.begin(), evaluated.end()), nll, kernels::kNetwork);
    kernels::expect_close("reconstruction", {found.reconstruction[static_cast<size_t>(number)]}, {reconstruction},
                          kernels::kGradient);
    most = std::max(most, reconstruction);
    EXPECT_EQ(memory.compressed(), std::ssize(memories[0].back()));
    for (int64_t l = 0; l < model.n_layer; ++l) {
      std::vector<double> rows;
      for (const oracle::Memory& of_stream : memories)
        rows.insert(rows.end(), of_stream[static_cast<size_t>(l)].begin(), of_stream[static_cast<size_t>(l)].end());
      kernels::expect_close("memory", memory.layer(l), rows, kernels::kNetwork);
    }
  }
  EXPECT_EQ(memory.compressed(), model.memory.compressed_len);
  EXPECT_GE(memory.uncompressed(), model.mem_len);
  EXPECT_LT(memory.uncompressed(), model.mem_len + model.memory.compression_rate);
  EXPECT_EQ(most > 0.0, learns_compression(model));
}

// Whoever restores a memory at any phase of a group goes on with the same bits.
TEST_P(CompressedMemories, GoOnFromEveryPhase) {
  const int64_t tgt_len = GetParam().tgt_len;
  const ModelConfig model = config();
  ModelProblem problem(model, kStreams, 14 * tgt_len);
  SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(kStreams);
  for (int64_t begin = 0; begin + tgt_len < problem.length(); begin += tgt_len) {
    const std::unique_ptr<TrainingMemory> resumed = problem.make_memory(kStreams);
    std::vector<ConstTensorView> state;
    for (const NamedTensor& each : memory->state()) state.push_back(each.tensor);
    resumed->restore(state);
    EXPECT_EQ(problem.run(engine, begin, tgt_len, *resumed), problem.run(engine, begin, tgt_len, *memory));
    const std::vector<NamedTensor> found = resumed->state(), expected = memory->state();
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].name, expected[i].name);
      kernels::expect_identical(found[i].name, found[i].tensor, expected[i].tensor);
    }
  }
}

// What a compression learns from moves nothing else, and nothing else moves it.
TEST_P(CompressedMemories, LearnFromTheirOwnLossAloneAndNothingElseDoes) {
  const int64_t tgt_len = GetParam().tgt_len;
  ModelConfig model = config();
  model.dropout = model.dropatt = 0.1;
  const auto gradients = [&](double weight, float loss_scale) {
    model.memory.reconstruction_weight = weight;
    ModelProblem problem(model, kStreams, 14 * tgt_len);
    losses_of(problem, tgt_len, Tape::Mode::kTraining, {.seed = 3, .loss_scale = loss_scale});
    std::map<std::string, std::vector<double>> found;
    for (size_t i = 0; i < problem.parameters.specs().size(); ++i)
      found[problem.parameters.specs()[i].name] =
          kernels::oracle_values(problem.parameters.part_of(problem.parameters.gradients(), i));
    return found;
  };
  const auto both = gradients(1.0, 1.0F);
  const auto predictions = gradients(0.0, 1.0F);
  const auto reconstruction = gradients(1.0, 0.0F);
  for (const auto& [name, found] : both) {
    const bool is_compressor = name.find(".memory.") != std::string::npos;
    EXPECT_EQ(found, is_compressor ? reconstruction.at(name) : predictions.at(name)) << name;
    EXPECT_EQ(kernels::largest((is_compressor ? predictions : reconstruction).at(name)), 0.0) << name;
    EXPECT_TRUE(!is_compressor || kernels::largest(found) > 0.0) << name;
  }
}

// Groups of one row, pooled or chosen from, are the rows: a longer memory of the kind without compression, to the bit.
TEST(CompressedMemory, OfSingleRowsIsTransformerXl) {
  for (const CompressionKind pooling : {kMean, kMax, kMostUsed}) {
    for (const PositionKind position : {PositionKind::kRelative, PositionKind::kRope, PositionKind::kSinusoidal}) {
      ModelConfig compressed =
          compressed_model({.compressed_len = 6, .compression_rate = 1, .compression = pooling}, 5, 3);
      compressed.position = {.kind = position, .rotary_share = 0.8};
      compressed.memory.reconstruction = ReconstructionKind::kAttention;  // which configs refuse
      ModelConfig plain = compressed;
      plain.memory = {};
      plain.mem_len = 11;
      ModelProblem problems[2]{{compressed, kStreams, 33}, {plain, kStreams, 33}};
      const Losses found = losses_of(problems[0], 5);
      EXPECT_EQ(found.nll, losses_of(problems[1], 5).nll);
      kernels::expect_identical("gradients", problems[0].parameters.gradients(), problems[1].parameters.gradients());
      for (const double loss : found.reconstruction) EXPECT_EQ(loss, 0.0);
    }
  }
}

// Without compressed rows, and in groups of one, it is the kind without compression, to the bit.
TEST(CompressedMemory, OfNoRowsIsTransformerXl) {
  const ModelConfig none = compressed_model({.compressed_len = 0, .compression_rate = 1, .compression = kMean}, 5);
  ModelConfig plain = none;
  plain.memory = {};
  ModelProblem problems[2]{{none, kStreams, 33}, {plain, kStreams, 33}};
  EXPECT_EQ(losses_of(problems[0], 5).nll, losses_of(problems[1], 5).nll);
  kernels::expect_identical("gradients", problems[0].parameters.gradients(), problems[1].parameters.gradients());
}

// A convolution whose taps are the identity over c is the mean.
TEST(CompressedMemory, AConvolutionOfEqualTapsIsTheMean) {
  constexpr int64_t kRate = 3;
  const ModelConfig convolution = compressed_model({.compressed_len = 4, .compression_rate = kRate}, 7);
  ModelConfig mean = convolution;
  mean.memory.compression = kMean;
  ModelProblem problems[2]{{convolution, kStreams, 60}, {mean, kStreams, 60}};
  for (size_t i = 0; i < problems[0].parameters.specs().size(); ++i) {
    const ParameterSpec& spec = problems[0].parameters.specs()[i];
    OwnedTensor values(DType::kFloat32, spec.shape);
    const bool is_bias = spec.name.ends_with("memory.bias");
    if (spec.name.ends_with("memory.weight")) {
      const int64_t width = spec.shape[0];
      for (int64_t d = 0; d < width; ++d)
        for (int64_t tap = 0; tap < kRate; ++tap) values.as<float>()[(d * kRate + tap) * width + d] = 1.0F / kRate;
    } else if (!is_bias) {
      copy_tensor(values.view(), problems[1].parameters[spec.name].value, {});
    }
    problems[0].parameters.upload(problems[0].parameters.values(), i, values.view());
  }
  const Losses found = losses_of(problems[0], 5), expected = losses_of(problems[1], 5);
  for (size_t i = 0; i < found.nll.size(); ++i)
    kernels::expect_close("nll", std::vector<double>(found.nll[i].begin(), found.nll[i].end()),
                          {expected.nll[i].begin(), expected.nll[i].end()}, kernels::kNetwork);
}

// A shorter memory forgets the oldest rows that are not compressed; a longer one has room for more of them.
TEST(CompressedMemory, CanBeShortenedAndLengthened) {
  const ModelConfig model = compressed_model({.compressed_len = 3, .compression_rate = 2}, 9);
  ModelProblem problem(model, kStreams, 60);
  SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
  CompressedMemory memory(model, use_of(model), kStreams);
  for (int64_t begin = 0; begin < 30; begin += 5) problem.run(engine, begin, 5, memory);
  const std::vector<double> before = kernels::oracle_values(memory.layer(1));
  const int64_t rows = memory.uncompressed();
  memory.set_mem_len(problem.queue, 5);
  EXPECT_EQ(memory.compressed(), 3);
  EXPECT_EQ(memory.uncompressed(), 6);
  std::vector<double> kept;
  for (int64_t b = 0; b < kStreams; ++b) {
    const auto stream = before.begin() + b * (3 + rows) * model.d_model;
    kept.insert(kept.end(), stream, stream + 3 * model.d_model);
    kept.insert(kept.end(), stream + (3 + rows - 6) * model.d_model, stream + (3 + rows) * model.d_model);
  }
  EXPECT_EQ(kernels::oracle_values(memory.layer(1)), kept);
  problem.run(engine, 30, 5, memory);
  EXPECT_EQ(memory.uncompressed(), 5);
  memory.set_mem_len(problem.queue, 9);
  EXPECT_FALSE(memory.is_settled());
  problem.run(engine, 35, 5, memory);
  EXPECT_EQ(memory.uncompressed(), 10);
  EXPECT_TRUE(memory.is_settled());
  EXPECT_THROW(memory.set_mem_len(problem.queue, 10), ContractError);
  EXPECT_THROW(memory.set_mem_len(problem.queue, 1), ContractError);
}

// Which of equal rows stay, the oldest: of zeros that are all attended to alike, and of all rows once nothing but where
// they stand tells them apart.
TEST(CompressedMemory, KeepsTheOldestOfRowsThatAreUsedAlike) {
  ModelConfig model = compressed_model({.compressed_len = 4, .compression_rate = 3, .compression = kMostUsed}, 7, 1);
  model.position = {.kind = PositionKind::kNone};
  ModelProblem problem(model, kStreams, 60);
  for (size_t i = 0; i < problem.parameters.specs().size(); ++i) {
    const ParameterSpec& spec = problem.parameters.specs()[i];
    const OwnedTensor zeros(DType::kFloat32, spec.shape);
    if (spec.name.ends_with("qkv")) problem.parameters.upload(problem.parameters.values(), i, zeros.view());
  }
  SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
  CompressedMemory memory(model, use_of(model), kStreams);
  const int64_t width = model.d_model;
  for (int64_t begin = 0; begin < 60; begin += 6) {
    const std::vector<double> before = kernels::oracle_values(memory.layer(0));
    const int64_t compressed = memory.compressed(), rows = compressed + memory.uncompressed();
    const int64_t leaving = use_of(model).pushed_out(memory.uncompressed(), 6);
    problem.run(engine, begin, 6, memory);
    const std::vector<double> after = kernels::oracle_values(memory.layer(0));
    const int64_t all = memory.compressed() + memory.uncompressed();
    for (int64_t b = 0; b < kStreams; ++b) {
      for (int64_t k = 0; k < leaving / 3; ++k) {
        const auto from = before.begin() + (b * rows + compressed + k) * width;
        const auto to = after.begin() + (b * all + memory.compressed() - leaving / 3 + k) * width;
        EXPECT_TRUE(std::equal(from, from + width, to)) << begin << ", " << k;
      }
    }
  }
}

// What is chosen depends on all that stood beside it, chosen likewise.
TEST(CompressedMemory, OfTheMostUsedRowsHasNoLimitOfReach) {
  const ModelConfig model = compressed_model({.compressed_len = 2, .compression_rate = 3, .compression = kMostUsed}, 6);
  EXPECT_EQ(reach_in_tokens(model, use_of(model), 6), std::nullopt);
  EXPECT_EQ(warm_up_in_tokens(model, use_of(model), 6), std::nullopt);
}

TEST(CompressedMemory, RefusesSegmentsThatPushOutTheirOwnRows) {
  const ModelConfig model = compressed_model({.compressed_len = 3, .compression_rate = 2}, 6);
  ModelProblem problem(model, kStreams, 7);
  SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(kStreams);
  kernels::expect_contract_error([&] { problem.run(engine, 0, 7, *memory); }, {"mem_len = 6", "found 7"});
}

TEST(CompressedMemory, RefusesAStateOfAnotherSize) {
  const ModelConfig model = compressed_model({.compressed_len = 2, .compression_rate = 3}, 5);
  const auto restored = [&](const Shape& rows, const Shape& compressed, int64_t layers = 2) {
    CompressedMemory memory(model, use_of(model), kStreams);
    std::vector<OwnedTensor> saved;
    for (int64_t l = 0; l < layers; ++l) saved.emplace_back(DType::kFloat32, rows);
    saved.emplace_back(DType::kFloat32, compressed);
    std::vector<ConstTensorView> state;
    for (const OwnedTensor& each : saved) state.push_back(each.view());
    memory.restore(state);
  };
  EXPECT_NO_THROW(restored({2, 9, 14}, {2, 2, 0}));
  EXPECT_THROW(restored({2, 9, 14}, {2, 1, 0}), CheckpointError);
  EXPECT_THROW(restored({2, 9, 14}, {2, 3, 0}), CheckpointError);
  EXPECT_THROW(restored({2, 1, 14}, {2, 2, 0}), CheckpointError);
  EXPECT_THROW(restored({2, 9, 13}, {2, 2, 0}), CheckpointError);
  EXPECT_THROW(restored({3, 9, 14}, {2, 2, 0}), CheckpointError);
  EXPECT_THROW(restored({2, 9, 14}, {2, 2, 1}), CheckpointError);
  EXPECT_THROW(restored({2, 9}, {2, 2, 0}), CheckpointError);
  EXPECT_THROW(restored({2, 9, 14}, {2}), CheckpointError);
  EXPECT_THROW(restored({2, 9, 14}, {2, 2, 0}, 1), CheckpointError);
}

// Where as many rows as can be wait to be compressed, something is heard of from as far back as the model says, and
// nothing from farther.
TEST(CompressedMemory, ReachesAsFarAsTheModelSays) {
  constexpr int64_t kTgtLen = 4;
  const ModelConfig model = compressed_model({.compressed_len = 2, .compression_rate = 3, .compression = kMean}, 4);
  const int64_t reach = reach_in_tokens(model, use_of(model), kTgtLen).value();
  EXPECT_EQ(reach, kTgtLen - 1 + 2 * (4 + 2 + 2 * 3));
  EXPECT_EQ(warm_up_in_tokens(model, use_of(model), 3), 2 * (4 + 2 + 2 * 3));
  EXPECT_EQ(warm_up_in_tokens(model, use_of(model), kTgtLen), std::nullopt);  // streams compress other rows together
  ModelProblem problem(model, 1, 15 * kTgtLen);
  const auto losses = [&] { return losses_of(problem, kTgtLen, Tape::Mode::kEvaluation).nll; };
  const auto before = losses();
  int64_t farthest = 0;
  for (int64_t s = 0; s < problem.length(); ++s) {
    int32_t& token = problem.tokens.as<int32_t>()[s];
    const int32_t original = std::exchange(token, (token + 5) % static_cast<int32_t>(ModelProblem::kVocabulary));
    const auto after = losses();
    for (int64_t t = 0; t < problem.length(); ++t) {
      const auto segment = static_cast<size_t>(t / kTgtLen);
      const auto i = static_cast<size_t>(t % kTgtLen);
      if (after[segment][i] == before[segment][i]) continue;
      EXPECT_GE(t, s);
      farthest = std::max(farthest, t - s);
    }
    token = original;
  }
  EXPECT_EQ(farthest, reach);
}

}  // namespace
}  // namespace segue

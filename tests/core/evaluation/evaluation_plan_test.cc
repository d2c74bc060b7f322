// Which tokens plans read and score, and that the losses of a model do not depend on how a split is shared out.
#include "core/evaluation/evaluation_plan.h"

#include <cmath>
#include <limits>

#include "core/config/memory_kind.h"
#include "core/evaluation/evaluator.h"
#include "core/model/reach.h"
#include "data_pipeline/document_boundaries.h"
#include "distributed/job.h"
#include "tests/core/model/model_problem.h"
#include "tests/data_pipeline/testing.h"

namespace segue {
namespace {

// How often each row is scored, and that it lies in a lane as the header says.
std::vector<int64_t> times_scored(const EvaluationPlan& plan, int64_t rows) {
  std::vector<int64_t> times(static_cast<size_t>(rows));
  for (int64_t g = 0; g < plan.groups(); ++g) {
    const std::vector<Lane> lanes = plan.group(g);
    EXPECT_EQ(std::ssize(lanes), plan.lanes());
    for (const Lane& lane : lanes) {
      EXPECT_LE(0, lane.begin);
      EXPECT_LE(lane.begin, lane.scored);
      EXPECT_LE(lane.scored, lane.end);
      EXPECT_LE(lane.end, rows);
      for (int64_t row = lane.scored; row < lane.end; ++row) ++times[static_cast<size_t>(row)];
    }
  }
  return times;
}

std::vector<int64_t> once(int64_t rows) { return std::vector<int64_t>(static_cast<size_t>(rows), 1); }

TEST(EvaluationPlanTest, BlocksAreThoseOfThePublishedCodes) {
  const EvaluationPlan plan = plan_blocks(23, 3, 4, 0);  // blocks of 7 tokens, 2 left over
  EXPECT_EQ(plan.groups(), 1);
  EXPECT_EQ(plan.scored_rows(), 18);
  EXPECT_EQ(plan.group(0), (std::vector<Lane>{{0, 0, 6}, {7, 7, 13}, {14, 14, 20}}));
  EXPECT_EQ(plan_blocks(23, 3, 4, 5).group(0)[1], (Lane{7, 7, 11}));
  EXPECT_EQ(plan_blocks(5, 3, 4, 0).scored_rows(), 0);
}

TEST(EvaluationPlanTest, StreamsScoreEachRowOnceAfterTheirWarmUp) {
  const EvaluationPlan plan = plan_streams(101, 3, 4, 9, 0);  // a warm-up of 12: (100 + 24) / 3, rounded up to 44 rows
  EXPECT_EQ(plan.group(0), (std::vector<Lane>{{0, 0, 44}, {32, 44, 76}, {64, 76, 100}}));
  for (const int64_t tokens : {2, 7, 50, 101}) {
    for (const int64_t lanes : {1, 2, 5, 40}) {
      for (const int64_t warm_up : {0, 3, 64}) {
        EXPECT_EQ(times_scored(plan_streams(tokens, lanes, 4, warm_up, 0), tokens - 1), once(tokens - 1))
            << tokens << " tokens, " << lanes << " lanes, warm-up " << warm_up;
      }
    }
  }
  EXPECT_EQ(times_scored(plan_streams(101, 3, 4, 9, 50), 50), once(50));
}

TEST(EvaluationPlanTest, WindowsScoreTheirNewestRows) {
  const EvaluationPlan plan = plan_windows(12, 2, 5, 2, 0);
  EXPECT_EQ(plan.group(0), (std::vector<Lane>{{0, 0, 2}, {0, 2, 4}}));
  EXPECT_EQ(plan.group(1), (std::vector<Lane>{{1, 4, 6}, {3, 6, 8}}));
  EXPECT_EQ(plan.group(2), (std::vector<Lane>{{5, 8, 10}, {6, 10, 11}}));
  for (const int64_t tokens : {2, 5, 6, 7, 50}) {
    for (const int64_t stride : {1, 3, 5})
      EXPECT_EQ(times_scored(plan_windows(tokens, 3, 5, stride, 0), tokens - 1), once(tokens - 1)) << tokens;
  }
}

TEST(EvaluationPlanTest, DocumentsComeLongestFirst) {
  const std::vector<int64_t> begins{0, 3, 4, 10};  // of 12 tokens
  const EvaluationPlan plan = plan_documents(12, begins, 2, 4, 0);
  EXPECT_EQ(plan.group(0), (std::vector<Lane>{{3, 3, 9}, {0, 0, 2}}));
  EXPECT_EQ(plan.group(1), (std::vector<Lane>{{9, 9, 11}, {2, 2, 3}}));
  EXPECT_EQ(times_scored(plan, 11), once(11));
  EXPECT_EQ(times_scored(plan_documents(12, begins, 3, 4, 5), 5), once(5));
}

class DocumentBoundariesTest : public ::testing::Test {
 protected:
  Dataset prepare_text(const std::string& text) {
    prepare_silently({.output = directory_ / "text", .train = {write_text(directory_ / "a.txt", text)}});
    return Dataset(directory_ / "text");
  }
  TemporaryDirectory directory_;
};

TEST_F(DocumentBoundariesTest, EndTheDocumentBeforeThem) {
  const Dataset dataset = prepare_text("xx#-#-#yy#-#z#-#");
  const std::vector<int32_t> boundary = boundary_tokens(dataset, "#-#");
  EXPECT_EQ(find_documents(dataset.split("train"), boundary), (std::vector<int64_t>{0, 5, 12}));
  EXPECT_EQ(count_documents(dataset.split("train"), boundary).documents, 3);
  EXPECT_THAT(message_of<DataError>([&] { check_boundary(dataset, "train", "="); }),
              testing::HasSubstr("document_boundary: expected between two documents, found nowhere"));
}

TEST_F(DocumentBoundariesTest, AreReadAsPeopleTypeThem) {
  const Dataset dataset = prepare_text("one\n\ntwo\n\nthree\tfour\n\n");
  for (const char* typed : {"\n\n", R"(\n\n)", R"(\x0a\x0A)", "\n\\n"}) {
    EXPECT_EQ(boundary_tokens(dataset, typed), (std::vector<int32_t>{'\n', '\n'})) << typed;
    check_boundary(dataset, "train", typed);
  }
  EXPECT_EQ(boundary_tokens(dataset, R"(\\n)"), (std::vector<int32_t>{'\\', 'n'}));
  EXPECT_EQ(describe(count_documents(dataset.split("train"), boundary_tokens(dataset, R"(\n\n)"))), "3 documents");
  EXPECT_THAT(
      message_of<DataError>([&] { check_boundary(dataset, "train", "###"); }),
      testing::HasSubstr(R"(found nowhere: "###"; what stands there: "\n\n" (3 documents), "\n" (6 documents))"));
  EXPECT_THAT(message_of<DataError>([&] { boundary_tokens(dataset, R"(\xg)"); }),
              testing::HasSubstr("hexadecimal digits"));
}

TEST_F(DocumentBoundariesTest, MayEndTheOnlyDocument) {
  const Dataset dataset = prepare_text("one document#");
  check_boundary(dataset, "train", "#");
  EXPECT_EQ(find_documents(dataset.split("train"), boundary_tokens(dataset, "#")), std::vector<int64_t>{0});
  EXPECT_EQ(describe(count_documents(dataset.split("train"), boundary_tokens(dataset, "#"))), "1 document");
}

TEST_F(DocumentBoundariesTest, AreNumbersOfReadyMadeTokens) {
  const Dataset dataset(prepare_positions(directory_, 40, 100));
  EXPECT_EQ(boundary_tokens(dataset, "7,8"), (std::vector<int32_t>{7, 8}));
  EXPECT_EQ(find_documents(dataset.split("train"), boundary_tokens(dataset, "7,8")), (std::vector<int64_t>{0, 9}));
  for (const char* wrong : {"7,", "x", "7 8", "-1", "99999"})
    EXPECT_THAT(message_of<DataError>([&] { boundary_tokens(dataset, wrong); }), testing::HasSubstr(wrong));
}

// A model of two layers and a split of random tokens.
class WarmUpTest : public ::testing::Test {
 protected:
  static ModelConfig model_with(int64_t mem_len, bool same_length, InitialMemory initial) {
    ModelConfig model = small_model();
    model.mem_len = mem_len;
    model.visibility.same_length = same_length;
    model.memory.initial = initial;
    return model;
  }

  WarmUpTest() {
    const OwnedTensor drawn = draw_tokens(1, kTokens, ModelProblem::kVocabulary, 1);
    const std::vector<uint16_t> tokens(drawn.as<int32_t>(), drawn.as<int32_t>() + kTokens);
    prepare_silently({.output = directory_ / "dataset",
                      .train = {write_tokens(directory_ / "tokens", tokens)},
                      .format = SourceFormat::kUInt16});
  }

  // By offset in the split.
  std::vector<float> losses(const ModelConfig& config, const EvaluationPlan& plan) {
    ModelProblem problem(config, 1, 1);
    const std::unique_ptr<Job> alone = open_job({});
    Evaluator evaluator(problem.in_use(), *alone);
    std::vector<float> nll(kTokens, std::numeric_limits<float>::quiet_NaN());
    const EvaluationResult result = evaluator.run(
        Dataset(directory_ / "dataset").split("train"), plan,
        [&](const ScoredTokens& scored) { std::ranges::copy(scored.nll, nll.begin() + scored.offset); }, nullptr);
    double total = 0.0;
    for (const float loss : nll) total += std::isnan(loss) ? 0.0 : loss;
    EXPECT_NEAR(result.total_nll, total, 1e-9 * total);
    EXPECT_EQ(result.tokens, plan.scored_rows());
    return nll;
  }

  static constexpr int64_t kTokens = 100;
  static constexpr int64_t kTgtLen = 4;
  TemporaryDirectory directory_;
};

TEST_F(WarmUpTest, LossesDoNotDependOnTheBatch) {
  for (const int64_t mem_len : {0, 3, 4, 9}) {
    for (const bool same_length : {false, mem_len > 0}) {
      for (const InitialMemory initial : {InitialMemory::kEmpty, InitialMemory::kZeros}) {
        const ModelConfig model = model_with(mem_len, same_length, initial);
        const int64_t warm_up = warm_up_in_tokens(model, use_of(model), kTgtLen).value();
        const std::vector<float> alone = losses(model, plan_streams(kTokens, 1, kTgtLen, 0, 0));
        for (const int64_t lanes : {2, 4, 10}) {
          const std::vector<float> shared = losses(model, plan_streams(kTokens, lanes, kTgtLen, warm_up, 0));
          EXPECT_TRUE(std::isnan(shared[0]));
          for (size_t i = 1; i < shared.size(); ++i)
            EXPECT_NEAR(shared[i], alone[i], 1e-5) << "token " << i << ", batch " << lanes << ", M " << mem_len;
        }
      }
    }
  }
}

// Where groups of rows begin with segments.
TEST_F(WarmUpTest, LossesOfMemoriesThatCompressDoNotDependOnTheBatch) {
  for (const int64_t rate : {1, 2, 4}) {
    ModelConfig model = model_with(5, false, InitialMemory::kEmpty);
    model.memory.kind = MemoryKind::kCompressed;
    model.memory.compressed_len = 3;
    model.memory.compression_rate = rate;
    const int64_t warm_up = warm_up_in_tokens(model, use_of(model), kTgtLen).value();
    const std::vector<float> alone = losses(model, plan_streams(kTokens, 1, kTgtLen, 0, 0));
    for (const int64_t lanes : {2, 4}) {
      const std::vector<float> shared = losses(model, plan_streams(kTokens, lanes, kTgtLen, warm_up, 0));
      for (size_t i = 1; i < shared.size(); ++i)
        EXPECT_NEAR(shared[i], alone[i], 1e-5) << "token " << i << ", batch " << lanes << ", groups of " << rate;
    }
  }
}

TEST_F(WarmUpTest, AShorterWarmUpIsNotEnough) {
  const ModelConfig model = model_with(4, false, InitialMemory::kEmpty);
  const std::vector<float> alone = losses(model, plan_streams(kTokens, 1, kTgtLen, 0, 0));
  const int64_t warm_up = warm_up_in_tokens(model, use_of(model), kTgtLen).value();
  const EvaluationPlan plan = plan_streams(kTokens, 2, kTgtLen, warm_up - kTgtLen, 0);
  const std::vector<float> shared = losses(model, plan);
  const auto place = static_cast<size_t>(plan.group(0)[1].scored + 1);
  EXPECT_GT(std::abs(shared[place] - alone[place]), 1e-4);
}

TEST_F(WarmUpTest, DocumentsKnowNothingOfOneAnother) {
  const ModelConfig model = model_with(9, false, InitialMemory::kEmpty);
  const std::vector<int64_t> begins{0, 20, 21, 50, 90};
  const std::vector<float> one = losses(model, plan_documents(kTokens, begins, 1, kTgtLen, 0));
  const std::vector<float> three = losses(model, plan_documents(kTokens, begins, 3, kTgtLen, 0));
  const std::vector<float> text = losses(model, plan_streams(kTokens, 1, kTgtLen, 0, 0));
  for (size_t i = 1; i < one.size(); ++i) EXPECT_NEAR(three[i], one[i], 1e-5) << i;
  for (size_t i = 1; i < 20; ++i) EXPECT_NEAR(one[i], text[i], 1e-5) << i;
  for (const int64_t begin : {20, 50, 90}) {
    const auto i = static_cast<size_t>(begin);
    EXPECT_GT(std::abs(one[i] - text[i]), 1e-4) << i;  // of what came before, only the boundary is known
  }
}

TEST_F(WarmUpTest, WindowsAreThatManyRowsFromEmptyMemory) {
  const ModelConfig model = model_with(0, false, InitialMemory::kEmpty);
  const std::vector<float> windows = losses(model, plan_windows(kTokens, 3, kTgtLen, 1, 0));
  const std::vector<float> segments = losses(model, plan_streams(kTokens, 1, kTgtLen, 0, 0));
  for (size_t i = 1; i < windows.size(); ++i)  // the last row of a segment sees what its window sees
    EXPECT_EQ(std::abs(windows[i] - segments[i]) < 1e-5, i < kTgtLen || i % kTgtLen == 0) << i;
}

}  // namespace
}  // namespace segue

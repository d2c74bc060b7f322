// Documents in the segments of a stream: what is in one of them is what it is alone, and nothing before it matters.
#include <algorithm>
#include <array>

#include "core/attention/visibility.h"
#include "core/config/layers.h"
#include "core/config/position_terms.h"
#include "tests/core/model/model_problem.h"

namespace segue {
namespace {

constexpr int64_t kSegment = kLongestSegment;
constexpr int64_t kRows = 3 * kLongestSegment + 4;  // the last segment is shorter

// Where the documents of each stream begin: inside segments, at their beginning, and right behind one another.
const std::array<std::vector<int64_t>, 2> kBegins{{{0, 5, 14, 16}, {0, 1, 9, 10, 21}}};

int64_t document_of(int64_t stream, int64_t row) {
  const std::vector<int64_t>& begins = kBegins[static_cast<size_t>(stream)];
  return std::ranges::upper_bound(begins, row) - begins.begin() - 1;
}

// Rows of its document before each of those from `begin` on.
OwnedTensor reach_from(int64_t begin, int64_t count) {
  OwnedTensor reach(DType::kInt32, {std::ssize(kBegins), count});
  for (int64_t b = 0; b < std::ssize(kBegins); ++b) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t first = kBegins[static_cast<size_t>(b)][static_cast<size_t>(document_of(b, begin + i))];
      reach.as<int32_t>()[b * count + i] = static_cast<int32_t>(begin + i - first);
    }
  }
  return reach;
}

// Rows of its document after each of those, in a segment of so many.
OwnedTensor ahead_from(int64_t begin, int64_t count) {
  OwnedTensor ahead(DType::kInt32, {std::ssize(kBegins), count});
  for (int64_t b = 0; b < std::ssize(kBegins); ++b) {
    for (int64_t i = 0; i < count; ++i) {
      int64_t end = i + 1;
      while (end < count && document_of(b, begin + end) == document_of(b, begin + i)) ++end;
      ahead.as<int32_t>()[b * count + i] = static_cast<int32_t>(end - 1 - i);
    }
  }
  return ahead;
}

// The losses [B, kRows] of the streams.
std::vector<float> losses_of_streams(ModelProblem& problem, Tape::Mode mode) {
  std::vector<float> losses(static_cast<size_t>(problem.streams() * kRows));
  SegmentEngine engine = problem.engine(mode);
  const auto memory = problem.make_memory(problem.streams());
  for (int64_t begin = 0; begin < kRows; begin += kSegment) {
    const int64_t count = std::min(kSegment, kRows - begin);
    const OwnedTensor tokens = columns_of(problem.tokens, begin, count);
    const OwnedTensor targets = columns_of(problem.targets, begin, count);
    const OwnedTensor reach = reach_from(begin, count);
    const OwnedTensor ahead = ahead_from(begin, problem.in_use().use.ahead ? count : 0);
    const auto nll = engine
                         .run({.tokens = tokens.view(),
                               .targets = targets.view(),
                               .info = {},
                               .reach = reach.view(),
                               .ahead = ahead.view()},
                              *memory)
                         .nll;
    for (int64_t b = 0; b < problem.streams(); ++b)
      std::copy_n(nll.begin() + b * count, count, losses.begin() + b * kRows + begin);
  }
  return losses;
}

// The losses of rows [begin, end) of a stream, read from empty memory in segments that end where the stream's do.
std::vector<float> losses_alone(ModelProblem& problem, int64_t stream, int64_t begin, int64_t end) {
  std::vector<float> losses;
  SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
  const auto memory = problem.make_memory(1);
  for (int64_t row = begin; row < end;) {
    const int64_t count = std::min(end, (row / kSegment + 1) * kSegment) - row;
    const OwnedTensor tokens = columns_of(problem.tokens, row, count);
    const OwnedTensor targets = columns_of(problem.targets, row, count);
    const auto nll =
        engine
            .run({.tokens = tokens.view().rows(stream, 1), .targets = targets.view().rows(stream, 1), .info = {}},
                 *memory)
            .nll;
    losses.insert(losses.end(), nll.begin(), nll.end());
    row += count;
  }
  return losses;
}

class DocumentsTest : public testing::TestWithParam<ModelVariant> {};
INSTANTIATE_TEST_SUITE_P(Variants, DocumentsTest, testing::ValuesIn(that_tell_documents(model_variants())),
                         name_of_variant);

// A memory that begins with zeros shows them to a document alone, and not behind another: configs may not have both.
std::vector<ModelVariant> variants_that_begin_empty() {
  std::vector<ModelVariant> variants = that_tell_documents(model_variants());
  std::erase_if(variants, [](const ModelVariant& variant) { return use_of(variant.config()).starts_full(); });
  return variants;
}

class DocumentsAlone : public testing::TestWithParam<ModelVariant> {};
INSTANTIATE_TEST_SUITE_P(Variants, DocumentsAlone, testing::ValuesIn(variants_that_begin_empty()), name_of_variant);

// Whether something is counted from where segments begin: absolute positions, and the blocks and periods of patterns.
bool counts_from_segments(const ModelConfig& config) {
  bool counts = offered_by(config.position.kind).vectors;
  for (int64_t layer = 0; layer < config.n_layer; ++layer)
    counts = counts || repeats_after(use_of_layer(config, use_of(config), layer)) > 1;
  return counts;
}

// Where something is, documents that begin there.
TEST_P(DocumentsAlone, HaveTheLossesThatTheyHaveInAStream) {
  const ModelConfig config = GetParam().config();
  ModelProblem problem(config, std::ssize(kBegins), kRows);
  const std::vector<float> losses = losses_of_streams(problem, Tape::Mode::kTraining);
  for (int64_t b = 0; b < problem.streams(); ++b) {
    const std::vector<int64_t>& begins = kBegins[static_cast<size_t>(b)];
    for (size_t d = 0; d < begins.size(); ++d) {
      if (counts_from_segments(config) && begins[d] % kSegment != 0) continue;
      const int64_t end = d + 1 < begins.size() ? begins[d + 1] : kRows;
      const std::vector<float> alone = losses_alone(problem, b, begins[d], end);
      for (size_t i = 0; i < alone.size(); ++i)
        EXPECT_NEAR(losses[static_cast<size_t>(b * kRows + begins[d]) + i], alone[i], 1e-5)
            << "stream " << b << ", document " << d << ", row " << i;
    }
  }
}

// To the bit, also where a memory begins full of zeros.
TEST_P(DocumentsTest, NothingBeforeThemMatters) {
  ModelProblem problem(GetParam().config(), std::ssize(kBegins), kRows);
  const std::vector<float> before = losses_of_streams(problem, Tape::Mode::kTraining);
  constexpr int64_t kChanged = 1;  // the documents up to this one
  for (int64_t b = 0; b < problem.streams(); ++b) {
    for (int64_t row = 0; row < kRows; ++row) {
      int32_t& token = problem.tokens.as<int32_t>()[b * kRows + row];
      if (document_of(b, row) <= kChanged) token = (token + 1) % static_cast<int32_t>(ModelProblem::kVocabulary);
    }
  }
  const std::vector<float> after = losses_of_streams(problem, Tape::Mode::kTraining);
  for (int64_t b = 0; b < problem.streams(); ++b) {
    for (int64_t row = 0; row < kRows; ++row) {
      const auto i = static_cast<size_t>(b * kRows + row);
      if (document_of(b, row) <= kChanged) continue;
      EXPECT_EQ(after[i], before[i]) << "stream " << b << ", row " << row;
    }
  }
  EXPECT_NE(after, before);
}

}  // namespace
}  // namespace segue

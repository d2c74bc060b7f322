// What kinds of memory cannot go with: the message names both keys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/core/config/error_with.h"

namespace segue {
namespace {

using ::testing::HasSubstr;

TEST(MemoryCombinations, DocumentsBeginWithoutZeros) {
  EXPECT_EQ(error_with({"data.document_boundary=a", "model.memory.initial=zeros"}),
            "c: model.memory.initial: expected \"empty\" with data.document_boundary, found \"zeros\"");
  EXPECT_EQ(error_with({"data.document_boundary=a"}), "no error");
  EXPECT_EQ(error_with({"model.memory.initial=zeros"}), "no error");
}

TEST(MemoryCombinations, MemoryTokensAreReadByEveryTokenAndWrittenOnceASegment) {
  const std::string tokens = R"(model.memory={"kind": "tokens", "tokens": 4})";
  EXPECT_EQ(error_with({tokens, "training.segments_per_step=3"}), "no error");
  EXPECT_THAT(error_with({R"(model.memory={"kind": "tokens", "tokens": 0})"}), HasSubstr("model.memory.tokens"));
  EXPECT_THAT(error_with({"model.memory.tokens=4"}), HasSubstr("model.memory.tokens"));
  EXPECT_EQ(error_with({"training.segments_per_step=3"}),
            "c: training.segments_per_step: expected 1 with model.memory.kind = \"hidden_states\", through which no "
            "gradient passes; found 3");
  EXPECT_EQ(error_with({tokens, "training.segments_per_step=3", "training.loss_part=half"}),
            "c: training.loss_part: expected \"full\" with training.segments_per_step = 3, found \"half\"");
  EXPECT_EQ(error_with({tokens, "training.segments_per_step=2", "training.max_step=9",
                        R"(training.stages=[{"until_step": 3, "tgt_len": 8, "mem_len": 0, "segments_per_step": 3}])"}),
            "c: training.stages[0].segments_per_step: expected at most training.segments_per_step = 2, found 3");
  EXPECT_EQ(
      error_with({tokens, "data.document_boundary=a"}),
      "c: data.document_boundary: expected \"\" with model.memory.kind = \"tokens\", whose tokens are written once "
      "a segment, wherever documents end in it; found \"a\"");
  EXPECT_EQ(error_with({tokens, "model.visibility.kind=window", "model.visibility.window=9"}),
            "c: model.visibility.kind: expected \"causal\", as every token reads all memory tokens, with "
            "model.memory.kind = \"tokens\", found \"window\"");
  EXPECT_EQ(error_with({tokens, "model.visibility.same_length=true"}),
            "c: model.visibility.same_length: expected false, as every token reads all memory tokens, with "
            "model.memory.kind = \"tokens\", found true");
  EXPECT_EQ(
      error_with({tokens, "model.objective.kind=masked", "model.visibility.kind=full", "model.position.kind=rope"}),
      "c: model.objective.kind: expected \"next_token\" with model.memory.kind = \"tokens\", found \"masked\"");
}

}  // namespace
}  // namespace segue

// Every memory with every segment, and lengths of training where none are asked for.
#include "core/evaluation/evaluation_lengths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace segue {
namespace {

using testing::ElementsAre;
using testing::Pair;

std::vector<std::pair<int64_t, int64_t>> points(const std::vector<int64_t>& tgt_len,
                                                const std::vector<int64_t>& mem_len) {
  std::vector<std::pair<int64_t, int64_t>> found;
  for (const EvaluationPoint& point : every_point(tgt_len, mem_len, {.tgt_len = 8, .mem_len = 24}))
    found.emplace_back(point.tgt_len, point.mem_len);
  return found;
}

TEST(EvaluationLengthsTest, EveryMemoryIsMeasuredWithEverySegment) {
  EXPECT_THAT(points({4, 16}, {0, 32}), ElementsAre(Pair(4, 0), Pair(4, 32), Pair(16, 0), Pair(16, 32)));
  EXPECT_THAT(points({}, {0, 32}), ElementsAre(Pair(8, 0), Pair(8, 32)));
  EXPECT_THAT(points({4, 16}, {}), ElementsAre(Pair(4, 24), Pair(16, 24)));
  EXPECT_THAT(points({}, {}), ElementsAre(Pair(8, 24)));
}

}  // namespace
}  // namespace segue

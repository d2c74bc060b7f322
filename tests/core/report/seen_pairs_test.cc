// What heads see in pictures: rows of keys at each position, and heads that differ by draws alone as one.
#include "core/report/seen_pairs.h"

#include <gtest/gtest.h>

#include "core/config/memory_kind.h"
#include "core/config/objective_kind.h"
#include "core/config/visibility_kind.h"

namespace segue::report {
namespace {

using enum PatternKind;
using Keys = std::vector<VisiblePairs::Keys>;

std::vector<VisiblePairs> drawings_of(std::vector<PatternConfig> patterns, int64_t tgt_len) {
  ModelConfig model{.n_layer = 2, .n_head = 2, .mem_len = 4};
  model.visibility = {.kind = VisibilityKind::kSparse, .patterns = std::move(patterns)};
  return seen_pairs(model, tgt_len, "model");
}

TEST(SeenPairs, AreThoseOfEachPosition) {
  const auto drawings = drawings_of({{.kind = kGlobal, .period = 4, .columns = 1}}, 8);
  ASSERT_EQ(drawings.size(), 1U);
  ASSERT_EQ(drawings[0].rows.size(), 8U);
  EXPECT_EQ(drawings[0].rows[4], (Keys{{-4, 4}})) << "from a global position all is seen";
  EXPECT_EQ(drawings[0].rows[6], (Keys{{-4, -4}, {0, 0}, {4, 4}, {6, 6}}));
}

TEST(SeenPairs, OfMoreTokensThanRowsAreAllThatARowsTokensSee) {
  const auto drawings = drawings_of({{.kind = kGlobal, .period = 24, .columns = 1}}, 96);
  ASSERT_EQ(drawings[0].rows.size(), 48U);
  EXPECT_EQ(drawings[0].rows[12], (Keys{{-4, 25}})) << "of tokens 24 and 25";
  EXPECT_EQ(drawings[0].rows[13], (Keys{{0, 0}, {24, 24}, {26, 27}}));
}

TEST(SeenPairs, HeadsThatDrawShareAPicture) {
  const PatternConfig random{.kind = kRandom, .block = 2, .period = 8, .count = 1, .nearest = 1, .farthest = 2};
  const auto drawings = drawings_of({{.window = 1}, random}, 8);
  ASSERT_EQ(drawings.size(), 1U);
  EXPECT_EQ(drawings[0].title, "model; one of 4 draws");
}

TEST(SeenPairs, OfAGlobalStreamAreItsRowsBeforeTheSegments) {
  ModelConfig model{.n_layer = 1, .n_head = 2, .mem_len = 4};
  model.objective.kind = ObjectiveKind::kMasked;
  model.visibility = {.kind = VisibilityKind::kSparse, .patterns = {{.window = 2}}};
  model.global_stream.tokens = 3;
  const auto drawings = seen_pairs(model, 5, "");
  ASSERT_EQ(drawings.size(), 1U);
  EXPECT_EQ(drawings[0].segment, 3 + 5);
  EXPECT_EQ(drawings[0].global_tokens, 3);
  EXPECT_EQ(drawings[0].rows[1], (Keys{{-4, 7}}));
  EXPECT_EQ(drawings[0].rows[5], (Keys{{0, 2}, {4, 6}}));
}

TEST(SeenPairs, OfAMemoryThatCompressesAreAllItsRows) {
  ModelConfig model{.n_layer = 2, .n_head = 2, .mem_len = 4};
  model.memory = {.kind = MemoryKind::kCompressed, .compressed_len = 5, .compression_rate = 3};
  const auto drawings = seen_pairs(model, 4, "");
  ASSERT_EQ(drawings.size(), 1U);
  EXPECT_EQ(drawings[0].memory, 5 + 4 + 2);
  EXPECT_EQ(drawings[0].rows[1], (Keys{{-11, 1}}));
  EXPECT_NE(count_seen_pairs(model, 4).find("of segment 4 and memory 11"), std::string::npos);
}

}  // namespace
}  // namespace segue::report

// Losses of a training that has gone wrong, and of those that have not.
#include "core/train/high_loss_warning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace segue {
namespace {

using testing::HasSubstr;

// The warnings that so many steps of this loss bring, the first of them being number `first`.
int warnings(HighLossWarning& watch, int64_t first, int steps, double loss) {
  int count = 0;
  for (int i = 0; i < steps; ++i) count += watch.take(first + i, loss) ? 1 : 0;
  return count;
}

TEST(HighLossWarning, IsSilentOfADrawnModelAndOfOneThatRecovers) {
  HighLossWarning watch(256);
  EXPECT_EQ(warnings(watch, 1, 40, 5.9), 0);
  EXPECT_EQ(warnings(watch, 41, 49, 50.0), 0);
  EXPECT_EQ(warnings(watch, 90, 100, 3.0), 0);
  EXPECT_FALSE(watch.at_end());
}

TEST(HighLossWarning, WarnsOnceAndAtTheEnd) {
  HighLossWarning watch(256);
  EXPECT_EQ(warnings(watch, 1, 10, 5.6), 0);
  EXPECT_EQ(warnings(watch, 11, 300, 1.9e6), 1);
  ASSERT_TRUE(watch.at_end());
  EXPECT_THAT(*watch.at_end(), HasSubstr("a loss of 1.9e+06, above 6.600 in 50 of the last 50 steps"));
  EXPECT_THAT(*watch.at_end(), HasSubstr("costs 5.545"));
}

TEST(HighLossWarning, WarnsOfAModelThatForgetsWhatItHadLearned) {
  HighLossWarning watch(256);
  EXPECT_EQ(warnings(watch, 1, 60, 1.0), 0);
  EXPECT_EQ(warnings(watch, 61, 60, 4.0), 1);
}

TEST(HighLossWarning, SaysAtOnceThatALossIsFarAboveAUniformGuess) {
  HighLossWarning watch(256);
  EXPECT_FALSE(watch.take(1, 5.6));
  EXPECT_EQ(watch.take(2, 2.1e7),
            "step 2: the loss is 2.1e+07, more than 10 times what a uniform guess costs, 5.545: lower optimizer.lr, or "
            "look at the data");
  EXPECT_EQ(warnings(watch, 3, 100, 2.1e7), 0);
}

TEST(HighLossWarning, JudgesAShortRunAsAWhole) {
  HighLossWarning watch(2);
  EXPECT_EQ(warnings(watch, 1, 5, 6.0), 0);
  EXPECT_TRUE(watch.at_end());
  HighLossWarning sound(2);
  EXPECT_EQ(warnings(sound, 1, 5, 1.1), 0);
  EXPECT_FALSE(sound.at_end());
  EXPECT_FALSE(HighLossWarning(2).at_end());
}

}  // namespace
}  // namespace segue

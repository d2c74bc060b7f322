// What other programs call a key or a flag, and that nothing is found for what nobody calls so.
#include "base/key_synonyms.h"

#include <gtest/gtest.h>

#include <vector>

namespace segue {
namespace {

std::string meant(std::string_view word, const std::vector<std::string>& known) {
  const std::optional<MeantKey> found = meant_by_others(word, known);
  return found ? found->text() : "";
}

TEST(KeySynonyms, NeitherCaseNorDashesCount) {
  const std::vector<std::string> known{"optimizer.lr", "model.n_layer", "training.max_step"};
  for (const char* word : {"learning_rate", "learning-rate", "learningRate", "LEARNING_RATE"})
    EXPECT_EQ(meant(word, known), "optimizer.lr") << word;
  EXPECT_EQ(meant("num_hidden_layers", known), "model.n_layer");
}

TEST(KeySynonyms, SayWhereItIsNotQuiteTheSame) {
  EXPECT_EQ(meant("num_train_epochs", {{"training.max_step"}}), "training.max_step, which counts steps");
  EXPECT_EQ(meant("max_iters", {{"training.max_step"}}), "training.max_step");
}

TEST(KeySynonyms, FindOnlyWhatIsKnown) {
  EXPECT_EQ(meant("block_size", {{"tgt_len"}}), "tgt_len");
  EXPECT_EQ(meant("block_size", {{"training.tgt_len"}}), "training.tgt_len");
  EXPECT_EQ(meant("block_size", {{"stride"}}), "");
  EXPECT_EQ(meant("learning_rates", {{"optimizer.lr"}}), "");
  EXPECT_EQ(meant("", {{"optimizer.lr"}}), "");
}

}  // namespace
}  // namespace segue

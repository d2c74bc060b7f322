// A program without the library says so.
#include "data_pipeline/tokenizer/sentencepiece_tokenizer.h"
#include "tests/data_pipeline/tokenizer/testing.h"

namespace segue {
namespace {

TEST(NoSentencePieceTest, EveryWayToItIsRefused) {
  const auto says = ::testing::HasSubstr("this program was built without it");
  EXPECT_THAT(message_of<UsageError>([] { make_sentencepiece_learner(300); }), says);
  EXPECT_THAT(message_of<UsageError>([] { read_sentencepiece_model("", "model"); }), says);
  EXPECT_THAT(message_of<UsageError>([] { load_sentencepiece_tokenizer({}, "", "model"); }), says);
}

}  // namespace
}  // namespace segue

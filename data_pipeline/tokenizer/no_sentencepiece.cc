// SentencePiece in a program built without it.
#include "base/error.h"
#include "data_pipeline/tokenizer/sentencepiece_tokenizer.h"

namespace segue {
namespace {

[[noreturn]] void refuse() {
  throw UsageError(
      "tokenizer sentencepiece: this program was built without it; install libsentencepiece-dev, build again");
}

}  // namespace

std::unique_ptr<TokenizerLearner> make_sentencepiece_learner(int64_t /*vocabulary_size*/) { refuse(); }

std::unique_ptr<Tokenizer> read_sentencepiece_model(const std::string& /*model*/, const std::string& /*source*/) {
  refuse();
}

std::unique_ptr<Tokenizer> load_sentencepiece_tokenizer(const TokenizerInfo& /*info*/, const std::string& /*model*/,
                                                        const std::string& /*source*/) {
  refuse();
}

}  // namespace segue

// Subwords by the SentencePiece library, in such a way that no byte of the text is lost.
//
// Text is encoded line by line: line feeds, and the character U+2581 by which pieces write a space, become byte pieces.
// Where the program was built without the library, these functions throw UsageError.
#pragma once

#include <memory>
#include <string>

#include "data_pipeline/tokenizer/tokenizer.h"

namespace segue {

// From the text of split train, of which lines with at most `kMostTrainingBytes` together are taken at equal distances:
// a unigram model of `vocabulary_size` pieces, a byte piece for each byte among them. The same text gives the same
// model. Throws DataError naming file and byte for text that is not UTF-8, and when the text is too small.
constexpr int64_t kMostTrainingBytes = int64_t{16} << 20;
std::unique_ptr<TokenizerLearner> make_sentencepiece_learner(int64_t vocabulary_size);

// A model made elsewhere; `source` names it in messages.
std::unique_ptr<Tokenizer> read_sentencepiece_model(const std::string& model, const std::string& source);

std::unique_ptr<Tokenizer> load_sentencepiece_tokenizer(const TokenizerInfo& info, const std::string& model,
                                                        const std::string& source);

}  // namespace segue

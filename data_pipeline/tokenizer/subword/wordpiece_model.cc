// The longest token that begins a word, then the longest that goes on with it.
#include "data_pipeline/tokenizer/subword/byte_trie.h"
#include "data_pipeline/tokenizer/subword/subword_model.h"
#include "data_pipeline/tokenizer/subword/subword_text.h"

namespace segue {
namespace {

class WordPieceModel : public SubwordModel {
 public:
  WordPieceModel(const SubwordVocabulary& vocabulary, const WordPieceOptions& options) : options_(options) {
    for (int64_t token = 0; token < vocabulary.size(); ++token)
      if (vocabulary.has(token)) trie_.insert(vocabulary.text(token), token);
    within_ = trie_.walk(options.prefix);
  }

  void encode(std::string_view piece, bool /*is_part*/, std::vector<SubwordToken>& tokens) const override {
    const size_t first = tokens.size();
    if (is_short(piece) && add_tokens(piece, tokens)) return;
    tokens.resize(first);
    if (options_.unknown < 0) throw SubwordError{"no tokens for a word, and no unknown token"};
    tokens.push_back({static_cast<uint32_t>(options_.unknown), 0});
  }

 private:
  bool is_short(std::string_view piece) const {
    int64_t characters = 0;
    for (size_t at = 0; at < piece.size(); at += options_.bytes ? 1 : character_size(piece[at]))
      if (++characters > options_.longest_word) return false;
    return true;
  }

  bool add_tokens(std::string_view piece, std::vector<SubwordToken>& tokens) const {
    for (size_t at = 0; at < piece.size();) {
      if (at > 0 && !within_) return false;
      const ByteTrie::Match match = trie_.longest_prefix(piece.substr(at), at > 0 ? *within_ : ByteTrie::kRoot);
      if (match.length == 0) return false;
      tokens.push_back({static_cast<uint32_t>(match.value), static_cast<uint32_t>(at)});
      at += match.length;
    }
    return true;
  }

  WordPieceOptions options_;
  ByteTrie trie_;
  std::optional<ByteTrie::Node> within_;  // behind the prefix of tokens that go on
};

}  // namespace

std::unique_ptr<SubwordModel> make_wordpiece_model(const SubwordVocabulary& vocabulary,
                                                   const WordPieceOptions& options) {
  return std::make_unique<WordPieceModel>(vocabulary, options);
}

}  // namespace segue

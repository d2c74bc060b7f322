// The most probable segmentation by Viterbi's algorithm.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "data_pipeline/tokenizer/subword/byte_trie.h"
#include "data_pipeline/tokenizer/subword/subword_model.h"
#include "data_pipeline/tokenizer/subword/subword_text.h"

namespace segue {
namespace {

constexpr double kUnknownPenalty = 10;

class UnigramModel : public SubwordModel {
 public:
  UnigramModel(const std::vector<UnigramEntry>& entries, const UnigramOptions& options) : options_(options) {
    double least = std::numeric_limits<double>::infinity();
    for (const UnigramEntry& entry : entries) {
      trie_.insert(entry.text, std::ssize(scores_));
      scores_.push_back(entry.score);
      least = std::min(least, entry.score);
    }
    unknown_score_ = least - kUnknownPenalty;
    for (int byte = 0; byte < 256; ++byte)
      byte_tokens_.at(static_cast<size_t>(byte)) = find(byte_token_text(static_cast<uint8_t>(byte)));
  }

  void encode(std::string_view piece, bool /*is_part*/, std::vector<SubwordToken>& tokens) const override {
    thread_local std::vector<Node> nodes;
    find_best(piece, nodes);
    take_best(piece, nodes, tokens);
  }

 private:
  // The best way to its position, and the token that ends there.
  struct Node {
    double score = 0;
    int64_t token = 0;
    int64_t begin = -1;  // -1: none yet
  };

  void find_best(std::string_view piece, std::vector<Node>& nodes) const {
    nodes.assign(piece.size() + 1, {});
    for (size_t at = 0; at < piece.size();) {
      const size_t one = options_.bytes ? 1 : character_size(piece[at]);
      const double before = nodes[at].score;
      const auto offer = [&](size_t length, int64_t token, double score) {
        Node& node = nodes[at + length];
        if (node.begin < 0 || score > node.score) node = {score, token, static_cast<int64_t>(at)};
      };
      bool has_one = false;
      trie_.for_each_prefix(piece.substr(at), ByteTrie::kRoot, [&](size_t length, int64_t token) {
        offer(length, token, scores_[static_cast<size_t>(token)] + before);
        has_one |= length == one;
      });
      if (!has_one) {
        if (options_.unknown < 0) throw SubwordError{"no token for a character, and no unknown token"};
        offer(one, options_.unknown, unknown_score_ + before);
      }
      at += one;
    }
  }

  // Tokens from the last to the first; unknown ones in a row are one.
  void take_best(std::string_view piece, const std::vector<Node>& nodes, std::vector<SubwordToken>& tokens) const {
    const size_t first = tokens.size();
    size_t end = piece.size();
    while (end > 0) {
      size_t begin = static_cast<size_t>(nodes[end].begin);
      const int64_t token = nodes[end].token;
      if (token != options_.unknown) {
        tokens.push_back({static_cast<uint32_t>(token), static_cast<uint32_t>(begin)});
      } else {
        while (begin > 0 && nodes[begin].token == options_.unknown) begin = static_cast<size_t>(nodes[begin].begin);
        take_unknown(piece, begin, end, tokens);
      }
      end = begin;
    }
    std::reverse(tokens.begin() + static_cast<int64_t>(first), tokens.end());
  }

  void take_unknown(std::string_view piece, size_t begin, size_t end, std::vector<SubwordToken>& tokens) const {
    const std::string_view text = piece.substr(begin, end - begin);
    const auto has_token = [this](char c) { return byte_tokens_[static_cast<uint8_t>(c)] >= 0; };
    const int64_t known = find(text);
    if (known < 0 && options_.byte_fallback && std::all_of(text.begin(), text.end(), has_token)) {
      for (size_t at = end; at > begin; --at)
        tokens.push_back(
            {static_cast<uint32_t>(byte_tokens_[static_cast<uint8_t>(piece[at - 1])]), static_cast<uint32_t>(at - 1)});
    } else {
      tokens.push_back({static_cast<uint32_t>(known < 0 ? options_.unknown : known), static_cast<uint32_t>(begin)});
    }
  }

  int64_t find(std::string_view text) const {
    const std::optional<ByteTrie::Node> node = trie_.walk(text);
    return node ? trie_.value(*node) : -1;
  }

  UnigramOptions options_;
  ByteTrie trie_;
  std::vector<double> scores_;
  double unknown_score_ = 0;
  std::array<int64_t, 256> byte_tokens_{};
};

}  // namespace

std::unique_ptr<SubwordModel> make_unigram_model(const std::vector<UnigramEntry>& entries,
                                                 const UnigramOptions& options) {
  return std::make_unique<UnigramModel>(entries, options);
}

}  // namespace segue

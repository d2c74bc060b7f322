// Losses of tokens, gathered into words by the text that each token adds.
#include "core/generate/surprisal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/evaluation/loss_units.h"
#include "core/memory/memory.h"

namespace segue {

namespace {

constexpr std::string_view kWhiteSpace = " \t\n\r\f\v";

std::string table_cell(const std::string& word) {
  if (word.find_first_of("\"\t\n\r") == std::string::npos) return word;
  std::string cell = "\"";
  for (const char letter : word) {
    if (letter == '"') cell += '"';
    cell += letter;
  }
  return cell + '"';
}

}  // namespace

std::vector<float> token_losses(const ModelInUse& in_use, std::span<const int32_t> tokens, int64_t known,
                                int64_t tgt_len, const std::function<void(int64_t)>& progress) {
  if (known < 1 || known > std::ssize(tokens))
    throw ContractError("token_losses: expected 1 to {} known tokens, found {}", tokens.size(), known);
  SegmentEngine engine(in_use, Tape::Mode::kEvaluation);
  const std::unique_ptr<Memory> memory = make_frozen_memory(in_use, 1, tgt_len);
  std::vector<float> losses;
  const int64_t targets = std::ssize(tokens) - 1;
  for (int64_t begin = 0; begin < targets; begin += tgt_len) {
    const Shape shape{1, std::min(tgt_len, targets - begin)};
    const auto nll = engine
                         .run({.tokens = view_of(tokens.data() + begin, shape),
                               .targets = view_of(tokens.data() + begin + 1, shape),
                               .info = {}},
                              *memory)
                         .nll;
    const auto broken = std::find_if(nll.begin(), nll.end(), [](float loss) { return !std::isfinite(loss); });
    if (broken != nll.end())
      throw DivergedError("the loss of token {} is {}", begin + (broken - nll.begin()) + 1, *broken);
    losses.insert(losses.end(), nll.begin(), nll.end());
    if (progress) progress(begin + shape[1]);
  }
  losses.erase(losses.begin(), losses.begin() + (known - 1));
  return losses;
}

std::vector<WordSurprisal> word_surprisals(const Tokenizer& tokenizer, std::span<const int32_t> tokens, int64_t begin,
                                           std::span<const float> losses) {
  const auto known = std::ssize(tokens) - std::ssize(losses);
  std::string text = tokenizer.decode(tokens.first(static_cast<size_t>(begin)));
  std::vector<WordSurprisal> words;
  WordSurprisal word;
  for (int64_t i = begin; i < std::ssize(tokens); ++i) {
    const size_t before = text.size();
    tokenizer.decode_onto(tokens[static_cast<size_t>(i)], text);
    const std::string_view added = std::string_view(text).substr(before);
    const size_t first = added.find_first_not_of(kWhiteSpace);
    if (first != 0 && !word.word.empty()) words.push_back(std::exchange(word, {}));
    if (i < known) word.bits.reset();
    if (word.bits) *word.bits += bits_of(static_cast<double>(losses[static_cast<size_t>(i - known)]));
    ++word.tokens;
    if (first != std::string_view::npos) word.word += added.substr(first);
  }
  if (!word.word.empty()) words.push_back(std::move(word));
  return words;
}

std::string surprisal_table(const std::vector<WordSurprisal>& words) {
  std::string table = "word\tbits\ttokens\n";
  for (const WordSurprisal& word : words)
    table += fmt::format("{}\t{}\t{}\n", table_cell(word.word), word.bits ? fmt::format("{:.4f}", *word.bits) : "",
                         word.tokens);
  return table;
}

}  // namespace segue

// Losses of tokens, gathered into words by the text that each token adds.
#include "core/generate/surprisal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "core/evaluation/loss_units.h"
#include "core/memory/memory.h"
#include "data_pipeline/tokenizer/word_scanner.h"

namespace segue {

namespace {

// What a byte of a text belongs to.
enum class Place : uint8_t { kWord, kSpace, kLineEnd };

std::vector<Place> places_of(std::string_view text) {
  std::vector<Place> places(text.size(), Place::kWord);
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = white_space_at(text.substr(at));
    const bool ends_line = text[at] == '\n' || (text[at] == '\r' && text.substr(at + 1, 1) != "\n");
    if (bytes > 0)
      std::fill_n(places.begin() + static_cast<ptrdiff_t>(at), bytes, ends_line ? Place::kLineEnd : Place::kSpace);
    at += std::max<size_t>(bytes, 1);
  }
  return places;
}

// Puts tokens together, each by the places of the text that it adds.
class SurprisalRows {
 public:
  void add(std::string_view text, std::span<const Place> places, std::optional<double> bits, bool is_unknown) {
    const auto first = std::ranges::find(places, Place::kWord) - places.begin();
    const bool has_word = first < std::ssize(places);
    if (!places.empty() && (!has_word || first > 0 || is_word_over_)) end_word();
    if (has_word) {
      const auto behind = std::ranges::find(places.rbegin(), places.rend(), Place::kWord).base() - places.begin();
      row_.word += text.substr(static_cast<size_t>(first), static_cast<size_t>(behind - first));
      is_word_over_ = behind < std::ssize(places);
    }
    row_.bits = row_.bits && bits ? std::optional(*row_.bits + *bits) : std::nullopt;
    ++row_.tokens;
    row_.unknown += is_unknown ? 1 : 0;
    if (!has_word && std::ranges::find(places, Place::kLineEnd) != places.end()) end_row(SurprisalKind::kLineEnd);
  }

  std::vector<Surprisal> finish() {
    end_word();
    if (row_.tokens > 0) end_row(SurprisalKind::kWhiteSpace);
    return std::move(rows_);
  }

 private:
  void end_word() {
    if (!row_.word.empty()) end_row(SurprisalKind::kWord);
  }
  void end_row(SurprisalKind kind) {
    row_.kind = kind;
    rows_.push_back(std::exchange(row_, {}));
    is_word_over_ = false;
  }

  std::vector<Surprisal> rows_;
  Surprisal row_;
  bool is_word_over_ = false;
};

std::string_view name_of(SurprisalKind kind) {
  switch (kind) {
    case SurprisalKind::kWord:
      return "word";
    case SurprisalKind::kLineEnd:
      return "line end";
    case SurprisalKind::kWhiteSpace:
      return "white space";
  }
  throw ContractError("a row of kind {}", static_cast<int>(kind));
}

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
      throw DivergedError("the loss of token {} of {} is {}", begin + (broken - nll.begin()) + 1, tokens.size(),
                          non_finite(*broken));
    losses.insert(losses.end(), nll.begin(), nll.end());
    if (progress) progress(begin + shape[1]);
  }
  losses.erase(losses.begin(), losses.begin() + (known - 1));
  return losses;
}

std::vector<Surprisal> surprisals(const Tokenizer& tokenizer, const TextTokens& read, std::span<const float> losses) {
  const std::vector<TokenText> tokens = texts_of_tokens(tokenizer, read);
  std::string text;
  for (const TokenText& token : tokens) text += token.added;
  const std::vector<Place> places = places_of(text);
  const int64_t unscored = std::ssize(tokens) - std::ssize(losses);
  SurprisalRows rows;
  size_t begin = 0;
  for (int64_t i = 0; i < std::ssize(tokens); ++i) {
    const TokenText& token = tokens[static_cast<size_t>(i)];
    std::optional<double> bits;
    if (i >= unscored) bits = bits_of(static_cast<double>(losses[static_cast<size_t>(i - unscored)]));
    rows.add(token.added, std::span(places).subspan(begin, token.added.size()), bits, token.is_unknown);
    begin += token.added.size();
  }
  return rows.finish();
}

std::string surprisal_table(const std::vector<Surprisal>& rows) {
  std::string table = "word\tbits\ttokens\tunknown\n";
  for (const Surprisal& row : rows)
    table += fmt::format("{}\t{}\t{}\t{}\n",
                         row.kind == SurprisalKind::kWord ? table_cell(row.word) : std::string(name_of(row.kind)),
                         row.bits ? fmt::format("{:.4f}", *row.bits) : "", row.tokens, row.unknown);
  return table;
}

std::optional<double> SurprisalSums::Sum::mean() const {
  return scored > 0 ? std::optional(bits / static_cast<double>(scored)) : std::nullopt;
}

SurprisalSums sums_of(const std::vector<Surprisal>& rows) {
  SurprisalSums sums;
  for (const Surprisal& row : rows) {
    const bool is_word = row.kind == SurprisalKind::kWord;
    SurprisalSums::Sum& sum = is_word                               ? sums.words
                              : row.kind == SurprisalKind::kLineEnd ? sums.line_ends
                                                                    : sums.white_space;
    ++sum.count;
    sum.scored += row.bits ? 1 : 0;
    sum.unknown += row.unknown > 0 ? 1 : 0;
    sum.bits += row.bits.value_or(0.0);
  }
  return sums;
}

std::string describe_surprisals(const SurprisalSums& sums) {
  std::string text;
  const auto add = [&text](const SurprisalSums::Sum& sum, std::string_view what) {
    if (sum.count == 0) return;
    text +=
        fmt::format("{}{} {}{}, ", text.empty() ? "" : "; ", human_count(sum.count), what, sum.count == 1 ? "" : "s");
    if (sum.scored > 0) text += fmt::format("{:.3f} bits per {}", *sum.mean(), what);
    if (sum.scored > 0 && sum.scored < sum.count) text += ", the first ";
    if (sum.scored < sum.count) text += "not scored: nothing comes before it";
  };
  add(sums.words, "word");
  add(sums.line_ends, "line end");
  if (sums.white_space.count > 0)
    text += fmt::format("{}white space at the end, {}", text.empty() ? "" : "; ",
                        sums.white_space.scored > 0 ? fmt::format("{:.3f} bits", sums.white_space.bits)
                                                    : "not scored: nothing comes before it");
  return text;
}

OrderedJson surprisals_json(const std::vector<Surprisal>& rows) {
  const SurprisalSums sums = sums_of(rows);
  const auto or_null = [](const std::optional<double>& bits) { return bits ? OrderedJson(*bits) : OrderedJson(); };
  const auto json_of = [&](const SurprisalSums::Sum& sum) {
    return OrderedJson{{"count", sum.count},
                       {"scored", sum.scored},
                       {"unknown", sum.unknown},
                       {"bits", sum.bits},
                       {"mean", or_null(sum.mean())}};
  };
  OrderedJson json{{"words", json_of(sums.words)},
                   {"line_ends", json_of(sums.line_ends)},
                   {"white_space", json_of(sums.white_space)},
                   {"rows", OrderedJson::array()}};
  for (const Surprisal& row : rows)
    json["rows"].push_back({{"kind", name_of(row.kind)},
                            {"word", row.kind == SurprisalKind::kWord ? OrderedJson(row.word) : OrderedJson()},
                            {"bits", or_null(row.bits)},
                            {"tokens", row.tokens},
                            {"unknown_tokens", row.unknown}});
  return json;
}

}  // namespace segue

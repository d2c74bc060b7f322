// Sample text: which tokens cost how much, and which of them memory helped.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/text.h"
#include "core/drawing/markup.h"
#include "core/drawing/numbers.h"
#include "core/drawing/shaded_text.h"
#include "core/report/commands.h"
#include "core/report/sections.h"

namespace segue::report {

namespace {

constexpr size_t kMostTokens = 1200;  // of one evaluation
constexpr size_t kMostHelped = 12;

// Results between which memory makes the difference.
struct MemoryPair {
  std::optional<size_t> without;
  std::optional<size_t> longest;
};

MemoryPair memory_pair(const Evaluation& evaluation) {
  MemoryPair pair;
  for (size_t i = 0; i < evaluation.results.size(); ++i) {
    const EvaluatedLength& result = evaluation.results[i];
    if (result.is_recomputed) continue;
    if (result.mem_len == 0 && !pair.without) pair.without = i;
    if (!pair.longest || result.mem_len > evaluation.results[*pair.longest].mem_len) pair.longest = i;
  }
  if (pair.without == pair.longest) pair.without.reset();
  return pair;
}

double bits(double nats) { return nats / std::numbers::ln2; }

std::vector<ShadedToken> losses_of(const Evaluation& evaluation, size_t result) {
  std::vector<ShadedToken> tokens;
  for (const SampleToken& token : evaluation.sample) {
    ShadedToken shaded{.text = token.text, .value = {}, .title = ""};
    if (const std::optional<double>& nll = token.nll[result]) {
      shaded.value = bits(*nll);
      shaded.title =
          fmt::format("{} bits, probability {} %", fixed(bits(*nll), 2), significant(100.0 * std::exp(-*nll), 2));
    }
    tokens.push_back(std::move(shaded));
    if (tokens.size() == kMostTokens) break;
  }
  return tokens;
}

std::vector<ShadedToken> differences_of(const Evaluation& evaluation, size_t without, size_t longest) {
  std::vector<ShadedToken> tokens;
  for (const SampleToken& token : evaluation.sample) {
    ShadedToken shaded{.text = token.text, .value = {}, .title = ""};
    const std::optional<double>& before = token.nll[without];
    const std::optional<double>& after = token.nll[longest];
    if (before && after) {
      shaded.value = bits(*before - *after);
      shaded.title = fmt::format("{} bits without memory, {} with it", fixed(bits(*before), 2), fixed(bits(*after), 2));
    }
    tokens.push_back(std::move(shaded));
    if (tokens.size() == kMostTokens) break;
  }
  return tokens;
}

// The text around a token, with the token itself between marks.
std::string surroundings(const std::vector<ShadedToken>& tokens, size_t place) {
  constexpr int64_t kMostLetters = 32;
  std::string before;
  for (size_t i = place; i > 0 && character_count(before) < kMostLetters; --i) before.insert(0, tokens[i - 1].text);
  std::string after;
  for (size_t i = place + 1; i < tokens.size() && character_count(after) < kMostLetters; ++i) after += tokens[i].text;
  std::string text = fmt::format("{}\xE2\x80\xB9{}\xE2\x80\xBA{}", before, tokens[place].text, after);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

Table most_helped(const std::vector<ShadedToken>& differences) {
  std::vector<size_t> order;
  for (size_t i = 0; i < differences.size(); ++i) {
    if (differences[i].value) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return *differences[a].value > *differences[b].value; });
  order.resize(std::min(order.size(), kMostHelped));
  Table table{.head = {"token, in its text", "bits that memory saved"}, .rows = {}};
  for (const size_t i : order) table.rows.push_back({surroundings(differences, i), fixed(*differences[i].value, 2)});
  return table;
}

// The evaluation of a run whose text tells most: one that was read with and without memory, where there is one.
const Evaluation* sampled_evaluation(const RunData& run) {
  const Evaluation* chosen = nullptr;
  for (const Evaluation& evaluation : run.evaluations) {
    if (evaluation.sample.empty() || evaluation.results.empty()) continue;
    if (memory_pair(evaluation).without) return &evaluation;
    if (chosen == nullptr) chosen = &evaluation;
  }
  return chosen;
}

std::string context_text(const EvaluatedLength& result) {
  if (result.is_recomputed) return fmt::format("in windows of {}", human_count(result.tgt_len));
  if (result.mem_len == 0) return fmt::format("in segments of {} without memory", human_count(result.tgt_len));
  return fmt::format("with {} of memory", counted(result.mem_len, "token"));
}

void add_sample(Page& page, const std::string& name, const Evaluation& evaluation) {
  const MemoryPair pair = memory_pair(evaluation);
  const size_t shown = pair.longest.value_or(evaluation.results.size() - 1);
  const EvaluatedLength& result = evaluation.results[shown];
  const std::vector<ShadedToken> losses = losses_of(evaluation, shown);
  page.figure(
      {.html = losses_html(losses, deepest_of(losses)),
       .caption = fmt::format("Text of {} from token {} on as {} reads it {}: the deeper the shade, the less a "
                              "token was expected.",
                              evaluation.split, human_count(evaluation.sample_offset), name, context_text(result))});
  if (!pair.without) return;
  const std::vector<ShadedToken> differences = differences_of(evaluation, *pair.without, shown);
  page.figure({.html = differences_html(differences, deepest_of(differences)),
               .caption = fmt::format("The same text, shaded by what {} of memory changed for {}: blue tokens "
                                      "became likelier than without memory, orange ones less likely.",
                                      counted(result.mem_len, "token"), name),
               .table = most_helped(differences),
               .table_name = "Where memory helped most"});
}

}  // namespace

// Of masked models no neighbouring tokens are evaluated.
void add_shaded_text(Page& page, const ReportData& data) {
  const auto is_masked = [](const RunData& run) { return run.config.model.objective.is_masked(); };
  if (std::ranges::all_of(data.runs, is_masked)) return;
  page.section("text", "Text, token by token");
  bool is_empty = true;
  for (const RunData& run : data.runs) {
    const Evaluation* evaluation = sampled_evaluation(run);
    if (evaluation == nullptr) continue;
    is_empty = false;
    add_sample(page, run.name, *evaluation);
  }
  if (is_empty)
    page.missing("There is no evaluation of a text that can be decoded yet; make one with",
                 evaluation_command(data.runs.front(), "--name memory --per-token"));
}

}  // namespace segue::report

#include "core/compare/compared_answers.h"

#include <algorithm>

#include "base/error.h"
#include "core/compare/compared_runs.h"

namespace segue {

namespace {

using report::Answers;
using report::AnswerShare;

bool is_of_same(const report::AnswersOfExamples& a, const report::AnswersOfExamples& b) {
  return a.tokens == b.tokens && a.traits == b.traits && a.share.answers == b.share.answers;
}

bool is_at_same(const report::AnswersAtDistance& a, const report::AnswersAtDistance& b) {
  return a.from == b.from && a.to == b.to && a.share.answers == b.share.answers;
}

bool are_alike(const Answers& a, const Answers& b) {
  return std::ranges::equal(a.by_examples, b.by_examples, is_of_same) &&
         std::ranges::equal(a.by_distance, b.by_distance, is_at_same);
}

const Answers* first_of(const std::vector<const Answers*>& of_seeds) {
  const auto found = std::ranges::find_if(of_seeds, [](const Answers* answers) { return answers != nullptr; });
  return found == of_seeds.end() ? nullptr : *found;
}

template <typename ShareOf>
std::vector<std::optional<AnswerShare>> collect(const std::vector<const Answers*>& of_seeds, const ShareOf& share_of) {
  std::vector<std::optional<AnswerShare>> shares;
  for (const Answers* answers : of_seeds)
    shares.push_back(answers == nullptr ? std::nullopt : std::optional<AnswerShare>(share_of(*answers)));
  return shares;
}

template <typename ShareOf>
void add_share(OrderedJson& json, const std::vector<const Answers*>& of_seeds, const ShareOf& share_of) {
  const AnswerShare mean = share_over_seeds(collect(of_seeds, share_of));
  json["answers"] = mean.answers;
  json["accuracy"] = mean.accuracy;
  json["seeds"] = OrderedJson::array();
  for (const Answers* answers : of_seeds)
    json["seeds"].push_back(answers == nullptr ? OrderedJson() : OrderedJson(share_of(*answers).accuracy));
}

}  // namespace

std::vector<const Answers*> answers_of_seeds(const ComparisonResult& result, const ComparedVariant& variant,
                                             size_t point) {
  std::vector<const Answers*> answers;
  auto run = variant.runs.begin();
  for (const int64_t seed : result.seeds) {
    answers.push_back(nullptr);
    if (std::ranges::count(variant.diverged, seed) > 0) continue;
    const std::optional<Answers>& found = measured_at(*run, point).answers;
    if (found) answers.back() = &*found;
    const Answers* first = first_of(answers);
    if (first != nullptr && (!found || !are_alike(*first, *found)))
      throw DataError(
          R"({}: evaluation "{}": expected answers to the same examples as from the first seed, found others)",
          run->path.string(), kComparedEvaluation);
    ++run;
  }
  return answers;
}

AnswerShare share_over_seeds(const std::vector<std::optional<AnswerShare>>& of_seeds) {
  AnswerShare mean;
  std::vector<double> accuracies;
  double of_text = 0.0;
  for (const std::optional<AnswerShare>& share : of_seeds) {
    if (!share) continue;
    mean.answers = share->answers;
    accuracies.push_back(share->accuracy);
    mean.accuracy += share->accuracy;
    of_text += share->confidence95.value_or(0.0);
  }
  const auto count = static_cast<double>(accuracies.size());
  mean.accuracy /= count;
  of_text /= count;
  if (of_seeds.size() == 1) mean.confidence95 = of_seeds.front()->confidence95;
  if (accuracies.size() > 1) mean.confidence95 = std::max(*confidence95_over_seeds(accuracies), of_text);
  return mean;
}

report::Shares shares_over_seeds(const std::vector<const Answers*>& of_seeds, const report::SharesOf& shares_of) {
  std::vector<report::Shares> all;
  for (const Answers* answers : of_seeds)
    if (answers != nullptr) all.push_back(shares_of(*answers));
  if (all.empty()) return {};
  report::Shares means = all.front();
  for (size_t i = 0; i < means.size(); ++i) {
    std::vector<std::optional<AnswerShare>> shares(of_seeds.size() - all.size());
    for (const report::Shares& of_seed : all) shares.emplace_back(of_seed[i].share);
    means[i].share = share_over_seeds(shares);
    for (const report::Shares& of_seed : all) means[i].each.push_back(of_seed[i].share.accuracy);
  }
  return means;
}

Answers examples_over_seeds(const std::vector<const Answers*>& of_seeds) {
  const Answers* first = first_of(of_seeds);
  if (first == nullptr) return {};
  Answers means = *first;
  for (size_t i = 0; i < means.by_examples.size(); ++i)
    means.by_examples[i].share =
        share_over_seeds(collect(of_seeds, [i](const Answers& of) { return of.by_examples[i].share; }));
  return means;
}

void add_answers(OrderedJson& json, const std::vector<const Answers*>& of_seeds) {
  json["by_examples"] = OrderedJson::array();
  json["by_distance"] = OrderedJson::array();
  const Answers* first = first_of(of_seeds);
  if (first == nullptr) return;
  for (size_t i = 0; i < first->by_examples.size(); ++i) {
    const report::AnswersOfExamples& examples = first->by_examples[i];
    OrderedJson& line =
        json["by_examples"].emplace_back(OrderedJson{{"tokens", examples.tokens}, {"traits", OrderedJson::object()}});
    for (const auto& [name, value] : examples.traits) line["traits"][name] = value;
    add_share(line, of_seeds, [i](const Answers& of) { return of.by_examples[i].share; });
  }
  for (size_t i = 0; i < first->by_distance.size(); ++i) {
    const report::AnswersAtDistance& at = first->by_distance[i];
    OrderedJson& line = json["by_distance"].emplace_back(OrderedJson{{"from", at.from}, {"to", at.to}});
    add_share(line, of_seeds, [i](const Answers& of) { return of.by_distance[i].share; });
  }
}

}  // namespace segue

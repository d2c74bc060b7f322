// One pass over the marks of a split.
#include "core/evaluation/answer_statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "core/evaluation/student_t.h"

namespace segue {

namespace {

constexpr int64_t kBlock = 1 << 16;
constexpr float kNoAnswer = std::numeric_limits<float>::quiet_NaN();

int64_t region_of(int64_t index, int64_t count) { return index * LossMean::kRegions / count; }

// Walks through the examples of a split, or the one text that it is, token by token.
class ExamplePlace {
 public:
  explicit ExamplePlace(std::span<const ExampleRun> runs) : runs_(runs) {}

  void step() {
    if (++token_ < runs_[run_].tokens) return;
    token_ = 0;
    ++example_;
    if (++of_run_ < runs_[run_].count) return;
    of_run_ = 0;
    ++run_;
  }
  size_t run() const { return run_; }
  int64_t example() const { return example_; }
  int64_t token() const { return token_; }
  int64_t region_of_run() const { return region_of(of_run_, runs_[run_].count); }

 private:
  std::span<const ExampleRun> runs_;
  size_t run_ = 0;
  int64_t of_run_ = 0;   // example of the run
  int64_t example_ = 0;  // of the split
  int64_t token_ = 0;    // of the example
};

// An answer from its first token on, as far as it has been read.
struct Answer {
  int64_t offset = 0;
  int64_t distance = 0;
  bool is_known = true;                                   // all its tokens were evaluated
  float margin = std::numeric_limits<float>::infinity();  // the smallest of its tokens
  ExamplePlace place;
  bool is_right() const { return margin > 0.0F; }
};

class Counter {
 public:
  Counter(const SplitInfo& split) : split_(split) {
    found_.right.assign(static_cast<size_t>(split.tokens), kNoAnswer);
    if (!split.examples) return;
    for (const ExampleRun& run : *split.examples) found_.by_run.push_back({run, {}});
  }

  void add(const Answer& answer) {
    if (!answer.is_known) return;
    const bool has_runs = !found_.by_run.empty();
    const int64_t region = has_runs ? answer.place.region_of_run() : region_of(answer.offset, split_.tokens);
    const int64_t example = has_runs ? answer.place.example() : region;
    const bool is_right = answer.is_right();
    found_.right[static_cast<size_t>(answer.offset)] = is_right ? 1.0F : 0.0F;
    found_.total.add(region, example, is_right);
    if (has_runs) {
      found_.by_run[answer.place.run()].answers.add(region, example, is_right);
      add_to_example(answer);
    }
    if (answer.distance > 0) bin_of(answer.distance).answers.add(region, example, is_right);
  }

  AnswerStatistics finish() {
    end_example();
    std::erase_if(found_.by_distance, [](const AnswerStatistics::Bin& bin) { return bin.answers.answers() == 0; });
    return std::move(found_);
  }

 private:
  // 1, 2, 3 to 4, 5 to 8, ...
  AnswerStatistics::Bin& bin_of(int64_t distance) {
    const auto bin = static_cast<size_t>(std::bit_width(static_cast<uint64_t>(distance - 1)));
    while (found_.by_distance.size() <= bin) {
      const int64_t to = int64_t{1} << found_.by_distance.size();
      found_.by_distance.push_back({to / 2 + 1, to, {}});
    }
    return found_.by_distance[bin];
  }

  void add_to_example(const Answer& answer) {
    if (answer.place.example() != example_.index) end_example();
    example_.index = answer.place.example();
    example_.begin = answer.offset - answer.place.token();
    ++example_.answers;
    if (answer.is_right()) {
      ++example_.right;
    } else if (example_.answers - example_.right == 1) {
      example_.first_wrong = answer.offset;
      example_.distance = answer.distance;
      example_.margin = answer.margin;
    }
  }

  void end_example() {
    const auto is_harder = [](const AnswerStatistics::Example& a, const AnswerStatistics::Example& b) {
      const int64_t left = a.right * b.answers;
      const int64_t right = b.right * a.answers;
      if (left != right) return left < right;
      return a.answers != b.answers ? a.answers > b.answers : a.margin < b.margin;
    };
    if (example_.right < example_.answers) {
      auto& hardest = found_.hardest;
      hardest.insert(std::upper_bound(hardest.begin(), hardest.end(), example_, is_harder), example_);
      if (hardest.size() > AnswerStatistics::kHardest) hardest.pop_back();
    }
    example_ = {};
  }

  const SplitInfo& split_;
  AnswerStatistics found_;
  AnswerStatistics::Example example_;  // whose answers are being counted
};

}  // namespace

void AnswerMean::add(int64_t region, int64_t example, bool is_right) {
  right_.add(region, is_right ? 1.0 : 0.0);
  examples_ += example == last_example_ ? 0 : 1;
  last_example_ = example;
}

double AnswerMean::confidence95() const {
  constexpr double kManyDegrees = 1e6;
  const double share = mean();
  const double variance = share * (1.0 - share);
  const std::optional<StandardError> error = right_.standard_error();
  // No smaller than the error of one answer, which stands for none.
  const double of_one = 1.0 / static_cast<double>(answers());
  const bool has_spread = error && error->value > of_one && variance > 0.0;
  const double t = student_t_critical(0.05, has_spread ? error->degrees_of_freedom : kManyDegrees);
  const double count = has_spread ? std::min(static_cast<double>(answers()), variance / (error->value * error->value))
                                  : static_cast<double>(examples_);
  const double shift = t * t / count;
  const double centre = (share + shift / 2.0) / (1.0 + shift);
  const double half = t * std::sqrt(variance / count + shift / (4.0 * count)) / (1.0 + shift);
  return half + std::abs(centre - share);
}

AnswerStatistics count_answers(TokenSource& source, std::span<const float> margins) {
  const SplitInfo& split = source.info();
  if (std::ssize(margins) != split.tokens)
    throw ContractError("{}: {} margins for {} tokens", source.name(), margins.size(), split.tokens);
  Counter counter(split);
  const std::vector<ExampleRun> runs = split.runs();
  ExamplePlace place(runs);
  std::vector<TokenMark> marks;
  std::optional<Answer> answer;
  for (int64_t begin = 0; begin < split.tokens; begin += kBlock) {
    marks.resize(static_cast<size_t>(std::min(kBlock, split.tokens - begin)));
    source.read_marks(begin, marks);
    for (int64_t i = 0; i < std::ssize(marks); ++i, place.step()) {
      const TokenMark mark = marks[static_cast<size_t>(i)];
      const float margin = margins[static_cast<size_t>(begin + i)];
      if (answer && (place.token() == 0 || !(mark.is_scored() && mark.continues()))) {
        counter.add(*answer);
        answer.reset();
      }
      if (!mark.is_scored()) continue;
      if (!answer) answer.emplace(Answer{.offset = begin + i, .distance = mark.distance(), .place = place});
      answer->is_known = answer->is_known && !std::isnan(margin);
      answer->margin = std::min(answer->margin, margin);
    }
  }
  if (answer) counter.add(*answer);
  return counter.finish();
}

}  // namespace segue

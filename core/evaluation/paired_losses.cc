// Sums by region of every file, one file in memory at a time.
#include "core/evaluation/paired_losses.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/error.h"

namespace segue {

namespace {

// Adds values in regions of as many each, of those that there are, with the bytes of their text, where these are known.
void add_by_region(std::span<const float> values, std::span<const int32_t> bytes, LossMean& mean) {
  const auto count = std::ranges::count_if(values, [](float value) { return !std::isnan(value); });
  int64_t before = 0;
  for (size_t i = 0; i < values.size(); ++i)
    if (!std::isnan(values[i]))
      mean.add(before++ * LossMean::kRegions / count, values[i], bytes.empty() ? 0 : bytes[i]);
}

// A region has its share of every run of examples, so that what one run has above another does not tell regions apart.
LossMean by_region(std::span<const float> values, std::span<const int32_t> bytes, const std::vector<int64_t>& runs,
                   LossMean mean = {}) {
  size_t begin = 0;
  for (const int64_t run : runs) {
    const auto size = static_cast<size_t>(run);
    add_by_region(values.subspan(begin, size), bytes.empty() ? bytes : bytes.subspan(begin, size), mean);
    begin += size;
  }
  if (runs.empty()) add_by_region(values, bytes, mean);
  return mean;
}

}  // namespace

void PairedLosses::add(const std::filesystem::path& path) {
  PerTokenLosses read = read_per_token_file(path);
  same_tokens_.check(path, read);
  std::vector<bool> scored;
  for (const float nll : read.nll) scored.push_back(!std::isnan(nll));
  if (evaluations_.empty()) {
    scored_ = std::move(scored);
    tokens_ = std::ranges::count(scored_, true);
    if (tokens_ == 0) throw DataError("{}: nll: expected a token that is scored, found none", path.string());
  } else if (scored != scored_) {
    refuse(path, scored);
  }
  if (!unknown_ && read.info.unknown_token >= 0) {
    unknown_ = UnknownTokens{.scored = tokens_};
    for (size_t i = 0; i < scored_.size(); ++i)
      unknown_->count += scored_[i] && read.targets[i] == read.info.unknown_token ? 1 : 0;
  }
  const std::vector<int32_t> bytes = same_tokens_.token_bytes();
  Evaluation& added = evaluations_.emplace_back(
      Evaluation{.path = path, .info = std::move(read.info), .losses = by_region(read.nll, bytes, read.runs)});
  if (bytes_ == 0 && added.losses.bytes() > 0) {  // the first file that has them tells those of all
    bytes_ = added.losses.bytes();
    for (Evaluation& evaluation : evaluations_) evaluation.losses.take_bytes_of(added.losses);
  }
  if (read.right.empty()) return;
  const LossMean answers = by_region(read.right, {}, read.runs, LossMean::of_answers());
  if (answers.tokens() > 0) added.answers = answers;
}

std::string PairedLosses::unit() const {
  const std::string unit = same_tokens_.attribute("unit");
  return unit.empty() ? "token" : unit;
}

void PairedLosses::refuse(const std::filesystem::path& path, const std::vector<bool>& scored) const {
  const auto place = std::ranges::mismatch(scored, scored_).in1 - scored.begin();
  const bool here = scored[static_cast<size_t>(place)];
  throw DataError(
      "{}: scores {} tokens, {} {} among them, but {} scores {}, {} it; only losses of the same tokens can be "
      "compared: evaluate both with the same --max-tokens, and with --warm-up auto or the same --batch-size and "
      "--tgt-len",
      path.string(), std::ranges::count(scored, true), here ? "token" : "without token", place,
      evaluations_.front().path.string(), tokens_, here ? "without" : "with");
}

}  // namespace segue

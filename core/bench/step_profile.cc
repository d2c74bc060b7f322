#include "core/bench/step_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/text.h"
#include "base/text_table.h"

namespace segue {

double ProfileRow::share_of_roof(const Ceilings& ceilings) const {
  const double least = flops > 0.0 ? flops / ceilings.flops_per_second : bytes / ceilings.bytes_per_second;
  return least / seconds;
}

double StepProfile::elsewhere() const {
  double rest = seconds;
  for (const ProfileRow& row : rows) rest -= row.seconds;
  return rest;
}

namespace {

void add(ProfileRow& sum, const ProfileRow& row) {
  sum.name = row.name;
  sum.pass = row.pass;
  sum.calls += row.calls;
  sum.seconds += row.seconds;
  sum.flops += row.flops;
  sum.bytes += row.bytes;
}

ProfileRow divided(ProfileRow sum, double steps) {
  for (double* value : {&sum.calls, &sum.seconds, &sum.flops, &sum.bytes}) *value /= steps;
  return sum;
}

}  // namespace

StepProfiler::Span::Span(kernels::Queue& queue) : queue_(&queue) {
  if (queue.device().is_cuda()) stopwatch_.emplace();
}

void StepProfiler::Span::start() {
  if (stopwatch_) return stopwatch_->start(queue_->cuda().stream());
  started_ = Clock::now();
}

void StepProfiler::Span::stop() {
  if (stopwatch_) return stopwatch_->stop(queue_->cuda().stream());
  stopped_ = Clock::now();
}

double StepProfiler::Span::seconds() const {
  return stopwatch_ ? stopwatch_->seconds() : std::chrono::duration<double>(stopped_ - started_).count();
}

void StepProfiler::begin() {
  if (parts_.size() == spans_.size()) spans_.emplace_back(queue_);
  spans_[parts_.size()].start();
}

void StepProfiler::end(StepPart part) {
  spans_[parts_.size()].stop();
  parts_.push_back(std::move(part));
}

void StepProfiler::observe_step(const std::function<void()>& run) {
  whole_.start();
  run();
  whole_.stop();
  queue_.synchronize();
  Step step{.seconds = whole_.seconds(), .rows = {}};
  for (size_t i = 0; i < parts_.size(); ++i) {
    const StepPart& part = parts_[i];
    add(step.rows[{part.name, part.pass}], {.name = part.name,
                                            .pass = part.pass,
                                            .calls = 1.0,
                                            .seconds = spans_[i].seconds(),
                                            .flops = part.flops,
                                            .bytes = part.bytes});
  }
  steps_.push_back(std::move(step));
  parts_.clear();
}

StepProfile StepProfiler::profile() const {
  std::vector<const Step*> fastest;
  for (const Step& step : steps_) fastest.push_back(&step);
  std::sort(fastest.begin(), fastest.end(), [](const Step* a, const Step* b) { return a->seconds < b->seconds; });
  fastest.resize((fastest.size() + 1) / 2);
  StepProfile profile;
  profile.steps = std::ssize(fastest);
  profile.by_events = queue_.device().is_cuda();
  const auto steps = static_cast<double>(profile.steps);
  Rows sums;
  for (const Step* step : fastest) {
    profile.seconds += step->seconds / steps;
    for (const auto& [key, row] : step->rows) add(sums[key], row);
  }
  for (const auto& [key, sum] : sums) profile.rows.push_back(divided(sum, steps));
  std::stable_sort(profile.rows.begin(), profile.rows.end(),
                   [](const ProfileRow& a, const ProfileRow& b) { return a.seconds > b.seconds; });
  return profile;
}

namespace {

std::string as_words(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

// "93.1 GFLOP/s" of products, "4.2 GB/s   " of all else: numbers stand below one another.
std::string format_row_rate(const ProfileRow& row) {
  const bool multiplies = row.flops > 0.0;
  return fmt::format("{:.1f} {:<7}", (multiplies ? row.flops : row.bytes) / row.seconds / 1e9,
                     multiplies ? "GFLOP/s" : "GB/s");
}

// Of the step alone, what stands elsewhere or is all of it.
ProfileRow sum_of(std::string name, double seconds) {
  return {.name = std::move(name), .pass = "", .seconds = seconds};
}

}  // namespace

std::string format_profile(const StepProfile& profile, const Ceilings& ceilings) {
  std::string meaning = fmt::format(
      "Where the time of a step goes, in the faster half of the steps ({}). The roof of products is the peak. The roof "
      "of all "
      "else is copying the bytes of activations or parameters that it goes through: above 100% where caches hold them.",
      profile.steps);
  if (profile.by_events)
    meaning += " Operations are queued one by one, not as a graph, so the time that the GPU waits for the host counts.";
  std::vector<ProfileRow> rows = profile.rows;
  rows.push_back(sum_of("elsewhere", profile.elsewhere()));
  rows.push_back(sum_of("step", profile.seconds));
  std::vector<TextColumn> columns;
  const auto add = [&](const char* head, bool is_text, const std::function<std::string(const ProfileRow&)>& cell) {
    columns.push_back({.head = head, .cells = {}, .is_text = is_text});
    for (const ProfileRow& row : rows) columns.back().cells.push_back(cell(row));
  };
  const auto of_operations = [](const std::function<std::string(const ProfileRow&)>& cell) {
    return [cell](const ProfileRow& row) { return row.calls > 0.0 ? cell(row) : ""; };
  };
  add("", true,
      [](const ProfileRow& row) { return as_words(row.pass.empty() ? row.name : row.name + " " + row.pass); });
  add("calls", false, of_operations([](const ProfileRow& row) { return fmt::format("{:.0f}", row.calls); }));
  add("ms", false, [](const ProfileRow& row) { return fmt::format("{:.3f}", 1e3 * row.seconds); });
  add("of step", false,
      [&](const ProfileRow& row) { return fmt::format("{:.1f}%", 100.0 * row.seconds / profile.seconds); });
  add("rate       ", false, of_operations(format_row_rate));
  add("of roof", false, of_operations([&](const ProfileRow& row) {
        return fmt::format("{:.1f}%", 100.0 * row.share_of_roof(ceilings));
      }));
  return fmt::format("\n{}\n{}", wrapped(meaning, kTerminalColumns), text_table(columns));
}

OrderedJson to_json(const StepProfile& profile, const Ceilings& ceilings) {
  OrderedJson json{{"seconds", profile.seconds},
                   {"steps", profile.steps},
                   {"measured_by", profile.by_events ? "events of the GPU" : "clock of the host"},
                   {"seconds_elsewhere", profile.elsewhere()},
                   {"parts", OrderedJson::array()}};
  for (const ProfileRow& row : profile.rows) {
    json["parts"].push_back({{"name", row.name},
                             {"pass", row.pass},
                             {"calls", row.calls},
                             {"seconds", row.seconds},
                             {"share_of_step", row.seconds / profile.seconds},
                             {"flops", row.flops},
                             {"bytes", row.bytes},
                             {"roof", row.flops > 0.0 ? "peak" : "copies"},
                             {"share_of_roof", row.share_of_roof(ceilings)}});
  }
  return json;
}

}  // namespace segue

#include "core/bench/step_profile.h"

#include <fmt/format.h>

#include <algorithm>

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

std::string format_row(const ProfileRow& row, const StepProfile& profile, const Ceilings& ceilings) {
  const bool multiplies = row.flops > 0.0;
  const double rate = (multiplies ? row.flops : row.bytes) / row.seconds / 1e9;
  return fmt::format("{:<34}{:>7.0f}{:>11.3f}{:>9.1f}%{:>11.1f} {:<8}{:>8.1f}%\n", as_words(row.name + " " + row.pass),
                     row.calls, 1e3 * row.seconds, 100.0 * row.seconds / profile.seconds, rate,
                     multiplies ? "GFLOP/s" : "GB/s", 100.0 * row.share_of_roof(ceilings));
}

}  // namespace

std::string format_profile(const StepProfile& profile, const Ceilings& ceilings) {
  std::string text = fmt::format(
      "\nWhere the time goes, in the faster half of the steps ({}). The roof of products is the peak. The roof of all\n"
      "else is copying the bytes of activations or parameters that it goes through: above 100% where caches hold "
      "them.\n"
      "{}\n{:<34}{:>7}{:>11}{:>10}{:>20}{:>9}\n",
      profile.steps,
      profile.by_events
          ? "Operations are queued one by one, not as a graph, so the time that the GPU waits for the host counts.\n"
          : "",
      "", "calls", "ms a step", "of step", "rate        ", "of roof");
  for (const ProfileRow& row : profile.rows) text += format_row(row, profile, ceilings);
  const auto add_sum = [&](const char* name, double seconds) {
    text += fmt::format("{:<34}{:>7}{:>11.3f}{:>9.1f}%\n", name, "", 1e3 * seconds, 100.0 * seconds / profile.seconds);
  };
  add_sum("elsewhere", profile.elsewhere());
  add_sum("step", profile.seconds);
  return text;
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

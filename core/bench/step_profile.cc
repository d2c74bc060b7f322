// Sums by part, and the table of them.
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

StepObserver StepProfiler::observer() {
  return [this](const StepPart& part, double seconds) {
    add(current_[{part.name, part.pass}], {.name = part.name,
                                           .pass = part.pass,
                                           .calls = 1.0,
                                           .seconds = seconds,
                                           .flops = part.flops,
                                           .bytes = part.bytes});
  };
}

void StepProfiler::end_step(double seconds) {
  steps_.push_back({.seconds = seconds, .parts = std::move(current_)});
  current_.clear();
}

StepProfile StepProfiler::profile() const {
  std::vector<const Finished*> fastest;
  for (const Finished& step : steps_) fastest.push_back(&step);
  std::sort(fastest.begin(), fastest.end(),
            [](const Finished* a, const Finished* b) { return a->seconds < b->seconds; });
  fastest.resize((fastest.size() + 1) / 2);
  StepProfile profile;
  profile.steps = std::ssize(fastest);
  const auto steps = static_cast<double>(profile.steps);
  Step sums;
  for (const Finished* step : fastest) {
    profile.seconds += step->seconds / steps;
    for (const auto& [key, part] : step->parts) add(sums[key], part);
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
      "\nWhere the time goes, of the faster half of the steps ({}). The roof of products is the peak, of all "
      "else the copies:\nthe bytes of activations or parameters that it goes through, above 100% where "
      "caches hold them.\n\n{:<34}{:>7}{:>11}{:>10}{:>20}{:>9}\n",
      profile.steps, "", "calls", "ms a step", "of step", "rate        ", "of roof");
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

#include "core/bench/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

namespace segue {

namespace {

double seconds_of(kernels::Queue& queue, int64_t calls, const std::function<void()>& call) {
  queue.synchronize();
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < calls; ++i) call();
  queue.synchronize();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Few enough that the queue does not fill up.
int64_t calls_for(double sample_seconds, double call_seconds) {
  constexpr double kMostCalls = 200.0;
  return static_cast<int64_t>(std::clamp(std::ceil(sample_seconds / call_seconds), 1.0, kMostCalls));
}

}  // namespace

void Effort::describe(JsonFields& fields) {
  fields.optional("warm_up", warm_up, {.meaning = "calls before the first sample", .minimum = 0});
  fields.optional("samples", samples, {.meaning = "number of samples; the median is reported", .minimum = 1});
  fields.optional("sample_seconds", sample_seconds,
                  {.meaning = "a sample repeats the call for at least this many seconds", .minimum = 0});
}

Timing time_calls(kernels::Queue& queue, const Effort& effort, const std::function<void()>& call) {
  if (effort.samples < 1) throw ContractError("time_calls: expected at least one sample, found {}", effort.samples);
  for (int64_t i = 0; i < effort.warm_up; ++i) call();
  Timing timing{.samples = effort.samples, .calls = calls_for(effort.sample_seconds, seconds_of(queue, 1, call))};
  std::vector<double> seconds;
  for (int64_t i = 0; i < effort.samples; ++i)
    seconds.push_back(seconds_of(queue, timing.calls, call) / static_cast<double>(timing.calls));
  std::sort(seconds.begin(), seconds.end());
  timing.median = (seconds[seconds.size() / 2] + seconds[(seconds.size() - 1) / 2]) / 2.0;
  timing.lowest = seconds.front();
  timing.highest = seconds.back();
  return timing;
}

}  // namespace segue

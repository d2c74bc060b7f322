#include "core/bench/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/text.h"
#include "base/text_table.h"

namespace segue {

namespace {

double flops_per_second(const Measurement& measurement) { return measurement.flops / measurement.timing.median; }
double bytes_per_second(const Measurement& measurement) { return measurement.bytes / measurement.timing.median; }

std::string format_rate(const Measurement& measurement) {
  if (measurement.tokens <= 0.0) return "";
  const double rate = measurement.tokens / measurement.timing.median;
  return fmt::format("{:.{}f}", rate, rate < 10.0 ? 2 : 0);
}

// Of as many digits as tell two runs apart.
std::string format_ms(double seconds) {
  const double ms = 1e3 * seconds;
  return fmt::format("{:.{}f}", ms, ms < 100.0 ? 4 : 2);
}

OrderedJson measurement_json(const Measurement& measurement, const Ceilings& ceilings) {
  const Timing& timing = measurement.timing;
  OrderedJson json{{"name", measurement.name},
                   {"seconds", timing.median},
                   {"seconds_lowest", timing.lowest},
                   {"seconds_highest", timing.highest},
                   {"samples", timing.samples},
                   {"calls_per_sample", timing.calls},
                   {"flops", measurement.flops},
                   {"flops_per_second", flops_per_second(measurement)},
                   {"share_of_peak", flops_per_second(measurement) / ceilings.flops_per_second}};
  if (measurement.bytes > 0.0) {
    json["bytes"] = measurement.bytes;
    json["bytes_per_second"] = bytes_per_second(measurement);
    json["share_of_bandwidth"] = bytes_per_second(measurement) / ceilings.bytes_per_second;
  }
  if (measurement.tokens > 0.0) json["tokens_per_second"] = measurement.tokens / timing.median;
  return json;
}

}  // namespace

std::string format_table(const BenchReport& report) {
  const Ceilings& ceilings = report.ceilings;
  const std::string peaks = fmt::format(
      "peak {:.3f} TFLOP/s (a product of {} cubed), copies {:.1f} GB/s (read and written), both measured now",
      ceilings.flops_per_second / 1e12, ceilings.product, ceilings.bytes_per_second / 1e9);
  std::vector<TextColumn> columns;
  const auto add = [&](const char* head, bool is_text, const std::function<std::string(const Measurement&)>& cell) {
    TextColumn column{.head = head, .cells = {}, .is_text = is_text};
    for (const Measurement& measurement : report.measurements) column.cells.push_back(cell(measurement));
    const auto is_filled = [](const std::string& text) { return !text.empty(); };
    if (std::ranges::any_of(column.cells, is_filled)) columns.push_back(std::move(column));
  };
  add("", true, [](const Measurement& of) { return of.name; });
  add("ms, median", false, [](const Measurement& of) { return format_ms(of.timing.median); });
  add("lowest", false, [](const Measurement& of) { return format_ms(of.timing.lowest); });
  add("highest", false, [](const Measurement& of) { return format_ms(of.timing.highest); });
  add("TFLOP/s", false, [](const Measurement& of) { return fmt::format("{:.3f}", flops_per_second(of) / 1e12); });
  add("of peak", false, [&](const Measurement& of) {
    return fmt::format("{:.1f}%", 100.0 * flops_per_second(of) / ceilings.flops_per_second);
  });
  add("tokens/s", false, format_rate);
  add("MB moved", false,
      [](const Measurement& of) { return of.bytes > 0.0 ? fmt::format("{:.2f}", of.bytes / 1e6) : ""; });
  add("of copies", false, [&](const Measurement& of) {
    return of.bytes > 0.0 ? fmt::format("{:.1f}%", 100.0 * bytes_per_second(of) / ceilings.bytes_per_second) : "";
  });
  return fmt::format("{}{}\n{}", wrapped(report.title, kTerminalColumns), wrapped(peaks, kTerminalColumns),
                     text_table(columns));
}

OrderedJson to_json(const BenchReport& report, const OrderedJson& setting) {
  OrderedJson json{{"title", report.title},
                   {"setting", setting},
                   {"peak_product", report.ceilings.product},
                   {"peak_flops_per_second", report.ceilings.flops_per_second},
                   {"copy_bytes_per_second", report.ceilings.bytes_per_second},
                   {"measurements", OrderedJson::array()}};
  for (const Measurement& measurement : report.measurements)
    json["measurements"].push_back(measurement_json(measurement, report.ceilings));
  return json;
}

}  // namespace segue

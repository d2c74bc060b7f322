#include "core/bench/report.h"

#include <fmt/format.h>

#include <algorithm>

namespace segue {

namespace {

double flops_per_second(const Measurement& measurement) { return measurement.flops / measurement.timing.median; }
double bytes_per_second(const Measurement& measurement) { return measurement.bytes / measurement.timing.median; }

// Columns that some measurement fills.
struct Columns {
  bool bytes = false;
  bool tokens = false;
};

Columns columns_of(const BenchReport& report) {
  const auto moves_bytes = [](const Measurement& measurement) { return measurement.bytes > 0.0; };
  const auto has_tokens = [](const Measurement& measurement) { return measurement.tokens > 0.0; };
  return {.bytes = std::ranges::any_of(report.measurements, moves_bytes),
          .tokens = std::ranges::any_of(report.measurements, has_tokens)};
}

std::string format_rate(const Measurement& measurement) {
  if (measurement.tokens <= 0.0) return "";
  const double rate = measurement.tokens / measurement.timing.median;
  return fmt::format("{:.{}f}", rate, rate < 10.0 ? 2 : 0);
}

std::string format_row(const Measurement& measurement, const Ceilings& ceilings, const Columns& columns) {
  const Timing& timing = measurement.timing;
  std::string row =
      fmt::format("{:<22}{:>11.4f}{:>11.4f}{:>11.4f}{:>11.3f}{:>9.1f}%", measurement.name, timing.median * 1e3,
                  timing.lowest * 1e3, timing.highest * 1e3, flops_per_second(measurement) / 1e12,
                  100.0 * flops_per_second(measurement) / ceilings.flops_per_second);
  if (measurement.bytes > 0.0) {
    row += fmt::format("{:>11.2f}{:>10.1f}%", measurement.bytes / 1e6,
                       100.0 * bytes_per_second(measurement) / ceilings.bytes_per_second);
  } else if (columns.bytes && columns.tokens) {
    row += fmt::format("{:>22}", "");
  }
  if (columns.tokens) row += fmt::format("{:>12}", format_rate(measurement));
  return row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
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
  std::string text = fmt::format(
      "{}\npeak {:.3f} TFLOP/s (a product of {} cubed), copies {:.1f} GB/s (read and written), both measured now\n\n",
      report.title, ceilings.flops_per_second / 1e12, ceilings.product, ceilings.bytes_per_second / 1e9);
  const Columns columns = columns_of(report);
  text +=
      fmt::format("{:<22}{:>11}{:>11}{:>11}{:>11}{:>10}", "", "ms, median", "lowest", "highest", "TFLOP/s", "of peak");
  if (columns.bytes) text += fmt::format("{:>11}{:>11}", "MB moved", "of copies");
  if (columns.tokens) text += fmt::format("{:>12}", "tokens/s");
  text += '\n';
  for (const Measurement& measurement : report.measurements) text += format_row(measurement, ceilings, columns);
  return text;
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

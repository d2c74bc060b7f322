// Tables and JSON of measurements.
#include "core/bench/report.h"

#include <fmt/format.h>

namespace segue {

namespace {

double flops_per_second(const Measurement& measurement) { return measurement.flops / measurement.timing.median; }
double bytes_per_second(const Measurement& measurement) { return measurement.bytes / measurement.timing.median; }

std::string format_row(const Measurement& measurement, const Ceilings& ceilings) {
  const Timing& timing = measurement.timing;
  std::string row =
      fmt::format("{:<22}{:>11.4f}{:>11.4f}{:>11.4f}{:>11.3f}{:>9.1f}%", measurement.name, timing.median * 1e3,
                  timing.lowest * 1e3, timing.highest * 1e3, flops_per_second(measurement) / 1e12,
                  100.0 * flops_per_second(measurement) / ceilings.flops_per_second);
  if (measurement.bytes > 0.0)
    row += fmt::format("{:>11.2f}{:>10.1f}%", measurement.bytes / 1e6,
                       100.0 * bytes_per_second(measurement) / ceilings.bytes_per_second);
  if (measurement.tokens > 0.0) {
    const double rate = measurement.tokens / timing.median;
    row += fmt::format("   {:.{}f} tokens/s", rate, rate < 10.0 ? 2 : 0);
  }
  return row + "\n";
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
  text += fmt::format("{:<22}{:>11}{:>11}{:>11}{:>11}{:>10}{:>11}{:>11}\n", "", "ms, median", "lowest", "highest",
                      "TFLOP/s", "of peak", "MB moved", "of copies");
  for (const Measurement& measurement : report.measurements) text += format_row(measurement, ceilings);
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

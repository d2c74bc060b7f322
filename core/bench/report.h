// Prints the results of a measurement: tables for people, JSON for programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json_text.h"
#include "core/bench/timing.h"

namespace segue {

// The rates that the device reaches with nothing else to do: the best samples of the same run.
struct Ceilings {
  int64_t product = 0;            // m = n = k of the product behind the next line
  double flops_per_second = 0.0;  // of that matrix product
  double bytes_per_second = 0.0;  // of a large copy, read and written bytes
};

struct Measurement {
  std::string name;
  Timing timing;
  double flops = 0.0;   // of a call: what the formula needs, without masked scores and recomputation
  double bytes = 0.0;   // of a call: every input read once, every output written once; 0: not stated
  double tokens = 0.0;  // of a call; 0: not stated
};

struct BenchReport {
  std::string title;  // what and where
  Ceilings ceilings;
  std::vector<Measurement> measurements;
};

std::string format_table(const BenchReport& report);
OrderedJson to_json(const BenchReport& report, const OrderedJson& setting);  // the setting: what and where, by name

}  // namespace segue

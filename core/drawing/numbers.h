// Formats numbers for the report.
#pragma once

#include <cstdint>
#include <string>

namespace segue::report {

// "1.9214", "0.01234", "12,345": `digits` significant ones at least, no power of ten between 1e-4 and 1e15.
std::string significant(double value, int digits = 5);

// "950", "4.1 M", "12 k": three digits with the prefix of a thousand, a million, ...
std::string with_prefix(double value);

// A length in tokens: "1,024", "77.5".
std::string length_text(double value);

// The decimals that tell multiples of `step` apart: 0.25 takes 2.
int decimals_of(double step);

// "102,400" or "0.25": with thousands separated.
std::string fixed(double value, int decimals);

}  // namespace segue::report

// An evaluation's files: the JSON, and tables of it for spreadsheets.
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/file.h"
#include "core/evaluation/evaluation_report.h"

namespace segue {
namespace {

std::string cell(const OrderedJson& line, const std::string& column) {
  if (!line.contains(column) || line[column].is_null()) return "";
  return line[column].is_string() ? line[column].get<std::string>() : line[column].dump();
}

std::string cells(const OrderedJson& line, const std::vector<std::string>& columns) {
  std::vector<std::string> values(columns.size());
  std::ranges::transform(columns, values.begin(), [&](const std::string& column) { return cell(line, column); });
  return fmt::format("{}", fmt::join(values, ","));
}

std::string results_csv(const OrderedJson& results, const std::vector<std::string>& columns) {
  std::string text = fmt::format("{}\n", fmt::join(columns, ","));
  for (const OrderedJson& result : results) text += fmt::format("{}\n", cells(result, columns));
  return text;
}

// A line for every line of the results' tables of this name, behind the lengths of the result.
std::string table_csv(const OrderedJson& results, const std::string& table, const std::vector<std::string>& columns) {
  const std::vector<std::string> lengths{"mode", "mem_len", "tgt_len"};
  std::string text = fmt::format("{},{}\n", fmt::join(lengths, ","), fmt::join(columns, ","));
  for (const OrderedJson& result : results) {
    for (const OrderedJson& line : result[table])
      text += fmt::format("{},{}\n", cells(result, lengths), cells(line, columns));
  }
  return text;
}

}  // namespace

void write_evaluation(const std::filesystem::path& directory, const OrderedJson& evaluation) {
  const OrderedJson& results = evaluation["results"];
  write_file_atomically(directory / "evaluation.json", format_json(evaluation));
  write_file_atomically(
      directory / "evaluation.csv",
      results_csv(results, {"mode", "mem_len", "tgt_len", "stride", "clamp_len", "same_length", "context", "warm_up",
                            "tokens", "loss", "confidence95", "bits_per_token", "perplexity", "bits_per_byte",
                            "bits_per_byte_confidence95", "unknown_share", "seconds", "tokens_per_second"}));
  write_file_atomically(directory / "by_position.csv", table_csv(results, "by_position",
                                                                 {"position", "tokens", "loss", "confidence95",
                                                                  "bits_per_byte", "bits_per_byte_confidence95"}));
  write_file_atomically(directory / "by_context.csv", table_csv(results, "by_context",
                                                                {"from", "to", "tokens", "loss", "confidence95",
                                                                 "bits_per_byte", "bits_per_byte_confidence95"}));
}

}  // namespace segue

#include "core/evaluation/paired_difference.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "base/error.h"
#include "base/output_file.h"
#include "base/text.h"
#include "base/text_table.h"
#include "core/evaluation/loss_statistics.h"
#include "core/evaluation/loss_units.h"
#include "core/evaluation/paired_losses.h"

namespace segue {

namespace {

constexpr size_t kMostFiles = 26;  // a letter each

std::string name_of(size_t index) { return {static_cast<char>('a' + index)}; }

OrderedJson known(int64_t value) { return value < 0 ? OrderedJson() : OrderedJson(value); }

OrderedJson half_width(const LossMean& losses) {
  const std::optional<double> confidence = losses.confidence95();
  return confidence ? OrderedJson(*confidence) : OrderedJson();
}

void add_half_width_per_byte(OrderedJson& json, const LossMean& losses) {
  if (!losses.loss().per_byte) return;
  const std::optional<double> confidence = losses.confidence95(LossPer::kByte);
  json["bits_per_byte_confidence95"] = confidence ? OrderedJson(bits_of(*confidence)) : OrderedJson();
}

OrderedJson evaluation_of(const PairedLosses::Evaluation& evaluated, size_t index, const LossUnits& units) {
  OrderedJson json{{"name", name_of(index)},
                   {"file", evaluated.path.string()},
                   {"checkpoint", evaluated.info.checkpoint},
                   {"mem_len", known(evaluated.info.mem_len)},
                   {"tgt_len", known(evaluated.info.tgt_len)}};
  add_loss(json, evaluated.losses.loss(), units);
  json["confidence95"] = half_width(evaluated.losses);
  add_half_width_per_byte(json, evaluated.losses);
  if (const std::optional<LossMean>& answers = evaluated.answers)
    json["answers"] = {
        {"answers", answers->tokens()}, {"accuracy", answers->mean()}, {"confidence95", half_width(*answers)}};
  return json;
}

// Null where one of them does not tell right answers.
OrderedJson answers_difference(const PairedLosses::Evaluation& first, const PairedLosses::Evaluation& second,
                               const std::string& first_name, const std::string& second_name) {
  if (!first.answers || !second.answers) return {};
  const std::optional<LossMean> difference = first.answers->above(*second.answers);
  if (!difference)
    throw DataError("{}: right: expected the answers that {} has, found others", second.path.string(),
                    first.path.string());
  const double accuracy = difference->mean();
  const std::optional<double> confidence = difference->confidence95();
  OrderedJson json{{"accuracy", accuracy}, {"confidence95", half_width(*difference)}};
  const bool is_sure = confidence && std::abs(accuracy) > *confidence;
  json["higher"] = is_sure ? OrderedJson(accuracy > 0.0 ? first_name : second_name) : OrderedJson();
  return json;
}

OrderedJson difference_of(const std::vector<PairedLosses::Evaluation>& evaluated, size_t first, size_t second) {
  const std::optional<LossMean> difference = evaluated[first].losses.above(evaluated[second].losses);
  if (!difference) throw ContractError("paired difference: regions of {} and {} differ", first, second);
  const double loss = difference->mean();
  const std::optional<double> confidence = difference->confidence95();
  OrderedJson json{
      {"first", name_of(first)}, {"second", name_of(second)}, {"loss", loss}, {"bits_per_token", bits_of(loss)}};
  if (const std::optional<double> per_byte = bits_per_byte(difference->loss())) json["bits_per_byte"] = *per_byte;
  json["confidence95"] = half_width(*difference);
  add_half_width_per_byte(json, *difference);
  // By what is shown: of bits per byte, where bytes are known.
  const LossPer per = difference->loss().per_byte ? LossPer::kByte : LossPer::kToken;
  const bool is_sure = confidence && std::abs(difference->mean(per)) > difference->confidence95(per).value();
  json["lower"] = is_sure ? OrderedJson(name_of(loss < 0.0 ? first : second)) : OrderedJson();
  if (const OrderedJson answers =
          answers_difference(evaluated[first], evaluated[second], name_of(first), name_of(second));
      !answers.is_null())
    json["answers"] = answers;
  return json;
}

std::string cell(const OrderedJson& line, const char* column) {
  if (!line.contains(column) || line[column].is_null()) return "";
  return line[column].is_string() ? line[column].get<std::string>() : line[column].dump();
}

std::string csv_line(const OrderedJson& comparison, const std::string& first, const std::string& second,
                     const OrderedJson& losses) {
  return fmt::format("{},{},{},{},{},{},{},{}\n", first, second, cell(comparison, "tokens"), cell(losses, "loss"),
                     cell(losses, "confidence95"), cell(losses, "bits_per_token"), cell(losses, "bits_per_byte"),
                     cell(losses, "bits_per_byte_confidence95"));
}

// The unit for people: bits per byte where bytes are known, otherwise bits per token.
struct Bits {
  std::string name;
  bool per_byte = false;
  std::string of(const OrderedJson& line, bool is_difference) const {
    const double value = line[per_byte ? "bits_per_byte" : "bits_per_token"].get<double>();
    const OrderedJson& spread = line[per_byte ? "bits_per_byte_confidence95" : "confidence95"];
    std::string text = is_difference ? fmt::format("{:+.5f}", value) : fmt::format("{:.5f}", value);
    if (!spread.is_null()) text += fmt::format(" ± {:.5f}", spread.get<double>() * (per_byte ? 1.0 : bits_of(1.0)));
    return text;
  }
};

Bits unit_of_bits(const OrderedJson& comparison) {
  if (comparison["tokens_per_byte"].is_null()) return {"bits/" + cell(comparison, "unit")};
  return {"bits/byte", true};
}

std::string describe_evaluations(const OrderedJson& comparison, const Bits& bits) {
  std::vector<TextColumn> columns;
  const auto add = [&](const std::string& head, bool is_text,
                       const std::function<std::string(const OrderedJson&)>& text) {
    columns.push_back({.head = head, .cells = {}, .is_text = is_text});
    for (const OrderedJson& line : comparison["evaluations"]) columns.back().cells.push_back(text(line));
  };
  const auto of = [](const char* key) { return [key](const OrderedJson& line) { return cell(line, key); }; };
  add("     ", true, of("name"));
  add(bits.name, true, [&](const OrderedJson& line) { return bits.of(line, false); });
  add("mem_len", false, of("mem_len"));
  add("tgt_len", false, of("tgt_len"));
  add("checkpoint", true, [](const OrderedJson& line) {
    const std::string checkpoint = cell(line, "checkpoint");
    return checkpoint.empty() ? cell(line, "file") : checkpoint;
  });
  return fmt::format("\n{}", text_table(columns));
}

std::string verdict_of(const OrderedJson& difference) {
  if (difference["confidence95"].is_null()) return "too few tokens to tell";
  const std::string lower = cell(difference, "lower");
  return lower.empty() ? "no difference beyond the interval" : lower + " is lower";
}

std::string describe_differences(const OrderedJson& comparison, const Bits& bits) {
  std::string text = fmt::format("\n       {:<20} {:>9}\n", bits.name, "share");
  for (const OrderedJson& line : comparison["differences"]) {
    const auto second = static_cast<size_t>(cell(line, "second").front() - 'a');
    const double share = line["loss"].get<double>() / comparison["evaluations"][second]["loss"].get<double>();
    text += fmt::format("{} - {}  {:<20} {:>+7.2f} %  {}\n", cell(line, "first"), cell(line, "second"),
                        bits.of(line, true), 100.0 * share, verdict_of(line));
  }
  return text;
}

std::string percent_of(const OrderedJson& answers, bool is_difference) {
  const double value = 100.0 * answers["accuracy"].get<double>();
  std::string text = is_difference ? fmt::format("{:+.2f}", value) : fmt::format("{:.2f}", value);
  if (!answers["confidence95"].is_null())
    text += fmt::format(" ± {:.2f}", 100.0 * answers["confidence95"].get<double>());
  return text;
}

// Of marked data; nothing where no file tells right answers.
std::string describe_right_answers(const OrderedJson& comparison) {
  std::string text;
  for (const OrderedJson& line : comparison["evaluations"]) {
    if (!line.contains("answers")) continue;
    text += fmt::format("{:<6} {:<20}  {} answers\n", cell(line, "name"), percent_of(line["answers"], false),
                        human_count(line["answers"]["answers"].get<int64_t>()));
  }
  for (const OrderedJson& line : comparison["differences"]) {
    if (!line.contains("answers")) continue;
    const OrderedJson& answers = line["answers"];
    const std::string higher = cell(answers, "higher");
    const std::string verdict = answers["confidence95"].is_null() ? "too few answers to tell"
                                : higher.empty()                  ? "no difference beyond the interval"
                                                                  : higher + " is higher";
    text += fmt::format("{} - {}  {:<20}  {}\n", cell(line, "first"), cell(line, "second"), percent_of(answers, true),
                        verdict);
  }
  return text.empty() ? text : "\n       % right\n" + text;
}

constexpr const char* kMeaning =
    "± is half of a 95 % interval. For a difference it is narrow, since both read the same text. It covers the choice "
    "of text, not of the seed: models of other seeds may differ by more.";

}  // namespace

OrderedJson paired_differences(const std::vector<std::filesystem::path>& files) {
  if (files.size() < 2 || files.size() > kMostFiles)
    throw UsageError("paired difference: expected 2 to {} files of losses, found {}", kMostFiles, files.size());
  PairedLosses losses;
  for (auto file = files.begin(); file != files.end(); ++file) {
    losses.add(*file);
    const auto is_same = [file](const std::filesystem::path& other) {
      return std::filesystem::equivalent(*file, other);
    };
    if (std::any_of(files.begin(), file, is_same))
      throw UsageError("paired difference: expected each file once, found {} again", file->string());
  }
  const std::string unit = losses.unit();
  const LossUnits units{.unit = unit};
  OrderedJson json{
      {"format", "segue-paired-difference"},
      {"version", 1},
      {"split", losses.split()},
      {"unit", unit},
      {"tokens_per_byte", losses.tokens_per_byte() > 0.0 ? OrderedJson(losses.tokens_per_byte()) : OrderedJson()},
      {"tokens", losses.tokens()}};
  add_unknown(json, losses.unknown());
  json["evaluations"] = OrderedJson::array();
  json["differences"] = OrderedJson::array();
  const std::vector<PairedLosses::Evaluation>& evaluated = losses.evaluations();
  for (size_t i = 0; i < evaluated.size(); ++i) json["evaluations"].push_back(evaluation_of(evaluated[i], i, units));
  for (size_t first = 0; first < evaluated.size(); ++first)
    for (size_t second = first + 1; second < evaluated.size(); ++second)
      json["differences"].push_back(difference_of(evaluated, first, second));
  return json;
}

std::string paired_differences_csv(const OrderedJson& comparison) {
  std::string text =
      std::string(kCsvOfPairs) + "confidence95,bits_per_token,bits_per_byte,bits_per_byte_confidence95\n";
  for (const OrderedJson& line : comparison["evaluations"]) text += csv_line(comparison, cell(line, "name"), "", line);
  for (const OrderedJson& line : comparison["differences"])
    text += csv_line(comparison, cell(line, "first"), cell(line, "second"), line);
  return text;
}

std::string describe_paired_differences(const OrderedJson& comparison) {
  const Bits bits = unit_of_bits(comparison);
  const std::string split = cell(comparison, "split");
  const auto tokens = comparison["tokens"].get<int64_t>();
  std::optional<UnknownTokens> unknown;
  if (comparison.contains("unknown_tokens"))
    unknown = {.count = comparison["unknown_tokens"].get<int64_t>(), .scored = tokens};
  return fmt::format("{} tokens{}, the same of all{}\n", human_count(tokens), split.empty() ? "" : " of split " + split,
                     unknown_of_them(unknown)) +
         describe_evaluations(comparison, bits) + describe_differences(comparison, bits) +
         describe_right_answers(comparison) + "\n" + wrapped(kMeaning, kTerminalColumns);
}

}  // namespace segue

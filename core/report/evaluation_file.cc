#include "core/report/evaluation_file.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/file.h"
#include "core/report/json_node.h"

namespace segue::report {

namespace {

constexpr int64_t kVersion = 1;
constexpr int64_t kLargestFile = int64_t{256} << 20;

Json read_json(const std::filesystem::path& path) {
  return parse_json<DataError>(read_file(path, kLargestFile), path.string(), {.max_bytes = kLargestFile});
}

LossOfPart read_part(const JsonNode& node, const char* from, const char* to) {
  return {.from = node.at(from).integer(),
          .to = node.at(to).integer(),
          .tokens = node.at("tokens").integer(),
          .bytes = node.find_integer("bytes").value_or(0),
          .loss = node.at("loss").number(),
          .confidence95 = node.find_number("confidence95").value_or(0.0),
          .bits95 = node.find_number("bits_per_byte_confidence95")};
}

std::vector<LossOfPart> read_parts(const JsonNode& result, const char* key, const char* from, const char* to) {
  std::vector<LossOfPart> parts;
  const std::optional<JsonNode> list = result.find(key);
  if (!list) return parts;
  for (const JsonNode& part : list->elements()) parts.push_back(read_part(part, from, to));
  return parts;
}

// Of tokens, examples or answers; as many of them as a file can list still have a sum.
int64_t read_count(const JsonNode& node, int64_t least = 0) {
  constexpr int64_t kMost = int64_t{1} << 40;
  const int64_t count = node.integer();
  if (count < least || count > kMost)
    node.refuse("an integer from " + std::to_string(least) + " to " + std::to_string(kMost));
  return count;
}

AnswerShare read_share(const JsonNode& node) {
  AnswerShare share{.answers = read_count(node.at("answers"), 1), .accuracy = node.at("accuracy").number()};
  if (!(share.accuracy >= 0.0 && share.accuracy <= 1.0)) node.at("accuracy").refuse("a number from 0 to 1");
  share.confidence95 = node.find_number("confidence95");
  if (share.confidence95.value_or(0.0) < 0.0) node.at("confidence95").refuse("a number from 0 on");
  return share;
}

AnswersOfExamples read_examples(const JsonNode& node) {
  AnswersOfExamples examples{.tokens = read_count(node.at("tokens"), 1), .share = read_share(node)};
  for (const auto& [name, value] : node.at("traits").members()) examples.traits[name] = read_count(value);
  return examples;
}

AnswersAtDistance read_distance(const JsonNode& node) {
  AnswersAtDistance distance{.from = read_count(node.at("from"), 1), .share = read_share(node)};
  distance.to = read_count(node.at("to"), distance.from);
  return distance;
}

HardExample read_hard_example(const JsonNode& node) {
  const JsonNode wrong = node.at("first_wrong");
  HardExample hard{.example = read_count(node.at("example")),
                   .answers = read_count(node.at("answers"), 1),
                   .right = read_count(node.at("right")),
                   .begin = read_count(node.at("begin")),
                   .distance = read_count(wrong.at("distance"))};
  hard.first_wrong = read_count(wrong.at("offset"), hard.begin);
  if (hard.right >= hard.answers) node.at("right").refuse("fewer than " + std::to_string(hard.answers) + " answers");
  for (const JsonNode& token : node.at("tokens").elements()) hard.tokens.push_back(token.integer());
  if (hard.tokens.empty()) node.at("tokens").refuse("the tokens up to the wrong answer");
  const std::optional<JsonNode> texts = node.find("texts");
  if (!texts) return hard;
  for (const JsonNode& text : texts->elements()) hard.texts.push_back(text.text());
  if (hard.texts.size() != hard.tokens.size())
    texts->refuse("a text for each of " + std::to_string(hard.tokens.size()) + " tokens");
  return hard;
}

Answers read_answers(const JsonNode& node) {
  Answers answers{.total = read_share(node)};
  if (const std::optional<JsonNode> longest = node.find("longest_trained"))
    answers.longest_trained = read_count(*longest, 1);
  for (const JsonNode& of : node.at("by_examples").elements()) answers.by_examples.push_back(read_examples(of));
  for (const JsonNode& at : node.at("by_distance").elements()) answers.by_distance.push_back(read_distance(at));
  for (const JsonNode& hard : node.at("hardest").elements()) answers.hardest.push_back(read_hard_example(hard));
  return answers;
}

// Ages are as many in every layer.
std::vector<std::vector<AttentionOfAge>> read_attention(const JsonNode& node) {
  std::vector<std::vector<AttentionOfAge>> layers;
  for (const JsonNode& layer : node.elements()) {
    std::vector<AttentionOfAge>& ages = layers.emplace_back();
    for (const JsonNode& age : layer.at("by_age").elements()) {
      ages.push_back({.from = read_count(age.at("from"), 1), .share = age.at("share").number()});
      ages.back().to = read_count(age.at("to"), ages.back().from);
      if (!(ages.back().share >= 0.0 && ages.back().share <= 1.0)) age.at("share").refuse("a number from 0 to 1");
    }
    const auto same = [](const AttentionOfAge& a, const AttentionOfAge& b) { return a.from == b.from && a.to == b.to; };
    if (!std::ranges::equal(ages, layers.front(), same))
      layer.at("by_age").refuse(std::to_string(layers.front().size()) + " ages, those of the first layer");
  }
  return layers;
}

bool read_mode(const JsonNode& mode) {
  if (mode.text() != "memory" && mode.text() != "recompute") mode.refuse(R"("memory" or "recompute")");
  return mode.text() == "recompute";
}

EvaluatedLength read_result(const JsonNode& node) {
  EvaluatedLength result{.is_recomputed = read_mode(node.at("mode")),
                         .mem_len = node.at("mem_len").integer(),
                         .tgt_len = node.at("tgt_len").integer(),
                         .stride = node.find_integer("stride").value_or(0),
                         .clamp_len = node.find_integer("clamp_len").value_or(-1),
                         .context = node.at("context").integer(),
                         .tokens = node.at("tokens").integer(),
                         .bytes = node.find_integer("bytes").value_or(0),
                         .unknown_tokens = node.find_integer("unknown_tokens"),
                         .loss = node.at("loss").number(),
                         .confidence95 = node.find_number("confidence95").value_or(0.0),
                         .bits95 = node.find_number("bits_per_byte_confidence95"),
                         .bits_per_byte = node.find_number("bits_per_byte"),
                         .tokens_per_second = node.find_number("tokens_per_second").value_or(0.0),
                         .by_position = read_parts(node, "by_position", "position", "position"),
                         .by_context = read_parts(node, "by_context", "from", "to"),
                         .per_token = node.find_text("per_token")};
  if (const std::optional<JsonNode> same_length = node.find("same_length")) result.same_length = same_length->boolean();
  if (const std::optional<JsonNode> above = node.find("above_baseline"); above && !above->is_null()) {
    result.difference95 = above->find_number("confidence95");
    result.difference_bits95 = above->find_number("bits_per_byte_confidence95");
  }
  if (const std::optional<JsonNode> answers = node.find("answers")) result.answers = read_answers(*answers);
  if (const std::optional<JsonNode> attention = node.find("attention"); attention && !attention->is_null())
    result.attention = read_attention(*attention);
  return result;
}

SampleToken read_token(const JsonNode& node, size_t results) {
  SampleToken token{.text = node.at("text").text(), .nll = {}};
  const JsonNode losses = node.at("nll");
  for (const JsonNode& loss : losses.elements())
    token.nll.push_back(loss.is_null() ? std::nullopt : std::optional(loss.number()));
  if (token.nll.size() != results) losses.refuse("one loss for each of " + std::to_string(results) + " results");
  return token;
}

// Where a character takes several tokens, the last of them has its text; its loss is the sum of theirs.
void read_sample(const JsonNode& document, Evaluation& evaluation) {
  const std::optional<JsonNode> sample = document.find("sample");
  if (!sample) return;
  evaluation.sample_offset = sample->find_integer("offset").value_or(0);
  std::vector<double> begun(evaluation.results.size(), 0.0);
  for (const JsonNode& node : sample->at("tokens").elements()) {
    SampleToken token = read_token(node, evaluation.results.size());
    const bool is_complete = !token.text.empty();
    for (size_t i = 0; i < begun.size(); ++i) {
      if (token.nll[i]) token.nll[i] = *token.nll[i] + begun[i];
      begun[i] = is_complete ? 0.0 : token.nll[i].value_or(begun[i]);
    }
    if (is_complete) evaluation.sample.push_back(std::move(token));
  }
}

ContextCurve read_curve(const JsonNode& node) {
  ContextCurve curve{.ratio = node.at("ratio").number(), .points = {}};
  if (const std::optional<JsonNode> ends_within = node.find("ends_within")) curve.ends_within = ends_within->boolean();
  for (const JsonNode& point : node.at("points").elements()) {
    const std::optional<double> gain = point.find_number("gain");
    curve.points.push_back({point.at("context").number(), gain.value_or(std::nan(""))});
  }
  return curve;
}

// Keys of `effective_context` are ratios, written in whatever way.
std::optional<double> length_at(const JsonNode& lengths, double ratio) {
  for (const auto& [key, length] : lengths.members()) {
    try {
      if (std::abs(std::stod(key) - ratio) < 1e-9 && !length.is_null()) return length.number();
    } catch (const std::logic_error&) {
      length.refuse("a ratio as its key");
    }
  }
  return std::nullopt;
}

EffectiveContextModel read_model(const JsonNode& node, const std::vector<double>& ratios) {
  EffectiveContextModel model{.name = node.at("name").text(), .lengths = {}, .curves = {}};
  for (const double ratio : ratios) model.lengths.push_back(length_at(node.at("effective_context"), ratio));
  if (const std::optional<JsonNode> curves = node.find("curves")) {
    for (const JsonNode& curve : curves->elements()) model.curves.push_back(read_curve(curve));
  }
  return model;
}

}  // namespace

std::optional<double> LossOfPart::bits_per_byte() const {
  if (bytes <= 0) return std::nullopt;
  return loss * static_cast<double>(tokens) / static_cast<double>(bytes) / std::numbers::ln2;
}

std::vector<LossOfPart> joined(const std::vector<LossOfPart>& parts, IsEnough is_enough) {
  std::vector<LossOfPart> groups;
  LossOfPart group;
  double variance = 0.0;       // of the sum of losses, times a constant
  double bits_variance = 0.0;  // likewise, per byte
  bool tells_bits = true;
  for (const LossOfPart& part : parts) {
    const auto tokens = static_cast<double>(part.tokens);
    if (group.tokens == 0) group.from = part.from;
    group.to = part.to;
    group.tokens += part.tokens;
    group.bytes += part.bytes;
    group.loss += tokens * part.loss;
    variance += (tokens * part.confidence95) * (tokens * part.confidence95);
    const double bits = static_cast<double>(part.bytes) * part.bits95.value_or(0.0);
    bits_variance += bits * bits;
    tells_bits = tells_bits && part.bits95;
    if (group.tokens == 0 || (!is_enough(group) && &part != &parts.back())) continue;
    group.loss /= static_cast<double>(group.tokens);
    group.confidence95 = std::sqrt(variance) / static_cast<double>(group.tokens);
    if (tells_bits && group.bytes > 0) group.bits95 = std::sqrt(bits_variance) / static_cast<double>(group.bytes);
    groups.push_back(group);
    group = {};
    variance = bits_variance = 0.0;
    tells_bits = true;
  }
  return groups;
}

std::optional<SourcePlace> read_text_place(const JsonNode& document) {
  const std::optional<JsonNode> text = document.find("text");
  if (!text) return std::nullopt;
  return SourcePlace{.sources = text->at("sources").text(),
                     .begin = read_count(text->at("begin")),
                     .bytes = read_count(text->at("bytes"))};
}

Evaluation read_evaluation(const std::filesystem::path& path) {
  const Json json = read_json(path);
  const JsonNode document(json, path.string());
  check_format(document, "segue-evaluation", kVersion);
  const JsonNode trained = document.at("trained");
  Evaluation evaluation{.name = path.parent_path().filename().string(),
                        .data = document.find_text("data"),
                        .dataset = document.find_text("dataset"),
                        .text = read_text_place(document),
                        .split = document.at("split").text(),
                        .unit = document.find_text("unit"),
                        .step = document.find_integer("step").value_or(0),
                        .command = document.at("command").text(),
                        .trained_mem_len = trained.at("mem_len").integer(),
                        .trained_tgt_len = trained.at("tgt_len").integer(),
                        .results = {},
                        .sample = {}};
  const std::optional<int64_t> baseline = document.find_integer("baseline");
  for (const JsonNode& result : document.at("results").elements()) {
    evaluation.results.push_back(read_result(result));
    evaluation.results.back().is_baseline = baseline == std::ssize(evaluation.results) - 1;
  }
  read_sample(document, evaluation);
  return evaluation;
}

EffectiveContext read_effective_context(const std::filesystem::path& path) {
  const Json json = read_json(path);
  const JsonNode document(json, path.string());
  check_format(document, "segue-effective-context", kVersion);
  EffectiveContext result{.threshold = document.at("threshold").number(), .ratios = {}, .models = {}};
  for (const JsonNode& ratio : document.at("ratios").elements()) result.ratios.push_back(ratio.number());
  for (const JsonNode& model : document.at("models").elements())
    result.models.push_back(read_model(model, result.ratios));
  return result;
}

bool is_wide_for_its_place(const LossOfPart& group) {
  constexpr int64_t kPartOfPlace = 8;
  return kPartOfPlace * (group.to - group.from + 1) >= group.from + 1;
}

bool has_many_tokens(const LossOfPart& group) {
  constexpr int64_t kMany = 512;
  return group.tokens >= kMany && is_wide_for_its_place(group);
}

}  // namespace segue::report

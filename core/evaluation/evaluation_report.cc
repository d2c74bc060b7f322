#include "core/evaluation/evaluation_report.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>

#include "base/text.h"
#include "base/text_table.h"
#include "base/utf8.h"

namespace segue {

namespace {

OrderedJson or_null(const std::optional<double>& value) { return value ? OrderedJson(*value) : OrderedJson(); }

// Of the text of these very tokens; nothing where it is not known.
void add_per_byte(OrderedJson& line, const LossMean& losses) {
  const std::optional<double> bits = bits_per_byte(losses.loss());
  if (!bits) return;
  const std::optional<double> confidence = losses.confidence95(LossPer::kByte);
  line["bits_per_byte"] = *bits;
  line["bits_per_byte_confidence95"] = confidence ? OrderedJson(bits_of(*confidence)) : OrderedJson();
}

void add_mean(OrderedJson& line, const LossMean& losses) {
  line["tokens"] = losses.tokens();
  if (losses.bytes() > 0) line["bytes"] = losses.bytes();
  line["loss"] = losses.mean();
  line["confidence95"] = or_null(losses.confidence95());
  add_per_byte(line, losses);
}

OrderedJson by_position(const LossStatistics& statistics) {
  OrderedJson lines = OrderedJson::array();
  for (size_t i = 0; i < statistics.by_position().size(); ++i) {
    const LossMean& losses = statistics.by_position()[i];
    if (losses.tokens() == 0) continue;
    add_mean(lines.emplace_back(OrderedJson{{"position", i}}), losses);
  }
  return lines;
}

OrderedJson by_context(const LossStatistics& statistics) {
  OrderedJson lines = OrderedJson::array();
  for (const LossStatistics::Bin& bin : statistics.by_context()) {
    if (bin.losses.tokens() == 0) continue;
    add_mean(lines.emplace_back(OrderedJson{{"from", bin.from}, {"to", bin.to}}), bin.losses);
  }
  return lines;
}

void add_share(OrderedJson& line, const AnswerMean& answers) {
  line["answers"] = answers.answers();
  line["accuracy"] = answers.mean();
  line["confidence95"] = answers.confidence95();
}

// How much of a text comes before a character of UTF-8 that it ends within.
size_t whole_characters(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(text.size(), 3); ++back) {
    if (continues_character(text[text.size() - back])) continue;
    const auto byte = static_cast<uint8_t>(text[text.size() - back]);
    const size_t needed = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return needed > back ? text.size() - back : text.size();
  }
  return text.size();
}

// The text that each token adds to that of those before it: words are decoded with the space between them, and a
// character belongs to the last of its bytes.
std::vector<std::string> texts_of(const Tokenizer& tokenizer, std::span<const int32_t> tokens) {
  std::vector<std::string> texts;
  std::string text;
  size_t decoded = 0;
  for (const int32_t token : tokens) {
    tokenizer.decode_onto(token, text);
    const size_t whole = std::max(whole_characters(text), decoded);
    texts.push_back(text.substr(decoded, whole - decoded));
    decoded = whole;
  }
  return texts;
}

// From what decides the first wrong answer on, where that is not too far back.
int64_t first_shown(const AnswerStatistics::Example& example) {
  constexpr int64_t kFewest = 16;
  constexpr int64_t kMost = 128;
  const int64_t back = std::clamp(example.distance, kFewest - 1, kMost - 1);
  return std::max(example.first_wrong - back, example.begin);
}

// Tokens of the longest example of split train; null where it has none.
OrderedJson longest_trained(const Dataset& dataset) {
  const std::vector<SplitInfo>& splits = dataset.manifest().splits;
  const auto train = std::ranges::find(splits, "train", &SplitInfo::name);
  if (train == splits.end() || !train->examples || train->examples->empty()) return {};
  return std::ranges::max(*train->examples, {}, &ExampleRun::tokens).tokens;
}

OrderedJson answers_json(const AnswerStatistics& answers, const Dataset& dataset, const std::string& split) {
  const std::unique_ptr<Tokenizer> tokenizer = dataset.tokenizer();
  OrderedJson json = OrderedJson::object();
  add_share(json, answers.total);
  json["by_examples"] = OrderedJson::array();
  for (const AnswerStatistics::OfRun& of : answers.by_run) {
    if (of.answers.answers() == 0) continue;
    OrderedJson traits = OrderedJson::object();
    for (const ExampleTrait& trait : of.run.traits) traits[trait.name] = trait.value;
    add_share(json["by_examples"].emplace_back(OrderedJson{{"tokens", of.run.tokens}, {"traits", traits}}), of.answers);
  }
  json["by_distance"] = OrderedJson::array();
  for (const AnswerStatistics::Bin& bin : answers.by_distance)
    add_share(json["by_distance"].emplace_back(OrderedJson{{"from", bin.from}, {"to", bin.to}}), bin.answers);
  json["hardest"] = OrderedJson::array();
  for (const AnswerStatistics::Example& example : answers.hardest) {
    const int64_t begin = first_shown(example);
    std::vector<int32_t> tokens(static_cast<size_t>(example.first_wrong + 1 - begin));
    dataset.split(split).read(begin, tokens);
    OrderedJson& hard = json["hardest"].emplace_back(
        OrderedJson{{"example", example.index},
                    {"begin", example.begin},
                    {"answers", example.answers},
                    {"right", example.right},
                    {"first_wrong", {{"offset", example.first_wrong}, {"distance", example.distance}}},
                    {"tokens", tokens}});
    if (tokenizer != nullptr) hard["texts"] = texts_of(*tokenizer, tokens);
  }
  json["longest_trained"] = longest_trained(dataset);
  return json;
}

// Null where no whole segment found a full memory.
OrderedJson attention_json(const AttentionByAge& attention) {
  if (attention.empty()) return {};
  OrderedJson layers = OrderedJson::array();
  for (int64_t layer = 0; layer < attention.layers(); ++layer) {
    OrderedJson& of = layers.emplace_back(OrderedJson{{"memory", attention.of_memory(layer)}});
    for (const AttentionByAge::Share& share : attention.by_age(layer))
      of["by_age"].push_back({{"from", share.from}, {"to", share.to}, {"share", share.share}});
  }
  return layers;
}

// The result that the others are compared with: the lengths of training, or else the first.
size_t baseline_of(const EvaluationSettings& settings, const StoredModel& trained,
                   const std::vector<PassResult>& results) {
  const auto found = std::ranges::find_if(results, [&](const PassResult& result) {
    const EvaluationPoint& lengths = result.pass.lengths;
    return !settings.recompute && lengths.mem_len == trained.model.mem_len && lengths.tgt_len == trained.tgt_len;
  });
  return found == results.end() ? 0 : static_cast<size_t>(found - results.begin());
}

OrderedJson above_baseline(const LossMean& losses, const LossMean& baseline) {
  const std::optional<LossMean> difference = losses.above(baseline);
  if (!difference) return {};
  OrderedJson above{{"loss", difference->mean()}, {"confidence95", or_null(difference->confidence95())}};
  add_per_byte(above, *difference);
  return above;
}

OrderedJson result_json(const EvaluationSettings& settings, const PassResult& result, const PassResult& baseline,
                        const LossUnits& units, const Dataset& dataset) {
  const EvaluationPass& pass = result.pass;
  const LossMean& total = result.statistics.total();
  OrderedJson json{{"mode", settings.recompute ? "recompute" : "memory"},
                   {"mem_len", pass.lengths.mem_len},
                   {"tgt_len", pass.lengths.tgt_len}};
  if (settings.recompute) json["stride"] = settings.stride;
  json["clamp_len"] = pass.use.clamp_len;
  json["same_length"] = pass.use.same_length;
  json["context"] = pass.context.most();
  json["warm_up"] = pass.warm_up ? OrderedJson(*pass.warm_up) : OrderedJson();
  json["tokens"] = total.tokens();
  if (total.bytes() > 0) json["bytes"] = total.bytes();
  add_unknown(json, result.unknown);
  add_loss(json, total.loss(), units);
  json["confidence95"] = or_null(total.confidence95());
  add_per_byte(json, total);
  if (units.is_masked() && result.accuracy) json["accuracy"] = *result.accuracy;
  json["above_baseline"] = above_baseline(total, baseline.statistics.total());
  json["seconds"] = result.seconds;
  json["tokens_per_second"] = static_cast<double>(pass.plan.scored_rows()) / result.seconds;
  json["by_position"] = by_position(result.statistics);
  json["by_context"] = by_context(result.statistics);
  if (result.answers && result.answers->total.answers() > 0) {
    json["answers"] = answers_json(*result.answers, dataset, settings.split);
    const std::optional<LossMean> above =
        baseline.answers ? result.answers->total.by_region().above(baseline.answers->total.by_region()) : std::nullopt;
    json["answers"]["above_baseline"] =
        above ? OrderedJson{{"accuracy", above->mean()}, {"confidence95", or_null(above->confidence95())}}
              : OrderedJson();
  }
  if (!result.per_token.empty()) json["per_token"] = result.per_token;
  if (result.attention && pass.lengths.mem_len > 0) json["attention"] = attention_json(*result.attention);
  return json;
}

// The tokens from the first to the last before one that some result did not score; null where there are none, and of a
// masked model, which scores few of neighbouring tokens.
OrderedJson sample_json(const EvaluationSettings& settings, Share place, const std::vector<PassResult>& results,
                        const Dataset& dataset) {
  const std::unique_ptr<Tokenizer> tokenizer = dataset.tokenizer();
  if (tokenizer == nullptr) return {};
  std::vector<int32_t> tokens(static_cast<size_t>(place.count));
  dataset.split(settings.split).read(place.first, tokens);
  const std::vector<std::string> texts = texts_of(*tokenizer, tokens);
  OrderedJson lines = OrderedJson::array();
  for (size_t i = 0; i < texts.size(); ++i) {
    OrderedJson nll = OrderedJson::array();
    for (const PassResult& result : results) nll.push_back(result.sample[i]);
    if (std::ranges::any_of(results, [i](const PassResult& r) { return std::isnan(r.sample[i]); })) break;
    lines.push_back({{"text", texts[i]}, {"nll", std::move(nll)}});
  }
  return {{"offset", place.first}, {"tokens", std::move(lines)}};
}

// "auto" where the results differ.
OrderedJson warm_up_json(const EvaluationSettings& settings, const std::vector<PassResult>& results) {
  if (settings.warm_up.empty()) return {};
  const auto same = [&](const PassResult& result) { return result.pass.warm_up == results.front().pass.warm_up; };
  return std::ranges::all_of(results, same) ? OrderedJson(*results.front().pass.warm_up) : OrderedJson("auto");
}

OrderedJson text_json(const Dataset& dataset, const std::string& split) {
  const std::optional<SourcePlace> place = dataset.text_place(split);
  return place ? write_fields(*place) : OrderedJson();
}

bool is_trained(const OrderedJson& evaluation, const OrderedJson& result) {
  const OrderedJson& trained = evaluation["trained"];
  const auto same = [&](const char* key) { return result[key] == trained[key]; };
  return result["mode"] == "memory" && same("mem_len") && same("tgt_len") && same("clamp_len") && same("same_length") &&
         evaluation["set"].empty();
}

std::string confidence_of(const OrderedJson& result, const char* key = "confidence95") {
  const OrderedJson& confidence = result[key];
  return confidence.is_null() ? "" : fmt::format(" ± {:.4f}", confidence.get<double>());
}

std::string above_baseline_text(const OrderedJson& result) {
  const OrderedJson& above = result["above_baseline"];
  return above.is_null() ? "" : fmt::format("{:+.5f}{}", above["loss"].get<double>(), confidence_of(above));
}

// Empty where there is no unknown token.
std::string unknown_text(const OrderedJson& result) {
  if (!result.contains("unknown_share")) return "";
  return percent_of(
      UnknownTokens{.count = result["unknown_tokens"].get<int64_t>(), .scored = result["tokens"].get<int64_t>()});
}

int64_t speed_of(const OrderedJson& result) { return std::llround(result["tokens_per_second"].get<double>()); }

std::string describe_one(const OrderedJson& result, const LossUnits& units) {
  const double loss = result["loss"].get<double>();
  const std::string meaning = units.unit == "token" ? "" : fmt::format("  (a token is a {})", units.unit);
  std::string text = fmt::format("{:<16}{}\n", "tokens scored", human_count(result["tokens"].get<int64_t>()));
  if (const std::string unknown = unknown_text(result); !unknown.empty())
    text += fmt::format("{:<16}{} of these tokens\n", "unknown", unknown);
  text += fmt::format("{:<16}{:.5f} nats per token{}{}\n", "loss", loss, confidence_of(result), meaning);
  if (!units.is_masked())
    text += fmt::format("{:<16}{:.4f} per {}\n", "perplexity", perplexity_per_token(loss), units.unit);
  if (!units.is_byte())
    text += fmt::format("{:<16}{:.5f}\n", units.is_masked() ? "bits per token" : fmt::format("bits per {}", units.unit),
                        bits_of(loss));
  if (result.contains("bits_per_byte"))
    text += fmt::format("{:<16}{:.5f}{}{}\n", "bits per byte", result["bits_per_byte"].get<double>(),
                        confidence_of(result, "bits_per_byte_confidence95"),
                        units.is_byte() ? "" : "  of the text of these tokens");
  if (result.contains("accuracy"))
    text += fmt::format("{:<16}{:.2f} % of these tokens\n", "accuracy", 100.0 * result["accuracy"].get<double>());
  return text + fmt::format("{:<16}{} tokens/s\n", "speed", human_count(speed_of(result)));
}

// A number that is the same of all results is said below the table.
void drop_if_common(std::vector<TextColumn>& columns, const std::string& head, std::string_view what,
                    std::string& common) {
  const auto column = std::ranges::find(columns, head, &TextColumn::head);
  const std::string value = column->cells.front();
  if (std::ranges::any_of(column->cells, [&](const std::string& cell) { return cell != value; })) return;
  common += fmt::format("{}{} {}", common.empty() ? "" : ", ", value, what);
  columns.erase(column);
}

std::string describe_table(const OrderedJson& evaluation, const LossUnits& units) {
  const bool bytes = evaluation["results"].front().contains("bits_per_byte");
  const std::string bits = bytes ? "bits/byte" : units.is_masked() ? "bits/token" : fmt::format("bits/{}", units.unit);
  const auto baseline = evaluation["baseline"].get<size_t>();
  const bool trained = is_trained(evaluation, evaluation["results"][baseline]);
  std::vector<TextColumn> columns;
  const auto add = [&](const std::string& head, bool is_text,
                       const std::function<std::string(const OrderedJson&)>& cell) {
    columns.push_back({.head = head, .cells = {}, .is_text = is_text});
    for (const OrderedJson& result : evaluation["results"]) columns.back().cells.push_back(cell(result));
  };
  const auto count = [](const char* key) {
    return [key](const OrderedJson& result) { return human_count(result[key].get<int64_t>()); };
  };
  add("mem_len", false, count("mem_len"));
  add("tgt_len", false, count("tgt_len"));
  add("tokens", false, count("tokens"));
  add("loss", true, [](const OrderedJson& result) {
    return fmt::format("{:.5f}{}", result["loss"].get<double>(), confidence_of(result));
  });
  add("difference", true, [&](const OrderedJson& result) {
    if (&result != &evaluation["results"][baseline]) return above_baseline_text(result);
    return std::string(trained ? "as trained" : "to this");
  });
  if (!units.is_masked() && !units.is_byte())
    add("perplexity", false, [](const OrderedJson& result) {
      return fmt::format("{:.4f}", perplexity_per_token(result["loss"].get<double>()));
    });
  add(bits, units.is_byte(), [&](const OrderedJson& result) {
    if (!bytes) return fmt::format("{:.5f}", bits_of(result["loss"].get<double>()));
    const std::string interval = units.is_byte() ? confidence_of(result, "bits_per_byte_confidence95") : "";
    return fmt::format("{:.5f}{}", result["bits_per_byte"].get<double>(), interval);
  });
  add("tokens/s", false, [](const OrderedJson& result) { return human_count(speed_of(result)); });
  if (!unknown_text(evaluation["results"].front()).empty()) add("unknown", false, unknown_text);
  std::string common;
  drop_if_common(columns, "tgt_len", "tokens in a segment (tgt_len)", common);
  drop_if_common(columns, "tokens", "tokens scored", common);
  std::string text = fmt::format("\n{}", text_table(columns));
  if (!common.empty()) text += fmt::format("{}.\n", common);
  text += trained ? "Differences are to the lengths of training. " : "";
  return text +
         "Losses and differences are in nats.\n"
         "± is half of a 95 % interval. For a difference it is narrow, since both read the\nsame text.\n";
}

std::string share_text(const OrderedJson& line) {
  const OrderedJson& confidence = line["confidence95"];
  return fmt::format("{:.2f} %{} of {}", 100.0 * line["accuracy"].get<double>(),
                     confidence.is_null() ? "" : fmt::format(" ± {:.2f}", 100.0 * confidence.get<double>()),
                     counted(line["answers"].get<int64_t>(), "answer"));
}

// "items 4, 65 tokens"
std::string examples_text(const OrderedJson& line) {
  std::string text;
  for (const auto& [name, value] : line["traits"].items()) text += fmt::format("{} {}, ", name, value.dump());
  return text + fmt::format("{} tokens", line["tokens"].dump());
}

std::string describe_answers(const OrderedJson& results) {
  std::string text;
  for (const OrderedJson& result : results) {
    if (!result.contains("answers")) continue;
    const OrderedJson& answers = result["answers"];
    text += fmt::format("\n{:<16}{}{}\n", "accuracy", share_text(answers),
                        results.size() == 1 ? ""
                                            : fmt::format(", mem_len {}, tgt_len {}", result["mem_len"].dump(),
                                                          result["tgt_len"].dump()));
    if (answers["by_examples"].size() == 1) continue;
    for (const OrderedJson& line : answers["by_examples"])
      text += fmt::format("  {:<28}{}\n", examples_text(line), share_text(line));
  }
  return text;
}

std::string ages_text(const OrderedJson& share) {
  return share["from"] == share["to"] ? share["from"].dump()
                                      : fmt::format("{}-{}", share["from"].dump(), share["to"].dump());
}

std::string attention_table(const OrderedJson& layers) {
  std::vector<TextColumn> columns{{.head = "layer", .cells = {}, .is_text = true}};
  for (size_t layer = 0; layer < layers.size(); ++layer) columns.front().cells.push_back(std::to_string(layer));
  const auto add = [&](const std::string& head, const std::function<double(const OrderedJson&)>& share) {
    columns.push_back({.head = head, .cells = {}});
    for (const OrderedJson& layer : layers) columns.back().cells.push_back(fmt::format("{:.2f}", 100.0 * share(layer)));
  };
  const auto memory = [](const OrderedJson& layer) { return layer["memory"].get<double>(); };
  add("segment", [&](const OrderedJson& layer) { return 1.0 - memory(layer); });
  add("memory", memory);
  const OrderedJson& ages = layers[0]["by_age"];
  for (size_t i = 0; i < ages.size(); ++i)
    add(ages_text(ages[i]), [i](const OrderedJson& layer) { return layer["by_age"][i]["share"].get<double>(); });
  return text_table(columns);
}

std::string describe_attention(const OrderedJson& results) {
  std::string text;
  for (const OrderedJson& result : results) {
    if (!result.contains("attention")) continue;
    if (result["attention"].is_null()) {
      text += fmt::format("\nAttention, mem_len {}, tgt_len {}: no whole segment found a full memory\n",
                          result["mem_len"].dump(), result["tgt_len"].dump());
      continue;
    }
    text += fmt::format("\nAttention, %, mem_len {}, tgt_len {}: by rows back from the segment\n{}",
                        result["mem_len"].dump(), result["tgt_len"].dump(), attention_table(result["attention"]));
  }
  return text;
}

}  // namespace

OrderedJson evaluation_json(const EvaluationSettings& settings, const EvaluationJob& job,
                            const std::vector<PassResult>& results, const Checkpoint& checkpoint,
                            const Dataset& dataset) {
  const StoredModel& trained = job.trained();
  const LossUnits units = loss_units(dataset, trained.model.objective);
  const size_t baseline = baseline_of(settings, trained, results);
  EvaluationSettings evaluated = settings;
  evaluated.checkpoint = checkpoint.directory().string();
  OrderedJson json{{"format", "segue-evaluation"},
                   {"version", 1},
                   {"checkpoint", checkpoint.directory().string()},
                   {"step", checkpoint.step()},
                   {"data", settings.data},
                   {"split", settings.split},
                   {"dataset", dataset.identity(settings.split)},
                   {"text", text_json(dataset, settings.split)},
                   {"tokenizer", write_fields(dataset.manifest().tokenizer)},
                   {"unit", units.unit},
                   {"trained",
                    {{"mem_len", trained.model.mem_len},
                     {"tgt_len", trained.tgt_len},
                     {"clamp_len", trained.model.position.clamp_len},
                     {"same_length", trained.model.visibility.same_length}}},
                   {"set", settings.set},
                   {"batch_size", settings.batch_size},
                   {"warm_up", warm_up_json(settings, results)},
                   {"document_boundary",
                    settings.document_boundary.empty() ? OrderedJson() : OrderedJson(settings.document_boundary)},
                   {"documents", job.documents() > 0 ? OrderedJson(job.documents()) : OrderedJson()},
                   {"baseline", baseline},
                   {"command", command_of(evaluated)},
                   {"results", OrderedJson::array()}};
  for (const PassResult& result : results)
    json["results"].push_back(result_json(settings, result, results[baseline], units, dataset));
  const OrderedJson sample = units.is_masked() ? OrderedJson() : sample_json(settings, job.sample(), results, dataset);
  if (!sample.is_null()) json["sample"] = sample;
  return json;
}

std::string describe_evaluation(const OrderedJson& evaluation, const LossUnits& units) {
  const OrderedJson& results = evaluation["results"];
  const OrderedJson& first = results.front();
  const bool one = results.size() == 1;
  std::string text = fmt::format("{:<16}{}\n", "checkpoint", evaluation["checkpoint"].get<std::string>());
  text += fmt::format("{:<16}{} of {}\n", "split", evaluation["split"].get<std::string>(),
                      evaluation["data"].get<std::string>());
  text +=
      fmt::format("{:<16}batch {}, {}clamp_len {}, same_length {}", "lengths", evaluation["batch_size"].dump(),
                  one ? fmt::format("tgt_len {}, mem_len {}, ", first["tgt_len"].dump(), first["mem_len"].dump()) : "",
                  first["clamp_len"].dump(), first["same_length"].dump());
  for (const OrderedJson& override_text : evaluation["set"])
    text += ", " + visible_line(override_text.get<std::string>());
  if (const OrderedJson& warm_up = evaluation["warm_up"]; !warm_up.is_null())
    text += fmt::format(", warm-up {}", warm_up.is_string() ? warm_up.get<std::string>() : warm_up.dump());
  if (!evaluation["documents"].is_null()) {
    const auto documents = evaluation["documents"].get<int64_t>();
    text += fmt::format(", {} document{} from empty memory", human_count(documents), documents == 1 ? "" : "s");
  }
  if (first["mode"] == "recompute") text += fmt::format(", recomputed at a stride of {}", first["stride"].dump());
  text += '\n';
  return text + (one ? describe_one(first, units) : describe_table(evaluation, units)) + describe_answers(results) +
         describe_attention(results);
}

}  // namespace segue

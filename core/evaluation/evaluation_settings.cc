#include "core/evaluation/evaluation_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "base/directory_content.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/load_document.h"
#include "base/text.h"
#include "core/checkpoint/checkpoint_store.h"
#include "core/config/bounds.h"
#include "core/config/device_choice.h"

namespace segue {

namespace {

constexpr double kMostTokens = 1e15;
constexpr int64_t kLongestWarmUp = 1'000'000'000;

// Refuses what is said twice, and what a window, which has no memory, would not read: all but positions.
void check_overrides(const EvaluationSettings& settings) {
  const auto refuse = [&](std::string_view key, std::string_view field) {
    refuse_override(settings.set, key, settings.called(field), settings.called("set"));
  };
  if (!settings.mem_len.empty()) refuse("model.mem_len", "mem_len");
  if (settings.clamp_len) refuse("model.position.clamp_len", "clamp_len");
  if (settings.same_length) refuse("model.visibility.same_length", "same_length");
  check_use_overrides(settings.set);
  for (const std::string& key : overridden_keys(settings.set)) {
    if (settings.recompute && !key.starts_with("model.position."))
      throw ConfigError("{} and {} {}: windows have no memory, and each of their rows sees all that came before it",
                        settings.called("recompute"), settings.called("set"), key);
  }
}

bool is_number(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0 && value <= kLongestWarmUp;
}

}  // namespace

std::span<const std::string_view> choices_of(EvaluationMemory /*memory*/) {
  static constexpr std::array<std::string_view, 2> kNames{"as_trained", "kv_cache"};
  return kNames;
}

void EvaluationSettings::describe(JsonFields& fields) {
  fields.optional("checkpoint", checkpoint,
                  {.meaning = kCheckpointMeaning, .flag = {.value = "DIR", .may_be_unnamed = true}});
  fields.optional("data", data,
                  {.meaning = "directory of the prepared dataset; default: the one that the run was trained on",
                   .flag = {.value = "DIR"}});
  fields.optional("split", split, {.meaning = "split to score"});
  describe_streams(fields, batch_size);
  describe_lengths(fields, tgt_len, mem_len);
  describe_use(fields, clamp_len, same_length, set);
  fields.optional("max_tokens", max_tokens,
                  {.meaning = "score at most this many tokens, without warm_up rounded up to whole segments of all "
                              "streams; 0: the whole split",
                   .unit = "tokens",
                   .minimum = 0,
                   .maximum = kMostTokens});
  fields.optional("warm_up", warm_up,
                  {.meaning = "score every token once. Each stream except the first begins by reading this many tokens "
                              "before its own: a number, or auto for as many as its losses depend on; empty: cut the "
                              "split into blocks that each start from empty memory, as the published codes do"});
  fields.optional(
      "memory", memory,
      {.meaning = "what to keep of earlier segments. kv_cache: their keys and values, made and placed once. "
                  "as_trained: what model.memory.kind says, which is slower, but for hidden states smaller. Both give "
                  "the same numbers up to rounding. Models with a global stream only have as_trained"});
  fields.optional(
      "document_boundary", document_boundary,
      {.meaning =
           "text, or numbers of ready-made tokens, after which a new document begins. Each document is read from empty "
           "memory. Escapes such as \\n, \\t and \\x1e are understood; empty: the split is one text"});
  fields.optional("recompute", recompute,
                  {.meaning = "use no memory, but recompute a window of tgt_len tokens at every stride, as memoryless "
                              "models are evaluated"});
  fields.optional("stride", stride,
                  {.meaning = "recompute: tokens from one window to the next; each window scores this many",
                   .unit = "tokens",
                   .minimum = 1,
                   .maximum = kLongest});
  fields.optional("per_token", per_token,
                  {.meaning = "also write the loss of every token, one file for each result (HDF5: nll and targets "
                              "[n], by position in the split)"});
  fields.optional(
      "attention", attention,
      {.meaning =
           "also report how much of its attention every layer gives to its memory, by age. It counts whole segments "
           "that find their memory full, and keeps of earlier segments what training keeps, whatever memory says"});
  fields.optional("output", output,
                  {.meaning = "directory for evaluation.json, evaluation.csv, by_position.csv and by_context.csv. If "
                              "it holds another evaluation, force replaces that as a whole",
                   .flag = {.value = "DIR", .is_output = true}});
  fields.optional("name", name,
                  {.meaning = "name of the result, which goes to RUN/evaluations/NAME of the checkpoint's run. Without "
                              "output and name, the settings make the name: eval-SPLIT-..."});
  describe_compute(fields, device, precision, threads);
}

EvaluationSettings load_evaluation_settings(const std::filesystem::path& path) {
  auto settings = load_document<ConfigError, EvaluationSettings>(path, DocumentKind::kEvaluationSettings);
  check_use_overrides(settings.set, path.string() + ": set");
  return settings;
}

void check_settings(const EvaluationSettings& settings) {
  check_fields<ConfigError>(settings, "segue eval");
  const auto called = [&](std::string_view key) { return settings.called(key); };
  const auto refuse_both = [&](std::string_view key, std::string_view other, std::string_view why) {
    throw ConfigError("{} and {}: {}", called(key), called(other), why);
  };
  if (settings.checkpoint.empty())
    throw ConfigError("{}: expected a run or a checkpoint, found none", called("checkpoint"));
  if (!settings.warm_up.empty() && settings.warm_up != "auto" && !is_number(settings.warm_up))
    throw ConfigError(R"({}: expected "auto" or a number of tokens, found "{}")", called("warm_up"), settings.warm_up);
  if (!settings.name.empty() && !settings.output.empty())
    refuse_both("name", "output",
                fmt::format(R"(expected one of them, found "{}" and "{}")", settings.name, settings.output));
  check_overrides(settings);
  if (!settings.document_boundary.empty()) {
    if (!unescaped(settings.document_boundary))
      throw ConfigError(R"({}: expected two hexadecimal digits after each "\x", found "{}")",
                        called("document_boundary"), settings.document_boundary);
    if (!settings.warm_up.empty()) refuse_both("document_boundary", "warm_up", "documents begin with empty memory");
    if (settings.recompute) refuse_both("document_boundary", "recompute", "windows ignore documents");
  }
  const auto refuse_twice = [&](std::string_view key, std::vector<int64_t> lengths) {
    std::ranges::sort(lengths);
    if (const auto twice = std::ranges::adjacent_find(lengths); twice != lengths.end())
      throw ConfigError("{}: expected each length once, found {} again", called(key), *twice);
  };
  refuse_twice("tgt_len", settings.tgt_len);
  refuse_twice("mem_len", settings.mem_len);
  if (!settings.recompute && settings.stride != EvaluationSettings{}.stride)
    throw ConfigError("{}: expected none without {}, which alone has windows; found {}", called("stride"),
                      called("recompute"), settings.stride);
  if (settings.recompute) {
    if (!settings.warm_up.empty()) refuse_both("recompute", "warm_up", "windows have no memory to warm up");
    if (std::ranges::any_of(settings.mem_len, [](int64_t length) { return length > 0; }))
      refuse_both("recompute", "mem_len", "windows have no memory, expected a length of 0");
    if (settings.attention) refuse_both("recompute", "attention", "windows have no memory to attend to");
    if (settings.memory != EvaluationSettings{}.memory)
      refuse_both("recompute", "memory", "windows have no memory to keep");
    if (settings.same_length == true)
      refuse_both("recompute", "same_length", "every row of a window sees all that came before it in the window");
  }
}

namespace {

// The value of a flag; empty for flags that have none.
std::string flag_value(const OrderedJson& value) {
  if (value.is_boolean()) return "";
  if (value.is_string()) return shell_word(value.get<std::string>());
  if (!value.is_array()) return value.dump();
  const std::string list = value.dump();
  return list.substr(1, list.size() - 2);
}

}  // namespace

std::string command_of(const EvaluationSettings& settings) {
  const OrderedJson chosen = write_fields(settings);
  const OrderedJson defaults = write_fields(EvaluationSettings{});
  std::string command = "segue eval";
  for (const auto& [key, value] : chosen.items()) {
    if (defaults.contains(key) && value == defaults[key]) continue;
    std::string flag = key;
    std::replace(flag.begin(), flag.end(), '_', '-');
    if (key == "same_length") {
      command += *settings.same_length ? " --same-length" : " --no-same-length";
    } else if (key == "set") {
      for (const std::string& override_text : settings.set) command += " --set " + shell_word(override_text);
    } else {
      const std::string word = flag_value(value);
      command += fmt::format(" --{}{}{}", flag, word.empty() ? "" : " ", word);
    }
  }
  return command;
}

std::vector<EvaluationPoint> points_of(const EvaluationSettings& settings, const EvaluationPoint& trained) {
  const int64_t remembered = settings.recompute ? 0 : trained.mem_len;
  std::vector<EvaluationPoint> points =
      every_point(settings.tgt_len, settings.mem_len, {.tgt_len = trained.tgt_len, .mem_len = remembered});
  for (const EvaluationPoint& point : points) {
    if (settings.recompute && settings.stride > point.tgt_len)
      throw ConfigError("{}: expected at most {}, {}, found {}", settings.called("stride"), settings.called("tgt_len"),
                        point.tgt_len, settings.stride);
  }
  return points;
}

std::filesystem::path output_of(const EvaluationSettings& settings, const std::filesystem::path& checkpoint) {
  std::filesystem::path directory = settings.output;
  if (!settings.name.empty()) {
    const std::filesystem::path parent = std::filesystem::canonical(checkpoint).parent_path();
    if (parent.filename() != "checkpoints")
      throw UsageError("{}: {} lies in no run; expected {}, a directory", settings.called("name"), checkpoint.string(),
                       settings.called("output"));
    if (settings.name != std::filesystem::path(settings.name).filename())
      throw UsageError("{}: expected a plain name, found \"{}\"", settings.called("name"), settings.name);
    directory = parent.parent_path() / "evaluations" / settings.name;
  }
  const bool is_free = directory.empty() || describe_content(directory) == kNoFiles;
  if (!is_free && kinds_in(directory) != std::vector{DirectoryKind::kEvaluation})
    throw UsageError("{}: exists and holds no evaluation, which alone would be replaced, but {}; name another",
                     directory.string(), describe_content(directory));
  return directory;
}

void check_replaceable(const std::filesystem::path& directory, EvaluationSubject subject) {
  const std::filesystem::path file = directory / "evaluation.json";
  if (!path_exists(file)) return;
  const auto text_at = [](const Json& there, const char* key) {
    const auto member = there.is_object() ? there.find(key) : there.end();
    return member != there.end() && member->is_string() ? member->get<std::string>() : std::string();
  };
  std::string command;
  std::string dataset;
  try {
    const Json there = parse_json<DataError>(read_file(file), file.string());
    command = text_at(there, "command");
    dataset = text_at(there, "dataset");
  } catch (const Error&) {  // it is another, whatever it is
  }
  subject.settings.checkpoint = subject.checkpoint;
  if (command == command_of(subject.settings) && dataset == subject.dataset) return;
  const bool is_of_other_tokens = command == command_of(subject.settings);
  throw UsageError("{}: expected no evaluation or the same one, found {}; --force replaces it, another {} keeps it",
                   directory.string(),
                   command.empty()      ? "one that cannot be read"
                   : is_of_other_tokens ? "that of other tokens in " + subject.settings.data
                                        : "that of: " + command,
                   subject.settings.called(subject.settings.name.empty() ? "output" : "name"));
}

}  // namespace segue

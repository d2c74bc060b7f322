#include "core/evaluation/evaluation_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>

#include "base/text.h"
#include "core/attention/visibility.h"
#include "core/config/carried.h"
#include "core/config/layers.h"
#include "core/config/memory_row.h"
#include "core/config/visibility_kind.h"
#include "core/evaluation/loss_units.h"
#include "core/evaluation/per_token_file.h"
#include "core/model/overflow_advice.h"
#include "core/model/reach.h"
#include "data_pipeline/document_boundaries.h"

namespace segue {

namespace {

constexpr int64_t kSampleTokens = 400;
constexpr float kNotScored = std::numeric_limits<float>::quiet_NaN();

// The middle of the middle lane of the middle group.
Share middle_of(const EvaluationPlan& plan) {
  const Lane lane = plan.group(plan.groups() / 2)[static_cast<size_t>(plan.lanes() / 2)];
  const Lane scored = lane.rows() > 0 ? lane : plan.group(0).front();
  const int64_t row = std::max(scored.scored, std::min((scored.scored + scored.end) / 2, scored.end - kSampleTokens));
  return {.first = row + 1, .count = std::min(kSampleTokens, plan.rows() - row)};
}

// A window's rows all see what came before them in it: layers, too, whose own visibility says otherwise, would not do.
void check_windows(const ModelConfig& model, const ModelUse& use, std::string_view recompute) {
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    if (use_of_layer(model, use, layer).same_length)
      throw ConfigError("{} and {}.same_length: every row of a window sees all that came before it in the window",
                        recompute, visibility_key(model, layer));
    if (repeats_after(use_of_layer(model, use, layer)) > 1)
      throw ConfigError(
          "{} and {}.patterns: blocks and periods are counted from where a stream begins, not from where a window does",
          recompute, visibility_key(model, layer));
  }
}

// Tokens of each run of examples; none where the split is one text.
std::vector<int64_t> example_runs(const SplitInfo& split) {
  std::vector<int64_t> runs;
  if (!split.examples) return runs;
  for (const ExampleRun& run : *split.examples) runs.push_back(run.count * run.tokens);
  return runs;
}

// Each example is a text from empty memory.
void check_of_examples(const EvaluationSettings& settings) {
  const auto refuse = [&](bool is_set, std::string_view key) {
    if (is_set)
      throw ConfigError("{}: expected none for split {} of {}, which consists of examples, each read from empty memory",
                        settings.called(key), settings.split, settings.data);
  };
  refuse(!settings.warm_up.empty(), "warm_up");
  refuse(!settings.document_boundary.empty(), "document_boundary");
  refuse(settings.recompute, "recompute");
}

// No tokens before a stream's own are enough.
[[noreturn]] void refuse_auto(const ModelConfig& model, const ModelUse& use, int64_t tgt_len,
                              const EvaluationSettings& settings) {
  if (const std::string states = key_of_states(model); !states.empty())
    throw UsageError(
        R"({}: expected a number of tokens, such as 0 with {} = 1, with {}.kind = "state", whose reach has no limit; )"
        R"(found "auto")",
        settings.called("warm_up"), settings.called("batch_size"), states);
  const std::string unlimited = row_of(model.memory.kind).without_limit(model.memory);
  const bool begins_within_groups = unlimited.empty() && tgt_len % use.compression_rate != 0;
  throw UsageError(R"({}: expected a number of tokens, such as 0 with {} = 1, with model.memory.{}{}; found "auto")",
                   settings.called("warm_up"), settings.called("batch_size"),
                   unlimited.empty() ? said_kind(model.memory) : unlimited,
                   begins_within_groups
                       ? fmt::format(" and tgt_len = {}, no multiple of model.memory.compression_rate = {}, as "
                                     "streams that begin elsewhere compress other rows together",
                                     tgt_len, use.compression_rate)
                       : ", whose reach has no limit");
}

// What is seen by lists of tiles is not added up by key.
void check_attention(const ModelConfig& model, std::string_view attention) {
  if (const std::string states = key_of_states(model); !states.empty())
    throw ConfigError(R"({}: expected false with {}.kind = "state", which attends to no rows; found true)", attention,
                      states);
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    const VisibilityKind kind = visibility_of_layer(model, layer).kind;
    if (kind == VisibilityKind::kSparse || kind == VisibilityKind::kAdaptive)
      throw ConfigError(R"({}: expected false with {}.kind = "{}", whose attention by age is not measured; found true)",
                        attention, visibility_key(model, layer), name_of_choice(kind));
  }
}

// Puts what is known of tokens [offset, offset + values.size()) of the split among those from `first` on.
void keep(std::span<const float> values, int64_t offset, int64_t first, std::vector<float>& kept) {
  const int64_t begin = std::max(offset, first);
  const int64_t end = std::min(offset + std::ssize(values), first + std::ssize(kept));
  if (begin >= end) return;
  std::copy(values.begin() + (begin - offset), values.begin() + (end - offset), kept.begin() + (begin - first));
}

}  // namespace

EvaluationJob::EvaluationJob(const EvaluationSettings& settings, const Checkpoint& checkpoint, const Dataset& dataset,
                             kernels::Queue& queue, Job& job)
    : settings_(settings),
      checkpoint_(checkpoint),
      dataset_(dataset),
      queue_(queue),
      job_(job),
      trained_(read_model(checkpoint)),
      use_(use_of(trained_.model, settings.set)),
      split_(dataset.split_info(settings.split)),
      tokens_(split_.tokens) {
  if (split_.examples) check_of_examples(settings);
  if (settings.recompute && trained_.model.objective.is_masked())
    throw ConfigError(R"({}: expected false with model.objective.kind = "masked", whose tokens also see those after )"
                      "them, found true",
                      settings.called("recompute"));
  if (settings.recompute && row_of(trained_.model.memory.kind).holds_a_segment)
    throw ConfigError(
        "{}: expected false with model.memory.{}, whose segments are never longer than their memory, "
        "found true",
        settings.called("recompute"), said_kind(trained_.model.memory));
  if (settings.attention) check_attention(trained_.model, settings.called("attention"));
  if (!settings.document_boundary.empty()) {
    check_boundary(dataset, settings.split, settings.document_boundary);
    begins_ = find_documents(dataset.split(settings.split), boundary_tokens(dataset, settings.document_boundary));
  }
  for (const EvaluationPoint& lengths : points_of(settings, {.tgt_len = trained_.tgt_len, .mem_len = use_.mem_len}))
    passes_.push_back(make_pass(lengths));
  if (settings.attention && std::ranges::all_of(passes_, [](const auto& pass) { return pass.use.mem_len == 0; }))
    throw ConfigError("{}: expected {} above 0, as there are no rows of memory to attend to, found 0",
                      settings.called("attention"), settings.called("mem_len"));
  sample_ = middle_of(passes_.front().plan);
}

std::vector<std::string> EvaluationJob::complaints_of_lengths() const {
  if (split_.examples || !begins_.empty() || scored_tokens() == 0) return {};
  std::vector<std::string> complaints{complaint_of_memory(), complaint_of_segments(), complaint_of_warm_up()};
  std::erase(complaints, "");
  return complaints;
}

namespace {

// The pass of the most tokens, by `length_of`, of those that have at least so many more than `room_of` says there are;
// null where there is none.
template <typename LengthOf, typename RoomOf>
const EvaluationPass* longest_beyond(const std::vector<EvaluationPass>& passes, int64_t least_excess,
                                     const LengthOf& length_of, const RoomOf& room_of) {
  const EvaluationPass* longest = nullptr;
  for (const EvaluationPass& pass : passes)
    if (length_of(pass) - room_of(pass) >= least_excess &&
        (longest == nullptr || length_of(pass) > length_of(*longest)))
      longest = &pass;
  return longest;
}

}  // namespace

std::string EvaluationJob::complaint_of_memory() const {
  const auto mem_len_of = [](const EvaluationPass& pass) { return pass.use.mem_len; };
  const auto room_of = [](const EvaluationPass& pass) { return pass.plan.longest_lane(); };
  const EvaluationPass* const pass = settings_.recompute ? nullptr : longest_beyond(passes_, 0, mem_len_of, room_of);
  if (pass == nullptr || pass->use.mem_len == 0) return {};
  const int64_t all = tokens_ - 1;
  const int64_t of_one = settings_.max_tokens > 0 ? std::min(all, settings_.max_tokens) : all;  // of a single stream
  const bool fewer_streams_help = of_one > pass->use.mem_len;
  const bool more_tokens_help = settings_.max_tokens > 0 && all / settings_.batch_size > pass->use.mem_len;
  const std::string fewer = fmt::format("lower {}", settings_.called("batch_size"));
  const std::string more = fmt::format("raise {}", settings_.called("max_tokens"));
  std::string cure = fmt::format("lower {}", settings_.called("mem_len"));
  if (fewer_streams_help || more_tokens_help) {
    cure = fmt::format("{}{}{}", fewer_streams_help ? fewer : "", fewer_streams_help && more_tokens_help ? " or " : "",
                       more_tokens_help ? more : "");
  } else if (all > pass->use.mem_len) {
    cure = fmt::format("{} and {}", fewer, more);
  }
  return fmt::format("split {}: the longest of {} has {}, no more than the memory of {}, which never fills: {}",
                     settings_.split, counted(settings_.batch_size, "stream"),
                     counted(pass->plan.longest_lane(), "token"), human_count(pass->use.mem_len), cure);
}

std::string EvaluationJob::complaint_of_segments() const {
  const auto tgt_len_of = [](const EvaluationPass& pass) { return pass.lengths.tgt_len; };
  // Windows begin wherever there is room for them.
  const auto room_of = [this](const EvaluationPass& pass) {
    return settings_.recompute ? pass.plan.rows() : pass.plan.longest_lane();
  };
  const EvaluationPass* const pass = longest_beyond(passes_, 1, tgt_len_of, room_of);
  if (pass == nullptr) return {};
  return fmt::format("{}: {} is more than the longest of {} of split {} has ({}): segments are shorter",
                     settings_.called("tgt_len"), human_count(pass->lengths.tgt_len),
                     counted(settings_.recompute ? 1 : settings_.batch_size, "stream"), settings_.split,
                     counted(room_of(*pass), "token"));
}

std::string EvaluationJob::complaint_of_warm_up() const {
  if (settings_.warm_up.empty() || settings_.warm_up == "auto" || settings_.recompute) return {};
  const int64_t rows = passes_.front().plan.rows();
  const int64_t warm_up = passes_.front().warm_up.value_or(0);
  if (warm_up < rows) return {};
  return fmt::format("{}: {} is more than split {} has to score ({}): one stream reads it all, from empty memory",
                     settings_.called("warm_up"), human_count(warm_up), settings_.split, counted(rows, "token"));
}

EvaluationPass EvaluationJob::make_pass(const EvaluationPoint& lengths) const {
  ModelUse use = use_;
  use.mem_len = lengths.mem_len;
  use.clamp_len = settings_.clamp_len.value_or(use.clamp_len);
  // A window's rows all see what came before them in it.
  use.same_length = !settings_.recompute && settings_.same_length.value_or(use.same_length);
  if (settings_.recompute) check_windows(trained_.model, use, settings_.called("recompute"));
  check_use(trained_.model, use, lengths.tgt_len, "segue eval",
            settings_.mem_len.empty() ? "model.mem_len" : settings_.called("mem_len"));
  const bool is_without_limit = use.memory_tokens > 0 || hands_on_states(trained_.model);
  const ContextRule context{.tgt_len = lengths.tgt_len,
                            .mem_len = use.remembered_tokens(),
                            .windows = widest_reach(trained_.model, use),
                            .is_untold = use.ahead || (is_without_limit && !settings_.recompute)};
  std::optional<int64_t> warm_up;
  if (settings_.warm_up == "auto") {
    warm_up = warm_up_in_tokens(trained_.model, use, lengths.tgt_len);
    if (!warm_up) refuse_auto(trained_.model, use, lengths.tgt_len, settings_);
  } else if (!settings_.warm_up.empty()) {
    warm_up = std::stoll(settings_.warm_up);
  }
  const auto plan = [&] {
    const int64_t lanes = settings_.batch_size;
    const int64_t most = settings_.max_tokens;
    if (split_.examples) return plan_examples(*split_.examples, lanes, lengths.tgt_len, most);
    if (settings_.recompute) return plan_windows(tokens_, lanes, lengths.tgt_len, settings_.stride, most);
    if (!begins_.empty()) return plan_documents(tokens_, begins_, lanes, lengths.tgt_len, most);
    if (warm_up) return plan_streams(tokens_, lanes, lengths.tgt_len, *warm_up, most);
    return plan_blocks(tokens_, lanes, lengths.tgt_len, most);
  };
  return {.lengths = lengths, .use = use, .context = context, .warm_up = warm_up, .plan = plan()};
}

int64_t EvaluationJob::scored_tokens() const {
  return std::accumulate(passes_.begin(), passes_.end(), int64_t{0},
                         [](int64_t sum, const EvaluationPass& pass) { return sum + pass.plan.scored_rows(); });
}

std::vector<PassResult> EvaluationJob::run(const std::filesystem::path& directory, const Ready& ready,
                                           const Evaluator::Told& progress) {
  const Transformer model(trained_.model, trained_.vocab_size);
  Parameters parameters(model.parameter_specs(), compute_of(trained_.model, settings_.precision, queue_.device()));
  read_weights(checkpoint_, parameters);
  Arena arena(queue_.device());
  std::vector<PassResult> results;
  int64_t before = 0;
  for (const EvaluationPass& pass : passes_) {
    std::vector<float> nll(settings_.per_token ? static_cast<size_t>(tokens_) : 0, kNotScored);
    results.push_back(
        run_pass(pass, model, parameters, arena, nll, ready, [&](int64_t tokens) { progress(before + tokens); }));
    if (settings_.per_token) write_losses(results.back(), std::move(nll), directory);
    before += pass.plan.scored_rows();
  }
  return results;
}

PassResult EvaluationJob::run_pass(const EvaluationPass& pass, const Transformer& model, Parameters& parameters,
                                   Arena& arena, std::vector<float>& nll, const Ready& ready,
                                   const Evaluator::Told& progress) {
  Evaluator evaluator({model, pass.use, parameters, arena, queue_}, job_, settings_.kept(), settings_.attention);
  PassResult result{.pass = pass, .statistics = LossStatistics(pass.plan.rows(), pass.context, example_runs(split_))};
  result.sample.assign(static_cast<size_t>(sample_.count), kNotScored);
  std::vector<float> margins(split_.marks ? static_cast<size_t>(tokens_) : 0, kNotScored);
  bool tells_margins = false;
  const auto start = std::chrono::steady_clock::now();
  const auto take = [&](const ScoredTokens& scored) {
    result.statistics.add(scored);
    keep(scored.nll, scored.offset, sample_.first, result.sample);
    keep(scored.nll, scored.offset, 0, nll);
    keep(scored.margin, scored.offset, 0, margins);
    tells_margins = tells_margins || !scored.margin.empty();
  };
  const EvaluationResult evaluated = run_watched(evaluator, pass, take, progress, ready);
  result.accuracy = evaluated.accuracy();
  result.unknown = evaluated.unknown_tokens();
  result.attention = evaluated.attention;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (split_.marks && tells_margins) add_answers(result, margins);
  return result;
}

EvaluationResult EvaluationJob::run_watched(Evaluator& evaluator, const EvaluationPass& pass,
                                            const Evaluator::Sink& sink, const Evaluator::Told& progress,
                                            const Ready& ready) try {
  return evaluator.run(dataset_.split(settings_.split), pass.plan, sink, progress,
                       [&](const UseBytes& bytes) { ready(pass, bytes); });
} catch (const DivergedError& error) {
  const EvaluationPoint& lengths = pass.lengths;
  throw DivergedError("{} with checkpoint {} and segments of {}, mem_len {}: {}", error.what(),
                      checkpoint_.directory().string(), lengths.tgt_len, lengths.mem_len,
                      overflow_advice(trained_, lengths.tgt_len, lengths.mem_len, settings_.precision));
}

void EvaluationJob::add_answers(PassResult& result, std::span<const float> margins) {
  TokenSource source = dataset_.split(settings_.split);
  result.answers = count_answers(source, margins);
}

void EvaluationJob::write_losses(PassResult& result, std::vector<float> nll, const std::filesystem::path& directory) {
  const LongWork writing(job_, "writing losses");
  const EvaluationPoint& lengths = result.pass.lengths;
  result.per_token = settings_.tgt_len.size() > 1
                         ? fmt::format("losses-tgt-{}-mem-{}.h5", lengths.tgt_len, lengths.mem_len)
                         : fmt::format("losses-mem-{}.h5", lengths.mem_len);
  if (job_.is_first()) {
    const TokenizerInfo& tokenizer = dataset_.manifest().tokenizer;
    const LossUnits units = loss_units(dataset_, trained_.model.objective);
    TokenSource source = dataset_.split(settings_.split);
    const bool has_bytes = source.has_bytes() && !units.is_masked();
    PerTokenLosses losses{.info = {.dataset = dataset_.identity(settings_.split),
                                   .split = settings_.split,
                                   .tokenizer = std::string(name_of_choice(tokenizer.kind)),
                                   .tokenizer_checksum = tokenizer.checksum,
                                   .unit = units.unit,
                                   .checkpoint = checkpoint_.directory().string(),
                                   .bytes = has_bytes ? source.info().bytes : -1,
                                   .answers = result.answers ? result.answers->total.answers() : -1,
                                   .unknown_token = tokenizer.unknown_token,
                                   .context = result.pass.context.most(),
                                   .mem_len = lengths.mem_len,
                                   .tgt_len = lengths.tgt_len},
                          .nll = std::move(nll),
                          .right = result.answers ? result.answers->right : std::vector<float>(),
                          .runs = example_runs(split_)};
    if (!losses.runs.empty()) losses.info.example_runs = std::ssize(losses.runs);
    losses.targets.resize(losses.nll.size());
    source.read(0, losses.targets);
    losses.token_bytes.resize(has_bytes ? losses.nll.size() : 0);
    if (has_bytes) source.read_bytes(0, losses.token_bytes);
    write_per_token_file(directory / result.per_token, losses);
  }
  job_.barrier();
}

}  // namespace segue

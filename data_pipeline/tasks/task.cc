#include "data_pipeline/tasks/task.h"

#include "base/error.h"

namespace segue {

namespace {

SpecPlace place_of_part(const std::string& source, size_t split, size_t part) {
  return {source, fmt::format("splits[{}].parts[{}]", split, part)};
}

}  // namespace

void TaskExample::clear() {
  tokens.clear();
  marks.clear();
}

void TaskExample::add(int64_t token, TokenMark mark) {
  tokens.push_back(static_cast<int32_t>(token));
  marks.push_back(mark);
}

void TaskExample::add_answer(int64_t token, int64_t decided_by) { add(token, TokenMark::answer(size() - decided_by)); }

void TaskExample::add_further(int64_t token, int64_t decided_by) {
  add(token, TokenMark::further(size() - decided_by));
}

void TaskExample::add_copy(int64_t of, bool is_first) {
  const int32_t token = tokens[static_cast<size_t>(of)];
  is_first ? add_answer(token, of) : add_further(token, of);
}

void TaskExample::pad(int64_t size, int64_t filler) {
  tokens.resize(static_cast<size_t>(size), static_cast<int32_t>(filler));
  marks.resize(static_cast<size_t>(size));
}

int64_t fewest_items(const TaskPart& part) { return part.shortest > 0 ? part.shortest : part.items; }

int64_t draw_items(const TaskPart& part, TaskRandom& random) { return random.between(fewest_items(part), part.items); }

int64_t count_of_strings(int64_t symbols, int64_t tokens) {
  constexpr int64_t kMost = int64_t{1} << 62;
  int64_t count = 1;
  for (int64_t i = 0; i < tokens && count < kMost; ++i) count = count > kMost / symbols ? kMost : count * symbols;
  return count;
}

// One in the file of each kind.
TaskMaker make_recall;
TaskMaker make_retrieval;
TaskMaker make_rewrite;
TaskMaker make_copy;
TaskMaker make_selective_copy;
TaskMaker make_induction;
TaskMaker make_ngram;
TaskMaker make_regular_language;
TaskMaker make_variables;
TaskMaker make_collisions;
TaskMaker make_in_context_recall;
TaskMaker make_noisy_recall;
TaskMaker make_fuzzy_recall;
TaskMaker make_compression;
TaskMaker make_memorisation;
TaskMaker make_passkey;
TaskMaker make_needles;
TaskMaker make_variable_tracking;
TaskMaker make_common_words;
TaskMaker make_frequent_words;

namespace {

std::unique_ptr<Task> make_kind(const TaskSpec& spec, const SpecPlace& place) {
  switch (spec.kind) {
    case TaskKind::kRecall:
      return make_recall(spec, place);
    case TaskKind::kRetrieval:
      return make_retrieval(spec, place);
    case TaskKind::kRewrite:
      return make_rewrite(spec, place);
    case TaskKind::kCopy:
      return make_copy(spec, place);
    case TaskKind::kSelectiveCopy:
      return make_selective_copy(spec, place);
    case TaskKind::kInduction:
      return make_induction(spec, place);
    case TaskKind::kNgram:
      return make_ngram(spec, place);
    case TaskKind::kRegularLanguage:
      return make_regular_language(spec, place);
    case TaskKind::kVariables:
      return make_variables(spec, place);
    case TaskKind::kCollisions:
      return make_collisions(spec, place);
    case TaskKind::kInContextRecall:
      return make_in_context_recall(spec, place);
    case TaskKind::kNoisyRecall:
      return make_noisy_recall(spec, place);
    case TaskKind::kFuzzyRecall:
      return make_fuzzy_recall(spec, place);
    case TaskKind::kCompression:
      return make_compression(spec, place);
    case TaskKind::kMemorisation:
      return make_memorisation(spec, place);
    case TaskKind::kPasskey:
      return make_passkey(spec, place);
    case TaskKind::kNeedles:
      return make_needles(spec, place);
    case TaskKind::kVariableTracking:
      return make_variable_tracking(spec, place);
    case TaskKind::kCommonWords:
      return make_common_words(spec, place);
    case TaskKind::kFrequentWords:
      return make_frequent_words(spec, place);
  }
  throw ContractError("task {} is unknown", static_cast<int>(spec.kind));
}

// Keys of a part that only some tasks read.
void check_part_keys(const TaskSpec& spec, const TaskPart& part, const SpecPlace& place) {
  const std::string kind(name_of_choice(spec.kind));
  const bool draws_items = spec.kind == TaskKind::kCopy || spec.kind == TaskKind::kRegularLanguage;
  if (!draws_items)
    place.expect_at_most(0, "shortest", part.shortest,
                         fmt::format(R"(with kind = "{}" (read by "copy", "regular_language"))", kind));
  place.expect_at_most(part.items, "shortest", part.shortest, "items");
  if (!spec.replacement) place.expect_at_most(0, "pairs", part.pairs, "without replacement");
}

}  // namespace

std::unique_ptr<Task> make_task(const TaskSpec& spec, const std::string& source) {
  if (!is_in_text(spec.kind)) SpecPlace{.source = source}.expect_at_least(2, "vocabulary", spec.vocabulary, "tokens");
  std::unique_ptr<Task> task = make_kind(spec, {.source = source});
  for (size_t split = 0; split < spec.splits.size(); ++split) {
    for (size_t part = 0; part < spec.splits[split].parts.size(); ++part) {
      const SpecPlace place = place_of_part(source, split, part);
      check_part_keys(spec, spec.splits[split].parts[part], place);
      task->check(spec.splits[split].parts[part], place);
    }
  }
  return task;
}

// Numbered by part, so that more examples of one leave those of the others as they are.
void make_example(const Task& task, const TaskSpec& spec, size_t split, size_t part, int64_t number,
                  TaskExample& example) {
  TaskRandom random(static_cast<uint64_t>(spec.seed), static_cast<uint16_t>(split),
                    uint64_t{part} << 40 | static_cast<uint64_t>(number));
  example.clear();
  task.make(spec.splits[split].parts[part], random, example);
}

}  // namespace segue

// Identifies the text that losses were measured on. Only losses on the same text are ranked or drawn on one axis.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/drawing/page.h"
#include "core/report/run_data.h"

namespace segue::report {

struct ScoredText {
  std::string tokens = {};      // Dataset::identity() of the split; empty: not known
  std::string trained_on = {};  // the same of what the run was trained on
  std::string path = {};        // of the dataset, as it was given
  std::string split = {};
  int64_t count = 0;                      // tokens that were scored at most; 0: all
  std::string unit = {};                  // of the tokens: masked ones do not compare with others; empty: not known
  std::optional<SourcePlace> place = {};  // of their text in its sources; none: not known
};

// Compares the tokens where both are known; where losses are per byte, the same text in other tokens is the same too.
// Where tokens are not known: what the runs were trained on, with the split, or else path and split of the dataset.
bool are_same(const ScoredText& a, const ScoredText& b, bool per_byte);

ScoredText training_text(const RunData& run);
// That of the evaluations on the way, or without any that of training.
ScoredText judged_text(const RunData& run);
ScoredText text_of(const RunData& run, const Evaluation& evaluation);

// What is of one text: indices, and how the text is called so that no other group's has the same name.
struct TextGroup {
  std::vector<size_t> members = {};  // ascending
  std::string name = {};             // "test of data/book"
};

// In the order of their first members; a single one where all are of the same text.
std::vector<TextGroup> group_by_text(const std::vector<ScoredText>& texts, bool per_byte);

// Of results that have a run and an evaluation.
template <typename Result>
std::vector<TextGroup> groups_of(const std::vector<Result>& results, bool per_byte) {
  std::vector<ScoredText> texts;
  for (const Result& result : results) texts.push_back(text_of(*result.run, *result.evaluation));
  return group_by_text(texts, per_byte);
}

// The results of a group.
template <typename Result>
std::vector<Result> members_of(const TextGroup& group, const std::vector<Result>& results) {
  std::vector<Result> members;
  for (const size_t member : group.members) members.push_back(results[member]);
  return members;
}

// "a and b on test of data/book; c on test of data/web"
std::string list_of(const std::vector<TextGroup>& groups, const std::function<std::string(size_t member)>& name_of);

// Says so on the page where there are several groups, which have figures of their own.
void say_different(Page& page, const std::vector<TextGroup>& groups,
                   const std::function<std::string(size_t member)>& name_of);

// A figure that every group has one of, as that of `group`: where there are several, the caption and the titles of the
// drawings begin with "On NAME: ", and the drawings of later groups have names of their own.
Figure figure_of_group(Figure figure, const std::vector<TextGroup>& groups, size_t group);

}  // namespace segue::report

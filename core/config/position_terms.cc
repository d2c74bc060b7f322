#include "core/config/position_terms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "base/error.h"
#include "core/config/position_kind.h"
#include "core/config/score_kind.h"

namespace segue {

PositionTerms offered_by(PositionKind kind) {
  switch (kind) {
    case PositionKind::kRelative:
    case PositionKind::kShaw:
      return {.rows = true};
    case PositionKind::kRope:
      return {.turns = true};
    case PositionKind::kAlibi:
    case PositionKind::kT5:
    case PositionKind::kKerple:
      return {.biases = true};
    case PositionKind::kDistanceAware:
      return {.gains = true};
    case PositionKind::kSinusoidal:
    case PositionKind::kLearned:
      return {.vectors = true};
    case PositionKind::kNone:
      return {};
  }
  throw ContractError("unknown position kind");
}

PositionTerms accepted_by(ScoreKind kind) {
  switch (kind) {
    case ScoreKind::kSoftmax:
      return {.vectors = true, .turns = true, .rows = true, .biases = true, .gains = true};
    case ScoreKind::kState:
      return {.turns = true};
  }
  throw ContractError("unknown score kind");
}

std::string_view refused_term(const PositionTerms& offered, const PositionTerms& accepted) {
  if (offered.vectors && !accepted.vectors) return "vectors added to embeddings";
  if (offered.turns && !accepted.turns) return "rotated queries and keys";
  if (offered.rows && !accepted.rows) return "rows of distances";
  if (offered.biases && !accepted.biases) return "biases by distance";
  if (offered.gains && !accepted.gains) return "gains by distance";
  return {};
}

std::string positions_within(const PositionTerms& accepted) {
  std::vector<std::string> names;
  for (size_t i = 0; i < choices_of(PositionKind{}).size(); ++i) {
    const auto kind = static_cast<PositionKind>(i);
    if (refused_term(offered_by(kind), accepted).empty()) names.push_back(fmt::format(R"("{}")", name_of_choice(kind)));
  }
  return fmt::format("{}", fmt::join(names, " or "));
}

}  // namespace segue

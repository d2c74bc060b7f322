// Which terms a kind of position offers to attention, and which terms a kind of score takes: the one place that says
// which of them go together.
#pragma once

#include <string>
#include <string_view>

#include "core/config/kinds.h"
#include "core/config/position_kind.h"
#include "core/config/score_kind.h"

namespace segue {

struct PositionTerms {
  bool vectors = false;  // added to the embeddings, with which tokens carry them through all layers
  bool turns = false;    // of queries and keys, by their positions
  bool rows = false;     // one for each distance, which queries meet as they meet keys
  bool biases = false;   // one for each distance, added to scores
  bool gains = false;    // one for each distance, which multiplies rectified scores
  bool operator==(const PositionTerms&) const = default;
};

PositionTerms offered_by(PositionKind kind);
PositionTerms accepted_by(ScoreKind kind);

// In words, the first term that is offered and not accepted; empty: all are.
std::string_view refused_term(const PositionTerms& offered, const PositionTerms& accepted);
// The kinds that offer nothing else, for messages: "rope" or "none", in quotes.
std::string positions_within(const PositionTerms& accepted);

}  // namespace segue

// The kinds of visibility, and of patterns, each with the word that stands for it in configs and what it means.
#pragma once

#include "core/config/kinds.h"

namespace segue {

enum class VisibilityKind : uint8_t { kCausal, kFull, kWindow, kSparse, kAdaptive };
inline const auto& table_of(VisibilityKind) {
  using enum VisibilityKind;
  static constexpr ChoiceTable<VisibilityKind, 5> kTable(
      {{kCausal, "causal", "all of memory, and the segment up to the query itself"},
       {kFull, "full", "all of memory and the whole segment (only with the masked objective)"},
       {kWindow, "window",
        "the newest keys, the same number for every query, so that losses do not depend on where segments begin"},
       {kSparse, "sparse",
        "for each head the keys that its patterns name, with the masked objective also after the query. Time goes only "
        "to tiles of 64 queries and 64 keys that hold a visible pair"},
       {kAdaptive, "adaptive",
        "the newest keys, as far back as every head of every layer learns to look. Time goes only to tiles of 64 "
        "queries and 64 keys that hold a visible pair"}});
  return kTable;
}

enum class PatternKind : uint8_t { kWindow, kDilated, kStrided, kBlocks, kBlockwise, kFixed, kGlobal, kRandom };
inline const auto& table_of(PatternKind) {
  using enum PatternKind;
  static constexpr ChoiceTable<PatternKind, 8> kTable(
      {{kWindow, "window",
        "the newest keys, the same number for every query, and as many after it where it looks ahead"},
       {kDilated, "dilated", "window keys, but only every stride-th one, counted from the query's own"},
       {kStrided, "strided", "every stride-th key, from the query's own as far back as memory reaches"},
       {kBlocks, "blocks",
        "the keys of the query's block and some before it, and as many after it where the query looks ahead"},
       {kBlockwise, "blockwise", "the keys of one block, the query's own or the one that lies shift blocks before it"},
       {kFixed, "fixed", "the keys at fixed positions of every period, as far back as memory reaches"},
       {kGlobal, "global",
        "the keys at the first positions of every period, which themselves see all keys, as far back as memory "
        "reaches"},
       {kRandom, "random", "the keys of random blocks, drawn for the query's block in every head of every layer"}});
  return kTable;
}

}  // namespace segue

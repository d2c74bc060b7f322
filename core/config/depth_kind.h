// The kinds of depth, each with the word that stands for it in configs and what it means.
#pragma once

#include "core/config/kinds.h"

namespace segue {

enum class DepthKind : uint8_t { kFixed, kShared, kHalting };
inline const auto& table_of(DepthKind) {
  using enum DepthKind;
  static constexpr ChoiceTable<DepthKind, 3> kTable(
      {{kFixed, "fixed", "model.n_layer layers, each with its own weights"},
       {kShared, "shared", "model.n_layer passes through one layer, all with the same weights"},
       {kHalting, "halting", "the same, model.n_layer passes at most: each token halts when it has passed enough"}});
  return kTable;
}

}  // namespace segue

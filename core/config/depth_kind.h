// The kinds of depth, each with the word that stands for it in configs and what it means.
#pragma once

#include "core/config/kinds.h"

namespace segue {

enum class DepthKind : uint8_t { kFixed, kShared };
inline const auto& table_of(DepthKind) {
  using enum DepthKind;
  static constexpr ChoiceTable<DepthKind, 2> kTable(
      {{kFixed, "fixed", "model.n_layer layers, each with its own weights"},
       {kShared, "shared", "model.n_layer passes through one layer, all with the same weights"}});
  return kTable;
}

}  // namespace segue

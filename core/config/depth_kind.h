// The kinds of depth, each with the word that stands for it in configs and what it means.
#pragma once

#include "core/config/kinds.h"

namespace segue {

enum class DepthKind : uint8_t { kFixed };
inline const auto& table_of(DepthKind) {
  using enum DepthKind;
  static constexpr ChoiceTable<DepthKind, 1> kTable(
      {{kFixed, "fixed", "model.n_layer layers, each with its own weights"}});
  return kTable;
}

}  // namespace segue

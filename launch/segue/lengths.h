// The lengths that a command may give a stored model, in place of those it was trained with.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "core/model/stored_model.h"

namespace segue {

struct LengthOptions {
  std::optional<int64_t> tgt_len;
  std::optional<int64_t> mem_len;
  std::optional<int64_t> clamp_len;
  std::optional<bool> same_length;
};

void add_length_options(CLI::App& command, const std::shared_ptr<LengthOptions>& lengths);

// Throws ConfigError naming `source` when the model cannot have such lengths.
StoredModel with_lengths(StoredModel stored, const LengthOptions& lengths, std::string_view source);

}  // namespace segue

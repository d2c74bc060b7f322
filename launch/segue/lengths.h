// The lengths that a command may give a stored model, in place of those it was trained with.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/stored_model.h"

namespace segue {

struct LengthOptions {
  std::optional<int64_t> tgt_len;
  std::optional<int64_t> mem_len;
  std::optional<int64_t> clamp_len;
  std::optional<bool> same_length;
  std::vector<std::string> set;  // overrides such as "model.memory.initial=zeros"
};

struct Lengths {
  int64_t tgt_len = 0;
  ModelUse use;
};

void add_length_options(CLI::App& command, const std::shared_ptr<LengthOptions>& lengths);

// Lengths not given are those of training. Throws ConfigError naming `source` when it cannot be used so.
Lengths lengths_of(const StoredModel& stored, const LengthOptions& options, std::string_view source);

}  // namespace segue

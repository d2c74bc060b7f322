// What all writers of datasets share: where a dataset may go, and how its tokens lie there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "data_pipeline/token_type.h"

namespace segue {

// Throws unless a dataset may be written there. An empty directory is as good as none; `force` replaces a dataset,
// never something else of the same name.
void check_dataset_output(const std::filesystem::path& output, bool force);

// The smallest type for tokens below `vocabulary`.
TokenType type_for(int64_t vocabulary);

// The same numbers in a wider type on disk.
std::vector<std::byte> widened(std::span<const std::byte> tokens, TokenType from, TokenType to);

// Appends tokens in their type on disk.
void narrow_into(std::span<const uint32_t> tokens, TokenType type, std::vector<std::byte>& out);

}  // namespace segue

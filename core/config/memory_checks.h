// Checks of a kind of memory against the other keys. Each throws ConfigError naming `source` and both keys.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/config/model_config.h"

namespace segue {

// Every token of a segment reads all memory tokens before it, and those behind it read the whole segment; associations
// have a number of features that the scan of a state takes.
void check_memory_tokens(const ModelConfig& model, std::string_view source);

// What segments before have summed is of whole texts, and read by tokens that see none after them.
void check_infini_memory(const ModelConfig& model, std::string_view source);

// An encoder sees tokens before and after each: positions that know no distance to keys ahead, and no objective that
// looks ahead by itself; and every token of a segment sees all that it makes.
void check_encoder(const ModelConfig& model, std::string_view source);

// A layer with a state sees all that came before, and has no rows of memory.
void check_states(const ModelConfig& model, std::string_view source);

// Where all layers keep a state, there are no rows; `mem_len_key` is what says how many.
void check_rows_of_states(const ModelConfig& model, int64_t mem_len, std::string_view mem_len_key,
                          std::string_view source);

// Of a memory that compresses: a compression that there is, a loss that it can learn from, and queries that see all of
// the memory.
void check_compression(const ModelConfig& model, std::string_view source);

// Rows are compressed before the segment is run that pushes them out, of which none can be; and whole groups at a time.
// The keys are what says the lengths.
void check_compressed_lengths(const ModelConfig& model, int64_t mem_len, std::string_view mem_len_key, int64_t tgt_len,
                              std::string_view tgt_len_key, std::string_view source);

}  // namespace segue

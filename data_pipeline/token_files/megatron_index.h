// The index of Megatron-LM's token files: NAME.idx says how the tokens of NAME.bin are cut into sequences and
// documents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "data_pipeline/token_files/element_type.h"
#include "data_pipeline/token_files/token_stream.h"

namespace segue {

struct MegatronIndex {
  ElementType element{};
  int64_t sequences = 0;
  int64_t tokens = 0;
  int64_t entries = 0;    // of the list of where documents begin
  int64_t documents = 0;  // with a token at least
};

// An index as it is read: a file, or memory.
struct IndexBytes {
  std::string name;  // for messages
  int64_t size = 0;
  std::function<std::span<std::byte>(int64_t offset, std::span<std::byte> block)> read_at;
};

bool is_megatron_index(std::string_view beginning);

// NAME.idx of NAME.bin where that is such an index; empty otherwise.
std::filesystem::path megatron_index_of(const std::filesystem::path& tokens);

IndexBytes open_index(const std::filesystem::path& path);

// Reads all of it and checks it against the size of the tokens' file. Throws DataError that names the index and the
// place for what is cut off, of another version or type, and for sequences that do not follow one another to the end of
// that file. Memory does not depend on its size.
MegatronIndex read_megatron_index(const IndexBytes& bytes, int64_t token_file_bytes);

// The lengths of its documents, one by one; of an index that was read before.
NextDocument documents_of(IndexBytes bytes, const MegatronIndex& index);

}  // namespace segue

// How ready-made tokens lie in a file: raw, or as another program writes them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "data_pipeline/byte_stream.h"
#include "data_pipeline/token_files/element_type.h"
#include "data_pipeline/token_files/megatron_index.h"
#include "data_pipeline/token_files/npz_tokens.h"
#include "data_pipeline/token_files/token_stream.h"

namespace segue {

struct TokenLayout {
  std::string_view format;  // "a token file of llm.c"; for messages
  ElementType element{};
  int64_t header_bytes = 0;
  std::optional<int64_t> stated_tokens = {};  // by the header
  int64_t row_tokens = 0;                     // of an array whose rows are documents; 0: it has none
  std::filesystem::path index = {};           // of Megatron-LM: where documents are
  MegatronIndex documents = {};
  std::optional<NpzArray> array = {};  // in an archive

  int64_t tokens = 0;  // found in the file
  bool has_documents() const { return row_tokens > 0 || documents.documents > 1; }
  int64_t count_documents() const;
};

// What is known of a file before its tokens are read.
struct TokenFileLook {
  std::string name;               // for messages
  std::filesystem::path content;  // where its bytes lie
  bool is_compressed = false;
  std::string_view beginning;  // of what is in it
  int64_t file_bytes = 0;
  std::string field = {};  // the array of an archive; empty: the only one
};

// By the first bytes and, of files that do not say what they are, by files beside it; absent for anything else. Throws
// DataError for such a file that is damaged or cannot be read.
std::optional<TokenLayout> find_token_layout(const TokenFileLook& look);

// Sets the number of tokens from what is in the file (headers left out). Throws DataError where it is none, half of
// one, or not what the header states.
void count_tokens(TokenLayout& layout, int64_t bytes, const std::string& name);

// The tokens as `options` ask for them; `content` is what is in the file, which a layout with an archive does not need.
std::unique_ptr<ByteStream> open_tokens(const TokenLayout& layout, std::unique_ptr<ByteStream> content,
                                        const std::filesystem::path& file, TokenStreamOptions options);

}  // namespace segue

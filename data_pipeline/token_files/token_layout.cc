#include "data_pipeline/token_files/token_layout.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data_pipeline/token_files/llmc_header.h"
#include "data_pipeline/token_files/npy_tokens.h"
#include "data_pipeline/token_width.h"
#include "data_pipeline/unsupported_formats.h"

namespace segue {
namespace {

TokenLayout layout_of_npy(const NpyTokens& array, std::string_view format) {
  return {.format = format,
          .element = array.element,
          .header_bytes = array.header_bytes,
          .stated_tokens = array.tokens,
          .row_tokens = array.row_tokens};
}

TokenLayout find_in_archive(const TokenFileLook& look) {
  if (look.is_compressed)
    throw DataError("{}: expected an .npz archive as it is, found a compressed one: decompress it first", look.name);
  const NpzArray array = NpzArchive(look.content, look.name).find(look.field);
  TokenLayout layout = layout_of_npy(array.tokens, "an array of NumPy");
  layout.array = array;
  return layout;
}

// nanoGPT writes no header, and, where its tokens are characters, their list beside the tokens.
bool is_beside_characters_of_nanogpt(const TokenFileLook& look) {
  std::error_code ignored;
  const std::filesystem::path file(look.name);
  return !look.is_compressed && file.extension() == ".bin" && look.file_bytes % 2 == 0 &&
         std::filesystem::is_regular_file(file.parent_path() / "meta.pkl", ignored) && looks_binary(look.beginning) &&
         other_tokens_than(TokenType::kUInt16, look.beginning).empty();
}

std::optional<TokenLayout> find_by_neighbours(const TokenFileLook& look) {
  if (look.is_compressed) return {};
  if (const std::filesystem::path index = megatron_index_of(look.name); !index.empty()) {
    const MegatronIndex documents = read_megatron_index(open_index(index), look.file_bytes);
    return TokenLayout{.format = "tokens of Megatron-LM",
                       .element = documents.element,
                       .stated_tokens = documents.tokens,
                       .index = index,
                       .documents = documents};
  }
  if (is_beside_characters_of_nanogpt(look))
    return TokenLayout{.format = "tokens of nanoGPT", .element = ElementType::kUInt16};
  return {};
}

}  // namespace

int64_t TokenLayout::count_documents() const {
  if (row_tokens > 0) return tokens / row_tokens;
  return std::max<int64_t>(1, documents.documents);
}

std::optional<TokenLayout> find_token_layout(const TokenFileLook& look) {
  if (is_llmc_token_file(look.beginning)) {
    const LlmcHeader header = read_llmc_header(look.beginning, look.name);
    return TokenLayout{.format = "a token file of llm.c",
                       .element = header.element,
                       .header_bytes = kLlmcHeaderBytes,
                       .stated_tokens = header.tokens};
  }
  if (is_npy(look.beginning)) return layout_of_npy(read_npy_tokens(look.beginning, look.name), "an array of NumPy");
  if (is_npz(look.beginning)) return find_in_archive(look);
  return find_by_neighbours(look);
}

void count_tokens(TokenLayout& layout, int64_t bytes, const std::string& name) {
  const int64_t width = bytes_of(layout.element);
  layout.tokens = bytes / width;
  if (layout.stated_tokens && bytes != *layout.stated_tokens * width)
    throw DataError("{}: expected {} tokens of {} ({} bytes), as its header says, found {} bytes", name,
                    *layout.stated_tokens, name_of(layout.element), *layout.stated_tokens * width, bytes);
  if (bytes % width != 0)
    throw DataError("{}: expected whole tokens of {} bytes, found {} bytes: the file is cut off or of another type",
                    name, width, bytes);
  if (layout.tokens == 0) throw DataError("{}: there are no tokens in it", name);
}

std::unique_ptr<ByteStream> open_tokens(const TokenLayout& layout, std::unique_ptr<ByteStream> content,
                                        const std::filesystem::path& file, TokenStreamOptions options) {
  if (layout.array) {
    content = NpzArchive(file, options.name).open(*layout.array);
  } else {
    std::vector<std::byte> header(static_cast<size_t>(layout.header_bytes));
    content->read(header);
  }
  options.element = layout.element;
  options.row_tokens = layout.row_tokens;
  if (options.separator && layout.row_tokens > 0)
    options.next_document = [tokens = layout.row_tokens, left = layout.count_documents()]() mutable {
      return left-- > 0 ? tokens : 0;
    };
  if (options.separator && !layout.index.empty())
    options.next_document = documents_of(open_index(layout.index), layout.documents);
  const bool is_as_asked = bytes_of(layout.element) == bytes_of(options.type) &&
                           (layout.element == ElementType::kUInt16 || layout.element == ElementType::kUInt32);
  if (is_as_asked && !options.next_document && layout.row_tokens == 0) return content;  // SourceReader checks them
  return make_token_stream(std::move(content), options);
}

}  // namespace segue

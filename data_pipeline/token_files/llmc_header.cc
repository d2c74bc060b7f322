// As dev/data/data_common.py of llm.c writes it: [0] magic number, [1] version, [2] number of tokens.
#include "data_pipeline/token_files/llmc_header.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"

namespace segue {
namespace {

struct LlmcKind {
  int32_t magic;
  int32_t version;
  ElementType element;
};
constexpr std::array kLlmcKinds{LlmcKind{20240520, 1, ElementType::kUInt16},   // GPT-2
                                LlmcKind{20240801, 7, ElementType::kUInt32}};  // Llama 3

int32_t llmc_number(std::string_view bytes, size_t index) {
  int32_t number = 0;
  if (bytes.size() >= (index + 1) * sizeof number)
    std::memcpy(&number, bytes.data() + index * sizeof number, sizeof number);
  return number;
}

const LlmcKind* llmc_kind_of(std::string_view beginning) {
  const auto* const found = std::ranges::find_if(
      kLlmcKinds, [beginning](const LlmcKind& kind) { return kind.magic == llmc_number(beginning, 0); });
  return found == kLlmcKinds.end() ? nullptr : found;
}

}  // namespace

bool is_llmc_token_file(std::string_view beginning) { return llmc_kind_of(beginning) != nullptr; }

LlmcHeader read_llmc_header(std::string_view beginning, const std::string& name) {
  const LlmcKind* const kind = llmc_kind_of(beginning);
  if (kind == nullptr) throw DataError("{}: expected a token file of llm.c, found another magic number", name);
  if (std::ssize(beginning) < kLlmcHeaderBytes)
    throw DataError("{}: expected llm.c's header of {} bytes, found {} bytes", name, kLlmcHeaderBytes,
                    beginning.size());
  const int32_t version = llmc_number(beginning, 1);
  if (version != kind->version)
    throw DataError("{}: expected version {} of llm.c's token files {}, found {}", name, kind->version, kind->magic,
                    version);
  const int32_t tokens = llmc_number(beginning, 2);
  if (tokens < 0) throw DataError("{}: llm.c's header: expected a number of tokens, found {}", name, tokens);
  return {kind->element, tokens};
}

}  // namespace segue

// Mutated token files of other programs: tokens within the limits and as many as are stated, or a DataError in one
// line. The first byte chooses the reader, since mutation hardly finds four magic numbers.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data_pipeline/format_detection.h"
#include "data_pipeline/token_files/llmc_header.h"
#include "data_pipeline/token_files/megatron_index.h"
#include "data_pipeline/token_files/npy_tokens.h"
#include "data_pipeline/token_files/npz_tokens.h"
#include "data_pipeline/token_files/token_stream.h"
#include "data_pipeline/token_width.h"
#include "data_pipeline/unsupported_formats.h"
#include "tests/fuzz/demand.h"

namespace {

using Bytes = std::span<const std::byte>;

std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

class MemoryStream : public segue::ByteStream {
 public:
  explicit MemoryStream(Bytes bytes) : bytes_(bytes) {}
  std::span<std::byte> read(std::span<std::byte> block) override {
    const size_t count = std::min(block.size(), bytes_.size());
    std::copy_n(bytes_.begin(), count, block.begin());
    bytes_ = bytes_.subspan(count);
    return block.first(count);
  }

 private:
  Bytes bytes_;
};

void read_tokens(std::unique_ptr<segue::ByteStream> elements, segue::ElementType type, int64_t tokens) {
  constexpr int64_t kLimit = 50257;
  const auto stream = segue::make_token_stream(
      std::move(elements),
      {.name = "fuzz", .element = type, .type = segue::TokenType::kUInt32, .limit = kLimit, .row_tokens = 3});
  std::vector<std::byte> block(4096);
  int64_t bytes = 0;
  for (auto part = stream->read(block); !part.empty(); part = stream->read(block)) {
    bytes += std::ssize(part);
    for (size_t i = 0; i + 4 <= part.size(); i += 4) {
      uint32_t token = 0;
      std::memcpy(&token, part.data() + i, sizeof token);
      segue::demand(token < kLimit);
    }
  }
  segue::demand(bytes <= 4 * tokens);
}

void try_llmc(Bytes bytes) {
  const segue::LlmcHeader header = segue::read_llmc_header(text_of(bytes), "fuzz");
  segue::demand(header.tokens >= 0 && bytes.size() >= segue::kLlmcHeaderBytes);
}

void try_index(Bytes bytes) {
  uint32_t token_bytes = 0;
  if (bytes.size() < sizeof token_bytes) return;
  std::memcpy(&token_bytes, bytes.data(), sizeof token_bytes);
  bytes = bytes.subspan(sizeof token_bytes);
  const segue::IndexBytes source{"fuzz", std::ssize(bytes), [bytes](int64_t offset, std::span<std::byte> block) {
                                   const auto from = bytes.subspan(std::min(static_cast<size_t>(offset), bytes.size()));
                                   const size_t count = std::min(block.size(), from.size());
                                   std::copy_n(from.begin(), count, block.begin());
                                   return block.first(count);
                                 }};
  const segue::MegatronIndex index = segue::read_megatron_index(source, token_bytes);
  segue::demand(index.tokens * segue::bytes_of(index.element) == token_bytes);
  const segue::NextDocument next = segue::documents_of(source, index);
  int64_t tokens = 0;
  int64_t documents = 0;
  for (int64_t length = next(); length > 0; length = next()) {
    tokens += length;
    ++documents;
  }
  segue::demand(tokens == index.tokens && documents == index.documents);
}

void try_npy(Bytes bytes) {
  const segue::NpyTokens array = segue::read_npy_tokens(text_of(bytes), "fuzz");
  segue::demand(array.tokens >= 0 && array.header_bytes <= std::ssize(bytes));
  const Bytes elements = bytes.subspan(static_cast<size_t>(array.header_bytes));
  if (array.bytes() == std::ssize(elements))
    read_tokens(std::make_unique<MemoryStream>(elements), array.element, array.tokens);
}

void try_npz(Bytes bytes) {
  const segue::NpzArchive archive(bytes, "fuzz");
  const segue::NpzArray array = archive.find("");
  if (array.tokens.tokens <= 1 << 17) read_tokens(archive.open(array), array.tokens.element, array.tokens.tokens);
}

void try_look(Bytes bytes) {
  const std::string_view beginning = text_of(bytes);
  for (const segue::Expected expected : {segue::Expected::kText, segue::Expected::kTokens, segue::Expected::kEither})
    segue::demand_one_line(segue::unsupported_format_of(beginning, expected, {.file = "a file"}));
  segue::demand_one_line(segue::wide_text_of(beginning));
  segue::demand_one_line(segue::raw_tokens_of(beginning));
  segue::demand_one_line(segue::json_records_of(beginning));
  segue::is_list_in_lines(beginning, "ids");
  segue::is_npz(beginning);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr std::array kReaders{try_llmc, try_index, try_npy, try_npz, try_look};
  if (size == 0) return 0;
  try {
    kReaders.at (*data % kReaders.size())(std::as_bytes(std::span(data, size)).subspan(1));
  } catch (const segue::DataError& error) {
    segue::demand_message(error.what());
  }
  return 0;
}

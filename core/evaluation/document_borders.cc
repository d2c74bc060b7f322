// A search that reads every token once (Knuth, Morris and Pratt 1977).
#include "core/evaluation/document_borders.h"

#include <algorithm>
#include <charconv>
#include <memory>

namespace segue {

namespace {

constexpr int64_t kChunk = 1 << 16;

std::vector<int32_t> parse_tokens(const Dataset& dataset, const std::string& border) {
  std::vector<int32_t> tokens;
  const char* at = border.data();
  const char* const end = border.data() + border.size();
  while (true) {
    int32_t token = -1;
    const auto [parsed, error] = std::from_chars(at, end, token);
    if (error != std::errc() || token < 0 || token >= dataset.vocabulary() || (parsed != end && *parsed != ','))
      throw DataError(
          R"({}: document border of ready-made tokens: expected numbers below {} such as "13,10", found "{}")",
          dataset.directory().string(), dataset.vocabulary(), border);
    tokens.push_back(token);
    if (parsed == end) return tokens;
    at = parsed + 1;
  }
}

// For every prefix, the length of the longest proper prefix that it ends with.
std::vector<size_t> fallbacks_of(std::span<const int32_t> border) {
  std::vector<size_t> fallbacks(border.size(), 0);
  size_t length = 0;
  for (size_t i = 1; i < border.size(); ++i) {
    while (length > 0 && border[i] != border[length]) length = fallbacks[length - 1];
    if (border[i] == border[length]) ++length;
    fallbacks[i] = length;
  }
  return fallbacks;
}

}  // namespace

std::vector<int32_t> border_tokens(const Dataset& dataset, const std::string& border) {
  const std::unique_ptr<Tokenizer> tokenizer = dataset.tokenizer();
  if (tokenizer == nullptr) return parse_tokens(dataset, border);
  const std::unique_ptr<Encoder> encoder = tokenizer->make_encoder();
  encoder->begin_file("document border", 0);
  encoder->append(border);
  encoder->end_file();
  if (encoder->unknown() > 0)
    throw DataError(R"({}: document border "{}": holds what is not in the vocabulary)", dataset.directory().string(),
                    border);
  if (encoder->tokens().empty())
    throw DataError(R"({}: document border "{}": holds no token)", dataset.directory().string(), border);
  return {encoder->tokens().begin(), encoder->tokens().end()};
}

std::vector<int64_t> find_documents(TokenSource source, std::span<const int32_t> border) {
  const std::vector<size_t> fallbacks = fallbacks_of(border);
  std::vector<int64_t> begins{0};
  std::vector<int32_t> chunk(static_cast<size_t>(kChunk));
  size_t matched = 0;
  for (int64_t offset = 0; offset < source.tokens(); offset += kChunk) {
    const int64_t count = std::min(kChunk, source.tokens() - offset);
    source.read(offset, std::span(chunk).first(static_cast<size_t>(count)));
    for (int64_t i = 0; i < count; ++i) {
      const int32_t token = chunk[static_cast<size_t>(i)];
      while (matched > 0 && token != border[matched]) matched = fallbacks[matched - 1];
      if (token == border[matched]) ++matched;
      if (matched < border.size()) continue;
      matched = 0;
      if (offset + i + 1 < source.tokens()) begins.push_back(offset + i + 1);
    }
  }
  if (begins.size() == 1) throw DataError("{}: the document border is nowhere between two documents", source.name());
  return begins;
}

}  // namespace segue

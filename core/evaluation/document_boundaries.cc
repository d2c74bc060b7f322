// A search that reads every token once (Knuth, Morris and Pratt 1977).
#include "core/evaluation/document_boundaries.h"

#include <algorithm>
#include <charconv>
#include <memory>

namespace segue {

namespace {

constexpr int64_t kChunk = 1 << 16;

std::vector<int32_t> parse_tokens(const Dataset& dataset, const std::string& boundary) {
  std::vector<int32_t> tokens;
  const char* at = boundary.data();
  const char* const end = boundary.data() + boundary.size();
  while (true) {
    int32_t token = -1;
    const auto [parsed, error] = std::from_chars(at, end, token);
    if (error != std::errc() || token < 0 || token >= dataset.vocabulary() || (parsed != end && *parsed != ','))
      throw DataError(
          R"({}: document boundary of ready-made tokens: expected numbers below {} such as "13,10", found "{}")",
          dataset.directory().string(), dataset.vocabulary(), boundary);
    tokens.push_back(token);
    if (parsed == end) return tokens;
    at = parsed + 1;
  }
}

// For every prefix, the length of the longest proper prefix that it ends with.
std::vector<size_t> fallbacks_of(std::span<const int32_t> boundary) {
  std::vector<size_t> fallbacks(boundary.size(), 0);
  size_t length = 0;
  for (size_t i = 1; i < boundary.size(); ++i) {
    while (length > 0 && boundary[i] != boundary[length]) length = fallbacks[length - 1];
    if (boundary[i] == boundary[length]) ++length;
    fallbacks[i] = length;
  }
  return fallbacks;
}

}  // namespace

std::vector<int32_t> boundary_tokens(const Dataset& dataset, const std::string& boundary) {
  const std::unique_ptr<Tokenizer> tokenizer = dataset.tokenizer();
  if (tokenizer == nullptr) return parse_tokens(dataset, boundary);
  const std::unique_ptr<Encoder> encoder = tokenizer->make_encoder();
  encoder->begin_file("document boundary", 0);
  encoder->append(boundary);
  encoder->end_file();
  if (encoder->unknown() > 0)
    throw DataError(R"({}: document boundary "{}": holds what is not in the vocabulary)", dataset.directory().string(),
                    boundary);
  if (encoder->tokens().empty())
    throw DataError(R"({}: document boundary "{}": holds no token)", dataset.directory().string(), boundary);
  return {encoder->tokens().begin(), encoder->tokens().end()};
}

std::vector<int64_t> find_documents(TokenSource source, std::span<const int32_t> boundary) {
  const std::vector<size_t> fallbacks = fallbacks_of(boundary);
  std::vector<int64_t> begins{0};
  std::vector<int32_t> chunk(static_cast<size_t>(kChunk));
  size_t matched = 0;
  for (int64_t offset = 0; offset < source.tokens(); offset += kChunk) {
    const int64_t count = std::min(kChunk, source.tokens() - offset);
    source.read(offset, std::span(chunk).first(static_cast<size_t>(count)));
    for (int64_t i = 0; i < count; ++i) {
      const int32_t token = chunk[static_cast<size_t>(i)];
      while (matched > 0 && token != boundary[matched]) matched = fallbacks[matched - 1];
      if (token == boundary[matched]) ++matched;
      if (matched < boundary.size()) continue;
      matched = 0;
      if (offset + i + 1 < source.tokens()) begins.push_back(offset + i + 1);
    }
  }
  if (begins.size() == 1) throw DataError("{}: the document boundary is nowhere between two documents", source.name());
  return begins;
}

}  // namespace segue

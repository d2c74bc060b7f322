// A search that reads every token once (Knuth, Morris and Pratt 1977).
#include "data_pipeline/document_boundaries.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

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
          R"({}: document_boundary: expected numbers below {}, of ready-made tokens, such as "13,10", found "{}")",
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

// Calls visit(first token of a document) for each but the first, until it returns false.
template <typename Visit>
void visit_documents(TokenSource& source, std::span<const int32_t> boundary, Visit visit) {
  const BoundarySearch search({boundary.begin(), boundary.end()});
  std::vector<int32_t> chunk(static_cast<size_t>(kChunk));
  size_t matched = 0;
  for (int64_t offset = 0; offset < source.tokens(); offset += kChunk) {
    const int64_t count = std::min(kChunk, source.tokens() - offset);
    source.read(offset, std::span(chunk).first(static_cast<size_t>(count)));
    for (int64_t i = 0; i < count; ++i) {
      if (search.ends_at(chunk[static_cast<size_t>(i)], matched) && offset + i + 1 < source.tokens() &&
          !visit(offset + i + 1))
        return;
    }
  }
}

[[noreturn]] void fail_without_boundary(const TokenSource& source) {
  throw DataError("{}: document_boundary: expected between two documents, found nowhere", source.name());
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
    throw DataError(R"({}: document_boundary: expected what the vocabulary holds, found "{}")",
                    dataset.directory().string(), boundary);
  if (encoder->tokens().empty())
    throw DataError(R"({}: document_boundary: expected at least one token, found "{}")", dataset.directory().string(),
                    boundary);
  return {encoder->tokens().begin(), encoder->tokens().end()};
}

BoundarySearch::BoundarySearch(std::vector<int32_t> boundary)
    : boundary_(std::move(boundary)), fallbacks_(fallbacks_of(boundary_)) {
  if (boundary_.empty()) throw ContractError("a document boundary without tokens");
}

bool BoundarySearch::ends_at(int32_t token, size_t& matched) const {
  while (matched > 0 && token != boundary_[matched]) matched = fallbacks_[matched - 1];
  if (token == boundary_[matched]) ++matched;
  if (matched < boundary_.size()) return false;
  matched = 0;
  return true;
}

std::vector<int64_t> find_documents(TokenSource source, std::span<const int32_t> boundary) {
  std::vector<int64_t> begins{0};
  visit_documents(source, boundary, [&](int64_t begin) {
    begins.push_back(begin);
    return true;
  });
  if (begins.size() == 1) fail_without_boundary(source);
  return begins;
}

void check_documents(TokenSource source, std::span<const int32_t> boundary) {
  bool is_found = false;
  visit_documents(source, boundary, [&](int64_t /*begin*/) {
    is_found = true;
    return false;
  });
  if (!is_found) fail_without_boundary(source);
}

}  // namespace segue

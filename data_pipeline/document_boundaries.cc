// A search that reads every token once (Knuth, Morris and Pratt 1977).
#include "data_pipeline/document_boundaries.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/json_text.h"
#include "base/text.h"

namespace segue {

namespace {

constexpr int64_t kChunk = 1 << 16;
constexpr const char* kBoundaryName = "document boundary";

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

// Calls visit(offset behind a boundary) for each among the first `tokens`, until it returns false.
template <typename Visit>
void visit_boundaries(TokenSource& source, int64_t tokens, std::span<const int32_t> boundary, Visit visit) {
  const BoundarySearch search({boundary.begin(), boundary.end()});
  std::vector<int32_t> chunk(static_cast<size_t>(kChunk));
  size_t matched = 0;
  for (int64_t offset = 0; offset < tokens; offset += kChunk) {
    const int64_t count = std::min(kChunk, tokens - offset);
    source.read(offset, std::span(chunk).first(static_cast<size_t>(count)));
    for (int64_t i = 0; i < count; ++i) {
      if (search.ends_at(chunk[static_cast<size_t>(i)], matched) && !visit(offset + i + 1)) return;
    }
  }
}

bool has_boundary(TokenSource source, std::span<const int32_t> boundary) {
  bool is_found = false;
  visit_boundaries(source, source.tokens(), boundary, [&](int64_t /*begin*/) {
    is_found = true;
    return false;
  });
  return is_found;
}

// "; what stands there: ..." of what documents often end with.
std::string other_boundaries(const Dataset& dataset, const std::string& split, const Tokenizer& tokenizer) {
  std::string found;
  for (const char* text : {"\n\n\n", "\n\n", "\r\n\r\n", "<|endoftext|>", "</s>", "\x1e", "\n"}) {
    try {
      const auto [tokens, unknown] = tokens_alone(tokenizer, text, kBoundaryName);
      if (tokens.empty() || unknown > 0) continue;
      const DocumentCount count = count_documents(dataset.split(split), tokens);
      if (count.documents > 1)
        found += fmt::format("{}{} ({})", found.empty() ? "; what stands there: " : ", ", describe_json(Json(text)),
                             describe(count));
    } catch (const DataError&) {  // of symbols that the vocabulary does not have
    }
  }
  return found;
}

}  // namespace

TokensAlone tokens_alone(const Tokenizer& tokenizer, const std::string& text, const std::string& name) {
  const std::unique_ptr<Encoder> encoder = tokenizer.make_encoder();
  encoder->begin_file(name, 0);
  encoder->append(text);
  encoder->end_file();
  return {.tokens = {encoder->tokens().begin(), encoder->tokens().end()}, .unknown = encoder->unknown()};
}

std::string_view without_line_feeds(const TokenizerInfo& info) {
  if (info.kind == TokenizerKind::kWord && info.line_marks == LineMarks::kNone)
    return "; segue prepare --eos line gives ends of lines a token";
  if (has_symbols(info.kind)) return "; this tokenizer leaves line feeds out";
  return "";
}

std::vector<int32_t> boundary_tokens(const Dataset& dataset, const std::string& boundary) {
  const std::unique_ptr<Tokenizer> tokenizer = dataset.tokenizer();
  if (tokenizer == nullptr) return parse_tokens(dataset, boundary);
  const std::optional<std::string> text = unescaped(boundary);
  if (!text)
    throw DataError(R"({}: document_boundary: expected two hexadecimal digits after each "\x", found "{}")",
                    dataset.directory().string(), boundary);
  const TokensAlone alone = tokens_alone(*tokenizer, *text, kBoundaryName);
  if (alone.unknown > 0)
    throw DataError(R"({}: document_boundary: expected what the vocabulary holds, found "{}")",
                    dataset.directory().string(), boundary);
  if (alone.tokens.empty())
    throw DataError(R"({}: document_boundary: expected at least one token, found {}{})", dataset.directory().string(),
                    describe_json(Json(*text)), without_line_feeds(dataset.manifest().tokenizer));
  return alone.tokens;
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
  visit_boundaries(source, source.tokens(), boundary, [&](int64_t begin) {
    if (begin < source.tokens()) begins.push_back(begin);
    return true;
  });
  return begins;
}

DocumentCount count_documents(TokenSource source, std::span<const int32_t> boundary) {
  const int64_t read = std::min(source.tokens(), kMostCounted);
  DocumentCount count{.is_whole = read == source.tokens()};
  visit_boundaries(source, read, boundary, [&](int64_t begin) {
    if (begin < source.tokens()) ++count.documents;
    return true;
  });
  return count;
}

std::string describe(const DocumentCount& count) {
  return fmt::format("{}{} document{}", count.is_whole ? "" : "more than ", human_count(count.documents),
                     count.documents == 1 ? "" : "s");
}

void check_boundary(const Dataset& dataset, const std::string& split, const std::string& boundary) {
  if (has_boundary(dataset.split(split), boundary_tokens(dataset, boundary))) return;
  const std::unique_ptr<Tokenizer> tokenizer = dataset.tokenizer();
  const std::string text = tokenizer == nullptr ? boundary : unescaped(boundary).value_or(boundary);
  throw DataError("{}: document_boundary: expected between two documents, found nowhere: {}{}",
                  dataset.split(split).name(), describe_json(Json(text)),
                  tokenizer == nullptr ? std::string() : other_boundaries(dataset, split, *tokenizer));
}

}  // namespace segue

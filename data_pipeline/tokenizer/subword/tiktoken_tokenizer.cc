// Patterns and special tokens are those of tiktoken 0.14 (openai_public.py), of Llama 3's tokenizer.py and of
// Qwen's tokenization_qwen.py.
#include "data_pipeline/tokenizer/subword/tiktoken_tokenizer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"
#include "base/json_text.h"
#include "data_pipeline/tokenizer/subword/base64.h"
#include "data_pipeline/tokenizer/subword/subword_tokenizer.h"

namespace segue {
namespace {

// Ends of text differ from those of kLlama3Pattern: white space there is one piece.
constexpr const char* kCl100kPattern =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++\z|\s*[\r\n])"
    R"(|\s+(?!\S)|\s)";
constexpr const char* kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kQwenPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kO200kPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

struct SpecialToken {
  std::string text;
  int64_t token;
};

// Texts in the order of their numbers from `first` on.
void add_special(std::vector<SpecialToken>& tokens, int64_t first, std::initializer_list<std::string_view> texts) {
  for (const std::string_view text : texts) tokens.push_back({std::string(text), first++});
}

std::vector<SpecialToken> special_of_gpt2(int64_t /*ranks*/) { return {{"<|endoftext|>", 50256}}; }
std::vector<SpecialToken> special_of_p50k_edit(int64_t /*ranks*/) {
  return {{"<|endoftext|>", 50256}, {"<|fim_prefix|>", 50281}, {"<|fim_middle|>", 50282}, {"<|fim_suffix|>", 50283}};
}
std::vector<SpecialToken> special_of_cl100k(int64_t /*ranks*/) {
  std::vector<SpecialToken> tokens;
  add_special(tokens, 100257, {"<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"});
  tokens.push_back({"<|endofprompt|>", 100276});
  return tokens;
}
std::vector<SpecialToken> special_of_o200k(int64_t /*ranks*/) {
  return {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}};
}
std::vector<SpecialToken> special_of_o200k_harmony(int64_t /*ranks*/) {
  std::vector<SpecialToken> tokens;
  add_special(tokens, 199998,
              {"<|startoftext|>", "<|endoftext|>", "<|reserved_200000|>", "<|reserved_200001|>", "<|return|>",
               "<|constrain|>", "<|reserved_200004|>", "<|channel|>", "<|start|>", "<|end|>", "<|message|>",
               "<|reserved_200009|>", "<|reserved_200010|>", "<|reserved_200011|>", "<|call|>"});
  tokens.push_back({"<|endofprompt|>", 200018});
  for (int64_t token = 200013; token < 201088; ++token)
    tokens.push_back({fmt::format("<|reserved_{}|>", token), token});
  return tokens;
}
// Behind the ranks, whatever their number.
std::vector<SpecialToken> special_of_llama3(int64_t ranks) {
  std::vector<SpecialToken> tokens;
  add_special(tokens, ranks,
              {"<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>", "<|reserved_special_token_1|>",
               "<|reserved_special_token_2|>", "<|reserved_special_token_3|>", "<|start_header_id|>",
               "<|end_header_id|>", "<|reserved_special_token_4|>", "<|eot_id|>"});
  for (int64_t i = 5; i < 251; ++i) tokens.push_back({fmt::format("<|reserved_special_token_{}|>", i), ranks + 5 + i});
  return tokens;
}
std::vector<SpecialToken> special_of_qwen(int64_t ranks) {
  std::vector<SpecialToken> tokens;
  add_special(tokens, ranks, {"<|endoftext|>", "<|im_start|>", "<|im_end|>"});
  for (int64_t i = 0; i < 205; ++i) tokens.push_back({fmt::format("<|extra_{}|>", i), ranks + 3 + i});
  return tokens;
}

struct Encoding {
  std::string_view name;
  const char* pattern;
  std::vector<SpecialToken> (*special)(int64_t ranks);
};

constexpr std::array<Encoding, 9> kEncodings{{{"gpt2", kGpt2Pattern, special_of_gpt2},
                                              {"r50k_base", kGpt2Pattern, special_of_gpt2},
                                              {"p50k_base", kGpt2Pattern, special_of_gpt2},
                                              {"p50k_edit", kGpt2Pattern, special_of_p50k_edit},
                                              {"cl100k_base", kCl100kPattern, special_of_cl100k},
                                              {"o200k_base", kO200kPattern, special_of_o200k},
                                              {"o200k_harmony", kO200kPattern, special_of_o200k_harmony},
                                              {"llama3", kLlama3Pattern, special_of_llama3},
                                              {"qwen", kQwenPattern, special_of_qwen}}};

constexpr std::array<std::string_view, kEncodings.size()> kNames = [] {
  std::array<std::string_view, kEncodings.size()> names;
  for (size_t i = 0; i < names.size(); ++i) names.at(i) = kEncodings.at(i).name;
  return names;
}();

const Encoding& encoding_of(const std::string& name, const std::string& source) {
  for (const Encoding& encoding : kEncodings)
    if (encoding.name == name) return encoding;
  throw DataError("{}: encoding: expected {}, found {}", source, fmt::join(kNames, ", "), describe_json(Json(name)));
}

// Fills the vocabulary line by line.
class RankReader {
 public:
  RankReader(std::string_view left, const std::string& source, SubwordVocabulary& vocabulary)
      : left_(left), source_(source), vocabulary_(vocabulary) {}

  void run() {
    while (!left_.empty()) {
      ++line_;
      const size_t end = std::min(left_.find('\n'), left_.size());
      std::string_view line = left_.substr(0, end);
      left_.remove_prefix(std::min(end + 1, left_.size()));
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (!line.empty()) read_line(line);
    }
  }
  void check_bytes() const {
    for (int byte = 0; byte < 256; ++byte) {
      const auto value = static_cast<char>(byte);
      if (vocabulary_.find(std::string_view(&value, 1)) < 0)
        throw DataError("{}: expected a token for every byte, found none for 0x{:02x}", source_, byte);
    }
  }

 private:
  void read_line(std::string_view line) {
    const size_t space = line.find(' ');
    const std::optional<std::string> text = from_base64(line.substr(0, space));
    const std::string_view number = space == std::string_view::npos ? std::string_view() : line.substr(space + 1);
    int64_t token = -1;
    const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), token);
    const bool is_number = error == std::errc() && stop == number.data() + number.size() && token >= 0;
    if (!text || text->empty() || !is_number || token >= kMostSubwordTokens)
      throw DataError("{}: line {}: expected a token in base64 and a number below {}, found \"{}\"", source_, line_,
                      kMostSubwordTokens, printable_line(line, 60));
    if (vocabulary_.bytes() + std::ssize(*text) > kMostSubwordBytes)
      throw DataError("{}: line {}: expected tokens of at most {} bytes together, found more", source_, line_,
                      kMostSubwordBytes);
    if (!vocabulary_.add(token, *text))
      throw DataError("{}: line {}: expected a token and a number that no other line has, found \"{}\"", source_, line_,
                      printable_line(line, 60));
  }

  std::string_view left_;
  const std::string& source_;
  SubwordVocabulary& vocabulary_;
  int64_t line_ = 0;
};

}  // namespace

std::span<const std::string_view> tiktoken_encodings() { return kNames; }

std::optional<std::string> encoding_of_file_name(std::string_view name) {
  name = name.substr(0, name.find('.'));
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return std::string(*found);
}

std::vector<uint32_t> read_rank_lengths(const std::string& file, const std::string& source) {
  SubwordVocabulary vocabulary;
  RankReader(file, source, vocabulary).run();
  std::vector<uint32_t> lengths;
  for (int64_t token = 0; token < vocabulary.size(); ++token)
    lengths.push_back(vocabulary.has(token) ? static_cast<uint32_t>(vocabulary.text(token).size()) : 0);
  return lengths;
}

std::unique_ptr<Tokenizer> read_tiktoken_tokenizer(const std::string& file, const std::string& source,
                                                   const std::string& encoding, bool finds_special) {
  const Encoding& known = encoding_of(encoding, source);
  auto parts = std::make_unique<SubwordParts>(finds_special);
  RankReader reader(file, source, parts->vocabulary);
  reader.run();
  reader.check_bytes();
  parts->pipeline.pre_tokenizers.push_back(
      make_regex_split(std::make_unique<Regex>(known.pattern), SplitBehavior::kRemoved, true));
  parts->pipeline.model = make_rank_model(parts->vocabulary);
  const int64_t ranks = parts->vocabulary.size();
  std::vector<std::string> texts(static_cast<size_t>(ranks));
  for (int64_t token = 0; token < ranks; ++token)
    if (parts->vocabulary.has(token)) texts[static_cast<size_t>(token)] = parts->vocabulary.text(token);
  for (const SpecialToken& special : known.special(ranks)) {
    if (parts->vocabulary.has(special.token))
      throw DataError("{}: encoding {}: expected no token {} but {}, found one: the ranks are of another encoding",
                      source, encoding, special.token, special.text);
    parts->pipeline.added.add({.content = special.text, .token = special.token, .normalized = false, .special = true},
                              special.text);
    texts.resize(std::max(texts.size(), static_cast<size_t>(special.token) + 1));
    if (finds_special) texts[static_cast<size_t>(special.token)] = special.text;
  }
  for (const std::string& text : texts) parts->texts.add(text);
  TokenizerInfo info{.kind = TokenizerKind::kTiktoken,
                     .vocabulary = parts->texts.size(),
                     .checksum = checksum_of(std::as_bytes(std::span(file)))};
  info.encoding = encoding;
  if (finds_special) info.special_tokens = true;
  return make_subword_tokenizer(std::move(parts), info, file);
}

std::unique_ptr<Tokenizer> load_tiktoken_tokenizer(const TokenizerInfo& info, const std::string& file,
                                                   const std::string& source) {
  std::unique_ptr<Tokenizer> tokenizer =
      read_tiktoken_tokenizer(file, source, info.encoding.value_or(""), info.special_tokens.value_or(false));
  if (tokenizer->info().vocabulary != info.vocabulary)
    throw DataError("{}: expected {} tokens, found {}", source, info.vocabulary, tokenizer->info().vocabulary);
  return tokenizer;
}

}  // namespace segue

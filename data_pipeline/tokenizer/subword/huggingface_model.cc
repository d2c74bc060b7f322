#include "data_pipeline/tokenizer/subword/huggingface_model.h"

#include <utility>

#include "data_pipeline/tokenizer/subword/byte_alphabet.h"

namespace segue {
namespace {

class ModelReader {
 public:
  ModelReader(const JsonNode& node, bool is_byte_level, bool cuts, SubwordParts& parts)
      : node_(node), is_byte_level_(is_byte_level), cuts_(cuts), parts_(parts) {}

  ReadModel run() {
    const std::string type = type_of_model();
    if (type == "BPE") {
      read_bpe();
    } else if (type == "Unigram") {
      read_unigram();
    } else if (type == "WordPiece") {
      read_wordpiece();
    } else {
      node_.at("type").refuse("BPE, Unigram or WordPiece");
    }
    return std::move(read_);
  }

 private:
  // Files of early versions do not name it.
  std::string type_of_model() const {
    if (const std::optional<JsonNode> type = node_.find("type")) return type->text();
    if (node_.find("merges")) return "BPE";
    if (node_.find("max_input_chars_per_word")) return "WordPiece";
    if (const std::optional<JsonNode> vocabulary = node_.find("vocab"); vocabulary && vocabulary->value().is_array())
      return "Unigram";
    return node_.at("type").text();
  }

  // As the model meets it in text; nothing for a token that no text can have.
  std::optional<std::string> met(std::string_view text) const {
    return is_byte_level_ ? bytes_of_token(text) : std::string(text);
  }

  void read_vocabulary() {
    const JsonNode vocabulary = node_.at("vocab");
    if (!vocabulary.value().is_object()) vocabulary.refuse("an object");
    if (vocabulary.value().empty()) vocabulary.refuse("at least one token");
    for (const auto& [text, value] : vocabulary.value().items()) {
      const JsonNode token(value, join_json_path(vocabulary.path(), text), vocabulary.source());
      add_token(token, token.integer(0, kMostSubwordTokens - 1), text);
    }
  }

  void add_token(const JsonNode& node, int64_t token, const std::string& text) {
    if (!read_.spelled.add(token, text)) node.refuse("a number that no other token has");
    check_bytes(node);
    const auto at = static_cast<size_t>(token);
    if (at >= read_.tokens.size()) read_.tokens.resize(at + 1);
    read_.tokens[at] = text;
    ++read_.count;
    if (const std::optional<std::string> bytes = met(text)) parts_.vocabulary.add(token, *bytes);
  }

  void check_bytes(const JsonNode& node) const {
    if (read_.spelled.bytes() > kMostSubwordBytes)
      node.refuse("tokens of at most {} bytes together", kMostSubwordBytes);
  }

  // Where a BPE would be given whole texts they are cut, if nothing that it does can reach across. A Unigram's sums of
  // scores are rounded otherwise in a part of a text, which decides between ways of the same score.
  void add_cuts() {
    if (cuts_) return;
    parts_.pipeline.cuts.emplace(is_byte_level_);
    for (const std::optional<std::string>& token : read_.tokens)
      if (token)
        if (const std::optional<std::string> bytes = met(*token)) parts_.pipeline.cuts->add_token(*bytes);
  }

  UnknownRule read_unknown() {
    const std::optional<JsonNode> unknown = node_.find("unk_token");
    if (!unknown) return {.is_dropped = true};
    return {.token = read_.find(unknown->text()), .fuses = node_.flag("fuse_unk", false)};
  }

  void read_bpe() {
    node_.check_keys({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                      "byte_fallback", "ignore_merges", "vocab", "merges"});
    if (const std::optional<JsonNode> dropout = node_.find("dropout"); dropout && dropout->number() != 0)
      dropout->refuse("null or 0");
    read_vocabulary();
    BpeOptions options{.bytes = is_byte_level_,
                       .byte_fallback = node_.flag("byte_fallback", false),
                       .ignores_merges = node_.flag("ignore_merges", false),
                       .prefix = read_affix("continuing_subword_prefix"),
                       .suffix = read_affix("end_of_word_suffix"),
                       .unknown = read_unknown()};
    read_.byte_fallback = options.byte_fallback;
    read_.suffix = options.suffix;
    parts_.pipeline.unknown = options.unknown.token;
    parts_.pipeline.fuses_unknown = options.unknown.fuses;
    bool merges_byte_tokens = false;
    MergeTable merges = read_merges(merges_byte_tokens);
    if (options.prefix.empty() && options.suffix.empty() && !(options.byte_fallback && merges_byte_tokens)) add_cuts();
    parts_.pipeline.model = make_bpe_model(parts_.vocabulary, std::move(merges), options);
  }

  std::string read_affix(std::string_view key) const {
    const std::optional<JsonNode> node = node_.find(key);
    if (!node) return {};
    const std::optional<std::string> bytes = met(node->text());
    constexpr size_t kLongest = 256;
    if (!bytes || bytes->size() > kLongest) node->refuse("at most {} bytes", kLongest);
    return *bytes;
  }

  MergeTable read_merges(bool& has_byte_tokens) const {
    const JsonNode list = node_.at("merges");
    const size_t prefix = node_.text("continuing_subword_prefix", "").size();
    MergeTable merges;
    std::string made;
    for (size_t i = 0; i < list.size(); ++i) {
      const JsonNode merge = list.element(i);
      if (merge.value().is_string() && merge.text().starts_with("#version")) continue;
      const auto [left, right] = sides_of(merge);
      made.assign(left);
      if (right.size() < prefix) merge.refuse("a right side with the prefix of what goes on");
      made += right.substr(prefix);
      const int64_t left_token = read_.find(left);
      const int64_t right_token = read_.find(right);
      const int64_t made_token = read_.find(made);
      if (left_token < 0 || right_token < 0 || made_token < 0)
        merge.refuse("two tokens that are one together, all in model.vocab");
      has_byte_tokens |= byte_of_token_text(left).has_value() || byte_of_token_text(right).has_value();
      merges.add(left_token, right_token, made_token);
    }
    return merges;
  }

  static std::pair<std::string_view, std::string_view> sides_of(const JsonNode& merge) {
    if (merge.value().is_array()) {
      if (merge.size() != 2) merge.refuse("two tokens");
      return {merge.element(0).text(), merge.element(1).text()};
    }
    if (!merge.value().is_string()) merge.refuse("two tokens");
    const std::string_view text = merge.text();
    const size_t space = text.find(' ');
    if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos)
      merge.refuse("two tokens with a space between them");
    return {text.substr(0, space), text.substr(space + 1)};
  }

  void read_unigram() {
    node_.check_keys({"type", "unk_id", "vocab", "byte_fallback"});
    const JsonNode list = node_.at("vocab");
    if (list.size() == 0) list.refuse("at least one token");
    if (static_cast<int64_t>(list.size()) > kMostSubwordTokens) list.refuse("at most {} tokens", kMostSubwordTokens);
    std::vector<UnigramEntry> entries;
    for (size_t i = 0; i < list.size(); ++i) {
      const JsonNode entry = list.element(i);
      if (entry.size() != 2) entry.refuse("a token and its score");
      const std::string& text = entry.element(0).text();
      entries.push_back({met(text).value_or(std::string()), entry.element(1).number()});
      read_.spelled.add(static_cast<int64_t>(i), text);
      check_bytes(entry);
      read_.tokens.emplace_back(text);
    }
    read_.count = std::ssize(entries);
    UnigramOptions options{.bytes = is_byte_level_, .byte_fallback = node_.flag("byte_fallback", false)};
    if (const std::optional<JsonNode> unknown = node_.find("unk_id"))
      options.unknown = unknown->integer(0, read_.count - 1);
    read_.byte_fallback = options.byte_fallback;
    parts_.pipeline.unknown = options.unknown;
    parts_.pipeline.fuses_unknown = true;
    parts_.pipeline.model = make_unigram_model(entries, options);
  }

  void read_wordpiece() {
    node_.check_keys({"type", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"});
    read_vocabulary();
    const std::optional<JsonNode> longest = node_.find("max_input_chars_per_word");
    read_.is_wordpiece = true;
    read_.word_prefix = node_.text("continuing_subword_prefix", "##");
    const std::optional<std::string> prefix = met(read_.word_prefix);
    if (!prefix) node_.at("continuing_subword_prefix").refuse("characters of the alphabet of bytes");
    const WordPieceOptions options{.prefix = *prefix,
                                   .longest_word = longest ? longest->integer(0, INT32_MAX) : 100,
                                   .bytes = is_byte_level_,
                                   .unknown = read_.find(node_.text("unk_token", "[UNK]"))};
    parts_.pipeline.unknown = options.unknown;
    parts_.pipeline.model = make_wordpiece_model(parts_.vocabulary, options);
  }

  const JsonNode& node_;
  bool is_byte_level_;
  bool cuts_;
  SubwordParts& parts_;
  ReadModel read_;
};

}  // namespace

ReadModel read_model(const JsonNode& node, bool is_byte_level, bool cuts, SubwordParts& parts) {
  return ModelReader(node, is_byte_level, cuts, parts).run();
}

}  // namespace segue

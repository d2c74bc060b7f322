#include "data_pipeline/tokenizer/subword/huggingface_tokenizer.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/checksum.h"
#include "base/error.h"
#include "data_pipeline/tokenizer/subword/byte_alphabet.h"
#include "data_pipeline/tokenizer/subword/huggingface_model.h"
#include "data_pipeline/tokenizer/subword/huggingface_steps.h"
#include "data_pipeline/tokenizer/subword/subword_tokenizer.h"

namespace segue {
namespace {

constexpr JsonLimits kTokenizerFileLimits{.max_bytes = int64_t{64} << 20, .max_depth = 32, .max_values = 3'000'000};
constexpr const char* kUnknownTokenText = "\xef\xbf\xbd";

class FileReading {
 public:
  FileReading(const Json& document, const std::string& source, bool finds_special)
      : root_(document, "", source),
        parts_(std::make_unique<SubwordParts>(finds_special)),
        finds_special_(finds_special) {}

  std::unique_ptr<SubwordParts> run() {
    check_root();
    if (const std::optional<JsonNode> node = root_.find("normalizer"))
      read_normalizers(*node, parts_->pipeline.normalizers);
    ReadPreTokenizers cutters;
    if (const std::optional<JsonNode> node = root_.find("pre_tokenizer")) read_pre_tokenizers(*node, cutters);
    parts_->pipeline.pre_tokenizers = std::move(cutters.steps);
    const JsonNode model = root_.at("model");
    if (!model.value().is_object()) model.refuse("an object");
    is_byte_level_ = cutters.is_byte_level;
    read_ = read_model(model, is_byte_level_, cutters.cuts, *parts_);
    read_added_tokens();
    add_texts();
    return std::move(parts_);
  }

 private:
  void check_root() const {
    if (!root_.value().is_object()) root_.refuse("an object");
    root_.check_keys({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
                      "post_processor", "decoder", "model"});
    if (const std::optional<JsonNode> version = root_.find("version"); version && version->text() != "1.0")
      version->refuse("\"1.0\"");
    for (const char* cut : {"truncation", "padding"})
      if (const std::optional<JsonNode> node = root_.find(cut)) node->refuse("null: text is encoded as long as it is");
    if (const std::optional<JsonNode> processor = root_.find("post_processor")) check_post_processor(*processor);
  }

  // They put tokens around texts, which is not done here, or change offsets.
  static void check_post_processor(const JsonNode& node) {
    const JsonNode type = node.at("type");
    const std::string& name = type.text();
    if (name == "Sequence") {
      const JsonNode list = node.at("processors");
      for (size_t i = 0; i < list.size(); ++i) check_post_processor(list.element(i));
    } else if (name != "TemplateProcessing" && name != "ByteLevel" && name != "BertProcessing" &&
               name != "RobertaProcessing") {
      type.refuse("BertProcessing, ByteLevel, RobertaProcessing, Sequence or TemplateProcessing");
    }
  }

  void read_added_tokens() {
    const std::optional<JsonNode> list = root_.find("added_tokens");
    if (!list) return;
    int64_t next = read_.count;
    int64_t added_bytes = 0;
    for (size_t i = 0; i < list->size(); ++i) {
      const JsonNode node = list->element(i);
      node.check_keys({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
      const JsonNode number = node.at("id");
      AddedToken token{.content = node.at("content").text(),
                       .token = number.integer(0, kMostSubwordTokens - 1),
                       .single_word = node.flag("single_word", false),
                       .lstrip = node.flag("lstrip", false),
                       .rstrip = node.flag("rstrip", false),
                       .normalized = node.flag("normalized", true),
                       .special = node.flag("special", false)};
      if (token.content.empty()) continue;
      added_bytes += std::ssize(token.content);
      if (added_bytes > kMostSubwordBytes) node.refuse("tokens of at most {} bytes together", kMostSubwordBytes);
      if (!contents_.insert(token.content).second) node.at("content").refuse("each token once");
      check_number(number, token, next);
      add(node.at("content"), token);
    }
  }

  // What tokenizers gives them: the model's number, else the next one behind the model's.
  void check_number(const JsonNode& number, const AddedToken& token, int64_t& next) const {
    const int64_t known = read_.find(token.content);
    if (known >= 0) {
      if (known != token.token) number.refuse("{}, the token's number in model.vocab", known);
      return;
    }
    if (token.token != next) number.refuse("{}, the next one behind model.vocab and the added tokens before it", next);
    ++next;
  }

  void add(const JsonNode& node, const AddedToken& token) {
    added_.push_back(token);
    if (!token.normalized) return parts_->pipeline.added.add(token, token.content);
    try {
      const AlignedText text = parts_->pipeline.normalize(AlignedText(token.content, 0), {.begins_source = true});
      parts_->pipeline.added_normalized.add(token, text.bytes());
    } catch (const SubwordError& error) {
      node.refuse("a text that can be normalised ({})", error.reason);
    } catch (const RegexError& error) {
      node.refuse("a text that can be normalised ({})", printable_line(error.reason, 100));
    }
  }

  void add_texts() {
    std::vector<std::string> texts(read_.tokens.size());
    ReadDecoder decoder;
    if (const std::optional<JsonNode> node = root_.find("decoder")) decoder = read_decoder(*node);
    if (!decoder.decode && read_.is_wordpiece) {
      decoder.drops_first_space = true;
      decoder.decode = [prefix = read_.word_prefix](const std::string& token) {
        return token.starts_with(prefix) ? token.substr(prefix.size()) : " " + token;
      };
    }
    parts_->drops_first_space = decoder.drops_first_space;
    for (size_t i = 0; i < texts.size(); ++i)
      if (read_.tokens[i]) texts[i] = text_of(*read_.tokens[i], decoder);
    for (const AddedToken& token : added_) {
      texts.resize(std::max(texts.size(), static_cast<size_t>(token.token) + 1));
      texts[static_cast<size_t>(token.token)] = token.special && !finds_special_ ? std::string() : token.content;
    }
    const int64_t unknown = parts_->pipeline.unknown;
    if (unknown >= 0) texts[static_cast<size_t>(unknown)] = kUnknownTokenText;
    for (const std::string& text : texts) parts_->texts.add(text);
  }

  std::string text_of(const std::string& token, const ReadDecoder& decoder) const {
    if (is_byte_level_) {
      std::string text = bytes_of_token(token).value_or(token);
      const bool ends_word = !read_.suffix.empty() && text.ends_with(read_.suffix);
      return ends_word ? text.substr(0, text.size() - read_.suffix.size()) + " " : text;
    }
    if (read_.byte_fallback)
      if (const std::optional<uint8_t> byte = byte_of_token_text(token)) return {static_cast<char>(*byte)};
    return decoder.decode ? decoder.decode(token) : token;
  }

  JsonNode root_;
  std::unique_ptr<SubwordParts> parts_;
  bool finds_special_;
  bool is_byte_level_ = false;
  ReadModel read_;
  std::vector<AddedToken> added_;
  std::set<std::string> contents_;  // of them
};

// What lies beside a tokenizer.json, or has its name.
void refuse_other_json(const Json& document, const std::string& source) {
  if (!document.is_object() || document.contains("model")) return;
  const auto has = [&document](const char* key) { return document.contains(key); };
  const bool is_vocabulary =
      !document.empty() && std::ranges::all_of(document, [](const Json& value) { return value.is_number_integer(); });
  const std::string_view found = has("kind") && has("vocabulary") && has("checksum")
                                     ? "what a checkpoint of Segue keeps of its tokenizer"
                                 : is_vocabulary ? "words and their numbers alone, such as a vocab.json"
                                                 : "JSON without a model";
  throw DataError("{}: expected Hugging Face's tokenizer.json, found {}; name the tokenizer.json", source, found);
}

}  // namespace

std::unique_ptr<Tokenizer> read_huggingface_tokenizer(const std::string& file, const std::string& source,
                                                      bool finds_special) {
  const Json document = parse_json<DataError>(file, source, kTokenizerFileLimits);
  refuse_other_json(document, source);
  std::unique_ptr<SubwordParts> parts = FileReading(document, source, finds_special).run();
  TokenizerInfo info{.kind = TokenizerKind::kHuggingFace,
                     .vocabulary = parts->texts.size(),
                     .checksum = checksum_of(std::as_bytes(std::span(file))),
                     .unknown_token = parts->pipeline.unknown};
  if (finds_special) info.special_tokens = true;
  return make_subword_tokenizer(std::move(parts), info, file);
}

std::unique_ptr<Tokenizer> load_huggingface_tokenizer(const TokenizerInfo& info, const std::string& file,
                                                      const std::string& source) {
  std::unique_ptr<Tokenizer> tokenizer = read_huggingface_tokenizer(file, source, info.special_tokens.value_or(false));
  if (tokenizer->info().vocabulary != info.vocabulary)
    throw DataError("{}: expected {} tokens, found {}", source, info.vocabulary, tokenizer->info().vocabulary);
  return tokenizer;
}

}  // namespace segue

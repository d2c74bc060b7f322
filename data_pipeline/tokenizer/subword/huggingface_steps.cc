// Steps are made by their type, each with the keys that tokenizers 0.23 writes for it.
#include "data_pipeline/tokenizer/subword/huggingface_steps.h"

#include <array>
#include <utility>

#include "data_pipeline/tokenizer/subword/base64.h"

namespace segue {
namespace {

SplitBehavior read_behavior(const JsonNode& node) {
  static constexpr std::array<std::pair<std::string_view, SplitBehavior>, 5> kBehaviors{
      {{"Removed", SplitBehavior::kRemoved},
       {"Isolated", SplitBehavior::kIsolated},
       {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
       {"MergedWithNext", SplitBehavior::kMergedWithNext},
       {"Contiguous", SplitBehavior::kContiguous}}};
  const std::string& word = node.text();
  for (const auto& [name, behavior] : kBehaviors)
    if (word == name) return behavior;
  node.refuse("Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
}

std::string read_character(const JsonNode& node) {
  const std::string& text = node.text();
  if (text.empty() || character_size(text.front()) != text.size()) node.refuse("one character");
  return text;
}

bool is_regex(const JsonNode& pattern) {
  pattern.check_keys({"String", "Regex"});
  return pattern.find("Regex").has_value();
}

std::unique_ptr<Normalizer> read_replace(const JsonNode& node) {
  node.check_keys({"type", "pattern", "content"});
  const JsonNode pattern = node.at("pattern");
  const std::string content = node.at("content").text();
  if (is_regex(pattern)) return make_regex_replace_normalizer(read_regex(pattern), content);
  return make_replace_normalizer(read_pattern_text(pattern), content);
}

std::unique_ptr<Normalizer> read_charsmap(const JsonNode& node) {
  node.check_keys({"type", "precompiled_charsmap"});
  const JsonNode map = node.at("precompiled_charsmap");
  const std::optional<std::string> bytes = from_base64(map.text());
  if (!bytes) map.refuse("base64");
  try {
    return make_charsmap_normalizer(Charsmap(*bytes));
  } catch (const CharsmapError& error) {
    throw DataError("{}: {}: expected a table of characters, found {}", node.source(), map.path(), error.found);
  }
}

std::unique_ptr<Normalizer> read_bert_normalizer(const JsonNode& node) {
  node.check_keys({"type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
  BertNormalizerOptions options{.clean_text = node.flag("clean_text", true),
                                .handle_chinese_chars = node.flag("handle_chinese_chars", true),
                                .strip_accents = true,
                                .lowercase = node.flag("lowercase", true)};
  options.strip_accents = node.flag("strip_accents", options.lowercase);
  return make_bert_normalizer(options);
}

std::unique_ptr<Normalizer> read_form(const JsonNode& node, NormalForm form) {
  node.check_keys({"type"});
  return make_form_normalizer(form);
}

std::unique_ptr<Normalizer> read_normalizer(const JsonNode& node) {
  const JsonNode type = node.at("type");
  const std::string& name = type.text();
  if (name == "NFC") return read_form(node, NormalForm::kNfc);
  if (name == "NFD") return read_form(node, NormalForm::kNfd);
  if (name == "NFKC") return read_form(node, NormalForm::kNfkc);
  if (name == "NFKD") return read_form(node, NormalForm::kNfkd);
  if (name == "BertNormalizer") return read_bert_normalizer(node);
  if (name == "Replace") return read_replace(node);
  if (name == "Precompiled") return read_charsmap(node);
  if (name == "Lowercase" || name == "StripAccents" || name == "Nmt") {
    node.check_keys({"type"});
    return name == "Lowercase" ? make_lowercase_normalizer()
           : name == "Nmt"     ? make_nmt_normalizer()
                               : make_strip_accents_normalizer();
  }
  if (name == "Strip") {
    node.check_keys({"type", "strip_left", "strip_right"});
    return make_strip_normalizer(node.at("strip_left").flag(), node.at("strip_right").flag());
  }
  if (name == "Prepend") {
    node.check_keys({"type", "prepend"});
    return make_prepend_normalizer(node.at("prepend").text());
  }
  type.refuse(
      "NFC, NFD, NFKC, NFKD, BertNormalizer, Lowercase, Nmt, Precompiled, Prepend, Replace, Strip, StripAccents or "
      "Sequence");
}

std::unique_ptr<PreTokenizer> read_split(const JsonNode& node) {
  node.check_keys({"type", "pattern", "behavior", "invert"});
  const SplitBehavior behavior = read_behavior(node.at("behavior"));
  const bool invert = node.flag("invert", false);
  const JsonNode pattern = node.at("pattern");
  if (is_regex(pattern)) return make_regex_split(read_regex(pattern), behavior, invert);
  return make_string_split(read_pattern_text(pattern), behavior, invert);
}

// The scheme of earlier versions is a flag, which the later key, where it is there too, must not contradict.
PrefixScheme read_prefix_scheme(const JsonNode& node) {
  const bool adds = node.flag("add_prefix_space", true);
  const std::optional<JsonNode> scheme = node.find("prepend_scheme");
  const std::string word = scheme ? scheme->text() : adds ? "always" : "never";
  if (word == "never") return PrefixScheme::kNever;
  if (!adds) scheme->refuse("\"never\" beside add_prefix_space false");
  if (word == "first") return PrefixScheme::kFirst;
  if (word != "always") scheme->refuse("first, never or always");
  return PrefixScheme::kAlways;
}

void read_metaspace(const JsonNode& node, ReadPreTokenizers& read) {
  node.check_keys({"type", "replacement", "add_prefix_space", "prepend_scheme", "split", "str_rep"});
  const bool split = node.flag("split", true);
  read.steps.push_back(make_metaspace(read_character(node.at("replacement")), read_prefix_scheme(node), split));
  read.cuts |= split;
}

void read_byte_level(const JsonNode& node, ReadPreTokenizers& read) {
  node.check_keys({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  if (node.flag("add_prefix_space", true)) read.steps.push_back(make_byte_level_prefix());
  read.is_byte_level = true;
  if (!node.flag("use_regex", true)) return;
  read.steps.push_back(make_regex_split(std::make_unique<Regex>(kGpt2Pattern), SplitBehavior::kIsolated, false));
  read.cuts = true;
}

std::unique_ptr<PreTokenizer> read_cutter(const JsonNode& node) {
  const JsonNode type = node.at("type");
  const std::string& name = type.text();
  if (name == "Split") return read_split(node);
  if (name == "Digits") {
    node.check_keys({"type", "individual_digits"});
    return make_digits_split(node.flag("individual_digits", false));
  }
  if (name == "Punctuation") {
    node.check_keys({"type", "behavior"});
    const std::optional<JsonNode> behavior = node.find("behavior");
    return make_punctuation_split(behavior ? read_behavior(*behavior) : SplitBehavior::kIsolated);
  }
  if (name == "CharDelimiterSplit") {
    node.check_keys({"type", "delimiter"});
    return make_delimiter_split(decode_character(read_character(node.at("delimiter")), 0));
  }
  if (name == "FixedLength") {
    node.check_keys({"type", "length"});
    const std::optional<JsonNode> length = node.find("length");
    return make_length_split(length ? static_cast<size_t>(length->integer(1, INT32_MAX)) : 5);
  }
  if (name == "Whitespace" || name == "WhitespaceSplit" || name == "BertPreTokenizer") {
    node.check_keys({"type"});
    return name == "Whitespace"        ? make_words_split()
           : name == "WhitespaceSplit" ? make_white_space_split()
                                       : make_bert_split();
  }
  type.refuse(
      "BertPreTokenizer, ByteLevel, CharDelimiterSplit, Digits, FixedLength, Metaspace, Punctuation, Sequence, Split, "
      "Whitespace or WhitespaceSplit");
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  if (from.empty()) return text;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

using Decode = std::function<std::string(const std::string&)>;

std::string without_ends(const std::string& text, char32_t content, int64_t start, int64_t stop) {
  std::u32string characters;
  for (size_t at = 0; at < text.size(); at += character_size(text[at])) characters += decode_character(text, at);
  size_t begin = 0;
  size_t end = characters.size();
  while (begin < end && start-- > 0 && characters[begin] == content) ++begin;
  while (end > begin && stop-- > 0 && characters[end - 1] == content) --end;
  std::string made;
  for (size_t i = begin; i < end; ++i) append_character(characters[i], made);
  return made;
}

// What Hugging Face's WordPiece decoder takes for artefacts.
std::string without_artefacts(std::string text) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kChanges{{{" .", "."},
                                                                                           {" ?", "?"},
                                                                                           {" !", "!"},
                                                                                           {" ,", ","},
                                                                                           {" ' ", "'"},
                                                                                           {" n't", "n't"},
                                                                                           {" 'm", "'m"},
                                                                                           {" do not", " don't"},
                                                                                           {" 's", "'s"},
                                                                                           {" 've", "'ve"},
                                                                                           {" 're", "'re"}}};
  for (const auto& [from, to] : kChanges) text = replaced(std::move(text), from, to);
  return text;
}

// Steps behind Fuse change the whole text.
struct DecoderSteps {
  std::vector<Decode> steps;
  bool is_fused = false;
  bool drops_first_space = false;
};

void read_strip(const JsonNode& node, DecoderSteps& read) {
  node.check_keys({"type", "content", "start", "stop"});
  const JsonNode content = node.at("content");
  const char32_t character = decode_character(read_character(content), 0);
  const int64_t start = node.at("start").integer(0, INT32_MAX);
  const int64_t stop = node.at("stop").integer(0, INT32_MAX);
  if (!read.is_fused) {
    read.steps.emplace_back([=](const std::string& text) { return without_ends(text, character, start, stop); });
    return;
  }
  if (character != ' ') content.refuse("a space behind Fuse");
  if (start > 1 || stop > 0) node.refuse("at most one space, at the beginning, behind Fuse");
  read.drops_first_space = start == 1;
}

void read_decoder_step(const JsonNode& node, DecoderSteps& read) {
  const JsonNode type = node.at("type");
  const std::string& name = type.text();
  if (name == "Sequence") {
    node.check_keys({"type", "decoders"});
    const JsonNode list = node.at("decoders");
    for (size_t i = 0; i < list.size(); ++i) read_decoder_step(list.element(i), read);
  } else if (name == "Fuse") {
    node.check_keys({"type"});
    read.is_fused = true;
  } else if (name == "Strip") {
    read_strip(node, read);
  } else if (read.is_fused) {
    type.refuse("Strip alone behind Fuse");
  } else if (name == "ByteLevel") {  // bytes are known from the vocabulary
    node.check_keys({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  } else if (name == "ByteFallback") {  // likewise
    node.check_keys({"type"});
  } else if (name == "Replace") {
    node.check_keys({"type", "pattern", "content"});
    const JsonNode pattern = node.at("pattern");
    if (is_regex(pattern)) pattern.refuse("a \"String\" in a decoder");
    read.steps.emplace_back([from = read_pattern_text(pattern), to = node.at("content").text()](
                                const std::string& text) { return replaced(text, from, to); });
  } else if (name == "Metaspace") {
    node.check_keys({"type", "replacement", "add_prefix_space", "prepend_scheme", "split", "str_rep"});
    read.steps.emplace_back(
        [mark = read_character(node.at("replacement"))](const std::string& text) { return replaced(text, mark, " "); });
    read.drops_first_space = read_prefix_scheme(node) != PrefixScheme::kNever;
  } else if (name == "WordPiece") {
    node.check_keys({"type", "prefix", "cleanup"});
    const bool cleans = node.flag("cleanup", true);
    read.steps.emplace_back([prefix = node.text("prefix", "##"), cleans](const std::string& text) {
      std::string made = text.starts_with(prefix) ? text.substr(prefix.size()) : " " + text;
      return cleans ? without_artefacts(std::move(made)) : made;
    });
    read.drops_first_space = true;
  } else if (name == "BPEDecoder") {
    node.check_keys({"type", "suffix"});
    read.steps.emplace_back(
        [suffix = node.text("suffix", "</w>")](const std::string& text) { return replaced(text, suffix, " "); });
  } else {
    type.refuse("BPEDecoder, ByteFallback, ByteLevel, Fuse, Metaspace, Replace, Sequence, Strip or WordPiece");
  }
}

}  // namespace

std::unique_ptr<Regex> read_regex(const JsonNode& node) {
  const JsonNode pattern = node.at("Regex");
  try {
    return std::make_unique<Regex>(translate_ruby_regex(pattern.text()));
  } catch (const RegexError& error) {
    pattern.refuse("a regular expression that can be read ({})", printable_line(error.reason, 100));
  }
}

std::string read_pattern_text(const JsonNode& node) {
  const JsonNode pattern = node.at("String");
  if (pattern.text().empty()) pattern.refuse("a text that is not empty");
  return pattern.text();
}

void read_normalizers(const JsonNode& node, std::vector<std::unique_ptr<Normalizer>>& normalizers) {
  if (node.at("type").text() != "Sequence") {
    normalizers.push_back(read_normalizer(node));
    return;
  }
  node.check_keys({"type", "normalizers"});
  const JsonNode list = node.at("normalizers");
  for (size_t i = 0; i < list.size(); ++i) read_normalizers(list.element(i), normalizers);
}

void read_pre_tokenizers(const JsonNode& node, ReadPreTokenizers& read) {
  const std::string& name = node.at("type").text();
  if (name == "Sequence") {
    node.check_keys({"type", "pretokenizers"});
    const JsonNode list = node.at("pretokenizers");
    for (size_t i = 0; i < list.size(); ++i) read_pre_tokenizers(list.element(i), read);
    return;
  }
  if (read.is_byte_level) node.at("type").refuse("nothing behind ByteLevel");
  if (name == "ByteLevel") return read_byte_level(node, read);
  if (name == "Metaspace") return read_metaspace(node, read);
  read.steps.push_back(read_cutter(node));
  read.cuts = true;
}

ReadDecoder read_decoder(const JsonNode& node) {
  DecoderSteps read;
  read_decoder_step(node, read);
  return {.decode =
              [steps = std::move(read.steps)](const std::string& token) {
                std::string text = token;
                for (const Decode& step : steps) text = step(text);
                return text;
              },
          .drops_first_space = read.drops_first_space};
}

}  // namespace segue

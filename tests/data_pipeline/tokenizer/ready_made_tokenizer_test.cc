// Tokenizers of other programs, beside the tokens that those programs give (ready_made/make_tokenizers.py).
#include <filesystem>
#include <map>
#include <numeric>
#include <sstream>

#include "base/file.h"
#include "base/json_text.h"
#include "data_pipeline/tokenizer/subword/huggingface_tokenizer.h"
#include "data_pipeline/tokenizer/subword/tiktoken_tokenizer.h"
#include "tests/data_pipeline/tokenizer/testing.h"
#include "tests/source_directory.h"

namespace segue {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Tokens = std::vector<int32_t>;

std::filesystem::path kept(const std::string& name) {
  return source_directory() / "tests/data_pipeline/tokenizer/ready_made" / name;
}

std::vector<std::string> lines_of(const std::string& name) {
  std::istringstream file(read_file(kept(name)));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

const std::vector<std::string>& texts() {
  static const std::vector<std::string> made = [] {
    std::vector<std::string> texts;
    for (const std::string& line : lines_of("texts.jsonl"))
      texts.push_back(parse_json<DataError>(line, "texts.jsonl").get<std::string>());
    return texts;
  }();
  return made;
}

std::vector<Tokens> tokens_of(const std::string& name) {
  std::vector<Tokens> all;
  for (const std::string& line : lines_of(name + ".ids")) {
    std::istringstream numbers(line);
    Tokens tokens;
    for (int32_t token = 0; numbers >> token;) tokens.push_back(token);
    all.push_back(tokens);
  }
  return all;
}

std::unique_ptr<Tokenizer> huggingface(const std::string& name, bool finds_special = false) {
  return read_huggingface_tokenizer(read_file(kept(name + ".json")), name + ".json", finds_special);
}

std::unique_ptr<Tokenizer> tiktoken(const std::string& encoding, bool finds_special = false) {
  return read_tiktoken_tokenizer(read_file(kept("ranks.tiktoken")), "ranks.tiktoken", encoding, finds_special);
}

std::string printable(const std::string& text) { return Json(text).dump(-1, ' ', true); }

void expect_tokens(const Tokenizer& tokenizer, const std::string& name) {
  const std::vector<Tokens> expected = tokens_of(name);
  ASSERT_EQ(expected.size(), texts().size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const EncodedText read = tokenizer.encode_with_bytes(texts()[i], "text");
    EXPECT_EQ(read.tokens, expected[i]) << name << ": " << printable(texts()[i]);
    const auto all = expected[i].empty() ? 0 : std::ssize(texts()[i]);
    EXPECT_EQ(std::accumulate(read.bytes.begin(), read.bytes.end(), int64_t{0}), all)
        << name << ": " << printable(texts()[i]);
    if (i % 5 == 0) {
      EXPECT_EQ(encoded(tokenizer, texts()[i], 1 + i % 3), expected[i])
          << name << " in pieces: " << printable(texts()[i]);
    }
  }
}

TEST(ReadyMadeTokenizerTest, TokensAreThoseOfHuggingFace) {
  for (const char* name : {"gpt2", "roberta", "neox", "llama3", "deepseek", "clip", "bytes_alone", "llama2", "mistral",
                           "gemma", "t5", "xlnet", "xlm_roberta", "unigram_bytes", "bert", "wordpiece", "prefixed"})
    expect_tokens(*huggingface(name), name);
}

TEST(ReadyMadeTokenizerTest, SpecialTokensAreFoundWhereTheyAreAskedFor) {
  for (const std::string name : {"roberta", "neox", "bert"}) {
    const auto tokenizer = huggingface(name, true);
    expect_tokens(*tokenizer, name + "_special");
    EXPECT_EQ(reloaded(*tokenizer)->info(), tokenizer->info());
  }
  expect_tokens(*tiktoken("cl100k_base", true), "cl100k_base_special");
}

TEST(ReadyMadeTokenizerTest, TokensAreThoseOfTiktoken) {
  for (const char* encoding : {"r50k_base", "cl100k_base", "o200k_base"}) expect_tokens(*tiktoken(encoding), encoding);
}

TEST(ReadyMadeTokenizerTest, BytesComeBack) {
  const std::pair<const char*, bool> kCases[] = {
      {"gpt2", false}, {"llama3", false}, {"deepseek", false}, {"mistral", true}, {"llama2", true}};
  for (const auto& [name, puts_space] : kCases) {
    const auto tokenizer = huggingface(name);
    for (const std::string& text : texts()) {
      // A space is put before these: it is dropped from the text, or was the text's own, as both look alike; and the
      // mark of a space looks like one.
      if (puts_space && (text.starts_with(' ') || text.find("\u2581") != std::string::npos)) continue;
      const EncodedText read = tokenizer->encode_with_bytes(text, "text");
      EXPECT_EQ(tokenizer->decode(read.tokens), text) << name;
      std::string decoded;
      for (size_t token = 0; token < read.tokens.size() && !puts_space; ++token) {
        const size_t before = decoded.size();
        tokenizer->decode_onto(read.tokens[token], decoded);
        EXPECT_EQ(read.bytes[token], std::ssize(decoded) - static_cast<int64_t>(before)) << name << ": " << token;
      }
    }
  }
  const auto tokenizer = tiktoken("o200k_base");
  for (const std::string& text : texts()) EXPECT_EQ(tokenizer->decode(encoded(*tokenizer, text)), text);
}

TEST(ReadyMadeTokenizerTest, WhatIsStoredIsReadAgain) {
  const auto stored = huggingface("gpt2");
  EXPECT_EQ(reloaded(*stored)->info(), stored->info());
  EXPECT_EQ(encoded(*reloaded(*stored), "the gate"), encoded(*stored, "the gate"));
  const auto ranks = tiktoken("qwen");
  EXPECT_EQ(ranks->info().encoding, "qwen");
  EXPECT_EQ(ranks->info().vocabulary, 420 + 208);
  EXPECT_EQ(reloaded(*ranks)->info(), ranks->info());
  EXPECT_EQ(encoding_of_file_name("cl100k_base.tiktoken"), "cl100k_base");
  EXPECT_EQ(encoding_of_file_name("other.tiktoken"), std::nullopt);
}

// Files longer than a part: the same tokens as those of each line by itself, where lines are pieces of their own.
TEST(ReadyMadeTokenizerTest, PartsOfAFileGiveTheTokensOfTheWhole) {
  for (const char* name : {"gpt2", "llama3", "bert", "t5"}) {
    const auto tokenizer = huggingface(name);
    std::string text;
    Tokens expected;
    std::map<std::string, Tokens> lines;
    for (int line = 0; text.size() < (size_t{600} << 10); ++line) {
      const std::string here = "The keeper " + std::to_string(line % 97) + " of the  gate\n";
      text += here;
      if (!lines.contains(here)) lines[here] = encoded(*tokenizer, here);
      const Tokens& tokens = lines[here];
      expected.insert(expected.end(), tokens.begin(), tokens.end());
    }
    EXPECT_EQ(encoded(*tokenizer, text), expected) << name;
    EXPECT_EQ(encoded(*tokenizer, text, 100'003), expected) << name;
  }
}

// Quadratic time would take minutes.
TEST(ReadyMadeTokenizerTest, LongWordsTakeTimeInProportion) {
  const std::string letters(size_t{400} << 10, 'e');
  const std::string marks(size_t{400} << 10, ' ');
  for (const char* name : {"gpt2", "llama3", "llama2", "mistral", "t5", "unigram_bytes", "prefixed", "bert"}) {
    const auto tokenizer = huggingface(name);
    EXPECT_FALSE(encoded(*tokenizer, letters + "x").empty());
    EXPECT_FALSE(encoded(*tokenizer, marks + "x").empty());
  }
  EXPECT_FALSE(encoded(*tiktoken("o200k_base"), letters + marks).empty());
}

TEST(ReadyMadeTokenizerTest, TextThatIsNotUtf8IsRefused) {
  const auto tokenizer = huggingface("gpt2");
  for (const char* wrong : {"\xff", "\xe2\x80", "\xed\xa0\x80", "\xc0\xaf", "\xf4\x90\x80\x80"})
    for (const size_t piece : {size_t{1}, std::string_view::npos})
      EXPECT_THAT(message_of<DataError>([&] { encoded(*tokenizer, std::string("ab ") + wrong + "c", piece); }),
                  StartsWith("text: byte 3: expected UTF-8, found byte 0x"));
}

// The file `name` with the value at a JSON pointer replaced, or removed where it is empty.
std::string changed(const std::string& name, const std::string& pointer, const std::string& value) {
  Json document = Json::parse(read_file(kept(name + ".json")));
  document[Json::json_pointer(pointer)] = Json::parse(value);
  return document.dump();
}

TEST(ReadyMadeTokenizerTest, WhatIsNotReadIsNamed) {
  struct Case {
    const char* name;
    const char* pointer;
    const char* value;
    const char* expected;
  };
  const Case kCases[] = {
      {"gpt2", "/model/type", R"("WordLevel")", R"(model.type: expected BPE, Unigram or WordPiece, found "WordLevel")"},
      {"gpt2", "/model/dropout", "0.1", "model.dropout: expected null or 0, found 0.1"},
      {"gpt2", "/model/other", "1", "model.other: no such key is read"},
      {"gpt2", "/model/vocab/x", "-1", "model.vocab.x: expected an integer from 0"},
      {"gpt2", "/model/vocab/yy", "5", "model.vocab.yy: expected a number that no other token has, found 5"},
      {"gpt2", "/model/vocab/yy", "4294967296", "model.vocab.yy: expected an integer from 0"},
      {"gpt2", "/model/merges/3", R"("a b c")", "model.merges[3]: expected two tokens with a space between them"},
      {"gpt2", "/model/merges/3", R"("a zzz")", "model.merges[3]: expected two tokens that are one together"},
      {"gpt2", "/model/merges/3", R"(["a"])", "model.merges[3]: expected two tokens"},
      {"gpt2", "/truncation", R"({"max_length": 512})", "truncation: expected null"},
      {"gpt2", "/padding", R"({"strategy": "BatchLongest"})", "padding: expected null"},
      {"gpt2", "/version", R"("2.0")", "version: expected \"1.0\""},
      {"gpt2", "/pre_tokenizer/type", R"("UnicodeScripts")", "pre_tokenizer.type: expected BertPreTokenizer"},
      {"gpt2", "/pre_tokenizer/use_regex", "3", "pre_tokenizer.use_regex: expected true or false, found 3"},
      {"gpt2", "/post_processor", R"({"type": "Other"})", "post_processor.type: expected BertProcessing"},
      {"gpt2", "/decoder/type", R"("CTC")", "decoder.type: expected BPEDecoder"},
      {"gpt2", "/added_tokens/0/id", "7", "added_tokens[0].id: expected 0, the token's number in model.vocab"},
      {"neox", "/added_tokens/2/id", "1000", "added_tokens[2].id: expected 421, the next one"},
      {"neox", "/normalizer/type", R"("ByteLevel")", "normalizer.type: expected NFC"},
      {"llama3", "/pre_tokenizer/pretokenizers/0/pattern/Regex", R"("(?<=a)b")",
       "pre_tokenizer.pretokenizers[0].pattern.Regex: expected a regular expression that can be read (look-behind"},
      {"llama3", "/pre_tokenizer/pretokenizers/0/pattern/Regex", R"("a(")",
       "pattern.Regex: expected a regular expression"},
      {"llama3", "/pre_tokenizer/pretokenizers/0/behavior", R"("Kept")", "behavior: expected Removed, Isolated"},
      {"llama3", "/pre_tokenizer/pretokenizers/2", R"({"type": "Whitespace"})",
       "pre_tokenizer.pretokenizers[2].type: expected nothing behind ByteLevel"},
      {"mistral", "/pre_tokenizer/replacement", R"("ab")", "pre_tokenizer.replacement: expected one character"},
      {"mistral", "/pre_tokenizer/prepend_scheme", R"("last")", "prepend_scheme: expected first, never or always"},
      {"t5", "/model/unk_id", "100000", "model.unk_id: expected an integer from 0 to"},
      {"t5", "/model/vocab/4", R"(["a"])", "model.vocab[4]: expected a token and its score"},
      {"t5", "/normalizer/precompiled_charsmap", R"("AAAA!")", "normalizer.precompiled_charsmap: expected base64"},
      {"t5", "/normalizer/precompiled_charsmap", R"("////f2Fi")", "expected a table of characters, found an automaton"},
      {"bert", "/model/max_input_chars_per_word", "-2", "model.max_input_chars_per_word: expected an integer from 0"},
  };
  for (const Case& c : kCases) {
    const std::string message =
        message_of<DataError>([&] { read_huggingface_tokenizer(changed(c.name, c.pointer, c.value), "file", false); });
    EXPECT_THAT(message, StartsWith("file: "));
    EXPECT_THAT(message, HasSubstr(c.expected));
  }
}

TEST(ReadyMadeTokenizerTest, UnknownTextWithoutATokenIsNamed) {
  const std::string file = changed("bert", "/model/unk_token", R"("[OTHER]")");
  const auto tokenizer = read_huggingface_tokenizer(file, "file", false);
  EXPECT_EQ(message_of<DataError>([&] { encoded(*tokenizer, "the \U0001f97a"); }),
            "text: byte 4: no tokens for a word, and no unknown token");
}

TEST(ReadyMadeTokenizerTest, DamagedRanksAreRefused) {
  const std::string ranks = read_file(kept("ranks.tiktoken"));
  const std::pair<std::string, const char*> kCases[] = {
      {"", "expected a token for every byte, found none for 0x00"},
      {ranks.substr(10), "expected a token"},
      {"!!!! 5\n" + ranks, "line 1: expected a token in base64 and a number"},
      {ranks + "YWJjZA== -1\n", "line 421: expected a token in base64 and a number"},
      {ranks + "YWJjZA== 99999999999\n", "line 421: expected a token in base64 and a number"},
      {ranks + "YWJjZA== 7\n", "line 421: expected a token and a number that no other line has"},
      {ranks + "AA== 700\n", "line 421: expected a token and a number that no other line has"},
      {ranks + "YWJjZA== 50256\n", "encoding gpt2: expected no token 50256 but <|endoftext|>"},
  };
  for (const auto& [file, expected] : kCases) {
    const std::string message = message_of<DataError>([&] { read_tiktoken_tokenizer(file, "file", "gpt2", false); });
    EXPECT_THAT(message, StartsWith("file: "));
    EXPECT_THAT(message, HasSubstr(expected));
  }
  EXPECT_THAT(message_of<DataError>([&] { read_tiktoken_tokenizer(ranks, "file", "gpt9", false); }),
              StartsWith("file: encoding: expected gpt2, r50k_base"));
}

}  // namespace
}  // namespace segue

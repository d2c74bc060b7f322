// What every option of `segue prepare` means.
#include <algorithm>
#include <charconv>
#include <string>

#include "data_pipeline/prepare.h"

namespace segue {

namespace {

void describe_words(JsonFields& fields, TokenizerOptions& options) {
  fields.optional(
      "unk", options.unknown,
      {.meaning = "word: the token that stands for unknown words; default: <unk>", .flag = {.value = "WORD"}});
  fields.optional("eos", options.line_marks,
                  {.meaning = "word: where to mark lines: none, line (at the end) or both (at both ends)"});
  fields.optional("eos_word", options.line_mark,
                  {.meaning = "word: the token that marks a line; default: <eos>", .flag = {.value = "WORD"}});
}

void describe_ready_made(JsonFields& fields, TokenizerOptions& options) {
  fields.optional(
      "encoding", options.encoding,
      {.meaning = "tiktoken: encoding whose pattern splits text (gpt2, r50k_base, p50k_base, p50k_edit, cl100k_base, "
                  "o200k_base, o200k_harmony, llama3 or qwen); default: the one that FILE is named after",
       .flag = {.value = "NAME"}});
  fields.optional("special_tokens", options.special_tokens,
                  {.meaning = "find special tokens such as <|endoftext|> in text, with tokenizer.json and tiktoken; "
                              "otherwise they are plain text"});
}

}  // namespace

void TokenizerOptions::describe_file(JsonFields& fields) {
  fields.optional("tokenizer", file,
                  {.meaning = "tokenizer file: tokenizer.json of Hugging Face, ranks of tiktoken, a SentencePiece "
                              "model, or a list of words, one per line",
                   .flag = {.value = "FILE"}});
  describe_words(fields, *this);
  describe_ready_made(fields, *this);
}

void TokenizerOptions::describe(JsonFields& fields) {
  std::string asked = file.empty() ? std::string(name_of_choice(kind)) : file.string();
  fields.optional("tokenizer", asked,
                  {.meaning = "how to split text into tokens: byte; word (between white space); sentencepiece; enwik8 "
                              "or text8 (as the original prepares them, without line feeds); or a tokenizer FILE: "
                              "tokenizer.json of Hugging Face, ranks of tiktoken, a SentencePiece model",
                   .flag = {.value = "KIND|FILE"}});
  const auto kinds = choices_of(TokenizerKind{});
  const auto known = std::find(kinds.begin(), kinds.end(), asked);
  file = known == kinds.end() ? asked : std::string();
  if (known != kinds.end()) kind = static_cast<TokenizerKind>(known - kinds.begin());
  fields.optional("min_count", min_count,
                  {.meaning = "word: words that appear less often are unknown; default: 1",
                   .minimum = 1,
                   .flag = {.value = "COUNT"}});
  describe_words(fields, *this);
  fields.optional("vocabulary", vocabulary_file,
                  {.meaning = "word: a file of the words to use, one per line", .flag = {.value = "FILE"}});
  fields.optional("model", model_file,
                  {.meaning = "sentencepiece: a model to use instead of training one", .flag = {.value = "FILE"}});
  describe_ready_made(fields, *this);
}

namespace {

void describe_separator(JsonFields& fields, PrepareOptions& options) {
  std::optional<std::string> asked = options.separator_text;
  if (options.separator) asked = std::to_string(*options.separator);
  fields.optional("separator", asked,
                  {.meaning = "what to put between two files or documents, and nothing else: the number of a byte or "
                              "raw token, or text such as \"\\n\\n\\n\". By default nothing stands between files or "
                              "lists of tokens, and each text of JSON lines ends with a line feed",
                   .flag = {.value = "NUMBER|TEXT"}});
  options.separator.reset();
  options.separator_text = asked;
  if (!asked) return;
  int64_t number = 0;
  const char* const end = asked->data() + asked->size();
  if (const auto [parsed, error] = std::from_chars(asked->data(), end, number); error == std::errc() && parsed == end) {
    options.separator = number;
    options.separator_text.reset();
  }
}

}  // namespace

void PrepareOptions::describe(JsonFields& fields) {
  fields.optional("train", train, {.meaning = "files of the train split", .flag = {.value = "FILE"}});
  fields.optional("valid", valid, {.meaning = "files of the valid split", .flag = {.value = "FILE"}});
  fields.optional("test", test, {.meaning = "files of the test split", .flag = {.value = "FILE"}});
  fields.optional("input", input,
                  {.meaning = "files to join and to divide by --split; - is standard input",
                   .flag = {.value = "FILE", .may_be_unnamed = true}});
  fields.optional(
      "split", fractions,
      {.meaning = "shares of train, valid and test in --input, which sum to 1, or their sizes in bytes or raw tokens",
       .flag = {.value = "SHARE"}});
  fields.optional("format", format,
                  {.meaning = "what the files hold: text, or raw little-endian tokens. auto: text, or the tokens of a "
                              "file that says what it is (llm.c, Megatron-LM, NumPy)"});
  fields.optional(
      "field", field,
      {.meaning =
           "field of JSON lines that holds a text or a list of tokens, such as text, or content.text of an object "
           "content. Lines without it, or with null, are left out, at most half of a file. For .npz archives, the "
           "array to take. Without --separator, tokenizer.json and tiktoken tokenize each text by itself",
       .flag = {.value = "NAME"}});
  fields.optional("as_is", as_is, {.meaning = "take files as they are: decompress, leave out and refuse nothing"});
  describe_separator(fields, *this);
  fields.optional("token_bytes", token_bytes,
                  {.meaning = "raw tokens: file with the bytes of each token, so that bits per byte are known: a "
                              "tokenizer.json, or lines with a token's bytes in base64 and its number",
                   .flag = {.value = "FILE"}});
  fields.optional("marks", marks,
                  {.meaning = "raw tokens: read FILE.marks beside every FILE, which has a byte for each token: 1 if it "
                              "is scored, 3 if it continues the answer of the token before it, 0 if it is not scored"});
  fields.optional("example_tokens", example_tokens,
                  {.meaning = "raw tokens: the splits are examples of this many tokens. Nothing is remembered from one "
                              "example to the next",
                   .minimum = 2,
                   .flag = {.value = "COUNT"}});
  tokenizer.describe(fields);
  fields.optional(
      "vocab_size", vocabulary,
      {.meaning = "word: keep at most this many words, the most frequent ones; sentencepiece: number of pieces; raw "
                  "tokens: check each against it; default: all words, or the largest token found + 1",
       .minimum = 1,
       .flag = {.value = "SIZE"}});
  fields.required("output", output,
                  {.meaning = "directory of the dataset", .flag = {.value = "DIR", .alias = "-o", .is_output = true}});
  fields.optional(
      "compress", compression,
      {.meaning = "deflate level; 0: no compression", .minimum = 0, .maximum = 9, .flag = {.value = "LEVEL"}});
  fields.optional("shard_tokens", shard_tokens,
                  {.meaning = "largest number of tokens in a shard; prepare holds one shard in memory",
                   .minimum = 1,
                   .flag = {.value = "COUNT"}});
  fields.optional("force", force, {.meaning = "replace a dataset that is there already"});
  fields.optional("quiet", quiet, {.meaning = "print only warnings and errors", .flag = {.alias = "-q"}});
}

}  // namespace segue

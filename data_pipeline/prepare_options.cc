// What every option of `segue prepare` means.
#include <algorithm>
#include <charconv>
#include <string>

#include "data_pipeline/prepare.h"

namespace segue {

namespace {

void describe_words(JsonFields& fields, TokenizerOptions& options) {
  fields.optional("unk", options.unknown,
                  {.meaning = "word: what stands for unknown ones; none: <unk>", .flag = {.value = "WORD"}});
  fields.optional("eos", options.line_marks,
                  {.meaning = "word: where lines are marked: none; line, at its end; both, at its two ends"});
  fields.optional("eos_word", options.line_mark, {.meaning = "word: the mark; none: <eos>", .flag = {.value = "WORD"}});
}

void describe_ready_made(JsonFields& fields, TokenizerOptions& options) {
  fields.optional("encoding", options.encoding,
                  {.meaning = "ranks of tiktoken: gpt2, r50k_base, p50k_base, p50k_edit, cl100k_base, o200k_base, "
                              "o200k_harmony, llama3 or qwen, whose pattern cuts text; none: as FILE is named",
                   .flag = {.value = "NAME"}});
  fields.optional("special_tokens", options.special_tokens,
                  {.meaning = "find special tokens such as <|endoftext|> in text, with tokenizer.json and ranks of "
                              "tiktoken; otherwise they are text"});
}

}  // namespace

void TokenizerOptions::describe_file(JsonFields& fields) {
  fields.optional("tokenizer", file,
                  {.meaning = "file that says how text becomes tokens: tokenizer.json of Hugging Face, ranks of "
                              "tiktoken, a SentencePiece model, or a list of words, one on each line",
                   .flag = {.value = "FILE"}});
  describe_words(fields, *this);
  describe_ready_made(fields, *this);
}

void TokenizerOptions::describe(JsonFields& fields) {
  std::string asked = file.empty() ? std::string(name_of_choice(kind)) : file.string();
  fields.optional("tokenizer", asked,
                  {.meaning = "how text becomes tokens: byte; word, between white space; sentencepiece; enwik8 or "
                              "text8, as the original prepares them, without line feeds; or as a FILE says: "
                              "tokenizer.json of Hugging Face, ranks of tiktoken, a SentencePiece model",
                   .flag = {.value = "KIND|FILE"}});
  const auto kinds = choices_of(TokenizerKind{});
  const auto known = std::find(kinds.begin(), kinds.end(), asked);
  file = known == kinds.end() ? asked : std::string();
  if (known != kinds.end()) kind = static_cast<TokenizerKind>(known - kinds.begin());
  fields.optional("min_count", min_count,
                  {.meaning = "word: rarer ones are unknown; none: 1", .minimum = 1, .flag = {.value = "COUNT"}});
  describe_words(fields, *this);
  fields.optional("vocabulary", vocabulary_file,
                  {.meaning = "word: a list to use, one word per line", .flag = {.value = "FILE"}});
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
                              "raw token, or text such as \"\\n\\n\\n\"; none: nothing between files or lists of "
                              "tokens, and each text of JSON lines ends with a line feed",
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
  fields.optional("train", train, {.meaning = "files of split train", .flag = {.value = "FILE"}});
  fields.optional("valid", valid, {.meaning = "files of split valid", .flag = {.value = "FILE"}});
  fields.optional("test", test, {.meaning = "files of split test", .flag = {.value = "FILE"}});
  fields.optional("input", input,
                  {.meaning = "files to be joined and cut by --split instead; - is standard input",
                   .flag = {.value = "FILE", .may_be_unnamed = true}});
  fields.optional(
      "split", fractions,
      {.meaning = "shares of train, valid and test in --input, sum 1; or their sizes in bytes or raw tokens",
       .flag = {.value = "SHARE"}});
  fields.optional("format", format,
                  {.meaning = "what the files hold: text, or raw little-endian tokens; auto: text, or the tokens of a "
                              "file that says what it is (llm.c, Megatron-LM, NumPy)"});
  fields.optional(
      "field", field,
      {.meaning = "files are lines of JSON: take the text or the list of tokens in this field of each, such as text, "
                  "or content.text of an object content; lines without it, or with null, are left out, at most half of "
                  "a file; or .npz archives: take this array. without --separator, tokenizer.json and ranks of "
                  "tiktoken make tokens of each text by itself",
       .flag = {.value = "NAME"}});
  fields.optional("as_is", as_is,
                  {.meaning = "take files as they are, without decompressing, leaving out or refusing anything"});
  describe_separator(fields, *this);
  fields.optional(
      "token_bytes", token_bytes,
      {.meaning = "raw tokens: a tokenizer.json, or lines of a token's bytes in base64 and its number, so that "
                  "bits per byte are known",
       .flag = {.value = "FILE"}});
  fields.optional(
      "marks", marks,
      {.meaning = "raw tokens: beside every FILE lies FILE.marks, a byte for each token: 1 if it is scored, "
                  "3 if it goes on with the answer of the one before it, 0 if not"});
  fields.optional("example_tokens", example_tokens,
                  {.meaning = "raw tokens: the splits are examples of so many; nothing is remembered from one to the "
                              "next",
                   .minimum = 2,
                   .flag = {.value = "COUNT"}});
  tokenizer.describe(fields);
  fields.optional("vocab_size", vocabulary,
                  {.meaning = "word: at most so many, the most frequent ones; sentencepiece: number of pieces; raw "
                              "tokens: each is checked against it; none: all words, or the largest token found + 1",
                   .minimum = 1,
                   .flag = {.value = "SIZE"}});
  fields.required("output", output, {.meaning = "directory of the dataset", .flag = {.value = "DIR", .alias = "-o"}});
  fields.optional(
      "compress", compression,
      {.meaning = "deflate level; 0: no compression", .minimum = 0, .maximum = 9, .flag = {.value = "LEVEL"}});
  fields.optional("shard_tokens", shard_tokens,
                  {.meaning = "at most so many tokens in a shard; prepare holds one shard in memory",
                   .minimum = 1,
                   .flag = {.value = "COUNT"}});
  fields.optional("force", force, {.meaning = "replace the dataset if there is one already"});
  fields.optional("quiet", quiet, {.meaning = "no progress, only warnings and errors", .flag = {.alias = "-q"}});
}

}  // namespace segue

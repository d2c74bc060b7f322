// segue prepare
#include <map>
#include <memory>
#include <string>

#include "base/log.h"
#include "data_pipeline/prepare.h"
#include "launch/segue/commands.h"
#include "launch/segue/options.h"

namespace segue {

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  segue prepare --input books/*.txt --split 0.9,0.05,0.05 --separator 0 --output data/books\n"
    "  segue prepare --train train.txt --valid valid.txt --test test.txt --output data/wiki\n"
    "  segue prepare --tokenizer word --eos line --train wiki.train.tokens --valid wiki.valid.tokens --output "
    "data/wiki\n"
    "  segue prepare --tokenizer sentencepiece --vocab-size 8000 --input books/*.txt --output data/pieces\n"
    "  segue prepare --tokenizer enwik8 --input enwik8 --split 90000000,5000000,5000000 --output data/enwik8\n"
    "  segue prepare --format uint16 --train train.bin --valid val.bin --vocab-size 50257 --output data/web\n"
    "  zcat wiki.gz | segue prepare --train - --output data/wiki\n"
    "  segue prepare --field text --input pages.jsonl.zst --output data/pages\n"
    "  segue inspect data/books\n"
    "Files compressed by gzip, bzip2, xz or zstd are decompressed.\n"
    "The dataset appears whole or not at all; an interrupted prepare is simply run again.";

std::map<std::string, SourceFormat> formats() {
  return {{"text", SourceFormat::kText}, {"uint16", SourceFormat::kUInt16}, {"uint32", SourceFormat::kUInt32}};
}

void add_sources(CLI::App& command, PrepareOptions& options) {
  command.add_option("--train", options.train, "Files of split train")->type_name("FILE");
  command.add_option("--valid", options.valid, "Files of split valid")->type_name("FILE");
  command.add_option("--test", options.test, "Files of split test")->type_name("FILE");
  command.add_option("--input", options.input, "Files to be joined and cut by --split instead; - is standard input")
      ->type_name("FILE");
  command
      .add_option("--split", options.fractions,
                  "Shares of train, valid and test in --input, sum 1; or their sizes in bytes or raw tokens")
      ->delimiter(',')
      ->type_name("SHARE")
      ->default_str("0.9,0.05,0.05");
  command
      .add_option_function<std::string>(
          "--format", [&options](const std::string& name) { options.format = formats().at(name); },
          "What the files hold: text, or raw little-endian tokens")
      ->check(one_of({"text", "uint16", "uint32"}))
      ->type_name("FORMAT")
      ->default_str("text");
  command.add_option("--field", options.field, "Files are lines of JSON: take the text of this field of each")
      ->type_name("NAME");
  command.add_flag("--as-is", options.as_is,
                   "Take files as they are, without decompressing, leaving out or refusing anything");
  command
      .add_option("--separator", options.separator, "Byte or raw token to put between two files or documents [none]")
      ->type_name("TOKEN");
}

// An option whose names stand for the choices of an enum.
template <NamedEnum T, typename Target>
CLI::Option* add_choice(CLI::App& command, const char* name, Target& target, const char* meaning) {
  std::map<std::string, T> choices;
  for (size_t i = 0; i < choices_of(T{}).size(); ++i) choices.emplace(choices_of(T{})[i], static_cast<T>(i));
  return command
      .add_option_function<std::string>(
          name, [&target, choices](const std::string& choice) { target = choices.at(choice); }, meaning)
      ->check(one_of(words_of(T{})));
}

void add_tokenizer(CLI::App& command, PrepareOptions& options) {
  TokenizerOptions& tokenizer = options.tokenizer;
  add_choice<TokenizerKind>(command, "--tokenizer", tokenizer.kind,
                            "How text becomes tokens: byte; word, between white space; sentencepiece; enwik8 or text8, "
                            "as the original prepares them, without line feeds")
      ->type_name("KIND")
      ->default_str("byte");
  command
      .add_option("--vocab-size", options.vocabulary,
                  "word: at most so many, the most frequent ones; sentencepiece: number of pieces; raw tokens: each is "
                  "checked against it [largest token found + 1]")
      ->type_name("SIZE");
  command.add_option("--min-count", tokenizer.min_count, "word: rarer ones are unknown [1]")->type_name("COUNT");
  command.add_option("--unk", tokenizer.unknown, "word: what stands for unknown ones [<unk>]")->type_name("WORD");
  add_choice<LineMarks>(command, "--eos", tokenizer.line_marks,
                        "word: where lines are marked: none; line, at its end; both, at its two ends")
      ->type_name("WHERE")
      ->default_str("none");
  command.add_option("--eos-word", tokenizer.line_mark, "word: the mark [<eos>]")->type_name("WORD");
  command.add_option("--vocabulary", tokenizer.vocabulary_file, "word: a list to use, one word per line")
      ->type_name("FILE");
  command.add_option("--model", tokenizer.model_file, "sentencepiece: a model to use instead of training one")
      ->type_name("FILE");
}

void add_output(CLI::App& command, PrepareOptions& options) {
  command.add_option("-o,--output", options.output, "Directory of the dataset")->required()->type_name("DIR");
  command.add_option("--compress", options.compression, "Deflate level from 1 to 9; 0: no compression")
      ->type_name("LEVEL")
      ->capture_default_str();
  command
      .add_option("--shard-tokens", options.shard_tokens,
                  "At most so many tokens in a shard; prepare holds one shard in memory")
      ->type_name("COUNT")
      ->capture_default_str();
  command.add_flag("--force", options.force, "Replace the dataset if there is one already");
  command.add_flag("-q,--quiet", options.quiet, "No progress, only warnings and errors");
}

// As a shell takes it, so that the manifest's command can be pasted.
std::string quoted(const std::string& word) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:+=@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string command_line(const CLI::App& command) {
  std::string text = "segue prepare";
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0) continue;
    text += " " + option->get_name();
    if (option->get_expected_max() == 0) continue;
    for (const std::string& word : option->results()) text += " " + quoted(word);
  }
  return text;
}

}  // namespace

void add_prepare_command(CLI::App& app) {
  auto options = std::make_shared<PrepareOptions>();
  CLI::App* command = app.add_subcommand("prepare", "Turn text or raw token files into a dataset");
  add_sources(*command, *options);
  add_tokenizer(*command, *options);
  add_output(*command, *options);
  command->footer(kExamples);
  command->callback([command, options] {
    options->command = command_line(*command);
    prepare(*options, *make_logger(options->quiet));
  });
}

}  // namespace segue

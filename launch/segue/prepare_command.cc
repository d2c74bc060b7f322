// segue prepare
#include <map>
#include <memory>
#include <string>

#include "base/log.h"
#include "data_pipeline/prepare.h"
#include "launch/segue/commands.h"

namespace segue {

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  segue prepare --input books/*.txt --split 0.9,0.05,0.05 --separator 0 --output data/books\n"
    "  segue prepare --train train.txt --valid valid.txt --test test.txt --output data/wiki\n"
    "  segue prepare --format uint16 --train train.bin --valid val.bin --vocab-size 50257 --output data/web\n"
    "  segue inspect data/books\n"
    "The dataset appears whole or not at all; an interrupted prepare is simply run again.";

std::map<std::string, SourceFormat> formats() {
  return {{"text", SourceFormat::kText}, {"uint16", SourceFormat::kUInt16}, {"uint32", SourceFormat::kUInt32}};
}

void add_sources(CLI::App& command, PrepareOptions& options) {
  command.add_option("--train", options.train, "Files of split train")->type_name("FILE");
  command.add_option("--valid", options.valid, "Files of split valid")->type_name("FILE");
  command.add_option("--test", options.test, "Files of split test")->type_name("FILE");
  command.add_option("--input", options.input, "Files to be joined and cut by --split instead")->type_name("FILE");
  command.add_option("--split", options.fractions, "Shares of train, valid and test in --input; their sum is 1")
      ->delimiter(',')
      ->type_name("SHARE")
      ->default_str("0.9,0.05,0.05");
  command
      .add_option_function<std::string>(
          "--format", [&options](const std::string& name) { options.format = formats().at(name); },
          "What the files hold: text, one token per byte; or raw little-endian tokens")
      ->check(CLI::IsMember(formats()))
      ->type_name("FORMAT")
      ->default_str("text");
  command
      .add_option("--vocab-size", options.vocabulary,
                  "Vocabulary size of raw tokens, each checked against it [largest token found + 1]")
      ->type_name("SIZE");
  command.add_option("--separator", options.separator, "Byte or token to put between two files [none]")
      ->type_name("TOKEN");
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
  add_output(*command, *options);
  command->footer(kExamples);
  command->callback([command, options] {
    options->command = command_line(*command);
    prepare(*options, *make_logger(options->quiet));
  });
}

}  // namespace segue

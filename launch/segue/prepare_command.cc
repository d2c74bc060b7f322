// segue prepare
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

#include "base/log.h"
#include "base/text.h"
#include "base/unfinished_output.h"
#include "data_pipeline/prepare.h"
#include "launch/segue/commands.h"
#include "launch/segue/flags.h"

namespace segue {

namespace {

constexpr const char* kPrepareExamples =
    "Examples:\n"
    "  segue prepare --input books/*.txt --split 0.9,0.05,0.05 --separator 0 --output data/books\n"
    "  segue prepare --train train.txt --valid valid.txt --test test.txt --output data/wiki\n"
    "  segue prepare --tokenizer word --eos line --train wiki.train.tokens --valid wiki.valid.tokens --output "
    "data/wiki\n"
    "  segue prepare --tokenizer sentencepiece --vocab-size 8000 --input books/*.txt --output data/pieces\n"
    "  segue prepare --tokenizer gpt2/tokenizer.json --input books/*.txt --output data/gpt2\n"
    "  segue prepare --tokenizer cl100k_base.tiktoken --input books/*.txt --output data/cl100k\n"
    "  segue prepare --tokenizer enwik8 --input enwik8 --split 90000000,5000000,5000000 --output data/enwik8\n"
    "  segue prepare --format uint16 --train train.bin --valid val.bin --vocab-size 50257 --output data/web\n"
    "  segue prepare --train fineweb_train_*.bin --valid fineweb_val_000000.bin --output data/fineweb\n"
    "  zcat wiki.gz | segue prepare --train - --output data/wiki\n"
    "  segue prepare --field content.text --separator '\\n\\n\\n' --input pages.jsonl.zst --output data/pages\n"
    "  segue inspect data/books\n"
    "Files compressed by gzip, bzip2, xz or zstd are decompressed. Token files of llm.c, Megatron-LM and NumPy say "
    "what they are.\n"
    "The dataset appears whole or not at all. If prepare was interrupted, run it again.";

// So that the manifest has a command that can be pasted.
std::string command_line(const CLI::App& command) {
  std::string text = "segue prepare";
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0) continue;
    text += fmt::format(" {}", option->get_name());
    if (option->get_expected_max() == 0) continue;
    for (const std::string& word : option->results()) text += fmt::format(" {}", shell_word(word));
  }
  return text;
}

}  // namespace

void add_prepare_command(CLI::App& app) {
  add_command_reading<PrepareOptions>(app, "prepare", "Turn text or token files into a dataset", kPrepareExamples,
                                      [](const CLI::App& command) {
                                        const CleanInterrupt clean;
                                        PrepareOptions options;
                                        read_flags(command, options);
                                        options.command = command_line(command);
                                        prepare(options, *make_logger(options.quiet));
                                      });
}

}  // namespace segue

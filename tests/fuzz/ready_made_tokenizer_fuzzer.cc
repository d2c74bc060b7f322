// Mutated tokenizer.json files and ranks of tiktoken: what reads gives the same tokens of a text however it is cut, all
// inside its vocabulary; anything else is an error of one printable line.
// The first byte decides: 'j' a tokenizer.json, 's' one whose special tokens are found, 'r' ranks.
#include <algorithm>

#include "base/error.h"
#include "data_pipeline/tokenizer/subword/huggingface_tokenizer.h"
#include "data_pipeline/tokenizer/subword/tiktoken_tokenizer.h"
#include "tests/fuzz/demand.h"

namespace {

constexpr std::string_view kText =
    "the ab  aab\n\tBA <s> ab1 12'll \r\n\xe2\x96\x81"
    "e\xcc\x81\xef\xac\x81 \xf0\x9f\x98\x80\xe1\xa0\x8e\xe4\xbd\xa0<0x41>aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa   ";

std::vector<uint32_t> encoded(const segue::Tokenizer& tokenizer, size_t piece) {
  const std::unique_ptr<segue::Encoder> encoder = tokenizer.make_encoder();
  encoder->begin_file("fuzz", 0);
  for (std::string_view text = kText; !text.empty(); text.remove_prefix(std::min(piece, text.size())))
    encoder->append(text.substr(0, piece));
  encoder->end_file();
  encoder->end_split();
  const auto vocabulary = static_cast<uint32_t>(tokenizer.info().vocabulary);
  for (const uint32_t token : encoder->tokens()) segue::demand(token < vocabulary);
  return encoder->tokens();
}

std::unique_ptr<segue::Tokenizer> read(char choice, const std::string& file) {
  if (choice == 'j') return segue::read_huggingface_tokenizer(file, "fuzz", false);
  if (choice == 's') return segue::read_huggingface_tokenizer(file, "fuzz", true);
  if (choice == 'r') return segue::read_tiktoken_tokenizer(file, "fuzz", "qwen", true);
  return nullptr;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  try {
    const std::string file(reinterpret_cast<const char*>(data) + 1, size - 1);
    const auto tokenizer = read(static_cast<char>(data[0]), file);
    if (tokenizer == nullptr) return 0;
    segue::demand(!segue::first_complaint(tokenizer->info()));
    segue::demand_one_line(segue::describe(tokenizer->info()));
    const std::vector<uint32_t> tokens = encoded(*tokenizer, kText.size());
    segue::demand(encoded(*tokenizer, 7) == tokens);
    static_cast<void>(tokenizer->decode(std::vector<int32_t>(tokens.begin(), tokens.end())));
  } catch (const segue::DataError& error) {
    segue::demand_message(error.what(), "fuzz");
  }
  return 0;
}

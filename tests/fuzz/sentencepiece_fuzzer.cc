// Mutated SentencePiece models: one that text goes into and comes out of, or a DataError in one printable line.
#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "data_pipeline/tokenizer/sentencepiece_tokenizer.h"

namespace {

void demand(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto tokenizer = segue::read_sentencepiece_model({reinterpret_cast<const char*>(data), size}, "fuzz");
    const std::unique_ptr<segue::Encoder> encoder = tokenizer->make_encoder();
    encoder->begin_file("fuzz", 0);
    encoder->append("the cat\n\tsat \xe2\x96\x81 on\n\n it \xf0\x9f\x98\x80");
    encoder->end_file();
    const std::vector<int32_t> tokens(encoder->tokens().begin(), encoder->tokens().end());
    static_cast<void>(tokenizer->decode(tokens));
  } catch (const segue::DataError& error) {
    const std::string_view message = error.what();
    demand(std::all_of(message.begin(), message.end(), [](char c) { return c >= 0x20 && c <= 0x7e; }));
  }
  return 0;
}

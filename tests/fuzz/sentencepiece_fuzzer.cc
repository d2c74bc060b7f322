// Mutated SentencePiece models: one that text goes into and comes out of, or a DataError in one printable line.

#include "base/error.h"
#include "data_pipeline/tokenizer/sentencepiece_tokenizer.h"
#include "tests/fuzz/demand.h"

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
    segue::demand_one_line(error.what());
  }
  return 0;
}

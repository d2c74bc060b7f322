#include "data_pipeline/tokenizer/byte_tokenizer.h"

namespace segue {
namespace {

class ByteEncoder : public Encoder {
  void start_file(const std::string& /*file*/, int64_t /*offset*/) override {}
  void encode(std::string_view text) override {
    const std::span bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    tokens().insert(tokens().end(), bytes.begin(), bytes.end());
  }
  void finish_file() override {}
};

class ByteTokenizer : public Tokenizer {
 public:
  std::unique_ptr<Encoder> make_encoder() const override { return std::make_unique<ByteEncoder>(); }

 private:
  void append_text(int32_t token, std::string& text) const override { text += static_cast<char>(token); }
};

}  // namespace

std::unique_ptr<Tokenizer> make_byte_tokenizer() { return std::make_unique<ByteTokenizer>(); }

}  // namespace segue

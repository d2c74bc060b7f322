// Tokens back to text; the encoder has a file of its own.
#include "data_pipeline/tokenizer/subword/subword_tokenizer.h"

#include <utility>

#include "data_pipeline/tokenizer/subword/subword_encoder.h"

namespace segue {
namespace {

class SubwordTokenizer : public Tokenizer {
 public:
  SubwordTokenizer(std::unique_ptr<SubwordParts> parts, const TokenizerInfo& info, std::string file_text)
      : parts_(std::move(parts)), file_text_(std::move(file_text)) {
    info_ = info;
  }
  std::string file_text() const override { return file_text_; }
  std::unique_ptr<Encoder> make_encoder() const override { return std::make_unique<SubwordEncoder>(*parts_); }

 private:
  void append_text(int32_t token, std::string& text) const override {
    std::string_view added = parts_->texts.text(token);
    if (text.empty() && parts_->drops_first_space && added.starts_with(' ')) added.remove_prefix(1);
    text += added;
  }

  std::unique_ptr<SubwordParts> parts_;
  std::string file_text_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_subword_tokenizer(std::unique_ptr<SubwordParts> parts, const TokenizerInfo& info,
                                                  std::string file_text) {
  return std::make_unique<SubwordTokenizer>(std::move(parts), info, std::move(file_text));
}

}  // namespace segue

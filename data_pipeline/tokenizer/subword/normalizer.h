// The normalizers of tokenizer.json.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data_pipeline/tokenizer/subword/charsmap.h"
#include "data_pipeline/tokenizer/subword/regex.h"
#include "data_pipeline/tokenizer/subword/subword_text.h"
#include "data_pipeline/tokenizer/subword/unicode_data.h"

namespace segue {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual AlignedText apply(AlignedText text, const TextPlace& place) const = 0;
};

struct BertNormalizerOptions {
  bool clean_text = true;
  bool handle_chinese_chars = true;
  bool strip_accents = true;
  bool lowercase = true;
};

std::unique_ptr<Normalizer> make_form_normalizer(NormalForm form);
std::unique_ptr<Normalizer> make_lowercase_normalizer();
std::unique_ptr<Normalizer> make_strip_accents_normalizer();
std::unique_ptr<Normalizer> make_bert_normalizer(const BertNormalizerOptions& options);
std::unique_ptr<Normalizer> make_nmt_normalizer();
std::unique_ptr<Normalizer> make_strip_normalizer(bool left, bool right);
std::unique_ptr<Normalizer> make_prepend_normalizer(std::string text);
std::unique_ptr<Normalizer> make_replace_normalizer(std::string pattern, std::string content);
std::unique_ptr<Normalizer> make_regex_replace_normalizer(std::unique_ptr<Regex> pattern, std::string content);
std::unique_ptr<Normalizer> make_charsmap_normalizer(Charsmap map);

}  // namespace segue

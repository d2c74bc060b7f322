// Encodes files to tokens, part by part.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data_pipeline/tokenizer/subword/subword_tokenizer.h"

namespace segue {

class SubwordEncoder : public Encoder {
 public:
  explicit SubwordEncoder(const SubwordParts& parts);
  std::string note() const override;

 private:
  static constexpr size_t kPartBytes = size_t{256} << 10;
  static constexpr size_t kSearchBytes = size_t{64} << 10;
  static constexpr size_t kMostPartBytes = size_t{4} << 20;

  struct Part {
    size_t begin = 0;  // in pending_
    size_t end = 0;
    TextPlace place;
  };
  // The tokens of a part, with their places in it.
  struct EncodedPart {
    std::vector<SubwordToken> tokens;
    bool begins_joined = false;  // its first token belongs to the piece of the token before it
    int64_t changed = 0;
  };

  void start_file(const std::string& file, int64_t offset) override;
  void encode(std::string_view text) override;
  void finish_document() override;
  void finish_file() override;
  void check_utf8(bool ended);
  void find_parts(bool ended);
  void end_part(size_t end, bool goes_on_left);
  bool cut_between(size_t first, size_t last);
  bool try_cut(size_t at);
  void encode_parts();
  EncodedPart encode_part(const Part& part, PieceCache& cache) const;
  int64_t count_changed(const Part& part, const std::vector<SubwordToken>& tokens) const;
  void take(const Part& part, const EncodedPart& encoded);
  void give(uint32_t token, int64_t begin);

  const SubwordParts& parts_;
  size_t context_bytes_;
  size_t threads_;
  std::vector<PieceCache> caches_;  // of each thread
  std::string file_;
  int64_t offset_ = 0;  // of pending_ in the file
  std::string pending_;
  size_t valid_ = 0;            // bytes of pending_ that are known to be UTF-8
  size_t begin_ = 0;            // of the next part
  size_t target_ = kPartBytes;  // its length at which a place to end it is looked for
  TextPlace place_;             // of the next part
  std::vector<Part> waiting_;
  std::optional<uint32_t> last_;  // token of the text
  int64_t given_ = 0;             // tokens
  int64_t changed_ = 0;           // of them, those that are not decoded to the text that they stand for
};

}  // namespace segue

#include "data_pipeline/tokenizer/symbol_tokenizer.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include "base/error.h"

namespace segue {
namespace {

bool is_other_white_space(char c) { return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x1f); }

// Bytes of a split that become symbols, each with where it begins. Spaces of text8 wait until it is known that more
// than white space follows; other white space among them counts as the last one's.
class KeptBytes {
 public:
  explicit KeptBytes(TokenizerKind kind) : kind_(kind) {}

  void begin_file(int64_t offset) {
    spaces_begin_ += offset - offset_;
    offset_ = offset;
  }

  template <typename Visit>
  void append(std::string_view text, Visit&& visit) {
    for (const char c : text) {
      const int64_t offset = offset_++;
      if (kind_ == TokenizerKind::kEnwik8 ? c == '\n' : is_other_white_space(c)) continue;
      if (kind_ == TokenizerKind::kText8 && c == ' ') {
        if (begun_ && spaces_++ == 0) spaces_begin_ = offset;
        continue;
      }
      for (; spaces_ > 0; --spaces_) visit(' ', spaces_begin_++);
      visit(c, offset);
      begun_ = true;
    }
  }

  void end_split() {
    spaces_ = 0;
    begun_ = false;
  }

 private:
  TokenizerKind kind_;
  int64_t offset_ = 0;  // in the file
  int64_t spaces_ = 0;
  int64_t spaces_begin_ = 0;  // before the file's beginning where they are of the one before it
  bool begun_ = false;        // the split has a symbol
};

class SymbolEncoder : public Encoder {
 public:
  explicit SymbolEncoder(const TokenizerInfo& info) : kept_(info.kind) {
    token_of_.fill(-1);
    for (size_t token = 0; token < info.symbols.size(); ++token)
      token_of_.at(static_cast<size_t>(info.symbols[token])) = static_cast<int32_t>(token);
  }

 private:
  void start_file(const std::string& file, int64_t offset) override {
    file_ = file;
    kept_.begin_file(offset);
  }
  void encode(std::string_view text) override {
    kept_.append(text, [this](char c, int64_t offset) {
      const int32_t token = token_of_[static_cast<uint8_t>(c)];
      if (token < 0)
        throw DataError("{}: byte 0x{:02x} is not among the symbols of the vocabulary", file_, static_cast<uint8_t>(c));
      put(token, offset);
    });
  }
  void finish_file() override {}
  void finish_split() override { kept_.end_split(); }

  KeptBytes kept_;
  std::string file_;
  std::array<int32_t, 256> token_of_{};
};

class SymbolTokenizer : public Tokenizer {
 public:
  explicit SymbolTokenizer(const TokenizerInfo& info) { info_ = info; }
  std::unique_ptr<Encoder> make_encoder() const override { return std::make_unique<SymbolEncoder>(info_); }

 private:
  void append_text(int32_t token, std::string& text) const override {
    text += static_cast<char>(info_.symbols[static_cast<size_t>(token)]);
  }
};

class SymbolLearner : public TokenizerLearner {
 public:
  explicit SymbolLearner(TokenizerKind kind) : kind_(kind), kept_(kind) {}

  bool learns_from(std::string_view /*split*/) const override { return true; }
  void begin_file(const std::string& /*file*/, int64_t /*offset*/) override {}
  void append(std::string_view text) override {
    kept_.append(text, [this](char c, int64_t /*offset*/) {
      const auto byte = static_cast<uint8_t>(c);
      if (counts_[byte]++ == 0) in_order_.push_back(byte);
    });
  }
  void end_file() override {}
  void end_split() override { kept_.end_split(); }

  std::unique_ptr<Tokenizer> finish() override {
    if (in_order_.empty()) throw DataError("{}: the text holds no symbol", name_of_choice(kind_));
    TokenizerInfo info{.kind = kind_, .vocabulary = std::ssize(in_order_), .symbols = in_order_};
    std::stable_sort(info.symbols.begin(), info.symbols.end(), [this](int64_t a, int64_t b) {
      return counts_.at(static_cast<size_t>(a)) > counts_.at(static_cast<size_t>(b));
    });
    info.checksum = checksum_of_symbols(info.symbols);
    return load_symbol_tokenizer(info);
  }

 private:
  TokenizerKind kind_;
  KeptBytes kept_;
  std::array<int64_t, 256> counts_{};
  std::vector<int64_t> in_order_;  // of their first occurrence
};

}  // namespace

std::unique_ptr<TokenizerLearner> make_symbol_learner(TokenizerKind kind) {
  return std::make_unique<SymbolLearner>(kind);
}

std::unique_ptr<Tokenizer> load_symbol_tokenizer(const TokenizerInfo& info) {
  return std::make_unique<SymbolTokenizer>(info);
}

}  // namespace segue

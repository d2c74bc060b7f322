#include "data_pipeline/tokenizer/sentencepiece_tokenizer.h"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <future>
#include <thread>
#include <utility>

#include "base/checksum.h"
#include "base/error.h"
#include "base/text.h"
#include "data_pipeline/tokenizer/sentencepiece_check.h"
#include "data_pipeline/tokenizer/utf8_lines.h"

namespace segue {
namespace {

constexpr std::string_view kSpaceMark = "\xe2\x96\x81";  // U+2581
constexpr const char* kUnknownText = "\xef\xbf\xbd";

std::string with_spaces(std::string_view piece) {
  std::string text;
  for (size_t at = piece.find(kSpaceMark); at != std::string_view::npos; at = piece.find(kSpaceMark)) {
    text.append(piece.substr(0, at)).push_back(' ');
    piece.remove_prefix(at + kSpaceMark.size());
  }
  return text.append(piece);
}

// Tokens, and where the text of each begins in the file.
struct EncodedPieces {
  std::vector<int> tokens;
  std::vector<int64_t> begins;
  void add(int token, int64_t begin) {
    tokens.push_back(token);
    begins.push_back(begin);
  }
};

// The pieces of a model and what each stands for.
class Pieces {
 public:
  Pieces(const std::string& model, const std::string& source) {
    if (!loads(model)) throw DataError("{}: not a SentencePiece model", source);
    byte_tokens_.fill(-1);
    for (int token = 0; token < processor_.GetPieceSize(); ++token) texts_.push_back(text_of(token));
    if (texts_.empty()) throw DataError("{}: the SentencePiece model has no pieces", source);
    const int feed = processor_.PieceToId("\n");
    if (byte_tokens_['\n'] < 0 && !processor_.IsUnknown(feed)) byte_tokens_['\n'] = feed;
  }

  int64_t size() const { return std::ssize(texts_); }
  int64_t unknown() const { return processor_.unk_id(); }
  bool has_line_feed() const { return byte_tokens_['\n'] >= 0; }
  const std::string& text(int32_t token) const { return texts_[static_cast<size_t>(token)]; }

  void encode(const TextLine& line, EncodedPieces& encoded) const {
    std::string_view left = line.text;
    const auto offset = [&] { return line.offset + (left.data() - line.text.data()); };
    for (size_t at = find_mark(left); at != std::string_view::npos; at = find_mark(left)) {
      encode_part(left.substr(0, at), offset(), encoded);
      left.remove_prefix(at);
      for (const char c : kSpaceMark) {
        encoded.add(byte_tokens_[static_cast<uint8_t>(c)], offset());
        left.remove_prefix(1);
      }
    }
    encode_part(left, offset(), encoded);
    if (line.ended && has_line_feed()) encoded.add(byte_tokens_['\n'], line.offset + std::ssize(line.text));
  }

 private:
  // The library throws at some models and refuses others.
  bool loads(const std::string& model) try {
    return processor_.LoadFromSerializedProto(model).ok();
  } catch (const std::exception&) {
    return false;
  }

  std::string text_of(int token) {
    const std::string& piece = processor_.IdToPiece(token);  // of a byte the library has checked it
    if (processor_.IsUnknown(token)) return kUnknownText;
    if (processor_.IsControl(token)) return {};
    if (!processor_.IsByte(token)) return with_spaces(piece);
    const auto byte = static_cast<uint8_t>(std::strtoul(piece.c_str() + 3, nullptr, 16));  // "<0x41>"
    byte_tokens_[byte] = token;
    std::string text;
    text += static_cast<char>(byte);
    return text;
  }

  // Without byte pieces the mark cannot be told from a space.
  size_t find_mark(std::string_view text) const {
    const bool has_bytes = std::all_of(kSpaceMark.begin(), kSpaceMark.end(),
                                       [this](char c) { return byte_tokens_[static_cast<uint8_t>(c)] >= 0; });
    return has_bytes ? text.find(kSpaceMark) : std::string_view::npos;
  }

  // Of the pieces of one character's bytes, the library says of the last that it is the whole character.
  void encode_part(std::string_view text, int64_t offset, EncodedPieces& encoded) const {
    if (text.empty()) return;
    sentencepiece::ImmutableSentencePieceText part;
    const sentencepiece::util::Status status = processor_.Encode(text, part.mutable_proto());
    if (!status.ok()) throw DataError("sentencepiece: cannot encode: {}", printable_line(status.ToString(), 200));
    int64_t bytes_before = 0;  // pieces of the same character
    for (const auto& piece : part.pieces()) {
      const auto token = static_cast<int>(piece.id());
      encoded.add(token, offset + piece.begin() + bytes_before);
      bytes_before = processor_.IsByte(token) && piece.begin() == piece.end() ? bytes_before + 1 : 0;
    }
  }

  sentencepiece::SentencePieceProcessor processor_;
  std::vector<std::string> texts_;
  std::array<int, 256> byte_tokens_{};
};

class PieceEncoder : public Encoder {
 public:
  explicit PieceEncoder(const Pieces& pieces) : pieces_(pieces) {}

  std::string note() const override {
    if (changed_ == 0) return {};
    return fmt::format("{} of {} lines change when their pieces are joined again: the model {}", human_count(changed_),
                       human_count(lines_),
                       pieces_.has_line_feed() ? "normalises text" : "has no piece for line feeds");
  }

 private:
  struct Part {
    EncodedPieces pieces;
    int64_t changed = 0;
  };

  void start_file(const std::string& file, int64_t offset) override { scanner_.begin_file(file, offset); }
  void encode(std::string_view text) override { encode_lines(scanner_.append(text)); }
  void finish_file() override { encode_lines(scanner_.end_file()); }

  void encode_lines(std::span<const TextLine> lines) {
    lines_ += std::ssize(lines);
    const size_t threads = std::max(1U, std::thread::hardware_concurrency());
    const size_t share = (lines.size() + threads - 1) / threads;
    std::vector<std::future<Part>> parts;
    for (size_t first = 0; first < lines.size(); first += share)
      parts.push_back(std::async(
          std::launch::async,
          [this, part = lines.subspan(first, std::min(share, lines.size() - first))] { return encode_part(part); }));
    for (std::future<Part>& part : parts) take(part.get());
  }

  Part encode_part(std::span<const TextLine> lines) const {
    Part part;
    for (const TextLine& line : lines) {
      const size_t begin = part.pieces.tokens.size();
      pieces_.encode(line, part.pieces);
      if (!comes_back(line, std::span<const int>(part.pieces.tokens).subspan(begin))) ++part.changed;
    }
    return part;
  }

  bool comes_back(const TextLine& line, std::span<const int> tokens) const {
    if (line.ended && !pieces_.has_line_feed()) return false;
    std::string_view left = line.text;
    for (const int token : line.ended ? tokens.first(tokens.size() - 1) : tokens) {
      const std::string& piece = pieces_.text(token);
      if (!left.starts_with(piece)) return false;
      left.remove_prefix(piece.size());
    }
    return left.empty();
  }

  void take(const Part& part) {
    for (size_t i = 0; i < part.pieces.tokens.size(); ++i) {
      const int token = part.pieces.tokens[i];
      const int64_t begin = part.pieces.begins[i];
      token == pieces_.unknown() ? put_unknown(token, begin) : put(token, begin);
    }
    changed_ += part.changed;
  }

  const Pieces& pieces_;
  Utf8Lines scanner_;
  int64_t lines_ = 0;
  int64_t changed_ = 0;  // of them, those that do not come back
};

class PieceTokenizer : public Tokenizer {
 public:
  PieceTokenizer(const std::string& model, const std::string& source) : model_(model), pieces_(model, source) {
    info_ = {.kind = TokenizerKind::kSentencePiece,
             .vocabulary = pieces_.size(),
             .checksum = checksum_of(std::as_bytes(std::span(model))),
             .unknown_token = pieces_.unknown()};
  }
  std::string file_text() const override { return model_; }
  std::unique_ptr<Encoder> make_encoder() const override { return std::make_unique<PieceEncoder>(pieces_); }

 private:
  void append_text(int32_t token, std::string& text) const override { text += pieces_.text(token); }

  std::string model_;
  Pieces pieces_;
};

}  // namespace

std::unique_ptr<Tokenizer> read_sentencepiece_model(const std::string& model, const std::string& source) {
  check_sentencepiece_model(model, source);
  return std::make_unique<PieceTokenizer>(model, source);
}

std::unique_ptr<Tokenizer> load_sentencepiece_tokenizer(const TokenizerInfo& info, const std::string& model,
                                                        const std::string& source) {
  auto tokenizer = read_sentencepiece_model(model, source);
  if (tokenizer->info().vocabulary != info.vocabulary)
    throw DataError("{}: expected {} pieces, found {}", source, info.vocabulary, tokenizer->info().vocabulary);
  return tokenizer;
}

}  // namespace segue

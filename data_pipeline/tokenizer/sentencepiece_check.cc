// Just enough of the wire format of protocol buffers, and the automaton of a character map.
#include "data_pipeline/tokenizer/sentencepiece_check.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "data_pipeline/tokenizer/utf8_lines.h"

namespace segue {
namespace {

constexpr size_t kLargestModel = size_t{64} << 20;
constexpr size_t kLongestPiece = 4096;
constexpr size_t kMostPieces = size_t{1} << 21;
constexpr size_t kMostUnits = size_t{1} << 20;  // of the automaton
constexpr int kMostMatches = 32;                // of one beginning of a text, in arrays of the library's

class Complaints {
 public:
  explicit Complaints(const std::string& source) : source_(source) {}
  void require(bool holds, std::string_view expected) const {
    if (!holds) throw DataError("{}: not a SentencePiece model: expected {}, found otherwise", source_, expected);
  }

 private:
  const std::string& source_;
};

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct WireField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t value = 0;        // of a varint
  std::string_view bytes{};  // of the others
};

// The fields of a message, one after the other.
class WireReader {
 public:
  WireReader(std::string_view message, const Complaints& complaints) : left_(message), complaints_(complaints) {}

  bool next(WireField& field) {
    if (left_.empty()) return false;
    const uint64_t tag = varint();
    complaints_.require(tag >> 32 == 0 && tag >> 3 != 0, "tags of fields");
    field = {.number = static_cast<uint32_t>(tag >> 3), .type = static_cast<WireType>(tag & 7)};
    switch (field.type) {
      case WireType::kVarint:
        field.value = varint();
        return true;
      case WireType::kFixed64:
        field.bytes = take(sizeof(uint64_t));
        return true;
      case WireType::kBytes:
        field.bytes = take(varint());
        return true;
      case WireType::kFixed32:
        field.bytes = take(sizeof(uint32_t));
        return true;
    }
    complaints_.require(false, "fields of a known type");
    return false;
  }

 private:
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      const auto byte = static_cast<uint8_t>(take(1)[0]);
      value |= shift < 64 ? uint64_t{byte & 0x7fU} << shift : 0;
      if (byte < 0x80) return value;
    }
    complaints_.require(false, "numbers of at most ten bytes");
    return 0;
  }

  std::string_view take(uint64_t bytes) {
    complaints_.require(bytes <= left_.size(), "fields that lie inside of the file");
    const std::string_view taken = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return taken;
  }

  std::string_view left_;
  const Complaints& complaints_;
};

bool is_utf8(std::string_view text) { return valid_utf8_bytes(text) == text.size(); }

// The automaton by which the library finds the longest sequence of bytes to replace: a double array, in which a step
// goes from a unit by its offset and the next byte, and the replacements, each ended by a zero.
class CharacterMap {
 public:
  CharacterMap(std::string_view map, const Complaints& complaints) : complaints_(complaints) {
    uint32_t bytes = 0;
    complaints.require(map.size() > sizeof bytes, "a character map with a size");
    std::memcpy(&bytes, map.data(), sizeof bytes);
    map.remove_prefix(sizeof bytes);
    complaints.require(bytes % sizeof(uint32_t) == 0 && bytes > 0 && bytes < map.size(), "a character map of its size");
    units_.resize(bytes / sizeof(uint32_t));
    complaints.require(units_.size() <= kMostUnits, "a smaller character map");
    std::memcpy(units_.data(), map.data(), bytes);
    texts_ = map.substr(bytes);
    complaints.require(texts_.back() == '\0' && is_utf8(texts_), "texts in the character map");
  }

  void check() const {
    for (size_t at = 0; at < units_.size(); ++at)
      if (at == 0 || is_inner(units_[at])) check_steps(at);
    check_matches();
  }

 private:
  static bool is_inner(uint32_t unit) { return unit >> 31 == 0; }
  static bool has_text(uint32_t unit) { return (unit >> 8 & 1) != 0; }
  static bool is_reached_by(uint32_t unit, uint32_t byte) { return (unit & 0x800000ffU) == byte; }
  size_t base_of(size_t at) const {
    const uint32_t unit = units_[at];
    return at ^ (static_cast<size_t>(unit >> 10) << ((unit & 0x200U) >> 6));
  }

  void check_steps(size_t at) const {
    const size_t base = base_of(at);
    complaints_.require((base | 0xff) < units_.size(), "steps that stay inside of the character map");
    if (!has_text(units_[at])) return;
    const size_t text = units_[base] & 0x7fffffffU;
    complaints_.require(text < texts_.size() && !continues_character(texts_[text]),
                        "texts that lie inside of the character map");
  }

  // Depth first; parts of the automaton may be shared, and are walked through once.
  void check_matches() const {
    constexpr uint32_t kBytes = 256;
    enum class State : uint8_t { kNew, kOnPath, kDone };
    std::vector<State> states(units_.size(), State::kNew);
    std::vector<uint8_t> matches(units_.size());  // the most behind a unit
    std::vector<std::pair<size_t, uint32_t>> path{{0, 0}};
    while (!path.empty()) {
      auto& [at, byte] = path.back();
      states[at] = byte == kBytes ? State::kDone : State::kOnPath;
      if (byte == kBytes) {
        path.pop_back();
        continue;
      }
      const size_t next = base_of(at) ^ byte;
      const bool is_step = is_reached_by(units_[next], byte);
      complaints_.require(!is_step || states[next] != State::kOnPath, "a character map without circles");
      if (is_step && states[next] == State::kNew) {
        path.emplace_back(next, 0);
        continue;
      }
      if (is_step) {
        const int found = matches[next] + (has_text(units_[next]) ? 1 : 0);
        complaints_.require(found <= kMostMatches, "fewer sequences that begin each other in the character map");
        matches[at] = std::max(matches[at], static_cast<uint8_t>(found));
      }
      ++byte;
    }
  }

  const Complaints& complaints_;
  std::vector<uint32_t> units_;
  std::string_view texts_;
};

// Which fields hold what: sentencepiece_model.proto.
class ModelCheck {
 public:
  explicit ModelCheck(const std::string& source) : complaints_(source) {}

  void run(std::string_view model) {
    constexpr uint32_t kPiece = 1;
    constexpr uint32_t kNormalizer = 3;
    constexpr uint32_t kDenormalizer = 5;
    complaints_.require(model.size() <= kLargestModel, "at most 64 MiB");
    WireReader reader(model, complaints_);
    for (WireField field; reader.next(field);) {
      if (field.type != WireType::kBytes) continue;
      if (field.number == kPiece) check_piece(field.bytes);
      if (field.number == kNormalizer || field.number == kDenormalizer) check_normalizer(field.bytes);
    }
    complaints_.require(pieces_ <= kMostPieces, "at most 2,097,152 pieces");
    check_user_defined();
  }

 private:
  void check_piece(std::string_view message) {
    constexpr uint64_t kUserDefined = 4;
    ++pieces_;
    std::string_view piece;
    bool user_defined = false;
    WireReader reader(message, complaints_);
    for (WireField field; reader.next(field);) {
      if (field.number == 1 && field.type == WireType::kBytes) piece = checked_piece(field.bytes);
      if (field.number == 2 && field.type == WireType::kFixed32) check_score(field.bytes);
      if (field.number == 3 && field.type == WireType::kVarint) user_defined = field.value == kUserDefined;
    }
    if (user_defined) user_defined_.push_back(piece);
  }

  std::string_view checked_piece(std::string_view piece) const {
    complaints_.require(piece.size() <= kLongestPiece, "pieces of at most 4096 bytes");
    complaints_.require(is_utf8(piece), "pieces in UTF-8");
    return piece;
  }

  void check_score(std::string_view bytes) const {
    float score = 0.0F;
    std::memcpy(&score, bytes.data(), sizeof score);
    complaints_.require(std::isfinite(score), "finite scores");
  }

  void check_normalizer(std::string_view message) const {
    constexpr uint32_t kCharacterMap = 2;
    WireReader reader(message, complaints_);
    for (WireField field; reader.next(field);)
      if (field.number == kCharacterMap && field.type == WireType::kBytes && !field.bytes.empty())
        CharacterMap(field.bytes, complaints_).check();
  }

  // In their order, what a piece begins with stands right before it.
  void check_user_defined() {
    std::sort(user_defined_.begin(), user_defined_.end());
    std::vector<std::string_view> beginnings;
    for (const std::string_view piece : user_defined_) {
      while (!beginnings.empty() && !piece.starts_with(beginnings.back())) beginnings.pop_back();
      beginnings.push_back(piece);
      complaints_.require(std::ssize(beginnings) <= kMostMatches, "fewer user-defined pieces that begin each other");
    }
  }

  Complaints complaints_;
  size_t pieces_ = 0;
  std::vector<std::string_view> user_defined_;
};

}  // namespace

void check_sentencepiece_model(std::string_view model, const std::string& source) {
  static_assert(std::endian::native == std::endian::little, "models are little-endian");
  ModelCheck(source).run(model);
}

}  // namespace segue

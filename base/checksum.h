// Checksums that tell a damaged file from a whole one (XXH3, 128 bits; not a defence against forgery).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace segue {

// Feed bytes in pieces, read the text form "xxh3:<32 hex digits>" at the end.
class Checksum {
 public:
  Checksum();
  ~Checksum();
  Checksum(Checksum&&) noexcept;
  Checksum& operator=(Checksum&&) noexcept;
  void update(std::span<const std::byte> bytes);
  std::string text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string checksum_of(std::span<const std::byte> bytes);

// A number for a text, the same everywhere and always (XXH3, 64 bits).
uint64_t hash_of(std::string_view text);

}  // namespace segue

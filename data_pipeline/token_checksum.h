// A checksum of tokens that does not depend on how they lie on disk: in which shards, and in which type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "data_pipeline/token_type.h"

namespace segue {

// Of every token as a little-endian uint32.
class TokenChecksum {
 public:
  explicit TokenChecksum(TokenType type) : type_(type) {}
  void update(std::span<const std::byte> tokens);  // whole ones, in their type
  void set_type(TokenType type) { type_ = type; }  // of those that follow
  std::string text() const { return checksum_.text(); }

 private:
  TokenType type_;
  Checksum checksum_;
  std::vector<uint32_t> wide_;
};

}  // namespace segue

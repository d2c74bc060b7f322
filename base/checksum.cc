// XXH3-128 behind a small class.
#include "base/checksum.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <new>

#include "base/process_status.h"

namespace segue {

struct Checksum::State {
  State() {
    if (xxh == nullptr) throw std::bad_alloc();
    XXH3_128bits_reset(xxh);
  }
  ~State() { XXH3_freeState(xxh); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  XXH3_state_t* xxh = XXH3_createState();
};

Checksum::Checksum() : state_(std::make_unique<State>()) {}
Checksum::~Checksum() = default;
Checksum::Checksum(Checksum&&) noexcept = default;
Checksum& Checksum::operator=(Checksum&&) noexcept = default;

void Checksum::update(std::span<const std::byte> bytes) {
  constexpr size_t kPiece = size_t{16} << 20;  // of what may be a mapped file on a slow disk
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(kPiece, bytes.size()))) {
    XXH3_128bits_update(state_->xxh, bytes.data(), std::min(kPiece, bytes.size()));
    note_progress();
  }
}

std::string Checksum::text() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_->xxh);
  return fmt::format("xxh3:{:016x}{:016x}", hash.high64, hash.low64);
}

std::string checksum_of(std::span<const std::byte> bytes) {
  Checksum checksum;
  checksum.update(bytes);
  return checksum.text();
}

uint64_t hash_of(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

}  // namespace segue

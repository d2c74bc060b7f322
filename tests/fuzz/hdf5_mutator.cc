// How files of HDF5 are mutated: its newer structures carry checksums that mutation hardly gets past, so most inputs
// get theirs made right again.
#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <string_view>

#include "data_pipeline/hdf5/bytes.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace segue {

namespace {

class Hdf5Seals {
 public:
  explicit Hdf5Seals(std::span<uint8_t> file) : file_(file) {}

  void mend() {
    for (size_t at = 0; at + 16 <= file_.size(); ++at) {
      if (begins(at, "FAHD")) entry_bytes_ = file_[at + 6], entries_ = number(at + 8);
      if (begins(at, "FAHD")) seal(at, 24);
      if (begins(at, "FADB")) seal(at, 14 + std::min<uint64_t>(entries_, file_.size()) * entry_bytes_);
      if (begins(at, "OHDR")) seal_header(at);
      if (begins(at, "FRHP")) seal(at, 142);
      seal_extensible_array(at);
      seal_second_tree(at);
      if (at == 0 && begins(at, "\x89HDF") && file_[8] >= 2) seal(at, 44);
    }
  }

 private:
  bool begins(size_t at, std::string_view signature) const {
    return std::memcmp(file_.data() + at, signature.data(), signature.size()) == 0;
  }

  uint64_t number(size_t at) const {
    uint64_t value = 0;
    std::memcpy(&value, file_.data() + at, sizeof value);
    return value;
  }

  // Its parts are as long as its head says; a super block and a data block say which group of blocks they are of.
  void seal_extensible_array(size_t at) {
    constexpr uint64_t kPrefix = 14;
    if (begins(at, "EAHD")) {
      seal(at, 68);
      array_ = at;
    }
    if (array_ + 16 > file_.size() || !begins(array_, "EAHD")) return;
    const uint64_t entry_bytes = file_[array_ + 6];
    const uint64_t bits = file_[array_ + 7];
    const uint64_t least = std::max<uint64_t>(file_[array_ + 9], 1);
    const uint64_t pointers = std::max<uint64_t>(file_[array_ + 10], 1);
    const uint64_t groups = 1 + bits - std::min<uint64_t>(bits, std::countr_zero(least));
    if (begins(at, "EAIB")) {
      const uint64_t listed = 2 * static_cast<uint64_t>(std::countr_zero(pointers));
      const uint64_t addresses = 2 * (pointers - 1) + groups - std::min(groups, listed);
      seal(at, kPrefix + file_[array_ + 8] * entry_bytes + 8 * addresses);
    }
    if (!begins(at, "EASB") && !begins(at, "EADB")) return;
    if (at + kPrefix + 8 > file_.size()) return;
    const uint64_t offset_bytes = (bits + 7) / 8;
    const uint64_t offset =
        number(at + kPrefix) & (offset_bytes >= 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * offset_bytes) - 1);
    const auto group = static_cast<uint64_t>(std::bit_width(offset / least + 1)) - 1;
    if (group >= 40) return;
    const uint64_t blocks = uint64_t{1} << group / 2;
    const uint64_t entries = least << (group + 1) / 2;
    seal(at, kPrefix + offset_bytes + (begins(at, "EASB") ? 8 * blocks : entries * entry_bytes));
  }

  // Of a tree of one leaf, or of the root alone.
  void seal_second_tree(size_t at) {
    if (begins(at, "BTHD")) {
      seal(at, 34);
      if (at + 34 <= file_.size()) records_bytes_ = (number(at + 10) & 0xffff) * (number(at + 24) & 0xffff);
    }
    if (begins(at, "BTLF")) seal(at, 6 + records_bytes_);
  }

  void seal_header(size_t at) {
    const uint8_t flags = file_[at + 5];
    const size_t prefix = 6 + ((flags & 0x20) != 0 ? 16 : 0) + ((flags & 0x10) != 0 ? 4 : 0);
    const size_t digits = size_t{1} << (flags & 3);
    if (at + prefix + 8 > file_.size()) return;
    const uint64_t length = number(at + prefix) & (digits == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * digits) - 1);
    if (length < file_.size()) seal(at, prefix + digits + length);
  }

  void seal(size_t at, uint64_t length) {
    constexpr size_t kSealBytes = 4;
    if (length > file_.size() || at + length + kSealBytes > file_.size()) return;
    const uint32_t sum = hdf5_checksum(std::as_bytes(file_.subspan(at, length)));
    std::memcpy(file_.data() + at + length, &sum, kSealBytes);
  }

  std::span<uint8_t> file_;
  uint64_t entries_ = 0;
  uint64_t entry_bytes_ = 0;
  uint64_t array_ = ~uint64_t{0} >> 1;  // where the head of an extensible array is
  uint64_t records_bytes_ = 0;          // of the root of a second tree
};

}  // namespace

}  // namespace segue

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned int seed) {
  const size_t mutated = LLVMFuzzerMutate(data, size, most);
  if (seed % 8 != 0) segue::Hdf5Seals({data, mutated}).mend();
  return mutated;
}

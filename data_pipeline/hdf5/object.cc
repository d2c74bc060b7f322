// Object headers of both versions, and the file's head.
#include "data_pipeline/hdf5/object.h"

#include <algorithm>
#include <utility>

namespace segue {

namespace {

constexpr size_t kMostMessages = 4096;
constexpr size_t kMostStretches = 256;

constexpr uint64_t kSharedFlag = 0x02;

void check_sizes(const Hdf5Bytes& file, uint64_t offset_bytes, uint64_t length_bytes) {
  if (offset_bytes != 8 || length_bytes != 8)
    file.fail("expected an HDF5 file of 8-byte offsets and lengths, found {} and {}", offset_bytes, length_bytes);
}

void check_ends(const Hdf5Bytes& file, uint64_t base, uint64_t end) {
  if (base != 0) file.fail("expected an HDF5 file that begins at byte 0, found {}", base);
  if (end > file.size()) file.fail("is cut off: {} bytes of {}", file.size(), end);
}

uint64_t root_of_first_versions(const Hdf5Bytes& file, uint64_t version) {
  constexpr uint64_t kHeadBytes = 100;
  const std::vector<std::byte> head = file.piece(0, std::min(kHeadBytes, file.size()), "the file's head");
  Hdf5Cursor cursor(file, head, "the file's head");
  cursor.skip(13);  // signature, and versions of what it is made of
  const uint64_t offset_bytes = cursor.number(1);
  check_sizes(file, offset_bytes, cursor.number(1));
  cursor.skip(version == 0 ? 9 : 13);  // sizes of the nodes of trees, which say themselves how full they are
  const uint64_t base = cursor.number(8);
  cursor.skip(8);  // free space
  check_ends(file, base, cursor.number(8));
  if (cursor.number(8) != kHdf5Nowhere) file.fail("expected an HDF5 file that is whole, found a part of several");
  cursor.skip(8);  // the root group's name
  return cursor.number(8);
}

uint64_t root_of_sealed_versions(const Hdf5Bytes& file) {
  constexpr uint64_t kHeadBytes = 48;
  const std::vector<std::byte> head = file.piece(0, kHeadBytes, "the file's head");
  check_hdf5_seal(file, head, "the file's head");
  Hdf5Cursor cursor(file, head, "the file's head");
  cursor.skip(9);
  const uint64_t offset_bytes = cursor.number(1);
  check_sizes(file, offset_bytes, cursor.number(1));
  cursor.skip(1);
  const uint64_t base = cursor.number(8);
  cursor.skip(8);  // what the head has no room for
  check_ends(file, base, cursor.number(8));
  return cursor.number(8);
}

}  // namespace

Hdf5Object::Hdf5Object(const Hdf5Bytes& file, uint64_t address, std::string name)
    : file_(&file), name_(std::move(name)) {
  const std::vector<std::byte> begin = file.piece(address, 4, name_);
  const bool is_sealed = hdf5_text(begin) == "OHDR";
  is_sealed ? read_sealed(address) : read_first(address);
}

const Hdf5Message* Hdf5Object::find(Hdf5Kind kind) const {
  const auto found = std::ranges::find(messages_, kind, &Hdf5Message::kind);
  if (found == messages_.end()) return nullptr;
  if (found->is_shared) file_->fail("{} shares a part of its description with others, which is not read", name_);
  return &*found;
}

const Hdf5Message& Hdf5Object::need(Hdf5Kind kind, std::string_view what) const {
  const Hdf5Message* const message = find(kind);
  if (message == nullptr) file_->fail("{} has no {}", name_, what);
  return *message;
}

std::vector<const Hdf5Message*> Hdf5Object::all(Hdf5Kind kind) const {
  std::vector<const Hdf5Message*> found;
  for (const Hdf5Message& message : messages_)
    if (message.kind == kind) found.push_back(&message);
  return found;
}

void Hdf5Object::read_first(uint64_t address) {
  constexpr uint64_t kPrefixBytes = 16;
  const std::vector<std::byte> prefix = file_->piece(address, kPrefixBytes, name_);
  Hdf5Cursor cursor(*file_, prefix, name_);
  cursor.expect_version(1);
  cursor.skip(7);
  waiting_.push_back({address + kPrefixBytes, cursor.number(4)});
  while (!waiting_.empty()) {
    const Stretch next = waiting_.back();
    waiting_.pop_back();
    const std::vector<std::byte> bytes = file_->piece(next.address, next.length, name_);
    add_messages({*file_, bytes, name_});
  }
}

void Hdf5Object::add_messages(Hdf5Cursor cursor) {
  constexpr size_t kPrefixBytes = 8;
  while (cursor.left() >= kPrefixBytes) {
    const uint64_t kind = cursor.number(2);
    const uint64_t length = cursor.number(2);
    const uint64_t flags = cursor.number(1);
    cursor.skip(3);
    add(kind, flags, cursor.block(length));
  }
}

void Hdf5Object::read_sealed(uint64_t address) {
  constexpr uint64_t kTimesFlag = 0x20;
  constexpr uint64_t kPhaseFlag = 0x10;
  constexpr uint64_t kOrderFlag = 0x04;
  constexpr uint64_t kLongestPrefix = 34;
  const uint64_t there = std::min(kLongestPrefix, file_->size() - address);
  const std::vector<std::byte> prefix = file_->piece(address, there, name_);
  Hdf5Cursor cursor(*file_, prefix, name_);
  cursor.expect_signature("OHDR");
  cursor.expect_version(2);
  const uint64_t flags = cursor.number(1);
  if ((flags & kTimesFlag) != 0) cursor.skip(16);
  if ((flags & kPhaseFlag) != 0) cursor.skip(4);
  const uint64_t length = cursor.number(size_t{1} << (flags & 3));
  const uint64_t prefix_bytes = there - cursor.left();
  if (length > file_->size()) file_->fail("{} is said to have {} bytes, in a file of {}", name_, length, file_->size());
  waiting_.push_back({address, prefix_bytes + length + kHdf5SealBytes});
  for (uint64_t skipped = prefix_bytes; !waiting_.empty(); skipped = 4) {
    const Stretch next = waiting_.back();
    waiting_.pop_back();
    const std::vector<std::byte> bytes = file_->piece(next.address, next.length, name_);
    check_hdf5_seal(*file_, bytes, name_);
    Hdf5Cursor messages(*file_, std::span(bytes).first(bytes.size() - kHdf5SealBytes), name_);
    if (next.address != address) Hdf5Cursor(messages).expect_signature("OCHK");
    messages.skip(skipped);
    add_sealed_messages(messages, (flags & kOrderFlag) != 0);
  }
}

void Hdf5Object::add_sealed_messages(Hdf5Cursor cursor, bool has_order) {
  const size_t prefix_bytes = has_order ? 6 : 4;
  while (cursor.left() >= prefix_bytes) {
    const uint64_t kind = cursor.number(1);
    const uint64_t length = cursor.number(2);
    const uint64_t flags = cursor.number(1);
    cursor.skip(prefix_bytes - 4);
    add(kind, flags, cursor.block(length));
  }
}

void Hdf5Object::add(uint64_t kind, uint64_t flags, std::span<const std::byte> body) {
  if (static_cast<Hdf5Kind>(kind) == Hdf5Kind::kContinuation) {
    if (++stretches_ > kMostStretches) file_->fail("{} has a header in more than {} parts", name_, kMostStretches);
    Hdf5Cursor cursor(*file_, body, name_);
    const uint64_t address = cursor.number(8);
    waiting_.push_back({address, cursor.number(8)});
    return;
  }
  if (messages_.size() == kMostMessages) file_->fail("{} has a header of more than {} parts", name_, kMostMessages);
  messages_.push_back({static_cast<Hdf5Kind>(kind), (flags & kSharedFlag) != 0, {body.begin(), body.end()}});
}

Hdf5Object open_hdf5_root(const Hdf5Bytes& file) {
  constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
  constexpr uint64_t kVersionEnd = kSignature.size() + 1;
  if (file.size() < kVersionEnd) file.fail("expected an HDF5 file, found {} bytes", file.size());
  const std::vector<std::byte> begin = file.piece(0, kVersionEnd, "the file's head");
  Hdf5Cursor cursor(file, begin, "the file's head");
  if (!cursor.take_signature(kSignature)) file.fail("expected an HDF5 file, found something else");
  const uint64_t version = cursor.number(1);
  if (version > 3) file.fail("expected the head of an HDF5 file in version 0 to 3, found {}", version);
  const uint64_t root = version < 2 ? root_of_first_versions(file, version) : root_of_sealed_versions(file);
  return {file, root, "the root group"};
}

}  // namespace segue

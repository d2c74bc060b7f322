// Nodes say nothing of how long their numbers are: that follows from how many records nodes of a level can have.
#include "data_pipeline/hdf5/btree_v2.h"

#include <bit>

namespace segue {

namespace {

constexpr uint64_t kNodeHeadBytes = 6;
constexpr uint64_t kMostDepth = 16;
constexpr uint64_t kMostOfAll = uint64_t{1} << 62;

}  // namespace

Hdf5BTreeV2::Hdf5BTreeV2(const Hdf5Bytes& file, uint64_t address, uint64_t kind, std::string_view what)
    : file_(file), kind_(kind), what_(what) {
  constexpr uint64_t kHeadBytes = 38;
  const std::vector<std::byte> head = file.piece(address, kHeadBytes, what);
  check_hdf5_seal(file, head, what);
  Hdf5Cursor cursor(file, head, what);
  cursor.expect_signature("BTHD");
  cursor.expect_version(0);
  const uint64_t found = cursor.number(1);
  const uint64_t node_bytes = cursor.number(4);
  record_bytes_ = cursor.number(2);
  const uint64_t depth = cursor.number(2);
  cursor.skip(2);  // when nodes are split and merged
  root_ = cursor.number(kHdf5AddressBytes);
  root_count_ = cursor.number(2);
  records_ = cursor.number(8);
  if (found != kind || record_bytes_ == 0 || depth > kMostDepth || records_ > file.size() / record_bytes_ ||
      (records_ > 0 && root_ == kHdf5Nowhere))
    file.fail("{}: its tree is damaged", what);
  add_levels(node_bytes, depth);
}

void Hdf5BTreeV2::add_levels(uint64_t node_bytes, uint64_t depth) {
  const uint64_t outside = kNodeHeadBytes + kHdf5SealBytes;
  const uint64_t of_leaf = node_bytes > outside ? (node_bytes - outside) / record_bytes_ : 0;
  if (of_leaf == 0) file_.fail("{}: its tree is damaged", what_);
  levels_.push_back({hdf5_bytes_of_number(of_leaf), of_leaf, 0});
  for (uint64_t level = 1; level <= depth; ++level) {
    const Level& below = levels_.back();
    const uint64_t pointer = kHdf5AddressBytes + levels_.front().most_bytes + below.all_bytes;
    const uint64_t most =
        node_bytes > outside + pointer ? (node_bytes - outside - pointer) / (record_bytes_ + pointer) : 0;
    if (most == 0 || below.all > kMostOfAll / (most + 1)) file_.fail("{}: its tree is damaged", what_);
    const uint64_t all = (most + 1) * below.all + most;
    levels_.push_back({hdf5_bytes_of_number(most), all, hdf5_bytes_of_number(all)});
  }
}

void Hdf5BTreeV2::visit(const std::function<void(Hdf5Cursor)>& take) const {
  uint64_t left = records_;
  if (records_ > 0) visit_node(root_, root_count_, levels_.size() - 1, left, take);
  if (left > 0) file_.fail("{}: its tree is damaged", what_);
}

void Hdf5BTreeV2::visit_node(uint64_t address, uint64_t count, uint64_t level, uint64_t& left,
                             const std::function<void(Hdf5Cursor)>& take) const {
  if (count == 0 || count > left) file_.fail("{}: its tree is damaged", what_);
  left -= count;
  const uint64_t count_bytes = levels_.front().most_bytes;
  const uint64_t pointer = level > 0 ? kHdf5AddressBytes + count_bytes + levels_[level - 1].all_bytes : 0;
  const uint64_t children = level > 0 ? count + 1 : 0;
  const std::vector<std::byte> node =
      file_.piece(address, kNodeHeadBytes + count * record_bytes_ + children * pointer + kHdf5SealBytes, what_);
  check_hdf5_seal(file_, node, what_);
  Hdf5Cursor cursor(file_, node, what_);
  cursor.expect_signature(level > 0 ? "BTIN" : "BTLF");
  cursor.expect_version(0);
  if (cursor.number(1) != kind_) file_.fail("{}: its tree is damaged", what_);
  Hdf5Cursor records(file_, cursor.block(count * record_bytes_), what_);
  for (uint64_t i = 0; i < count + children; ++i) {  // child, record, child, record, child
    if (level == 0 || i % 2 == 1) {
      take({file_, records.block(record_bytes_), what_});
    } else {
      const uint64_t child = cursor.number(kHdf5AddressBytes);
      const uint64_t child_count = cursor.number(count_bytes);
      cursor.skip(levels_[level - 1].all_bytes);
      visit_node(child, child_count, level - 1, left, take);
    }
  }
}

}  // namespace segue

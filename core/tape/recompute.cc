// Parts of a tape that backward computes again: which of their operations, and what lives twice.
//
// A tensor of a part lives twice where only operations of the part touch it and the backward of one of them needs it.
// What others read is kept, so what was computed from it can be computed again. Of the operations those run again that
// write what lives twice.
#include <algorithm>
#include <vector>

#include "core/tape/tape.h"

namespace segue {

namespace {

constexpr int kUntouched = -2;
constexpr int kElsewhere = -1;  // outside of parts, or in several
constexpr size_t kUnwritten = SIZE_MAX;

// A block of memory that one slot has, or several share.
struct Block {
  int part = kUntouched;       // whose operations alone touch it
  size_t writer = kUnwritten;  // the first operation of forward that touches it
  bool is_shared = false;      // so that later operations may write in place
  bool is_needed = false;      // again, in backward

  void touch(int by_part) {
    if (part == kUntouched) part = by_part;
    if (part != by_part) part = kElsewhere;
  }
};

}  // namespace

RecomputedPart::RecomputedPart(Tape& tape, Recompute part)
    : tape_(part != Recompute::kNone && part == tape.recomputed_ && tape.training() ? &tape : nullptr) {
  if (tape_ != nullptr) tape_->begin_part();
}

RecomputedPart::~RecomputedPart() {
  if (tape_ != nullptr) tape_->end_part();
}

void Tape::begin_part() {
  if (in_part_) throw ContractError("a part of a tape that is computed again holds another one");
  in_part_ = true;
  parts_.push_back({.begin = operations_.size(), .end = operations_.size()});
}

void Tape::end_part() {
  in_part_ = false;
  parts_.back().end = operations_.size();
  if (parts_.back().begin == parts_.back().end) parts_.pop_back();
}

void Tape::plan_parts() {
  if (parts_.empty()) return;
  std::vector<int> part_of(operations_.size(), kElsewhere);
  for (size_t p = 0; p < parts_.size(); ++p)
    std::fill(part_of.begin() + static_cast<int64_t>(parts_[p].begin),
              part_of.begin() + static_cast<int64_t>(parts_[p].end), static_cast<int>(p));

  std::vector<Block> blocks(slots_.size());
  const auto block_of = [&](Slot slot) -> Block& { return blocks[static_cast<size_t>(owner_of(slot).index)]; };
  for (size_t s = 0; s < slots_.size(); ++s) {
    if (slots_[s].external) blocks[s].touch(kElsewhere);
    if (slots_[s].owner >= 0) block_of({static_cast<int>(s)}).is_shared = true;
  }
  for (const Slot slot : kept_) block_of(slot).touch(kElsewhere);
  for (size_t i = 0; i < operations_.size(); ++i) {
    for (const Slot slot : operations_[i].forward_slots)
      if (slot.exists()) block_of(slot).writer = std::min(block_of(slot).writer, i);
    for (const std::vector<Slot>* slots : {&operations_[i].forward_slots, &operations_[i].backward_slots})
      for (const Slot slot : *slots)
        if (slot.exists()) block_of(slot).touch(part_of[i]);
  }

  for (size_t p = 0; p < parts_.size(); ++p) {
    Part& part = parts_[p];
    const auto need = [&](const std::vector<Slot>& slots) {
      for (const Slot slot : slots) {
        if (!slot.exists()) continue;
        Block& block = block_of(slot);
        if (block.part == static_cast<int>(p) && block.writer != kUnwritten) block.is_needed = true;
      }
    };
    for (size_t i = part.begin; i < part.end; ++i) need(operations_[i].backward_slots);
    for (size_t i = part.end; i-- > part.begin;) {
      const bool writes = std::ranges::any_of(operations_[i].forward_slots, [&](Slot slot) {
        return slot.exists() && block_of(slot).is_needed && (block_of(slot).writer == i || block_of(slot).is_shared);
      });
      if (!writes) continue;
      part.again.insert(part.again.begin(), i);
      need(operations_[i].forward_slots);
    }
  }
  for (size_t s = 0; s < slots_.size(); ++s) slots_[s].lives_twice = blocks[s].is_needed;
}

}  // namespace segue

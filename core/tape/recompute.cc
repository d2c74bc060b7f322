// Parts of a tape that backward computes again: which of their operations, and what lives twice.
//
// A tensor of a part lives twice where only operations of the part touch it, and where the backward of one of them or
// what is computed again touches it. What others read is kept, so all else can be computed from it again. The
// operations run again that write what lives twice. Where they write what is kept, too, they write it elsewhere: it
// stays what it was.
#include <algorithm>
#include <vector>

#include "core/tape/tape.h"

namespace segue {

namespace {

constexpr int kUntouched = -2;
constexpr int kElsewhere = -1;  // outside of parts, or in several

// A block of memory that one slot has, or several share.
struct Block {
  int part = kUntouched;             // whose operations alone touch it
  std::vector<size_t> writers = {};  // of forward: the first that touches it, and those that overwrite it in place
  bool is_needed = false;            // again, in backward

  void touch(int by_part) {
    if (part == kUntouched) part = by_part;
    if (part != by_part) part = kElsewhere;
  }
  bool is_written_by(size_t operation) const { return std::ranges::count(writers, operation) > 0; }
};

}  // namespace

RecomputedPart::RecomputedPart(Tape& tape, bool is_one) : tape_(is_one && tape.training() ? &tape : nullptr) {
  if (tape_ != nullptr) tape_->begin_part();
}

RecomputedPart::RecomputedPart(Tape& tape) : RecomputedPart(tape, true) {}

RecomputedPart::RecomputedPart(Tape& tape, Recompute part)
    : RecomputedPart(tape, part != Recompute::kNone && part == tape.recomputed_) {}

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
  std::vector<bool> is_met(slots_.size());
  const auto block_of = [&](Slot slot) -> Block& { return blocks[static_cast<size_t>(owner_of(slot).index)]; };
  for (size_t s = 0; s < slots_.size(); ++s)
    if (slots_[s].external) blocks[s].touch(kElsewhere);
  for (const Slot slot : kept_) block_of(slot).touch(kElsewhere);
  for (size_t i = 0; i < operations_.size(); ++i) {
    for (const Slot slot : operations_[i].forward_slots) {
      if (!slot.exists()) continue;
      Block& block = block_of(slot);
      const bool overwrites = state(slot).overwrites && !is_met[static_cast<size_t>(slot.index)];
      is_met[static_cast<size_t>(slot.index)] = true;
      if (block.writers.empty() || overwrites) block.writers.push_back(i);
    }
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
        if (block.part == static_cast<int>(p) && !block.writers.empty()) block.is_needed = true;
      }
    };
    for (size_t i = part.begin; i < part.end; ++i) need(operations_[i].backward_slots);
    for (size_t i = part.end; i-- > part.begin;) {
      const Operation& operation = operations_[i];
      // Whether it is not again what this operation found, when the part is computed again.
      const auto has_changed = [&](const Block& block) {
        return std::ranges::any_of(block.writers, [&](size_t writer) {
          return writer > i && (writer < part.end || !operations_[writer].is_undone);
        });
      };
      const auto any_slot = [&](const auto& is) {
        return std::ranges::any_of(operation.forward_slots,
                                   [&](Slot slot) { return slot.exists() && is(block_of(slot)); });
      };
      if (!any_slot([&](const Block& block) { return block.is_needed && block.is_written_by(i); })) continue;
      need(operation.forward_slots);
      if (!operation.parameter_gradients.empty() && !operation.backward)
        throw ContractError("{}: its forward adds to gradients of parameters, so it cannot be computed again",
                            operation.name);
      if (any_slot([&](const Block& block) { return !block.is_needed && has_changed(block); }))
        throw ContractError("{}: touches what is overwritten after it, so it cannot be computed again", operation.name);
      part.again.insert(part.again.begin(), i);
      for (const Slot slot : operation.forward_slots) {
        if (!slot.exists() || block_of(slot).is_needed || !block_of(slot).is_written_by(i)) continue;
        if (block_of(slot).writers.front() != i)
          throw ContractError("{}: overwrites what is kept, so it cannot be computed again", operation.name);
        state(owner_of(slot)).spared_by = static_cast<int>(p);
      }
    }
  }
  for (size_t s = 0; s < slots_.size(); ++s) slots_[s].lives_twice = blocks[s].is_needed;
}

}  // namespace segue

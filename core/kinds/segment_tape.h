// The tape of one segment: what it is recorded for, and the tensors that go in and come out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/error.h"
#include "core/attention/attention.h"

namespace segue {

// The end of a segment's tape: the loss of its targets, or the logits of whatever may follow its last token.
enum class SegmentOutput : uint8_t { kLoss, kNextToken };

// The extents a tape is recorded for, of one segment, or of several that one step of training reads one after another;
// how the model is used (ModelUse) comes beside it.
struct SegmentShape {
  int64_t streams = 0;
  int64_t tgt_len = 0;         // tokens, of all its segments together
  int64_t segment_length = 0;  // of its segments, the last of which may be shorter; 0: it is one
  int64_t memory_rows = 0;     // rows of memory that are bound; of a KV cache all there is room for
  int64_t scored = 0;          // newest tokens of each stream whose loss is wanted; 0: all
  Remembered remembered = Remembered::kHiddenStates;  // the form of those rows
  int64_t distances = 0;  // keys that the bound rows of distances are for, with a KV cache alone
  SegmentOutput output = SegmentOutput::kLoss;
  bool margins = false;        // wanted beside the losses
  bool documents = false;      // whether queries have a reach
  bool bounded_ahead = false;  // whether those that see ahead are told how far
  bool attention = false;      // wanted of the rows of memory, beside the losses
  double window_share = 1.0;   // of windows, that layers see: see use_of_layer
  Recompute recompute = Recompute::kNone;
  int64_t mem_len = 0;  // rows of memory that are kept from segment to segment, of several
  // Of a model with memory tokens: whether its first token begins a segment, before which they are read, and its last
  // one ends one, after which they are written; and whether they are those that streams begin with. The first two also
  // of a model whose states change where a segment ends.
  bool opens = true;
  bool closes = true;
  bool begins_streams = false;
  // Of a memory that compresses: how many of its bound rows are compressed, the oldest; and how many of those after
  // them this segment pushes out, which are compressed.
  int64_t compressed = 0;
  int64_t pushed_out = 0;
  int64_t longest_segment() const { return segment_length == 0 ? tgt_len : std::min(segment_length, tgt_len); }
  int64_t scored_tokens() const { return scored == 0 ? tgt_len : scored; }
  bool operator==(const SegmentShape&) const = default;
};

// A tensor that a layer hands on, with a leading extent B: see carried_tensors.
struct CarriedSlots {
  Slot before;     // bound: before the segment
  Slot after;      // kept: after it; none where it changes when a segment ends, and this one does not
  Slot begun;      // bound, of what is gathered: as far as the segment has been read; none where it begins
  Slot new_begun;  // kept: the same after this part of it; none where it ends
};

// What a kind of memory binds and keeps on a segment's tape beside rows. A kind that does has a struct of its own.
struct MemorySlots {
  virtual ~MemorySlots() = default;
};

struct SegmentTape {
  SegmentTape(Arena& arena, Tape::Mode mode, DType activations) : tape(arena, mode, activations) {}
  Tape tape;
  Slot tokens;     // [B, T] int32, bound
  Slot targets;    // [B, S] int32, bound: of the S newest tokens; those of -1 are not scored
  Slot reach;      // [B, T] int32, bound: the farthest distance that queries see; none without documents
  Slot ahead;      // [B, rows of T] int32, bound where texts end: keys that queries see after their own, if any
  Slot positions;  // [B, T] int32: 0 .. T-1 until bound anew, below memory_rows + T; none unless absolute
  // Of the layers that attend, in their order:
  std::vector<Slot> memories;   // bound: hidden states [B, M, D], or keys and values [B, M, 2*N*H]; none where an
                                // encoder makes what all layers remember
  std::vector<Slot> distances;  // bound, with a KV cache alone: [P, N*H] of Position::distances, if it has any
  std::vector<Slot> fresh;      // kept: what becomes memory, see LayerOutputs
  // Of all layers, in their order:
  std::vector<CarriedSlots> carried;
  std::unique_ptr<MemorySlots> of_memory;  // what the kind of memory binds and keeps besides; none of most kinds
  Slot reconstruction;  // [B], kept: the loss by which a memory learns to reconstruct, unweighted; none unless it does
  std::vector<Slot> passes;  // per segment of a step [B, T] float32, kept: how many each token took, where they differ
  Slot nll;                  // [B*S], kept; 0 of tokens not scored
  Slot margin;               // [B*S], kept: see TokenLoss
  std::vector<Slot> attention;  // per layer [B, N, M] float32, kept, where it is wanted: what rows of memory received
  std::vector<Slot> logits;     // kept, of the next token alone: per cluster of the vocabulary [B, columns]
};

// Makes those of a segment; and reads them as those of a kind, or throws ContractError where they are not.
template <typename Slots>
Slots& make_slots(SegmentTape& segment) {
  auto slots = std::make_unique<Slots>();
  Slots& made = *slots;
  segment.of_memory = std::move(slots);
  return made;
}
template <typename Slots>
const Slots& slots_as(const SegmentTape& segment) {
  const auto* found = dynamic_cast<const Slots*>(segment.of_memory.get());
  if (found == nullptr) throw ContractError("a segment's tape of another kind of memory");
  return *found;
}

// The tensors that depend on weights alone.
struct FrozenTape {
  FrozenTape(Arena& arena, DType activations) : tape(arena, Tape::Mode::kEvaluation, activations) {}
  Tape tape;
  std::vector<Slot> distances;  // per layer [P, N*H], kept; none where its kind of position has none
  std::vector<Slot> zeros;      // per layer [B, mem_len, 2*N*H], kept; none unless the memory starts full
};

// The keys and values that a layer makes of its memory, with frozen weights.
struct MemoryTape {
  MemoryTape(Arena& arena, DType activations) : tape(arena, Tape::Mode::kEvaluation, activations) {}
  Tape tape;
  Slot hidden;  // [B, M, D], bound
  Slot kv;      // [B, M, 2*N*H], kept
};

// The keys and values that every layer makes of the same rows, with frozen weights.
struct SharedRowsTape {
  SharedRowsTape(Arena& arena, DType activations) : tape(arena, Tape::Mode::kEvaluation, activations) {}
  Tape tape;
  std::vector<Slot> kv;  // per layer [B, M, 2*N*H], kept
};

}  // namespace segue

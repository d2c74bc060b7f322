// The tape: the coarse operations of one segment, recorded once for a shape and replayed every step.
//
// Recording an operation declares which tensors its forward and its backward touch. Sealing the tape derives from that
// when each tensor is first and last needed and packs all of them into one arena, so that a replay allocates nothing,
// activations are gone as soon as nothing needs them, and the memory a step takes is known before it runs. A tape
// without backward (evaluation) keeps almost nothing; and what is recorded as a part that is computed again lives
// twice, in forward and in backward, rather than from the one to the other.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/tensor.h"
#include "core/config/kinds.h"
#include "core/tape/step_observer.h"
#include "kernels/dropout.h"
#include "kernels/product_shape.h"
#include "kernels/queue.h"

namespace segue {

// One block of memory shared by all tapes of a process that never run at the same time. Grows when a tape that needs
// more runs for the first time.
class Arena {
 public:
  explicit Arena(Device device = {}) : device_(device) {}
  void reserve(int64_t bytes);
  Device device() const { return device_; }
  std::byte* data() { return buffer_.data(); }
  int64_t bytes() const { return buffer_.bytes(); }

 private:
  Device device_;
  Buffer buffer_;
};

// A tensor of the tape.
struct Slot {
  int index = -1;
  bool exists() const { return index >= 0; }
};

// An activation: its data, and its gradient when one is wanted.
struct Value {
  Slot data;
  Slot gradient;
};
inline Value without_gradient(const Value& value) { return {.data = value.data, .gradient = {}}; }

// A gradient written by one consumer of a value. Consumers run in reverse: the last recorded overwrites, the others
// add.
struct GradientUse {
  Slot slot;
  int order = -1;
  bool exists() const { return slot.exists(); }
};

// A matrix product of an operation. Where it writes a gradient that others write too, the use says whether it adds.
struct RecordedProduct {
  kernels::ProductShape shape;
  GradientUse use = {};
};

// The same, once everything has been recorded.
struct TapeProduct {
  std::string operation;
  std::string pass;  // "forward", "backward"
  kernels::ProductShape shape;
};

// The rows of a KV cache that a segment attends to.
struct MemoryRows {
  int64_t first = 0;
  int64_t count = 0;
};

// The values that differ from replay to replay besides the bound tensors.
struct ReplayInfo {
  uint64_t seed = 0;
  uint64_t step = 0;                           // of the optimizer, for dropout
  int64_t first_stream = 0;                    // global number of the segment's first stream, for dropout
  float loss_scale = 1.0F;                     // gradient of the total loss with respect to each token's loss
  float stream_share = 1.0F;                   // and of a mean over streams with respect to each stream's
  std::optional<MemoryRows> memory_rows = {};  // none: all that is bound
  std::optional<MemoryRows> pushed_out = {};   // of them, those that this segment pushes out; none: as recorded
  int64_t first_position = 0;                  // of the segment, counted from where its stream began, or from itself
  // Per layer and head, [L*N]: as many newest keys hold all that get some weight, with learned spans; 0 in other
  // layers. Empty: as recorded.
  std::vector<int64_t> head_windows = {};
};

// Where dropout is applied: its probability, the site of its random numbers, whether its tensor is per stream, and in
// which segment of a step, counted from 0.
struct DropoutSite {
  double p = 0.0;
  uint16_t site = 0;
  bool per_stream = true;
  int64_t segment = 0;
};

class Tape {
 public:
  using Action = std::function<void(kernels::Queue&)>;

  struct Operation {
    const char* name = "";
    std::vector<Slot> forward_slots;
    Action forward;  // in a part it may run twice: it then overwrites what it writes, and reads nothing that changes
    std::vector<Slot> backward_slots;
    Action backward;
    std::vector<ConstTensorView> parameter_gradients = {};  // that backward adds to
    Flops flops = {};                                    // the backward's also where the forward computes the gradient
    std::vector<RecordedProduct> forward_products = {};  // with weights: attention and states have others
    std::vector<RecordedProduct> backward_products = {};
    std::string detail = {};  // sizes that tell operations of one name apart
    bool is_learned = true;   // otherwise nothing wants a gradient of it, and it has no backward
    // Backward restores what forward overwrote: operations of earlier parts find there what they found.
    bool is_undone = false;
  };

  enum class Mode : uint8_t { kTraining, kEvaluation };

  // Values have the dtype `activations`, float32 or bfloat16; they live where the arena lives.
  Tape(Arena& arena, Mode mode, DType activations = DType::kFloat32)
      : arena_(arena), mode_(mode), activations_(activations) {}
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  bool training() const { return mode_ == Mode::kTraining; }
  DType activations() const { return activations_; }
  Device device() const { return arena_.device(); }

  // Recording. `new_value` adds a gradient in training mode, where something learns from it; `bound` tensors are given
  // at replay by `bind`.
  Slot new_slot(const Shape& shape, DType dtype = DType::kFloat32);
  Value new_value(const Shape& shape, bool is_learned = true);
  Slot bound(const Shape& shape, DType dtype);
  bool is_bound(Slot slot) const { return state(slot).external; }
  Slot constant(const OwnedTensor& tensor, DType dtype);  // of the CPU, kept on the device in this dtype
  GradientUse use_gradient(const Value& value);
  // For a consumer that cannot add: it must be the last one recorded.
  GradientUse overwrite_gradient(const Value& value);
  void record(Operation operation);
  void recompute(Recompute parts) { recomputed_ = parts; }  // which of its parts to compute again: see RecomputedPart
  void share(Slot slot, Slot owner);                        // one block of memory: `slot` is another view of `owner`
  void overwrite(Slot slot, Slot owner);                    // and of other content: it is written in place of `owner`
  void keep(Slot slot);                                     // readable until the next replay
  void seal();                                              // plans the memory; nothing is recorded afterwards

  // Replaying.
  void bind(Slot slot, ConstTensorView view);
  // Where all bound tensors lie, in the order of their recording. A graph that is recorded of a replay reads there
  // again.
  std::vector<const std::byte*> bound_addresses() const;
  ReplayInfo& info() { return info_; }
  const ReplayInfo& info() const { return info_; }
  // From here on dropout reads the step there, in the memory of the device, instead of in the info.
  void read_step_from(const uint64_t* step) { step_ = step; }
  void forward(kernels::Queue& queue);

  // Reports during a backward that gradients of parameters at `open_end` and above are complete: no operation still to
  // come adds to them. Null at the end: all are.
  using GradientProgress = std::function<void(const std::byte* open_end)>;
  void backward(kernels::Queue& queue, const GradientProgress& progress = nullptr);

  // For operations, at replay time. Each may touch what it declared: anything else may lie where another tensor does.
  Shape shape(Slot slot) const { return state(slot).shape; }  // by value: recording moves the slots
  ConstTensorView read(Slot slot) const;                      // an empty view for a slot that does not exist
  TensorView write(Slot slot) const;                          // of no gradient with uses
  TensorView write(const GradientUse& use) const;
  bool accumulates(const GradientUse& use) const;
  kernels::Dropout dropout(const DropoutSite& site, int64_t elements_per_stream) const;

  int64_t planned_bytes() const { return planned_bytes_; }
  double touched_bytes(const std::vector<Slot>& slots) const;
  Flops flops() const;                        // of a replay with all rows that are bound
  std::vector<TapeProduct> products() const;  // of the same: those with weights, in the order of the operations
  void observe(StepObserver* observer) { observer_ = observer; }

 private:
  friend class RecomputedPart;

  static constexpr int kNoPart = -1;

  // When a tensor is needed, and where in the arena it lies then.
  struct Life {
    int first_use = -1;
    int last_use = -1;
    int64_t offset = 0;
    void touch(int time);
  };
  struct SlotState {
    Shape shape;
    DType dtype = DType::kFloat32;
    bool external = false;
    int owner = -1;           // another slot whose memory this one shares
    bool overwrites = false;  // what its owner had, in place
    ConstTensorView external_view;
    bool lives_twice = false;
    int spared_by = kNoPart;  // which writes it elsewhere when it is computed again, as others read it
    Life life;                // in forward alone where it lives twice
    Life again;               // and then in backward; or while the part is computed again that spares it
    int gradient_uses = 0;
    bool overwritten = false;  // by the last of these uses
  };
  // Operations [begin, end). Before backward comes to the last of them it computes some again, in their order.
  struct Part {
    size_t begin = 0;
    size_t end = 0;
    std::vector<size_t> again = {};
  };
  // Where a replay stands: in forward; in backward; and there, in a part that it computes again.
  struct Stage {
    bool is_backward = false;
    int part = kNoPart;
  };
  static bool is_second_life(const SlotState& block, const Stage& stage);
  Slot owner_of(Slot slot) const;
  SlotState& state(Slot slot) { return slots_[static_cast<size_t>(slot.index)]; }
  const SlotState& state(Slot slot) const { return slots_[static_cast<size_t>(slot.index)]; }
  void begin_part();
  void end_part();
  void plan_parts();
  void touch(const std::vector<Slot>& slots, int time, const Stage& stage);
  void place_slots();
  void find_open_ends();
  void run_forward(const Operation& operation, const char* pass, kernels::Queue& queue);
  void run_backward(const Operation& operation, kernels::Queue& queue);
  void run(const Operation& operation, const std::vector<Slot>& declared, const Action& action, kernels::Queue& queue);
  void check_declared(Slot slot) const;
  TensorView place(Slot slot) const;

  Arena& arena_;
  Mode mode_;
  DType activations_;
  ReplayInfo info_;
  const uint64_t* step_ = nullptr;
  std::vector<SlotState> slots_;
  std::vector<Operation> operations_;
  std::vector<const std::byte*> open_ends_;  // of the gradients, after each operation's backward
  std::vector<OwnedTensor> constants_;
  std::vector<Slot> bound_;
  std::vector<Slot> kept_;
  Recompute recomputed_ = Recompute::kNone;
  std::vector<Part> parts_;  // in their order
  bool in_part_ = false;
  Stage stage_;
  StepObserver* observer_ = nullptr;
  const Operation* running_ = nullptr;
  const std::vector<Slot>* declared_ = nullptr;  // of the pass of the operation that runs
  int64_t planned_bytes_ = 0;
  bool sealed_ = false;
};

// What is recorded while it lives is a part of the tape. Where the tape recomputes such parts, and has a backward, only
// what others read of it is kept: backward computes the rest again by the same operations, so to the same bits where
// what they read has the same bits. Parts that are computed again do not hold one another.
class RecomputedPart {
 public:
  explicit RecomputedPart(Tape& tape);  // whatever parts the tape recomputes
  RecomputedPart(Tape& tape, Recompute part);
  ~RecomputedPart();
  RecomputedPart(const RecomputedPart&) = delete;
  RecomputedPart& operator=(const RecomputedPart&) = delete;

 private:
  RecomputedPart(Tape& tape, bool is_one);

  Tape* tape_;  // null: nothing is computed again
};

}  // namespace segue

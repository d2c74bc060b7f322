// Runs segments: keeps one tape for every shape it has met and replays it on the next segment of that shape. On a GPU a
// training tape is recorded as a graph once its addresses stay the same, and replayed as one piece.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/engine/learned_span_reader.h"
#include "core/engine/segment_inputs.h"
#include "core/memory/memory.h"
#include "core/model/transformer.h"

namespace segue {

// Of every token [B*S] of a segment, float32.
struct TokenLosses {
  ConstTensorView nll;     // nats; 0 where the target is not scored
  ConstTensorView margin;  // the target's logit above the largest other one; 0 where the target is not scored. None if
                           // not asked for, or of heads that cannot tell
  ConstTensorView reconstruction = {};           // [B]: of every stream, see SegmentTape; none where there is none
  std::vector<ConstTensorView> attention = {};   // per layer, where it is wanted and there is a memory: see SegmentTape
  std::span<const ConstTensorView> passes = {};  // of a model whose tokens halt, part by part [B, T]: see SegmentTape
};

// The same on the CPU.
struct HostLosses {
  std::span<const float> nll;
  std::span<const float> margin;
  std::vector<ConstTensorView> attention = {};
};

// What a model whose weights do not change takes on its device.
struct UseBytes {
  int64_t weights = 0;  // with the copy that products read
  int64_t memory = 0;
  int64_t activations = 0;
  int64_t total() const { return weights + memory + activations; }
  // "memory 1.5 GiB on cpu: ...", with a name for the memory of earlier segments.
  std::string text(Device device, std::string_view memory_name) const;
};

class SegmentEngine {
 public:
  // One arena may serve several engines that take turns.
  SegmentEngine(ModelInUse in_use, Tape::Mode mode);

  // Queues forward, and in training mode backward (adding to the gradients), then the memory update. Returns losses on
  // the device, valid until the next run of any engine of the arena. `progress` hears of the gradients that backward
  // completes; what it queues is part of the graph.
  TokenLosses queue(const SegmentInputs& inputs, Memory& memory, const Tape::GradientProgress& progress = nullptr);

  // The same, and waits; the losses lie on the CPU, valid until the next run.
  HostLosses run(const SegmentInputs& inputs, Memory& memory);

  // Reads tokens [B, T] and waits for the logits of the token that follows each stream, on the CPU: [B, 1, columns] for
  // each softmax of the head (core/head/next_token.h). Valid until the next run. In evaluation mode.
  std::span<const OwnedTensor> predict(ConstTensorView tokens, Memory& memory);

  // Records the tape of a shape ahead of its first run and reserves its memory: the bytes of its activations.
  int64_t prepare(const SegmentShape& shape);
  // The same of segments that read and write `memory` once it is full: what all takes from then on. In evaluation mode.
  UseBytes prepare(const SegmentShape& full, const Memory& memory);

  // Reports every operation and memory update from now on; null: to nobody. While observed, nothing runs as a graph.
  void observe(StepObserver* observer) { observer_ = observer; }

  int64_t tapes() const { return static_cast<int64_t>(tapes_.size()); }
  int64_t graphs() const;

 private:
  // A replay with addresses and numbers as given: after some runs it becomes a graph.
  struct Replay {
    std::vector<const std::byte*> addresses;
    ReplayInfo info;
    bool tells_progress = false;
    int runs = 0;
    cuda::Graph graph;
  };
  struct Recorded {
    SegmentShape shape;
    std::unique_ptr<SegmentTape> segment;
    std::optional<SegmentStaging> staging;  // on a GPU
    std::vector<Replay> replays;
    std::vector<ConstTensorView> passes = {};  // of the last run
  };
  Recorded& recorded_for(SegmentShape shape);
  Recorded& ready(SegmentShape shape, const SegmentInputs& inputs, const Memory& memory);  // to be replayed
  void bring(Recorded& recorded, const SegmentInputs& inputs);
  void replay(Recorded& recorded, Memory& memory, const Tape::GradientProgress& progress);
  // Null once there are too many: replays that differ each time are not worth a graph.
  Replay* replay_for(Recorded& recorded, bool tells_progress);
  void run_operations(SegmentTape& segment, Memory& memory, const Tape::GradientProgress& progress);

  ModelInUse in_use_;
  Tape::Mode mode_;
  LearnedSpanReader learned_spans_;
  StepObserver* observer_ = nullptr;
  std::vector<Recorded> tapes_;
  std::array<OwnedTensor, 2> losses_;  // of the last run, read back from a GPU
  std::vector<OwnedTensor> attention_;
  std::vector<OwnedTensor> logits_;  // of the last prediction
};

}  // namespace segue

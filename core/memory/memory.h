// The memory that the layers of a model keep of streams, as a segment's tape sees it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/checkpoint/safetensors.h"
#include "core/config/model_config.h"
#include "core/kinds/segment_tape.h"
#include "core/tape/compute.h"
#include "kernels/queue.h"

namespace segue {

class Memory {
 public:
  virtual ~Memory() = default;

  // Says in the shape of a segment what is remembered and how much of it is bound.
  virtual void fit(SegmentShape& shape) const = 0;
  // Whether from now on every segment finds the same rows at the same addresses, and `update` queues the same
  // operations on the same addresses, or those that the segment's shape says: on a GPU both are then recorded once, as
  // a graph.
  virtual bool is_settled() const = 0;

  // Before a segment: gives its tape the memory.
  virtual void bind(SegmentTape& segment) = 0;
  // After it: takes in what the segment computed.
  virtual void update(kernels::Queue& queue, const SegmentTape& segment) = 0;
  // After that, or after the replay of a graph that recorded it: counts what was taken in.
  virtual void advance(const SegmentTape& /*segment*/) {}
  virtual void reset() = 0;  // back to the start of a stream

  virtual int64_t bytes() const = 0;                            // that it holds
  virtual int64_t remembered_bytes() const { return bytes(); }  // of them, what is kept from segment to segment
};

// A memory whose weights change while it is in use, with all that a run must keep of it to resume.
class TrainingMemory : public Memory {
 public:
  // From now on keeps at most `mem_len` rows, no more than it was made for: of those that it has, the newest.
  virtual void set_mem_len(kernels::Queue& queue, int64_t mem_len) = 0;
  // On the device; the leading extent of each tensor counts streams, and its name stays what it is.
  virtual std::vector<NamedTensor> state() const = 0;
  // Takes over a state: such tensors in the same order, on the CPU, rounded or widened when they were saved in another
  // precision. Throws CheckpointError, before anything is changed, when they do not fit.
  virtual void restore(std::span<const ConstTensorView> state) = 0;
};

// Makes the memory of `model.memory.kind` for so many streams.
std::unique_ptr<TrainingMemory> make_training_memory(const ModelConfig& model, const ModelUse& use, int64_t streams,
                                                     const Compute& compute = {});

// A memory whose weights do not change while it is in use. Segments may come in parts.
class FrozenMemory : public Memory {
 public:
  virtual int64_t position() const = 0;  // tokens so far of the segment that has begun
};

struct ModelInUse;

// For segments of `tgt_len` tokens: what can be made once of what the kind remembers is. Of models without a global
// stream.
std::unique_ptr<FrozenMemory> make_frozen_memory(const ModelInUse& in_use, int64_t streams, int64_t tgt_len);

// What an evaluation keeps of earlier segments.
enum class EvaluationMemory : uint8_t { kAsTrained, kKvCache };

// Whether an evaluation keeps the frozen form: if it is asked for and the model has a memory, without which there is
// nothing to make once for several segments, and no global stream, which comes between memory and segment.
bool keeps_kv_cache(EvaluationMemory asked, const ModelUse& use);

// What is kept of earlier segments, for people: "KV cache", "segment memory and states", "states".
std::string name_of_memory(const ModelConfig& model, bool is_kv_cache);

// Makes the memory of an evaluation: the frozen form, or that of training.
std::unique_ptr<Memory> make_evaluation_memory(EvaluationMemory asked, const ModelInUse& in_use, int64_t streams,
                                               int64_t tgt_len);

}  // namespace segue

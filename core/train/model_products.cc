// Records tapes for the shapes of a training step and of an evaluation.
#include "core/train/model_products.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "core/memory/kept_memory.h"
#include "core/model/transformer.h"
#include "core/train/scored_targets.h"
#include "distributed/share.h"

namespace segue {

namespace {

void append(std::vector<TapeProduct>& all, const Tape& tape) {
  for (TapeProduct& product : tape.products()) all.push_back(std::move(product));
}

// Records what is asked of a model, and keeps the products.
class Recorder {
 public:
  Recorder(const Config& config, int64_t vocab_size)
      : config_(config), model_(config.model, vocab_size), parameters_(Parameters::planned(model_.parameter_specs())) {}

  // Of streams in groups, one after the other: those of one size have the same products.
  std::vector<TapeProduct> training() {
    const TrainingConfig& training = config_.training;
    const auto groups = static_cast<int>(std::min(training.batch_chunk, training.batch_size));
    std::set<int64_t> sizes;
    for (int group = 0; group < groups; ++group) sizes.insert(share_of(training.batch_size, groups, group).count);
    std::vector<TapeProduct> all;
    const ModelUse use = use_of(config_.model);
    for (const int64_t streams : sizes)
      append(all, record(Tape::Mode::kTraining, use, training_shape(config_, streams))->tape);
    return all;
  }

  std::vector<TapeProduct> evaluation() {
    const ModelUse use = use_of(config_.model);
    SegmentShape shape = full_segment(config_.model, use, config_.training.batch_size, config_.training.tgt_len, 0);
    std::vector<TapeProduct> all;
    if (keeps_kv_cache(EvaluationMemory::kKvCache, use)) {
      add_frozen(all, use, shape);
      shape.remembered = Remembered::kKvCache;
      shape.distances = use.memory_rows() + use.rows_of(shape.tgt_len);
    }
    append(all, record(Tape::Mode::kEvaluation, use, shape)->tape);
    return all;
  }

 private:
  std::unique_ptr<SegmentTape> record(Tape::Mode mode, const ModelUse& use, const SegmentShape& shape) {
    return model_.record(arena_, mode, parameters_, use, shape);
  }

  // What a KV cache makes at its beginning, and between segments.
  void add_frozen(std::vector<TapeProduct>& all, const ModelUse& use, const SegmentShape& shape) {
    append(all, model_.record_frozen(arena_, parameters_, use, shape.streams, shape.tgt_len)->tape);
    kept(config_.model.memory.kind).show_between(model_, arena_, parameters_, use, shape, [&all](const Tape& tape) {
      append(all, tape);
    });
  }

  const Config& config_;
  Transformer model_;
  Parameters parameters_;
  Arena arena_;
};

}  // namespace

ModelProducts products_of(const Config& config, int64_t vocab_size) {
  Recorder recorder(config, vocab_size);
  return {.training = recorder.training(), .evaluation = recorder.evaluation()};
}

}  // namespace segue

// Times the training step of a model: forward, backward, clip and update, on random tokens and with full memory.
#pragma once

#include <cstdint>

#include "core/bench/bench_stream.h"
#include "core/bench/report.h"
#include "core/model/transformer.h"

namespace segue {

struct StepBench {
  Measurement measurement;
  int64_t parameters = 0;
  int64_t activation_bytes = 0;
};

// Device and precision are those of the place, whatever the config says. Throws DivergedError when the last gradient is
// not finite, as other numbers may take another time.
StepBench bench_step(BenchStream& place, const Effort& effort, const Config& config, int64_t vocab_size);

// Of forward and backward of a segment. A product costs as much again for each gradient that exists: position vectors
// take none, nor do memory rows unless a layer norm before their projections does.
double training_flops(const ModelConfig& model, int64_t vocab_size, const SegmentShape& shape);

}  // namespace segue

// The memory and the traffic of every rank of a job, for the log of a run and for a dry run.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/evaluation/evaluation_plan.h"
#include "core/model/transformer.h"
#include "core/tape/parameters.h"
#include "core/train/stream_group.h"
#include "data_pipeline/dataset.h"
#include "distributed/buckets.h"
#include "distributed/share.h"

namespace segue {

// Bytes of a rank, before the first step.
struct RankMemory {
  int64_t weights = 0;  // with the copy that products read
  int64_t gradients = 0;
  int64_t optimizer = 0;
  int64_t segment_memory = 0;
  int64_t activations = 0;
  int64_t total() const { return weights + gradients + optimizer + segment_memory + activations; }
};
RankMemory memory_of(const OptimizerConfig& optimizer, Parameters& parameters, const Buckets& buckets,
                     std::span<const StreamGroup> groups, int64_t activations);

// The flat blocks of a rank's weights, and their buckets.
Parameters make_parameters(const Transformer& model, const Compute& compute, const OptimizerConfig& optimizer,
                           int ranks);
Buckets make_buckets(const Config& config, Parameters& parameters, int ranks);

struct RankPlan {
  Share streams;
  RankMemory memory;
};
struct TrainingPlan {
  int64_t parameters = 0;
  int64_t buckets = 0;
  int64_t bytes_sent = 0;  // by each rank in a step, around the ring
  std::vector<RankPlan> ranks;
};

// The tokens between two documents that training tells apart; none where it does not.
std::vector<int32_t> document_boundary(const Config& config, const Dataset& dataset);

// How many documents there are in the splits that a run reads: "1,204 documents in split train, 1 document in split
// valid", and a warning of each split in which the boundary divides nothing. Both empty where documents are not told
// apart.
struct DocumentsFound {
  std::string line;
  std::vector<std::string> warnings;
};
DocumentsFound count_documents(const Config& config, const Dataset& dataset);

// The plan of the evaluations inside a run.
EvaluationPlan evaluation_plan(const Config& config, const Dataset& dataset);

// The dataset that a config names. Throws DataError, which names the key when there is none.
Dataset dataset_of(const DataConfig& config);

// Throws DataError or ConfigError when the dataset is not what such a training needs: when it has another vocabulary,
// a split is missing or too short, data.document_boundary is nowhere in what is trained on, or nothing can be
// learned: no target is scored, or the learning rate is 0 throughout. Reads marks as far as the first that is scored.
void check_fit(const Config& config, const Dataset& dataset);

// What of a config to change for less memory: "lower training.batch_size (64), ...".
std::string remedy_for_memory(const Config& config);

// Plans a job of `ranks` without running it: nothing is drawn, read or filled. Activations are those of the CPU's
// kernels, which differ from a GPU's in what attention needs besides.
TrainingPlan plan_training(const Config& config, int64_t vocab_size, int ranks);

}  // namespace segue

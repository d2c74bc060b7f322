// A run saved by the ranks of this job and restored as the ranks of jobs of other sizes: to the bit.
#include "core/train/training_checkpoint.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/random.h"
#include "tests/distributed/job.h"
#include "tests/temporary_directory.h"

namespace segue {
namespace {

constexpr int64_t kStreams = 7;

Config small_config() {
  Config config;
  config.model.n_layer = 2;
  config.model.n_head = 2;
  config.model.d_model = 12;
  config.model.d_head = 5;
  config.model.d_inner = 9;
  config.model.mem_len = 6;
  config.training.batch_size = kStreams;
  config.training.batch_chunk = 2;
  return config;
}

// The number at element `e` of what `site` names: different everywhere.
float number(uint16_t site, int64_t e) {
  return static_cast<float>(random_normal({.seed = 5, .step = 1, .site = site}, static_cast<uint64_t>(e)));
}

// All that a rank of a job of `ranks` holds. Blocks have the size that a job of that many shards needs.
struct RankState {
  RankState(const Config& config, int ranks, int rank, bool sharded)
      : model(config.model, 31),
        parameters(model.parameter_specs(), {}, Buckets::aligned_elements(sharded ? ranks : 1)),
        buckets(parameters.gradients().elements(), 256, sharded ? ranks : 1),
        optimizer(sharded ? Optimizer(config.optimizer, parameters, stream, buckets, job())
                          : Optimizer(config.optimizer, parameters, stream)),
        groups(make_stream_groups(model, share_of(kStreams, ranks, rank), config.training.batch_chunk)) {}

  TrainingParts parts() { return {parameters, optimizer, groups, state}; }

  kernels::Stream stream{1};
  Transformer model;
  Parameters parameters;
  Buckets buckets;
  Optimizer optimizer;
  std::vector<StreamGroup> groups;
  TrainingState state;
};

// Of parameter i, or a moment of it.
OwnedTensor numbers_of(const Parameters& parameters, size_t i, int kind) {
  OwnedTensor part(DType::kFloat32, parameters.specs()[i].shape);
  for (int64_t e = 0; e < part.shape().elements(); ++e)
    part.as<float>()[e] = number(static_cast<uint16_t>(10 * i + static_cast<size_t>(kind)), e);
  return part;
}

// A flat block: kind 0 the values, 1 and 2 the moments.
OwnedTensor flat_numbers(Parameters& parameters, int kind) {
  OwnedTensor flat(DType::kFloat32, parameters.values().shape);
  for (size_t i = 0; i < parameters.specs().size(); ++i)
    copy_tensor(parameters.part_of(flat.view(), i), numbers_of(parameters, i, kind).view(), {});
  return flat;
}

// A layer's memory of `count` streams.
OwnedTensor memory_numbers(int64_t layer, int64_t first, int64_t count) {
  const Config config = small_config();
  OwnedTensor memory(DType::kFloat32, {count, config.model.mem_len, config.model.d_model});
  const int64_t per_stream = config.model.mem_len * config.model.d_model;
  for (int64_t e = 0; e < memory.shape().elements(); ++e)
    memory.as<float>()[e] = number(static_cast<uint16_t>(1000 + layer), first * per_stream + e);
  return memory;
}

void fill(RankState& rank) {
  copy_tensor(rank.parameters.values(), flat_numbers(rank.parameters, 0).view(), {});
  rank.optimizer.restore(flat_numbers(rank.parameters, 1).view(), flat_numbers(rank.parameters, 2).view());
  for (StreamGroup& group : rank.groups) {
    const OwnedTensor first = memory_numbers(0, group.first, group.count);
    const OwnedTensor second = memory_numbers(1, group.first, group.count);
    group.memory.restore(std::vector<ConstTensorView>{first.view(), second.view()});
  }
}

void expect_equal(const std::string& what, ConstTensorView found, ConstTensorView expected) {
  ASSERT_EQ(found.shape, expected.shape) << what;
  EXPECT_TRUE(std::equal(found.data, found.data + found.bytes(), expected.data)) << what;
}

void expect_filled(RankState& rank) {
  expect_equal("weights", rank.parameters.values(), flat_numbers(rank.parameters, 0).view());
  expect_equal("first moment", rank.optimizer.first_moment(), flat_numbers(rank.parameters, 1).view());
  expect_equal("second moment", rank.optimizer.second_moment(), flat_numbers(rank.parameters, 2).view());
  for (StreamGroup& group : rank.groups) {
    for (int64_t layer = 0; layer < 2; ++layer)
      expect_equal("memory", group.memory.layer(layer), memory_numbers(layer, group.first, group.count).view());
  }
}

// The same directory for all ranks.
std::filesystem::path common(const TemporaryDirectory& mine) { return job().gather(mine.path().string()).front(); }

class SavedRun : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Optimizer, SavedRun, testing::Bool(),
                         [](const auto& variant) { return variant.param ? "sharded" : "whole"; });

TEST_P(SavedRun, IsRestoredToTheBitOnAnyNumberOfRanks) {
  const Config config = small_config();
  const TemporaryDirectory mine;
  CheckpointStore store(common(mine));
  RankState saved(config, job().size(), job().rank(), GetParam());
  fill(saved);
  saved.state.step = 3;
  save_training(store, saved.parts(), config,
                {.model = config.model, .vocab_size = 31, .tgt_len = 4, .tokenizer = "bytes"}, job());
  for (const int ranks : {1, 2, 3, 4, 7}) {
    for (int rank = 0; rank < ranks; ++rank) {
      RankState restored(config, ranks, rank, false);
      restore_training(store.open(3), restored.parts(), kStreams);
      expect_filled(restored);
      EXPECT_EQ(restored.state.step, 3);
    }
  }
  RankState again(config, job().size(), job().rank(), GetParam());
  restore_training(store.open(3), again.parts(), kStreams);
  expect_equal("own moment", again.optimizer.second_moment(), saved.optimizer.second_moment());
  job().barrier();  // the directory is the first rank's
}

}  // namespace
}  // namespace segue

// A run saved by the ranks of this job and restored as the ranks of jobs of other sizes: to the bit.
#include "core/train/training_checkpoint.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/random.h"
#include "core/model/transformer.h"
#include "tests/core/optimizer/optimizer_variants.h"
#include "tests/distributed/job.h"
#include "tests/message_of.h"
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
        optimizer(sharded ? Optimizer(config.optimizer, parameters, queue, buckets, collectives())
                          : Optimizer(config.optimizer, parameters, queue)),
        groups(make_stream_groups(model.config(), use_of(model.config()), share_of(kStreams, ranks, rank),
                                  config.training.batch_chunk)) {}

  TrainingParts parts() { return {parameters, optimizer, groups, state}; }

  kernels::Queue queue{1};
  Transformer model;
  Parameters parameters;
  Buckets buckets;
  Optimizer optimizer;
  std::vector<StreamGroup> groups;
  TrainingState state;
};

// The numbers of parameter i, or of a moment of it.
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

OwnedTensor moment_numbers(Parameters& parameters, size_t moment) {
  return flat_numbers(parameters, static_cast<int>(moment) + 1);
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
  for (size_t i = 0; i < rank.optimizer.moments(); ++i)
    rank.optimizer.restore_moment(i, moment_numbers(rank.parameters, i).view());
  for (StreamGroup& group : rank.groups) {
    const OwnedTensor first = memory_numbers(0, group.first, group.count);
    const OwnedTensor second = memory_numbers(1, group.first, group.count);
    group.memory->restore(std::vector<ConstTensorView>{first.view(), second.view()});
  }
}

void expect_equal(const std::string& what, ConstTensorView found, ConstTensorView expected) {
  ASSERT_EQ(found.shape, expected.shape) << what;
  EXPECT_TRUE(std::equal(found.data, found.data + found.bytes(), expected.data)) << what;
}

void expect_filled(RankState& rank) {
  expect_equal("weights", rank.parameters.values(), flat_numbers(rank.parameters, 0).view());
  for (size_t i = 0; i < rank.optimizer.moments(); ++i)
    expect_equal("moment", rank.optimizer.moment(i), moment_numbers(rank.parameters, i).view());
  for (StreamGroup& group : rank.groups) {
    for (int64_t layer = 0; layer < 2; ++layer)
      expect_equal("memory", group.memory->state()[static_cast<size_t>(layer)].tensor,
                   memory_numbers(layer, group.first, group.count).view());
  }
}

// The same directory for all ranks.
std::filesystem::path common(const TemporaryDirectory& mine) { return job().gather(mine.path().string()).front(); }

class SavedRun : public testing::TestWithParam<std::tuple<bool, OptimizerVariant>> {
 protected:
  static bool sharded() { return std::get<0>(GetParam()); }
  static Config config() {
    Config config = small_config();
    config.optimizer = std::get<1>(GetParam()).config;
    return config;
  }
};
INSTANTIATE_TEST_SUITE_P(All, SavedRun, testing::Combine(testing::Bool(), testing::ValuesIn(optimizer_variants())),
                         [](const auto& variant) {
                           return std::get<1>(variant.param).name +
                                  (std::get<0>(variant.param) ? "_sharded" : "_whole");
                         });

StoredModel stored_model(const Config& config) {
  return {.model = config.model, .vocab_size = 31, .tgt_len = 4, .tokenizer = "bytes"};
}

TEST_P(SavedRun, IsRestoredToTheBitOnAnyNumberOfRanks) {
  const Config config = this->config();
  const TemporaryDirectory mine;
  CheckpointStore store(common(mine));
  RankState saved(config, job().size(), job().rank(), sharded());
  fill(saved);
  saved.state.step = 3;
  save_training(store, saved.parts(), config, stored_model(config), {}, job());
  for (const int ranks : {1, 2, 3, 4, 7}) {
    for (int rank = 0; rank < ranks; ++rank) {
      RankState restored(config, ranks, rank, false);
      restore_training(store.open(3), restored.parts(), kStreams);
      expect_filled(restored);
      EXPECT_EQ(restored.state.step, 3);
    }
  }
  RankState again(config, job().size(), job().rank(), sharded());
  restore_training(store.open(3), again.parts(), kStreams);
  for (size_t i = 0; i < saved.optimizer.moments(); ++i)
    expect_equal("own moment", again.optimizer.moment(i), saved.optimizer.moment(i));
  job().barrier();  // the directory is the first rank's
}

// The error when a run of one optimizer restores the checkpoint of another; each in a directory of its own.
std::string error_of_restoring(const std::filesystem::path& directory, const OptimizerVariant& saved,
                               const OptimizerVariant& restored) {
  Config config = small_config();
  config.optimizer = saved.config;
  CheckpointStore store(directory / (saved.name + "-" + restored.name));
  RankState before(config, job().size(), job().rank(), false);
  save_training(store, before.parts(), config, stored_model(config), {}, job());
  config.optimizer = restored.config;
  RankState after(config, job().size(), job().rank(), false);
  const std::string file = (store.open(0).directory() / "optimizer.safetensors").string() + ": ";
  const std::string message =
      message_of<CheckpointError>([&] { restore_training(store.open(0), after.parts(), kStreams); });
  return message.starts_with(file) ? message.substr(file.size()) : message;
}

// Moments of the same name may differ in what they mean. Only the decay of adamw leaves no trace in them.
TEST(SavedOptimizers, AreNotTakenForOthers) {
  const TemporaryDirectory mine;
  const std::filesystem::path directory = common(mine);
  const auto state_of = [](const OptimizerVariant& variant) { return variant.name == "adamw" ? "adam" : variant.name; };
  for (const OptimizerVariant& saved : optimizer_variants()) {
    for (const OptimizerVariant& restored : optimizer_variants()) {
      const bool is_same = state_of(saved) == state_of(restored);
      EXPECT_EQ(error_of_restoring(directory, saved, restored) == "no error", is_same) << saved.name << restored.name;
    }
  }
  EXPECT_EQ(error_of_restoring(directory / "words", {"adam", {}}, {"lamb", {.kind = OptimizerKind::kLamb}}),
            "expected the state of optimizer lamb (first_moment, second_moment), found that of adam (first_moment, "
            "second_moment); start a new run from these weights with training.init_from");
  job().barrier();
}

}  // namespace
}  // namespace segue

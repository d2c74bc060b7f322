// Values that are right alone and cannot go together: the message names both keys.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json_text.h"
#include "core/config/config.h"
#include "core/config/position_kind.h"
#include "tests/core/config/error_with.h"

namespace segue {
namespace {

using ::testing::HasSubstr;

TEST(Combinations, NamesAreNotEmpty) {
  EXPECT_EQ(error_with({"data.path="}), "c: data.path: expected a name, found \"\"");
  EXPECT_EQ(error_with({"data.train_split="}), "c: data.train_split: expected a name, found \"\"");
  EXPECT_EQ(error_with({"evaluation.split="}), "c: evaluation.split: expected a name, found \"\"");
}

TEST(Combinations, DevicesHaveNames) {
  for (const std::string name : {"auto", "cpu", "cuda", "cuda:0", "cuda:11"})
    EXPECT_EQ(error_with({"training.device=" + name}), "no error");
  for (const std::string name : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "CPU"})
    EXPECT_EQ(error_with({"training.device=" + name}),
              "c: training.device: expected \"auto\", \"cpu\", \"cuda\" or \"cuda:N\", found \"" + name + "\"");
}

TEST(Combinations, NcclIsForGpus) {
  EXPECT_EQ(error_with({"training.device=cpu", "training.communicator=nccl"}),
            "c: training.communicator: expected \"auto\" or \"mpi\" with training.device = \"cpu\", found \"nccl\"");
  EXPECT_EQ(error_with({"training.device=cpu", "training.communicator=mpi"}), "no error");
}

TEST(Combinations, StagesAreInOrderAndShorterThanTheEnd) {
  const auto error_of_stages = [](const std::string& stages) {
    return error_with({"training.stages=" + stages, "training.tgt_len=32", "model.mem_len=16", "training.max_step=9"});
  };
  EXPECT_EQ(error_of_stages(R"([{"until_step": 3, "tgt_len": 8, "mem_len": 0}, )"
                            R"({"until_step": 8, "tgt_len": 32, "mem_len": 16}])"),
            "no error");
  EXPECT_EQ(error_of_stages(R"([{"until_step": 3, "tgt_len": 8, "mem_len": 0}, )"
                            R"({"until_step": 3, "tgt_len": 8, "mem_len": 8}])"),
            "c: training.stages[1].until_step: expected a step after 3, where the previous stage ends, found 3");
  EXPECT_EQ(error_of_stages(R"([{"until_step": 9, "tgt_len": 8, "mem_len": 0}])"),
            "c: training.stages[0].until_step: expected less than training.max_step = 9, found 9; shorten the stages "
            "(training.stages[0].until_step=STEP) or train without (training.stages=[])");
  EXPECT_EQ(error_of_stages(R"([{"until_step": 3, "tgt_len": 33, "mem_len": 0}])"),
            "c: training.stages[0].tgt_len: expected at most training.tgt_len = 32, found 33");
  EXPECT_EQ(error_of_stages(R"([{"until_step": 3, "tgt_len": 8, "mem_len": 17}])"),
            "c: training.stages[0].mem_len: expected at most model.mem_len = 16, found 17");
  EXPECT_THAT(error_with({R"(training.stages=[{"until_step": 3, "tgt_len": 8, "mem_len": 0}])",
                          "model.visibility.same_length=true", "model.mem_len=16"}),
              HasSubstr("c: training.stages[0].mem_len: expected at least 1 with model.visibility.same_length"));
}

TEST(Combinations, SinusoidsNeedAnEvenWidth) {
  for (const std::string kind : {"relative", "sinusoidal"})
    EXPECT_EQ(
        error_with({"model.position.kind=" + kind, "model.d_model=33"}),
        "c: model.d_model: expected an even number, half of it sines and half cosines, with model.position.kind = \"" +
            kind + "\", found 33");
  for (const std::string kind : {"learned", "shaw"})
    EXPECT_EQ(error_with({"model.position.kind=" + kind, "model.d_model=33"}), "no error");
}

TEST(Combinations, RopeTurnsPairsOfColumns) {
  const std::string rope = "model.position.kind=rope";
  const auto error = [&](const std::string& d_head, const std::string& share) {
    return error_with({rope, "model.d_head=" + d_head, "model.position.rotary_share=" + share});
  };
  EXPECT_EQ(error_with({rope, "model.d_head=33"}),
            "c: model.position.rotary_share: expected a share of the model.d_head = 33 columns that is an even number "
            "of them, found 1, which is 33 columns");
  EXPECT_EQ(error("64", "0.3"),
            "c: model.position.rotary_share: expected a share of the model.d_head = 64 columns that is an even number "
            "of them, found 0.3, which is 19.2 columns");
  EXPECT_EQ(error("64", "1e-9"),
            "c: model.position.rotary_share: expected a share of the model.d_head = 64 columns that is an even number "
            "of them, found 1e-09, which is 6.4e-08 columns");
  for (const std::string share : {"1", "0.5", "0.1"}) EXPECT_EQ(error("60", share), "no error");
  EXPECT_EQ(
      error_with({"model.position.rotary_base=500"}),
      "c: model.position.rotary_base: expected 10000.0 with model.position.kind = \"relative\" (read by \"rope\"), "
      "found 500.0");
  EXPECT_EQ(
      error_with({"model.position.kind=t5", "model.position.rotary_scaling=2"}),
      "c: model.position.rotary_scaling: expected 1.0 with model.position.kind = \"t5\" (read by \"rope\"), found 2.0");
  EXPECT_EQ(error_with({rope, "model.position.rotary_scaling=0.5"}),
            "--set model.position.rotary_scaling=0.5: model.position.rotary_scaling: expected a number >= 1, found "
            "0.5");
  EXPECT_EQ(error_with({rope, "model.position.clamp_len=8"}),
            "c: model.position.clamp_len: expected -1 with model.position.kind = \"rope\" (read by \"relative\", "
            "\"shaw\"), found 8");
}

TEST(Combinations, KindsOfPositionsHaveKeysOfTheirOwn) {
  EXPECT_EQ(error_with({"model.position.kind=sinusoidal", "model.position.clamp_len=8"}),
            "c: model.position.clamp_len: expected -1 with model.position.kind = \"sinusoidal\" (read by \"relative\", "
            "\"shaw\"), found 8");
  EXPECT_EQ(error_with({"model.position.kind=sinusoidal", "model.position.clamp_len=0"}), "no error");
  EXPECT_EQ(error_with({"model.position.untie_r=true", "model.position.kind=shaw"}),
            "c: model.position.untie_r: expected false with model.position.kind = \"shaw\" (read by \"relative\", "
            "\"t5\", \"kerple\"), found true");
  EXPECT_EQ(error_with({"model.position.untie_r=true", "model.position.kind=shaw", "model.position.kind=relative"}),
            "no error");
  EXPECT_EQ(error_with({"model.position.max_positions=8"}),
            "c: model.position.max_positions: expected 0 with model.position.kind = \"relative\" (read by \"learned\", "
            "\"shaw\"), found 8");
  for (const std::string kind : {"alibi", "t5", "kerple", "distance_aware"})
    EXPECT_EQ(error_with({"model.position.kind=" + kind, "model.position.clamp_len=8"}),
              "c: model.position.clamp_len: expected -1 with model.position.kind = \"" + kind +
                  "\" (read by \"relative\", \"shaw\"), found 8");
  EXPECT_EQ(error_with({"model.position.kind=alibi", "model.position.t5_buckets=8"}),
            "c: model.position.t5_buckets: expected 32 with model.position.kind = \"alibi\" (read by \"t5\"), found 8");
  EXPECT_EQ(error_with({"model.position.kind=distance_aware", "model.position.untie_r=true"}),
            "c: model.position.untie_r: expected false with model.position.kind = \"distance_aware\" (read by "
            "\"relative\", \"t5\", \"kerple\"), found true");
  EXPECT_EQ(error_with({"model.position.kind=t5", "model.position.untie_r=true", "model.position.t5_max_distance=17"}),
            "no error");
  EXPECT_EQ(error_with({"model.position.kind=kerple", "model.position.untie_r=true"}), "no error");
  EXPECT_EQ(error_with({"model.position.kind=t5", "model.position.t5_max_distance=16"}),
            "c: model.position.t5_max_distance: expected above half of model.position.t5_buckets = 32 with "
            "model.position.kind = \"t5\", found 16");
  ModelConfig unresolved;
  unresolved.position.kind = PositionKind::kLearned;
  EXPECT_EQ(message_of<ConfigError>([&] { check_model(unresolved, "m"); }),
            "m: model.position.max_positions: expected at least 1 with model.position.kind = \"learned\", found 0");
}

TEST(Combinations, AFinalNormGoesWithPreNorm) {
  EXPECT_EQ(error_with({"model.block.pre_lnorm=true", "model.block.final_norm=true"}), "no error");
  EXPECT_EQ(error_with({"model.block.final_norm=true"}),
            "c: model.block.final_norm: expected false with model.block.pre_lnorm = false, found true; every layer "
            "already ends in a layer norm");
}

TEST(Combinations, GatesAreOfGatedBlocks) {
  for (const std::string gate : {"gru", "highway", "sigmoid_tanh", "input", "output"})
    EXPECT_EQ(error_with({"model.block.kind=gated", "model.block.gate=" + gate, "model.block.final_norm=true"}),
              "no error");
  EXPECT_EQ(error_with({"model.block.kind=gated", "model.block.gate_bias=-1.5"}), "no error");
  EXPECT_EQ(error_with({"model.block.gate=highway"}),
            "c: model.block.gate: expected \"gru\" with model.block.kind = \"transformer\" (read by \"gated\"), found "
            "\"highway\"");
  EXPECT_EQ(error_with({"model.block.gate_bias=1"}),
            "c: model.block.gate_bias: expected 2.0 with model.block.kind = \"transformer\" (read by \"gated\"), found "
            "1.0");
  EXPECT_EQ(error_with({"model.block.kind=gated", "model.block.pre_lnorm=true"}),
            "c: model.block.pre_lnorm: expected false with model.block.kind = \"gated\" (read by \"transformer\"), "
            "found true");
  EXPECT_EQ(error_with({"model.block.kind=gated", "model.block.gate=input", "model.block.gate_bias=1"}),
            "c: model.block.gate_bias: expected 2 with model.block.gate = \"input\", found 1; this gate has no bias");
  EXPECT_THAT(error_with({"model.block.kind=gated", "model.block.gate=lstm"}), testing::HasSubstr("model.block.gate"));
}

TEST(Combinations, ReversibleLayersHaveNothingToSpare) {
  const std::string reversible = "model.block.kind=reversible";
  EXPECT_EQ(error_with({reversible, "model.block.final_norm=true"}), "no error");
  for (const std::string parts : {"attention", "block"})
    EXPECT_EQ(error_with({reversible, "training.recompute=" + parts}),
              "c: training.recompute: expected \"none\" with model.block.kind = \"reversible\", found \"" + parts +
                  "\"; reversible layers compute their branches again as it is");
  EXPECT_EQ(error_with({reversible, "model.block.pre_lnorm=true"}),
            "c: model.block.pre_lnorm: expected false with model.block.kind = \"reversible\" (read by "
            "\"transformer\"), found true");
  EXPECT_THAT(error_with({reversible, "model.block.gate=highway"}), HasSubstr("read by \"gated\""));
  EXPECT_EQ(error_with({reversible, "model.memory.kind=associative"}),
            "c: model.memory.kind: expected another kind with model.block.kind = \"reversible\", found "
            "\"associative\"; it adds what it remembers to one residual, and reversible layers have two streams");
}

TEST(Combinations, SharedLayersAreAlike) {
  const std::string shared = "model.depth.kind=shared";
  EXPECT_EQ(error_with({shared, "model.depth.step_codes=false", "model.block.kind=reversible"}), "no error");
  EXPECT_EQ(error_with({"model.depth.step_codes=false"}),
            "c: model.depth.step_codes: expected true with model.depth.kind = \"fixed\" (read by \"shared\", "
            "\"halting\"), found "
            "false");
  EXPECT_EQ(error_with({shared, R"(model.layers=[{"only": [0], "position": {"kind": "rope"}}])"}),
            "c: model.layers: expected [] with model.depth.kind = \"shared\", found 1 of them; all layers are the same "
            "one");
  EXPECT_EQ(error_with({shared, "model.block.kind=reversible"}),
            "c: model.depth.step_codes: expected false with model.block.kind = \"reversible\", found true; codes are "
            "added to one residual, and reversible layers have two streams");
  EXPECT_THAT(error_with({shared, "model.position.kind=none", "model.visibility.kind=adaptive",
                          "model.visibility.span=32", "model.visibility.ramp=8"}),
              HasSubstr("model.depth.kind = \"shared\", found \"adaptive\"; spans are learned for each layer"));
}

TEST(Combinations, TokensOfTheTextHalt) {
  const std::string halting = "model.depth.kind=halting";
  EXPECT_EQ(error_with({halting, "model.depth.halting_epsilon=0.1", "model.memory.kind=infini"}), "no error");
  EXPECT_THAT(error_with({halting, "model.memory.kind=tokens"}), HasSubstr("the tokens of the text alone halt"));
  EXPECT_THAT(error_with({halting, "model.objective.kind=masked", "model.visibility.kind=full",
                          "model.position.kind=rope", "model.global_stream.tokens=2"}),
              HasSubstr("model.global_stream.tokens: expected 0 with model.depth.kind = \"halting\""));
  EXPECT_EQ(error_with({halting, "model.memory.kind=encoder", "model.position.kind=rope"}), "no error");
  for (const std::string epsilon : {"1e-50", "0.99999999"})
    EXPECT_THAT(error_with({halting, "model.depth.halting_epsilon=" + epsilon}),
                HasSubstr("halting_epsilon: expected"));
  EXPECT_THAT(error_with({halting, "model.depth.ponder_weight=1e300"}), HasSubstr("1000"));
  EXPECT_THAT(error_with({halting, "model.block.kind=reversible"}), HasSubstr("halting weighs one residual"));
  EXPECT_THAT(error_with({"model.depth.kind=shared", "model.depth.ponder_weight=0.1"}),
              HasSubstr("read by \"halting\""));
  EXPECT_THAT(error_with({halting, R"(model.layers=[{"only": [0], "position": {"kind": "rope"}}])"}),
              HasSubstr("expected [] with model.depth.kind = \"halting\""));
}

TEST(Combinations, UsesThatAModelDoesNotAllow) {
  const auto error_of_use = [](const ModelConfig& model, const ModelUse& use) {
    return message_of<ConfigError>([&] { check_use(model, use, 8, "u"); });
  };
  ModelConfig model;
  EXPECT_EQ(error_of_use(model, {.mem_len = 0, .same_length = true}),
            "u: model.mem_len: expected at least 1 with model.visibility.same_length = true and same_length_extra_key "
            "= false, found 0; a query would see no key");
  EXPECT_THAT(
      message_of<ConfigError>([&] { check_use(model, {.mem_len = 0, .same_length = true}, 8, "u", "--mem-len"); }),
      testing::StartsWith("u: --mem-len: expected at least 1 with model.visibility.same_length = true"));
  model.position = {.kind = PositionKind::kShaw, .max_positions = 12};
  EXPECT_NO_THROW(check_use(model, {.mem_len = 4}, 8, "u"));
  EXPECT_NO_THROW(check_use(model, {.mem_len = 40, .clamp_len = 11}, 8, "u"));
  EXPECT_EQ(error_of_use(model, {.mem_len = 5}),
            "u: model.position.max_positions: expected at least 13 with tgt_len = 8 and mem_len = 5, or a "
            "model.position.clamp_len from 1 to 11, found 12 with clamp_len = -1");
  model.position = {.kind = PositionKind::kSinusoidal};
  EXPECT_EQ(error_of_use(model, {.clamp_len = 3}),
            R"(u: model.position.clamp_len: expected -1 with model.position.kind = "sinusoidal" (read by "relative", )"
            R"("shaw"), found 3)");
  EXPECT_NO_THROW(check_use(model, {.clamp_len = 0}, 8, "u"));
}

// Programs differ in it also where they train without same_length and evaluate with it.
TEST(Combinations, AnExtraKeyWaitsForAUseWithSameLength) {
  const Config config = parse_config(R"({"data": {"path": "d"}})", "c",
                                     std::vector<std::string>{"model.visibility.same_length_extra_key=true"});
  EXPECT_TRUE(to_json(config)["model"]["visibility"]["same_length_extra_key"].get<bool>());
  ModelUse use = use_of(config.model);
  use.same_length = true;
  use.mem_len = 0;
  EXPECT_NO_THROW(check_use(config.model, use, 8, "u"));
}

int64_t table_rows(const std::vector<std::string>& overrides) {
  return parse_config(R"({"data": {"path": "d"}, "training": {"tgt_len": 20}, "model": {"mem_len": 30}})", "c",
                      overrides)
      .model.position.max_positions;
}

TEST(Combinations, TablesOfPositionsAreAsLongAsTrainingNeeds) {
  EXPECT_EQ(table_rows({}), 0);
  EXPECT_EQ(table_rows({"model.position.kind=learned"}), 20);
  EXPECT_EQ(table_rows({"model.position.kind=shaw"}), 50);
  EXPECT_EQ(table_rows({"model.position.kind=shaw", "model.position.clamp_len=9"}), 10);
  EXPECT_EQ(table_rows({"model.position.kind=shaw", "model.position.max_positions=99"}), 99);
}

TEST(Combinations, SegmentsFitIntoTheTableOfPositions) {
  EXPECT_EQ(error_with({"model.position.kind=learned", "model.position.max_positions=127"}),
            "c: model.position.max_positions: expected at least the segment's tgt_len = 128, found 127");
  EXPECT_EQ(error_with({"model.position.kind=learned", "evaluation.tgt_len=129"}),
            "c: model.position.max_positions: expected at least the segment's tgt_len = 129, found 128");
  EXPECT_EQ(error_with({"model.position.kind=shaw", "evaluation.mem_len=200"}),
            "c: model.position.max_positions: expected at least 328 with tgt_len = 128 and mem_len = 200, or a "
            "model.position.clamp_len from 1 to 255, found 256 with clamp_len = -1");
  EXPECT_EQ(error_with({"model.position.kind=shaw", "model.position.clamp_len=255", "evaluation.mem_len=200"}),
            "no error");
}

TEST(Combinations, HeadsNeedNotFillTheWidth) {
  EXPECT_EQ(error_with({"model.n_head=3", "model.d_head=5"}), "no error");
}

TEST(Combinations, PlainSoftmaxHasOneCluster) {
  EXPECT_EQ(error_with({"model.head.tie_projs=[false, true]"}),
            "c: model.head.tie_projs: expected an empty list or one of length 1 with model.head.kind = \"softmax\", "
            "found a list of length 2");
  EXPECT_EQ(error_with({"model.head.tie_projs=[true]"}), "no error");
  EXPECT_EQ(error_with({"model.head.cutoffs=[10]"}),
            "c: model.head.cutoffs: expected [] with model.head.kind = \"softmax\" (read by \"adaptive\"), found [10]");
  EXPECT_EQ(error_with({"model.head.div_val=2"}),
            "c: model.head.div_val: expected 1 with model.head.kind = \"softmax\" (read by \"adaptive\"), found 2");
  EXPECT_EQ(error_with({"model.head.proj_same_dim=false"}),
            "c: model.head.proj_same_dim: expected true with model.head.kind = \"softmax\" (read by \"adaptive\"), "
            "found false");
  EXPECT_EQ(error_with({"model.head.cluster_order=ascending"}),
            "c: model.head.cluster_order: expected \"reversed\" with model.head.kind = \"softmax\" (read by "
            "\"adaptive\"), found \"ascending\"");
}

TEST(Combinations, ClustersOfTheVocabulary) {
  const std::string adaptive = "model.head.kind=adaptive";
  EXPECT_EQ(error_with({adaptive, "model.head.cutoffs=[10, 20]", "model.head.tie_projs=[false, true, true]"}),
            "no error");
  EXPECT_EQ(error_with({adaptive, "model.head.cutoffs=[10, 20]", "model.head.tie_projs=[true]"}),
            "c: model.head.tie_projs: expected an empty list or one of length 3 with model.head.kind = \"adaptive\" "
            "and 2 cutoffs, found a list of length 1");
  EXPECT_EQ(error_with({adaptive, "model.head.cutoffs=[10, 10]"}),
            "c: model.head.cutoffs: expected increasing numbers, found 10 after 10");
  EXPECT_EQ(error_with({adaptive, "model.d_embed=16", "model.head.div_val=4", "model.head.cutoffs=[10, 20, 30]"}),
            "c: model.head.div_val: expected less with an embedding of width 16, found 4; it leaves the last of 4 "
            "clusters no width");
  EXPECT_EQ(error_with({adaptive, "model.head.cutoffs=[10, 20]", "data.vocab_size=20"}),
            "c: model.head.cutoffs: expected numbers below the vocabulary's size 20, found 20");
}

TEST(Combinations, EvaluationLengthsFollowTraining) {
  Config config;
  EXPECT_EQ(evaluation_tgt_len(config), 128);
  EXPECT_EQ(evaluation_mem_len(config), 128);
  config.evaluation.tgt_len = 32;
  EXPECT_EQ(evaluation_mem_len(config), 224);
  config.evaluation.mem_len = 0;
  EXPECT_EQ(evaluation_mem_len(config), 0);
  EXPECT_EQ(
      error_with({"evaluation.tgt_len=257"}),
      "c: evaluation.tgt_len: expected at most training.tgt_len + model.mem_len = 256 with evaluation.mem_len = -1, "
      "found 257");
  EXPECT_EQ(error_with({"evaluation.tgt_len=257", "evaluation.mem_len=0"}), "no error");
}

TEST(Combinations, AnEmbeddingWithoutItsOwnWidthIsAsWideAsTheModel) {
  EXPECT_EQ(effective_d_embed({.d_model = 96}), 96);
  EXPECT_EQ(effective_d_embed({.d_model = 96, .d_embed = 12}), 12);
}

TEST(Combinations, ChunksHoldStreams) {
  EXPECT_EQ(error_with({"training.batch_chunk=9"}),
            "c: training.batch_chunk: expected at most training.batch_size = 8, found 9");
  EXPECT_EQ(error_with({"training.batch_chunk=3"}), "no error");
}

TEST(Combinations, OptimizersReadWhatIsWritten) {
  EXPECT_EQ(error_with({"optimizer.momentum=0.9"}),
            "c: optimizer.momentum: expected 0.0 with optimizer.kind = \"adam\" (read by \"sgd\"), found 0.9");
  const auto expect_unread = [](const std::vector<std::string>& overrides, const std::string& key) {
    EXPECT_THAT(error_with(overrides), testing::StartsWith("c: optimizer." + key + ": expected "));
  };
  expect_unread({"optimizer.weight_decay=0.1"}, "weight_decay");
  expect_unread({"optimizer.kind=sgd", "optimizer.beta2=0.9"}, "beta2");
  expect_unread({"optimizer.kind=sgd", "optimizer.epsilon=1e-8"}, "epsilon");
  expect_unread({"optimizer.kind=adagrad", "optimizer.weight_decay=0.1"}, "weight_decay");
  EXPECT_EQ(error_with({"optimizer.kind=lamb", "optimizer.weight_decay=0.1", "optimizer.beta1=0.8"}), "no error");
  EXPECT_EQ(error_with({"optimizer.kind=sgd", "optimizer.momentum=0.9"}), "no error");
  EXPECT_EQ(error_with({"optimizer.kind=adagrad", "optimizer.epsilon=1e-8"}), "no error");
}

TEST(Combinations, OptimizersHaveAnEpsilonOfTheirOwn) {
  EXPECT_EQ(effective_epsilon({}), 1e-8);
  EXPECT_EQ(effective_epsilon({.kind = OptimizerKind::kLamb}), 1e-6);
  EXPECT_EQ(effective_epsilon({.kind = OptimizerKind::kAdagrad}), 1e-10);
  EXPECT_EQ(effective_epsilon({.kind = OptimizerKind::kAdagrad, .epsilon = 0.5}), 0.5);
}

TEST(Combinations, APlateauIsSeenByEvaluations) {
  EXPECT_EQ(error_with({"schedule.kind=plateau", "schedule.patience=2", "schedule.decay_rate=0.1"}), "no error");
  EXPECT_EQ(error_with({"schedule.kind=plateau", "evaluation.interval=0"}),
            "c: evaluation.interval: expected above 0 with schedule.kind = \"plateau\", found 0; the schedule follows "
            "the losses of evaluations");
  EXPECT_EQ(error_with({"schedule.decay_rate=0.1"}),
            "c: schedule.decay_rate: expected 0.5 with schedule.kind = \"cosine\" (read by \"plateau\"), found 0.1");
  EXPECT_EQ(error_with({"schedule.kind=linear", "schedule.patience=1"}),
            "c: schedule.patience: expected 0 with schedule.kind = \"linear\" (read by \"plateau\"), found 1");
}

TEST(Combinations, ScheduleFitsTheRun) {
  EXPECT_EQ(error_with({"schedule.eta_min=0.00026"}),
            "c: schedule.eta_min: expected at most optimizer.lr = 0.00025, found 0.00026");
  EXPECT_EQ(error_with({"schedule.eta_min=0.00025"}), "no error");
  EXPECT_EQ(error_with({"schedule.warmup_step=30", "training.max_step=20"}), "no error");
}

}  // namespace
}  // namespace segue

// Layers with axis objects of their own: what a layer has, and which overrides cannot stand together.
#include "core/config/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json_text.h"
#include "core/config/config.h"
#include "core/config/position_kind.h"
#include "core/config/position_terms.h"
#include "core/config/score_kind.h"
#include "tests/core/config/error_with.h"
#include "tests/message_of.h"

namespace segue {
namespace {

using ::testing::HasSubstr;

// A model of 4 layers, segments of 128 tokens and a memory of 128.
Config config_of_layers(const std::string& layers, std::vector<std::string> overrides = {}) {
  overrides.push_back("model.layers=" + layers);
  return parse_config(R"({"data": {"path": "d"}})", "c", overrides);
}

std::string error_of_layers(const std::string& layers, const std::vector<std::string>& overrides = {}) {
  std::vector<std::string> all = overrides;
  all.push_back("model.layers=" + layers);
  return error_with(all);
}

TEST(Layers, HaveTheirOwnObjectsOrTheModels) {
  const ModelConfig model = config_of_layers(R"([{"only": [1, 3], "position": {"kind": "none"}},
                                            {"only": [2], "visibility": {"kind": "window", "window": 9}}])",
                                             {"model.position.clamp_len=7", "model.visibility.same_length=true"})
                                .model;
  EXPECT_EQ(position_of_layer(model, 0), model.position);
  EXPECT_EQ(position_of_layer(model, 1), (PositionConfig{.kind = PositionKind::kNone}));
  EXPECT_EQ(position_of_layer(model, 2), model.position);
  EXPECT_EQ(position_key(model, 2), "model.position");
  EXPECT_EQ(position_key(model, 3), "model.layers[0].position");
  EXPECT_TRUE(visibility_of_layer(model, 3).same_length);
  EXPECT_EQ(visibility_of_layer(model, 2).window, 9);
  EXPECT_EQ(visibility_key(model, 1), "model.visibility");
  EXPECT_EQ(visibility_key(model, 2), "model.layers[1].visibility");
}

TEST(Layers, KeepTheirUseWhenTheModelIsUsedOtherwise) {
  const ModelConfig model = config_of_layers(R"([{"only": [1], "position": {"clamp_len": 5}},
                                            {"only": [2], "visibility": {"kind": "window", "window": 9}}])")
                                .model;
  const ModelUse use{.mem_len = 3, .clamp_len = 7, .same_length = true};
  EXPECT_EQ(use_of_layer(model, use, 0), use);
  EXPECT_EQ(use_of_layer(model, use, 1), (ModelUse{.mem_len = 3, .clamp_len = 5, .same_length = true, .layer = 1}));
  EXPECT_EQ(use_of_layer(model, use, 2), (ModelUse{.mem_len = 3, .clamp_len = 7, .window = 9, .layer = 2}));
  const std::vector<std::string> set{R"(model.layers=[{"only": [0], "position": {"clamp_len": 5}}])"};
  EXPECT_THAT(message_of<ConfigError>([&] { use_of(model, set); }),
              HasSubstr("model.layers: expected a key that says how weights are used"));
}

TEST(Layers, AreUsedOtherwiseByKeysOfTheirModelsKinds) {
  const std::vector<std::string> narrower{"model.visibility.window=3"};
  const std::vector<std::string> none{"model.visibility.window=0"};
  check_use_overrides(narrower);  // which some models read
  EXPECT_THAT(message_of<ConfigError>([&] { check_use_overrides(none); }), HasSubstr("model.visibility.window"));
  EXPECT_EQ(use_of(parse_config(R"({"data": {"path": "d"}, "model": {"visibility": {"kind": "window"}}})", "c").model,
                   narrower)
                .window,
            3);
  EXPECT_THAT(message_of<ConfigError>([&] { use_of(ModelConfig{}, narrower); }),
              HasSubstr(R"(model.visibility.window: expected 128 with model.visibility.kind = "causal")"));
}

TEST(Layers, AreWrittenAndReadAgain) {
  const std::string list = R"([{"only":[0,2],"position":{"kind":"none"}},{"only":[3],"visibility":{"kind":"window",)"
                           R"("window":9}}])";
  const Config config = config_of_layers(list);
  const nlohmann::ordered_json written = to_json(config);
  EXPECT_EQ(written["model"]["layers"].dump(), list);
  EXPECT_EQ(to_json(parse_config(written.dump(), "w")), written);
  EXPECT_THAT(diff_configs(config_of_layers("[]"), config), testing::ElementsAre("model.layers: [] -> " + list));
}

TEST(Layers, TablesOfPositionsAreAsLongAsTrainingNeeds) {
  const std::string shaw = R"([{"only": [1], "position": {"kind": "shaw"}},
                               {"only": [2], "position": {"kind": "shaw", "clamp_len": 9}}])";
  const ModelConfig model = config_of_layers(shaw).model;
  EXPECT_EQ(position_of_layer(model, 1).max_positions, 256);
  EXPECT_EQ(position_of_layer(model, 2).max_positions, 10);
  EXPECT_EQ(error_of_layers(shaw, {"evaluation.mem_len=200"}),
            "c: model.layers[0].position.max_positions: expected at least 328 with tgt_len = 128 and mem_len = 200, or "
            "a model.layers[0].position.clamp_len from 1 to 255, found 256 with clamp_len = -1");
}

TEST(Layers, AreNamedOnce) {
  EXPECT_EQ(error_of_layers(R"([{"only": [], "position": {}}])"),
            "c: model.layers[0].only: expected the numbers of layers, found an empty list");
  EXPECT_EQ(error_of_layers(R"([{"only": [3, 4], "position": {}}])"),
            "c: model.layers[0].only: expected numbers from 0 to 3, below model.n_layer, found 4");
  EXPECT_EQ(error_of_layers(R"([{"only": [1, 0, 1], "position": {}}])"),
            "c: model.layers[0].only: expected every layer once, found 1, which model.layers[0].only also names");
  EXPECT_EQ(error_of_layers(R"([{"only": [1], "position": {}}, {"only": [2, 1], "visibility": {}}])"),
            "c: model.layers[1].only: expected every layer once, found 1, which model.layers[0].only also names");
  EXPECT_THAT(error_of_layers(R"([{"only": [-1], "position": {}}])"),
              HasSubstr("model.layers[0].only[0]: expected an integer"));
  EXPECT_THAT(error_of_layers(R"([{"position": {}}])"), HasSubstr("model.layers[0].only: required key is missing"));
}

TEST(Layers, HaveAnObjectAtLeastAndNoOther) {
  EXPECT_EQ(error_of_layers(R"([{"only": [1]}])"),
            "c: model.layers[0]: expected position, visibility or score, found none of them");
  EXPECT_THAT(error_of_layers(R"([{"only": [1], "memory": {}}])"), HasSubstr("model.layers[0].memory: unknown key"));
  EXPECT_THAT(error_of_layers(R"([{"only": [1], "position": null}])"),
              HasSubstr("model.layers[0].position: expected an object, found null"));
}

// They begin from the defaults of their kind, not from the model's object.
TEST(Layers, HaveKeysOfTheirKind) {
  EXPECT_EQ(error_of_layers(R"([{"only": [1], "position": {"rotary_base": 500}}])", {"model.position.kind=rope"}),
            "c: model.layers[0].position.rotary_base: expected 10000.0 with model.layers[0].position.kind = "
            "\"relative\" (read by \"rope\"), found 500.0");
  EXPECT_EQ(error_of_layers(R"([{"only": [1], "visibility": {"window": 9}}])"),
            "c: model.layers[0].visibility.window: expected 128 with model.layers[0].visibility.kind = \"causal\" "
            "(read by \"window\"), found 9");
  EXPECT_EQ(error_of_layers(R"([{"only": [1], "position": {"kind": "alibi", "clamp_len": 0}}])"), "no error");
  EXPECT_EQ(error_of_layers(R"([{"only": [1], "position": {"kind": "rope", "rotary_share": 0.3}}])"),
            "c: model.layers[0].position.rotary_share: expected a share of the model.d_head = 64 columns that is an "
            "even number of them, found 0.3, which is 19.2 columns");
  EXPECT_EQ(error_of_layers(R"([{"only": [1], "position": {"kind": "t5", "t5_max_distance": 16}}])"),
            "c: model.layers[0].position.t5_max_distance: expected above half of model.layers[0].position.t5_buckets = "
            "32 with model.layers[0].position.kind = \"t5\", found 16");
  EXPECT_EQ(error_of_layers(R"([{"only": [1], "position": {}}])", {"model.d_model=33", "model.position.kind=none"}),
            "c: model.d_model: expected an even number, half of it sines and half cosines, with "
            "model.layers[0].position.kind = \"relative\", found 33");
}

TEST(Layers, HavePositionsThatAttentionKnows) {
  for (const std::string kind : {"sinusoidal", "learned"}) {
    EXPECT_EQ(error_of_layers(R"([{"only": [1], "position": {"kind": ")" + kind + R"("}}])"),
              "c: model.layers[0].position.kind: expected a kind that works inside attention, found \"" + kind +
                  "\"; all layers share the embeddings, to which model.position.kind alone may add positions");
    EXPECT_EQ(error_of_layers(R"([{"only": [1], "position": {"kind": "none"}}])", {"model.position.kind=" + kind}),
              "c: model.layers[0].position.kind: expected a kind that adds something with model.position.kind = \"" +
                  kind + "\", found \"none\"; tokens carry the positions of model.position through every layer");
    EXPECT_EQ(error_of_layers(R"([{"only": [1], "position": {"kind": "rope"}}])", {"model.position.kind=" + kind}),
              "no error");
  }
}

TEST(Layers, ShareATableOfOneMeaning) {
  const std::string few = R"([{"only": [1], "position": {"kind": "t5", "t5_buckets": 8}}])";
  EXPECT_EQ(error_of_layers(few, {"model.position.kind=t5"}),
            "c: model.layers[0].position.t5_buckets: expected 32 as in model.position, found 8; layers with untie_r = "
            "false share one table");
  EXPECT_EQ(error_of_layers(few, {"model.position.kind=t5", "model.position.untie_r=true"}), "no error");
  EXPECT_EQ(error_of_layers(few), "no error");
  EXPECT_EQ(error_of_layers(R"([{"only": [0, 1, 2, 3], "position": {"kind": "t5", "t5_buckets": 8}}])",
                            {"model.position.kind=t5"}),
            "no error");
  EXPECT_EQ(error_of_layers(R"([{"only": [0], "position": {"kind": "t5", "t5_max_distance": 64}}])",
                            {"model.position.kind=t5"}),
            "c: model.position.t5_max_distance: expected 64 as in model.layers[0].position, found 128; layers with "
            "untie_r = false share one table");
}

TEST(Layers, SeeAsMuchAsTrainingRemembers) {
  const std::string windows = R"([{"only": [0], "visibility": {"kind": "window", "window": 9}},
                                  {"only": [1, 2], "visibility": {"kind": "window", "window": 65}}])";
  EXPECT_EQ(error_of_layers(windows, {"model.mem_len=64"}), "no error");
  EXPECT_EQ(error_of_layers(windows, {"model.mem_len=63"}),
            "c: model.mem_len: expected at least 64, one less than model.layers[1].visibility.window, with "
            "model.layers[1].visibility.kind = \"window\", found 63; otherwise early tokens of a segment see fewer "
            "keys than late ones");
  EXPECT_THAT(error_of_layers(windows, {"evaluation.mem_len=8"}),
              HasSubstr("c: evaluation.mem_len: expected at least 64"));
  EXPECT_THAT(error_of_layers(windows, {R"(training.stages=[{"until_step": 3, "tgt_len": 8, "mem_len": 0}])"}),
              HasSubstr("c: training.stages[0].mem_len: expected at least 64"));
  EXPECT_EQ(error_of_layers(R"([{"only": [2], "visibility": {"same_length": true}}])", {"model.mem_len=0"}),
            "c: model.mem_len: expected at least 1 with model.layers[0].visibility.same_length = true and "
            "same_length_extra_key = false, found 0; a query would see no key");
}

TEST(PositionTerms, AScoreRefusesTheFirstThatItDoesNotAccept) {
  EXPECT_EQ(refused_term({}, {}), "");
  EXPECT_EQ(refused_term({.rows = true, .biases = true}, {.rows = true}), "biases by distance");
  EXPECT_EQ(refused_term({.turns = true, .rows = true}, {.vectors = true}), "rotated queries and keys");
  EXPECT_EQ(refused_term({.vectors = true}, {.turns = true}), "vectors added to embeddings");
  EXPECT_EQ(refused_term({.rows = true}, {.turns = true, .biases = true}), "rows of distances");
  EXPECT_EQ(refused_term({.gains = true}, {.biases = true}), "gains by distance");
  for (size_t kind = 0; kind < choices_of(PositionKind{}).size(); ++kind)
    EXPECT_EQ(refused_term(offered_by(static_cast<PositionKind>(kind)), accepted_by(ScoreKind::kSoftmax)), "");
}

}  // namespace
}  // namespace segue

// Configs from text and overrides: values, defaults, and the words of every kind of error.
#include "core/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "core/config/kind_requirements.h"
#include "tests/message_of.h"

namespace segue {
namespace {

using Overrides = std::vector<std::string>;

constexpr std::string_view kSmallest = R"({"data": {"path": "d"}})";

Config parse(std::string_view text, const Overrides& overrides = {}) { return parse_config(text, "c.json", overrides); }

std::string error_of(std::string_view text, const Overrides& overrides = {}) {
  return message_of<ConfigError>([&] { parse(text, overrides); });
}

std::string override_error(const std::string& text) { return error_of(kSmallest, {text}); }

TEST(Config, OnlyTheDatasetIsRequired) {
  const Config config = parse(kSmallest);
  EXPECT_EQ(config.data.path, "d");
  EXPECT_EQ(to_json(config), to_json(Config{.data = {.path = "d"}}));
  EXPECT_EQ(error_of("{}"), "c.json: data.path: required key is missing (directory of the prepared dataset)");
}

TEST(Config, DefaultsAreThoseOfTheReference) {
  const Config config = parse(kSmallest);
  EXPECT_EQ(config.seed, 1111);
  EXPECT_EQ(config.model.position.clamp_len, -1);
  EXPECT_FALSE(config.model.visibility.same_length_extra_key);
  EXPECT_EQ(config.model.memory.initial, InitialMemory::kEmpty);
  EXPECT_FALSE(config.model.block.pre_lnorm);
  EXPECT_EQ(config.model.block.activation, ActivationKind::kRelu);
  EXPECT_EQ(config.model.init.init_std, 0.02);
  EXPECT_EQ(config.optimizer.lr, 0.00025);
  EXPECT_EQ(config.optimizer.clip, 0.25);
  EXPECT_EQ(config.schedule.rule, ScheduleRule::kPytorch);
}

TEST(Config, EveryKeySurvivesARoundTrip) {
  const std::vector<std::vector<std::string>> others{
      {},
      {"model.position.kind=learned", "model.position.max_positions=300"},
      {"model.position.kind=shaw", "model.position.clamp_len=7", "optimizer.kind=sgd", "optimizer.momentum=0.5"},
      {"model.head={\"kind\": \"adaptive\", \"cutoffs\": [5, 9], \"div_val\": 2, \"proj_same_dim\": false}",
       "model.head.cluster_order=ascending", "optimizer.kind=lamb", "optimizer.weight_decay=0.1"},
      {"schedule.kind=plateau", "schedule.patience=3", "schedule.decay_rate=0.25", "optimizer.kind=adagrad"}};
  for (const std::vector<std::string>& overrides : others) {
    const Config config = parse(kSmallest, overrides);
    const std::string text = to_json(config).dump();
    EXPECT_EQ(to_json(parse(text)).dump(), text);
    EXPECT_THAT(diff_configs(config, parse(text)), testing::IsEmpty());
  }
}

TEST(Config, WritesWhatItsKindsRead) {
  const nlohmann::ordered_json written = to_json(parse(kSmallest, {"optimizer.kind=sgd", "model.position.kind=shaw"}));
  EXPECT_EQ(written["optimizer"].dump(), R"({"kind":"sgd","lr":0.00025,"momentum":0.0,"clip":0.25,"shard":false})");
  EXPECT_EQ(written["model"]["position"].dump(), R"({"kind":"shaw","clamp_len":-1,"max_positions":256})");
  EXPECT_FALSE(written["model"]["head"].contains("cutoffs"));
  EXPECT_FALSE(written["schedule"].contains("patience"));
}

TEST(Config, ReadsWhatSaysToOtherKindsThatTheyAreUnset) {
  EXPECT_NO_THROW(parse(R"({"data": {"path": "d"}, "optimizer": {"kind": "sgd", "beta1": 0.9, "weight_decay": 0},
      "model": {"position": {"kind": "shaw", "untie_r": false}, "head": {"cutoffs": [], "div_val": 1}}})"));
}

TEST(Config, ReadsEveryAxis) {
  const Config config = parse(R"({"data": {"path": "d"}, "model": {
      "position": {"kind": "relative", "clamp_len": 5, "untie_r": true},
      "visibility": {"kind": "causal", "same_length": true, "same_length_extra_key": true},
      "memory": {"kind": "hidden_states", "initial": "zeros"}, "depth": {"kind": "fixed"},
      "block": {"kind": "transformer", "pre_lnorm": true, "final_norm": true, "layer_norm_epsilon": 1e-12,
        "activation": "gelu"},
      "score": {"kind": "softmax"}, "head": {"kind": "softmax", "tie_weight": false, "tie_projs": [true]},
      "init": {"kind": "uniform", "init_range": 0.05}}})");
  EXPECT_EQ(config.model.position.clamp_len, 5);
  EXPECT_TRUE(config.model.position.untie_r);
  EXPECT_TRUE(config.model.visibility.same_length);
  EXPECT_TRUE(config.model.visibility.same_length_extra_key);
  EXPECT_EQ(config.model.memory.initial, InitialMemory::kZeros);
  EXPECT_TRUE(config.model.block.pre_lnorm);
  EXPECT_TRUE(config.model.block.final_norm);
  EXPECT_EQ(config.model.block.layer_norm_epsilon, 1e-12);
  EXPECT_EQ(config.model.block.activation, ActivationKind::kGelu);
  EXPECT_FALSE(config.model.head.tie_weight);
  EXPECT_EQ(config.model.head.tie_projs, std::vector<bool>{true});
  EXPECT_EQ(config.model.init.kind, InitKind::kUniform);
}

TEST(Config, UnknownKeysNameTheNearest) {
  EXPECT_EQ(error_of(R"({"data": {"path": "d"}, "model": {"mem_length": 3}})"),
            "c.json: model.mem_length: unknown key; did you mean model.mem_len?");
  EXPECT_EQ(error_of(R"({"data": {"path": "d"}, "model": {"clamp_len": 3}})"),
            "c.json: model.clamp_len: unknown key; did you mean model.position.clamp_len?");
  EXPECT_EQ(error_of(R"({"dta": {"path": "d"}})"), "c.json: dta: unknown key; did you mean data?");
  EXPECT_EQ(error_of(R"({"data": {"path": "d", "volume": 256}})"), "c.json: data.volume: unknown key");
  EXPECT_EQ(error_of(R"({"data": {"path": "d"}, "checkpoint": {"keep": 3}})"),
            "c.json: checkpoint.keep: unknown key; did you mean checkpoint.keep_last?");
  EXPECT_EQ(error_of(R"({"data": {"path": "d"}, "sched": {}})"), "c.json: sched: unknown key; did you mean schedule?");
  EXPECT_EQ(error_of(R"({"data": {"path": "d"}, "Model": {}})"), "c.json: Model: unknown key; did you mean model?");
}

TEST(Config, KeysOfOtherProgramsAreKnown) {
  const auto suggested = [](const std::string& key) {
    const std::string error = override_error(key + "=1");
    const std::string begin = fmt::format("--set {0}=1: {0}: unknown key; did you mean ", key);
    return error.starts_with(begin) ? error.substr(begin.size()) : error;
  };
  for (const auto& [key, ours] :
       std::map<std::string, std::string>{{"learning_rate", "optimizer.lr?"},
                                          {"training.learning_rate", "optimizer.lr?"},
                                          {"training.gradient_clip", "optimizer.clip?"},
                                          {"optimizer.max_grad_norm", "optimizer.clip?"},
                                          {"model.hidden_size", "model.d_model?"},
                                          {"model.n_embd", "model.d_model?"},
                                          {"model.n_layers", "model.n_layer?"},
                                          {"model.num_heads", "model.n_head?"},
                                          {"model.attention_dropout", "model.dropatt?"},
                                          {"model.resid_pdrop", "model.dropout?"},
                                          {"training.bptt", "training.tgt_len?"},
                                          {"block_size", "training.tgt_len?"},
                                          {"context_length", "training.tgt_len?"},
                                          {"evaluation.seq_len", "evaluation.tgt_len?"},
                                          {"training.epochs", "training.max_step, which counts steps?"},
                                          {"max_iters", "training.max_step?"},
                                          {"warmup_steps", "schedule.warmup_step?"},
                                          {"training.weight_decay", "optimizer.weight_decay?"},
                                          {"training.seed", "seed?"},
                                          {"fp16", "training.precision?"},
                                          {"model.stride", "model.visibility.patterns[0].stride?"}})
    EXPECT_EQ(suggested(key), ours);
  EXPECT_EQ(override_error("label_smoothing=0.1"), "--set label_smoothing=0.1: label_smoothing: unknown key");
}

TEST(Config, OverridesReachElementsOfLists) {
  const std::string text = R"({"data": {"path": "d"}, "model": {"visibility": {"kind": "sparse", "patterns": [
      {"kind": "window", "window": 9}, {"kind": "strided", "stride": 4}]}, "head": {"kind": "adaptive", "cutoffs": [5, 9]}}})";
  const Config config = parse(text, {"model.visibility.patterns[1].stride=8", "model.head.cutoffs[0]=7",
                                     R"(model.visibility.patterns[0]={"window": 3})"});
  EXPECT_EQ(config.model.visibility.patterns[1].stride, 8);
  EXPECT_EQ(config.model.visibility.patterns[0].window, 3);
  EXPECT_THAT(config.model.head.cutoffs, testing::ElementsAre(7, 9));
  const auto error = [&text](const std::string& override_text) { return error_of(text, {override_text}); };
  EXPECT_EQ(error("model.visibility.patterns.stride=8"),
            "--set model.visibility.patterns.stride=8: model.visibility.patterns: expected an element of the list, as "
            "in model.visibility.patterns[0].stride, found the key stride");
  EXPECT_EQ(error("model.visibility.patterns[2].stride=8"),
            "--set model.visibility.patterns[2].stride=8: model.visibility.patterns: expected an element from "
            "model.visibility.patterns[0] to model.visibility.patterns[1], as the file has, found [2]");
  EXPECT_EQ(error("model.layers[0].score=8"),
            "--set model.layers[0].score=8: model.layers: expected a list of more than 0 elements in the file, found "
            "none; give the whole list: --set 'model.layers=[{\"score\":8}]'");
  EXPECT_EQ(
      error("model.visibility.patterns.1.stride=8"),
      "--set model.visibility.patterns.1.stride=8: model.visibility.patterns: expected an element of the list, as "
      "in model.visibility.patterns[1].stride, found the key 1");
  EXPECT_EQ(error("model.visibility.patterns[-1].stride=8"),
            "--set model.visibility.patterns[-1].stride=8: expected the number of an element, from 0 on, as in "
            "patterns[0], found [-1]");
  EXPECT_EQ(error("model.visibility.patterns[1].strid=8"),
            "--set model.visibility.patterns[1].strid=8: model.visibility.patterns[1].strid: unknown key; did you mean "
            "model.visibility.patterns[1].stride?");
  EXPECT_EQ(error("model.head.cutoffs[1]=x"),
            "--set model.head.cutoffs[1]=x: model.head.cutoffs[1]: expected an integer >= 1 and <= 2147483647, found "
            "\"x\"");
  EXPECT_THAT(overridden_keys({{"model.visibility.patterns[1].stride=8"}}),
              testing::ElementsAre("model.visibility.patterns[1].stride"));
}

TEST(Config, OverridesWithoutBracketsAreToldTheElement) {
  const auto error = [](const std::string& override_text) {
    return error_of(R"({"data": {"path": "d"}})", {override_text});
  };
  EXPECT_THAT(error("training.stages.0.until_step=10"),
              testing::HasSubstr("expected a list, found an object; did you mean training.stages[0].until_step?"));
  EXPECT_THAT(error("model.visibility.patterns.stride=4"),
              testing::HasSubstr("found an object; did you mean model.visibility.patterns[0].stride?"));
  EXPECT_THAT(error("model.head.cutoffs=10,20"), testing::HasSubstr("found \"10,20\"; write [10,20]"));
  EXPECT_THAT(error("model.head.cutoffs=10"), testing::HasSubstr("found 10; write [10]"));
}

TEST(Config, KeysBelowAWrongObjectAreFound) {
  const auto error = [](const std::string& override_text) {
    return error_of(R"({"data": {"path": "d"}})", {override_text});
  };
  EXPECT_EQ(error("memory.mem_len=10"), "--set memory.mem_len=10: memory: unknown key; did you mean model.mem_len?");
  EXPECT_THAT(error("head.cutoffs=[3]"), testing::HasSubstr("did you mean model.head.cutoffs?"));
  EXPECT_THAT(error("modle.head={\"cutoffs\": [3]}"), testing::HasSubstr("modle: unknown key; did you mean model?"));
  EXPECT_THAT(error("train.lr=1"), testing::HasSubstr("did you mean optimizer.lr?"));
  EXPECT_THAT(error("model.training.max_step=1"), testing::HasSubstr("did you mean training.max_step?"));
  EXPECT_THAT(error("memory.kind=tokens"), testing::HasSubstr("did you mean model.memory.kind?"));
}

TEST(Config, ValuesWrittenOtherwiseAreToldHow) {
  const auto error = [](const std::string& override_text) {
    return error_of(R"({"data": {"path": "d"}})", {override_text});
  };
  EXPECT_THAT(error("model.n_layer=1e5"), testing::EndsWith("found 100000.0"));  // too many, however it is written
  EXPECT_THAT(error("training.max_step=1e5"), testing::HasSubstr("found 100000.0; write 100000"));
  EXPECT_THAT(error("training.max_step=\"30\""), testing::HasSubstr("found \"30\"; write it without quotes: 30"));
  EXPECT_THAT(error("model.mem_len=1,000"), testing::HasSubstr("found \"1,000\"; write 1000"));
  EXPECT_THAT(error("model.dropout=0,5"), testing::HasSubstr("found \"0,5\"; write 0.5"));
  EXPECT_THAT(error("training.report=True"), testing::HasSubstr("found \"True\"; write true"));
  EXPECT_THAT(error("model.layers=3"), testing::HasSubstr("expected a list, found 3; did you mean model.n_layer?"));
  EXPECT_THAT(error("model.position=rope"),
              testing::HasSubstr(R"(found "rope"; write {"kind": "rope"}, or set model.position.kind)"));
  EXPECT_THAT(error("data.path=12"), testing::HasSubstr("found 12; in double quotes it is one: \"12\""));
}

TEST(Config, ARuleBrokenByAnOverrideBlamesIt) {
  const std::string text = R"({"data": {"path": "d"}, "training": {"batch_size": 8, "max_step": 90,
      "stages": [{"until_step": 60, "tgt_len": 64, "mem_len": 0}]}})";
  const std::string rule = "training.stages[0].until_step: expected less than training.max_step = 30, found 60; ";
  const std::string batch = "training.batch_chunk: expected at most training.batch_size = ";
  EXPECT_THAT(error_of(text, {"seed=3", "training.max_step=30"}),
              testing::StartsWith("c.json with --set training.max_step=30: " + rule));
  EXPECT_EQ(error_of(text, {"training.batch_size=2", "training.batch_chunk=4", "seed=3"}),
            "c.json with --set training.batch_chunk=4: " + batch + "2, found 4");
  EXPECT_NO_THROW(parse(text, {"training.max_step=30", "training.stages=[]"}));
  EXPECT_NO_THROW(parse(text, {"training.max_step=30", "training.stages[0].until_step=20"}));
  const std::string broken = R"({"data": {"path": "d"}, "training": {"batch_chunk": 9}})";
  EXPECT_EQ(error_of(broken, {"seed=3"}), "c.json: " + batch + "8, found 9");
}

TEST(Config, WrongValuesNameExpectedAndFound) {
  EXPECT_EQ(error_of(R"({"model": {"n_layer": 1.5}})"),
            "c.json: model.n_layer: expected an integer >= 1 and <= 512, found 1.5");
  EXPECT_EQ(error_of(R"({"model": {"dropout": 1}})"), "c.json: model.dropout: expected a number >= 0 and < 1, found 1");
  EXPECT_EQ(error_of(R"({"optimizer": {"lr": "0.1"}})"),
            "c.json: optimizer.lr: expected a number > 0 and <= 1000, found \"0.1\"; write it without quotes: 0.1");
  EXPECT_EQ(error_of(R"({"schedule": {"kind": "cosin"}})"),
            "c.json: schedule.kind: expected one of \"constant\", \"cosine\", \"inv_sqrt\", \"linear\", \"plateau\", "
            "found \"cosin\"; "
            "did you mean \"cosine\"?");
  EXPECT_EQ(error_of("[]"), "c.json: the document: expected an object, found a list of 0");
  EXPECT_EQ(error_of(R"({"seed": 1, "seed": 2})"), "c.json: seed: duplicate key");
  EXPECT_THAT(error_of("{\n  \"seed\": 1,\n}"),
              testing::StartsWith("c.json: line 3, column 1: expected no comma before }"));
}

TEST(Config, EditorsMayNameTheSchema) {
  EXPECT_EQ(parse(R"({"$schema": "segue.schema.json", "data": {"path": "d"}})").data.path, "d");
  EXPECT_EQ(error_of(R"({"$schema": 1})"), "c.json: $schema: expected a string, found 1");
}

TEST(Config, OverridesWinInTheirOrder) {
  const Config config =
      parse(kSmallest, {"model.mem_len=256", "model.mem_len=64", "optimizer.kind=adamw", "data.path=/a=b",
                        "optimizer.weight_decay=1e-2", R"(model.position={"clamp_len": 7})"});
  EXPECT_EQ(config.model.mem_len, 64);
  EXPECT_EQ(config.optimizer.kind, OptimizerKind::kAdamw);
  EXPECT_EQ(config.optimizer.weight_decay, 0.01);
  EXPECT_EQ(config.data.path, "/a=b");
  EXPECT_EQ(config.model.position.clamp_len, 7);
  EXPECT_EQ(parse("{}", {"data.path=d"}).data.path, "d");
  EXPECT_EQ(parse("{}", {R"(data.path="123")"}).data.path, "123");
}

TEST(Config, OverridesOfTheUseOfAModel) {
  const Config config = parse(kSmallest, {"model.mem_len=64", "model.position.clamp_len=7"});
  const ModelUse as_trained = use_of(config.model);
  EXPECT_EQ(as_trained, (ModelUse{.mem_len = 64, .clamp_len = 7}));
  EXPECT_EQ(use_of(config.model, {}), as_trained);
  const std::vector<std::string> overrides{"model.mem_len=3", "model.memory.initial=zeros",
                                           R"(model.visibility={"same_length": true, "same_length_extra_key": true})"};
  EXPECT_EQ(use_of(config.model, overrides), (ModelUse{.mem_len = 3,
                                                       .clamp_len = 7,
                                                       .same_length = true,
                                                       .same_length_extra_key = true,
                                                       .initial_memory = InitialMemory::kZeros}));
  const std::vector<std::string> shape{R"(model.position={"clamp_len": 3, "kind": "shaw"})"};
  EXPECT_EQ(
      message_of<ConfigError>([&] { use_of(config.model, shape); }),
      R"(--set model.position={"clamp_len": 3, "kind": "shaw"}: model.position.kind: expected a key that says how )"
      "weights are used, such as model.mem_len or model.position.clamp_len");
  const std::vector<std::string> negative{"model.mem_len=-1"};
  const std::vector<std::string> unread{"model.visibility.window=5"};
  EXPECT_EQ(message_of<ConfigError>([&] { use_of(config.model, unread); }),
            R"(--set: model.visibility.window: expected 128 with model.visibility.kind = "causal" (read by "window"), )"
            "found 5");
  EXPECT_EQ(message_of<ConfigError>([&] { use_of(config.model, negative, "eval.json: set"); }),
            "eval.json: set model.mem_len=-1: model.mem_len: expected an integer >= 0 and <= 1048576, found -1");
}

// The keys of an object's schema that are of a role, those of objects in it included.
std::vector<std::string> keys_of_role(const nlohmann::ordered_json& schema, const std::string& role) {
  std::vector<std::string> keys;
  for (const auto& [key, node] : schema["properties"].items()) {
    if (node.contains("properties")) {
      for (const std::string& inner : keys_of_role(node, role)) keys.push_back(key + "." + inner);
    } else {
      EXPECT_THAT(node.value("x-role", "none"), testing::AnyOf("shape", "use", "training")) << key;
      if (node.value("x-role", "") == role) keys.push_back(key);
    }
  }
  return keys;
}

TEST(Config, SchemaGivesEveryKeyOfAModelARole) {
  const nlohmann::ordered_json model = config_schema()["properties"]["model"];
  // These are the keys of ModelUse.
  EXPECT_THAT(
      keys_of_role(model, "use"),
      testing::UnorderedElementsAre("mem_len", "position.clamp_len", "position.rotary_base", "position.rotary_scaling",
                                    "visibility.same_length", "visibility.same_length_extra_key", "visibility.window",
                                    "memory.initial", "memory.compressed_len"));
  EXPECT_THAT(keys_of_role(model, "training"),
              testing::UnorderedElementsAre("dropout", "dropatt", "init.kind", "init.init_std", "init.init_range",
                                            "init.proj_init_std", "visibility.initial", "visibility.penalty",
                                            "memory.reconstruction_weight", "block.gate_bias", "depth.halting_bias",
                                            "depth.ponder_weight"));
  EXPECT_FALSE(config_schema()["properties"]["training"]["properties"]["tgt_len"].contains("x-role"));
}

// Each by its own row.
TEST(Config, SegmentsPerStepNamesTheMemoriesThatHandOnGradients) {
  const nlohmann::ordered_json key = config_schema()["properties"]["training"]["properties"]["segments_per_step"];
  const std::string meaning = key["description"];
  for (size_t i = 0; i < choices_of(MemoryKind{}).size(); ++i) {
    const MemoryConfig memory{.kind = static_cast<MemoryKind>(i)};
    const bool is_named = meaning.find(in_quotes(name_of_choice(memory.kind))) != std::string::npos;
    EXPECT_EQ(is_named, requirements_of(memory).hands_on_gradients) << name_of_choice(memory.kind);
  }
}

TEST(Config, OverriddenKeysAreThoseOfTheValues) {
  const std::vector<std::string> overrides{"model.mem_len=3", R"(model={"position": {"clamp_len": 4}, "n_head": 2})"};
  EXPECT_THAT(overridden_keys(overrides),
              testing::ElementsAre("model.mem_len", "model.n_head", "model.position.clamp_len"));
  EXPECT_EQ(message_of<ConfigError>([&] { refuse_override(overrides, "model.position.clamp_len", "--clamp-len"); }),
            "--clamp-len and set model.position.clamp_len: expected one of them");
  EXPECT_NO_THROW(refuse_override(overrides, "model.position", "--position"));
}

TEST(Config, OverrideErrorsNameTheOverride) {
  EXPECT_EQ(override_error("model.mem_length=3"),
            "--set model.mem_length=3: model.mem_length: unknown key; did you mean model.mem_len?");
  EXPECT_EQ(override_error("mem_len=3"), "--set mem_len=3: mem_len: unknown key; did you mean model.mem_len?");
  EXPECT_EQ(override_error("model.mem_len=four"),
            "--set model.mem_len=four: model.mem_len: expected an integer >= 0 and <= 1048576, found \"four\"");
  EXPECT_EQ(override_error("model.mem_len=null"),
            "--set model.mem_len=null: model.mem_len: expected an integer >= 0 and <= 1048576, found null");
  EXPECT_EQ(override_error("model=3"), "--set model=3: model: expected an object, found 3");
  EXPECT_EQ(override_error("model.mem_len.x=3"),
            "--set model.mem_len.x=3: model.mem_len: expected an integer >= 0 and <= 1048576, found an object");
  EXPECT_EQ(override_error("model.mem_len"), "--set model.mem_len: expected KEY=VALUE, as in model.mem_len=256");
  EXPECT_EQ(override_error("=3"), "--set =3: expected KEY=VALUE, as in model.mem_len=256");
  EXPECT_EQ(override_error(".seed=3"), "--set .seed=3: \"\": unknown key; did you mean seed?");
  EXPECT_EQ(override_error("se\ned=1"), "--set se?ed=1: \"se\\ned\": unknown key");
  EXPECT_THAT(override_error("model={"),
              testing::StartsWith("--set model={: line 1, column 2: expected } before the text ends"));
}

TEST(Config, AnOverrideDoesNotHideAMistakeInTheFile) {
  EXPECT_EQ(error_of(R"({"data": {"path": "d"}, "seed": "x"})", {"seed=1"}),
            "c.json: seed: expected an integer >= 0 and <= 9007199254740991, found \"x\"");
}

TEST(Config, AMissingFileIsNamed) {
  EXPECT_THAT(message_of<FileError>([] { load_config("/nowhere/c.json"); }), testing::HasSubstr("/nowhere/c.json"));
}

TEST(Config, DifferencesAreListedByPath) {
  const Config before = parse(kSmallest);
  EXPECT_THAT(diff_configs(before, before), testing::IsEmpty());
  const Config after = parse(kSmallest, {"optimizer.kind=adamw", "model.mem_len=256", "model.head.tie_projs=[true]"});
  EXPECT_THAT(diff_configs(before, after),
              testing::ElementsAre("model.mem_len: 128 -> 256", "model.head.tie_projs: [] -> [true]",
                                   "optimizer.kind: \"adam\" -> \"adamw\"", "optimizer.weight_decay: not read -> 0.0"));
  EXPECT_THAT(diff_configs(after, before), testing::Contains("optimizer.weight_decay: 0.0 -> not read"));
}

}  // namespace
}  // namespace segue

// Models in the original's names: round trips bitwise, and every way in which files do not fit is named.
#include "core/convert/import_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "core/config/head_kind.h"
#include "core/config/memory_kind.h"
#include "core/config/position_kind.h"
#include "core/convert/arguments.h"
#include "tests/core/convert/model_grid.h"
#include "tests/core/convert/original_model.h"

namespace segue {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

TEST_F(TransformerXlTest, ArgumentsBecomeTheConfig) {
  const ImportedModel imported = import(original_model(), original_args());
  EXPECT_EQ(imported.vocab_size, kVocab);
  EXPECT_EQ(imported.tgt_len, 16);
  EXPECT_EQ(imported.model.n_layer, kLayers);
  EXPECT_EQ(imported.model.n_head, kHeads);
  EXPECT_EQ(imported.model.d_model, kWidth);
  EXPECT_EQ(imported.model.d_head, kHeadWidth);
  EXPECT_EQ(imported.model.d_inner, kInner);
  EXPECT_EQ(imported.model.mem_len, 12);
  EXPECT_EQ(imported.model.position.clamp_len, 9);
  EXPECT_EQ(imported.model.dropout, 0.0);
  EXPECT_TRUE(imported.model.visibility.same_length);
  EXPECT_FALSE(imported.model.visibility.same_length_extra_key);
  EXPECT_FALSE(imported.model.block.pre_lnorm);
  EXPECT_TRUE(imported.model.head.tie_weight);
  EXPECT_THAT(imported.notes, SizeIs(0));
}

TEST_F(TransformerXlTest, TensorsHaveSeguesNames) {
  Json args = original_args();
  args["n_layer"] = 1;
  HeldTensors model = original_model();
  std::erase_if(model, [](const auto& tensor) { return tensor.first.starts_with("layers.1."); });
  EXPECT_THAT(names_of(import(model, args)),
              ElementsAre("attention.u", "attention.w", "embedding.table", "layers.0.attention.qkv",
                          "layers.0.attention.r", "layers.0.attention.output", "layers.0.attention.norm.gain",
                          "layers.0.attention.norm.bias", "layers.0.feed_forward.w1", "layers.0.feed_forward.b1",
                          "layers.0.feed_forward.w2", "layers.0.feed_forward.b2", "layers.0.feed_forward.norm.gain",
                          "layers.0.feed_forward.norm.bias", "head.bias"));
}

TEST_F(TransformerXlTest, BiasUIsTheOneOfContent) {
  const HeldTensors model = original_model();
  const ImportedModel imported = import(model, original_args());
  const OwnedTensor& u = imported.tensors[0].values;
  ASSERT_EQ(imported.tensors[0].name, "attention.u");
  EXPECT_EQ(std::memcmp(u.view().data, model.at("r_w_bias").bytes.data(), model.at("r_w_bias").bytes.size()), 0);
}

TEST_F(TransformerXlTest, RoundTripIsBitwise) {
  const HeldTensors model = original_model();
  expect_same(exported_again(import(model, original_args())), model);
}

TEST_F(TransformerXlTest, BiasesPerLayerAreReadAndNotWritten) {
  HeldTensors model = original_model();
  model.erase("r_w_bias");
  model.erase("r_r_bias");
  for (const std::string layer : {"layers.0.", "layers.1."}) {
    add(model, layer + "dec_attn.r_w_bias", {kHeads, kHeadWidth});
    add(model, layer + "dec_attn.r_r_bias", {kHeads, kHeadWidth});
  }
  Json args = original_args();
  args["untie_r"] = true;
  const ImportedModel imported = import(model, args);
  EXPECT_THAT(names_of(imported), testing::IsSupersetOf({"layers.0.attention.u", "layers.1.attention.w"}));
  EXPECT_EQ(message_of<ConfigError>([&] { exported_again(imported); }),
            "the authors' PyTorch code computes model.position.untie_r false only, this model has true");
}

TEST_F(TransformerXlTest, ArgumentsRoundTrip) {
  const ImportedModel imported = import(original_model(), original_args());
  const std::string text =
      arguments_text(WeightFormat::kTransformerXl, {imported.model, imported.vocab_size, imported.tgt_len});
  const Json written = parse_json<ConfigError>(text, "args");
  Json expected = original_args();
  expected.erase("batch");
  for (const auto& [key, value] : expected.items()) EXPECT_EQ(written.at(key), value) << key;
  const ImportedModel again = import(original_model(), written);
  EXPECT_EQ(arguments_text(WeightFormat::kTransformerXl, {again.model, again.vocab_size, again.tgt_len}), text);
}

TEST_F(TransformerXlTest, FrequenciesAreIgnored) {
  HeldTensors model = original_model();
  add(model, "pos_emb.inv_freq", {kWidth / 2});
  EXPECT_THAT(import(model, original_args()).tensors, SizeIs(original_model().size() - 1));
}

TEST_F(TransformerXlTest, OneOfTwoTiedCopiesIsEnough) {
  for (const std::string left_out : {"word_emb.emb_layers.0.weight", "crit.out_layers.0.weight"}) {
    HeldTensors model = original_model();
    model.erase(left_out);
    expect_same(exported_again(import(model, original_args())), original_model());
  }
}

TEST_F(TransformerXlTest, DoublesAreConvertedWithANote) {
  HeldTensors model = original_model();
  const std::vector<double> doubles(kVocab, 0.1);
  const auto bytes = std::as_bytes(std::span(doubles));
  model["crit.out_layers.0.bias"] = {DType::kFloat64, {kVocab}, {bytes.begin(), bytes.end()}};
  const ImportedModel imported = import(model, original_args());
  EXPECT_EQ(imported.tensors.back().name, "head.bias");
  EXPECT_EQ(imported.tensors.back().values.as<float>()[0], 0.1F);
  EXPECT_THAT(imported.notes, ElementsAre(HasSubstr(": 1 tensors converted from float64 to float32")));
}

TEST_F(TransformerXlTest, TensorsThatDoNotFitAreNamed) {
  HeldTensors model = original_model();
  model.erase("layers.1.pos_ff.CoreNet.3.bias");
  EXPECT_THAT(complaint<CheckpointError>(model, original_args()),
              HasSubstr("model.safetensors: expected a tensor layers.1.pos_ff.CoreNet.3.bias"));

  model = original_model();
  add(model, "crit.cluster_bias", {2});
  EXPECT_EQ(complaint<CheckpointError>(model, original_args()),
            "model.safetensors: tensor crit.cluster_bias is not one of a Transformer-XL with these arguments");

  model = original_model();
  add(model, "r_w_bias", {kHeads, kHeadWidth + 1});
  EXPECT_EQ(complaint<CheckpointError>(model, original_args()),
            "model.safetensors: tensor r_w_bias: expected [2, 4], found [2, 5]");

  model = original_model();
  model["r_w_bias"].dtype = DType::kInt32;
  EXPECT_EQ(complaint<CheckpointError>(model, original_args()),
            "model.safetensors: tensor r_w_bias: expected a floating-point type, found int32");
}

TEST_F(TransformerXlTest, WeightsThatAreNotFiniteAreNamedWithTheirPlace) {
  const auto refused = [&](const std::string& name, const Shape& shape, DType dtype, const auto& values) {
    HeldTensors model = original_model();
    const auto bytes = std::as_bytes(std::span(values));
    model[name] = {dtype, shape, {bytes.begin(), bytes.end()}};
    return complaint<CheckpointError>(model, original_args());
  };
  std::vector<float> floats(kHeads * kHeadWidth, 0.5F);
  floats[6] = std::numeric_limits<float>::quiet_NaN();
  floats[7] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(
      refused("r_w_bias", {kHeads, kHeadWidth}, DType::kFloat32, floats),
      "model.safetensors: tensor r_w_bias: expected finite numbers, found nan at [1, 2] and 2 such in all among 8: "
      "training diverged there, or the file is damaged; take weights of an earlier step");
  std::vector<double> doubles(kVocab, 0.5);
  doubles[3] = -std::numeric_limits<double>::infinity();
  EXPECT_THAT(refused("crit.out_layers.0.bias", {kVocab}, DType::kFloat64, doubles),
              HasSubstr("tensor crit.out_layers.0.bias: expected finite numbers, found -inf at [3] and 1 such"));
  for (const auto& [dtype, infinity] :
       {std::pair<DType, uint16_t>{DType::kFloat16, 0x7c00}, {DType::kBFloat16, 0x7f80}}) {
    std::vector<uint16_t> halves(kVocab, 0);
    halves[0] = infinity;
    EXPECT_THAT(refused("crit.out_layers.0.bias", {kVocab}, dtype, halves), HasSubstr("found inf at [0] and 1 such"));
  }
}

TEST_F(TransformerXlTest, TiedCopiesMustBeTheSame) {
  HeldTensors model = original_model();
  add(model, "crit.out_layers.0.weight", {kVocab, kWidth});
  EXPECT_EQ(complaint<CheckpointError>(model, original_args()),
            "model.safetensors: tensors word_emb.emb_layers.0.weight and crit.out_layers.0.weight: expected the same "
            "values, as the arguments tie them; they differ");
}

TEST_F(TransformerXlTest, ArgumentsOfOtherModelsAreRefused) {
  const auto with = [](const std::string& key, const Json& value) {
    Json args = original_args();
    args[key] = value;
    return args;
  };
  const HeldTensors model = original_model();
  EXPECT_EQ(complaint<ConfigError>(model, with("sample_softmax", 5)),
            "args.json: sample_softmax: expected at most 0 (the whole softmax), found 5");
  EXPECT_EQ(complaint<ConfigError>(model, with("cutoffs", {2, 7})),
            "args.json: cutoffs: expected increasing numbers from 1 to 6, found 7 after 2");
  EXPECT_EQ(complaint<ConfigError>(model, with("cutoffs", {4, 2})),
            "args.json: cutoffs: expected increasing numbers from 1 to 6, found 2 after 4");
  EXPECT_THAT(complaint<ConfigError>(model, with("cutoffs", {0, 2})), HasSubstr("found 0 after 0"));
  EXPECT_THAT(complaint<ConfigError>(model, with("cutoffs", std::vector<int64_t>(65, 1))),
              HasSubstr("cutoffs: expected at most 64 numbers, found 65"));
  EXPECT_EQ(complaint<ConfigError>(model, with("attn_type", 2)),
            "args.json: attn_type: expected 0 (relative attention), found 2");
  EXPECT_EQ(complaint<ConfigError>(model, with("tie_projs", {true, false})),
            "args.json: tie_projs: expected a list of at most 1 with 0 cutoffs, found a list of 2");
  EXPECT_EQ(complaint<ConfigError>(model, with("d_model", 7)), "args.json: d_model: expected an even number, found 7");
  EXPECT_THAT(complaint<ConfigError>(model, with("n_layer", 0)),
              HasSubstr("args.json: n_layer: expected an integer >= 1"));
  EXPECT_EQ(complaint<ConfigError>(model, with("n_layers", 2)),
            "args.json: n_layers: unknown key; did you mean n_layer?");
  EXPECT_THAT(complaint<ConfigError>(model, with("tgt_len", "x")),
              HasSubstr("args.json: tgt_len: expected an integer"));
  EXPECT_EQ(complaint<ConfigError>(model, with("vocab_size", 8)),
            "args.json: vocab_size: expected the 7 of n_token, found 8");
  Json args = original_args();
  args["vocab_size"] = args["n_token"];
  EXPECT_EQ(import(model, args).vocab_size, kVocab);
  args.erase("n_token");
  EXPECT_EQ(import(model, args).vocab_size, kVocab);
  args.erase("vocab_size");
  EXPECT_THAT(complaint<ConfigError>(model, args), HasSubstr("args.json: n_token: required key is missing"));
}

TEST_F(TransformerXlTest, ExportRefusesOtherTensorsAndOtherModels) {
  const ImportedModel imported = import(original_model(), original_args());
  const auto export_of = [&](const std::vector<NamedTensor>& tensors) {
    return message_of<CheckpointError>(
        [&] { export_weights(WeightFormat::kTransformerXl, imported.model, kVocab, tensors, "out"); });
  };
  std::vector<NamedTensor> tensors;
  for (const ImportedTensor& tensor : imported.tensors) tensors.push_back({tensor.name, tensor.values.view()});
  std::vector<NamedTensor> more = tensors;
  more.push_back({"head.table", tensors.front().tensor});
  EXPECT_EQ(export_of(more), "export to out: tensor head.table is not one of the model's");
  std::vector<NamedTensor> wrong = tensors;
  wrong.front().tensor = tensors.back().tensor;
  EXPECT_EQ(export_of(wrong), "export to out: tensor attention.u: expected [2, 4], found [7]");
  tensors.pop_back();
  EXPECT_EQ(export_of(tensors), "export to out: expected a tensor head.bias");
}

TEST_F(TransformerXlTest, ExportRefusesWhatTheProgramDoesNotCompute) {
  const auto complaint = [](WeightFormat format, const auto& change) {
    ModelConfig model = grid_model();
    model.head = {.kind = HeadKind::kAdaptive, .cutoffs = {7}, .div_val = 2};
    change(model);
    return message_of<ConfigError>([&] { check_exportable(format, model); });
  };
  constexpr WeightFormat kPytorch = WeightFormat::kTransformerXl;
  constexpr WeightFormat kHuggingFace = WeightFormat::kHuggingFace;
  EXPECT_EQ(complaint(kPytorch, [](ModelConfig& model) { model.block.activation = ActivationKind::kGelu; }),
            "the authors' PyTorch code computes model.block.activation relu only, this model has gelu");
  EXPECT_EQ(complaint(kPytorch, [](ModelConfig& model) { model.position.kind = PositionKind::kShaw; }),
            "the authors' PyTorch code computes model.position.kind relative only, this model has shaw");
  EXPECT_EQ(complaint(kPytorch, [](ModelConfig& model) { model.block.final_norm = true; }),  // as of any new key
            "the authors' PyTorch code computes model.block.final_norm false only, this model has true");
  EXPECT_EQ(
      complaint(kPytorch, [](ModelConfig& model) { model.layers = {{.only = {0}, .visibility = model.visibility}}; }),
      "the authors' PyTorch code computes model.layers [] only, this model has a list of 1");
  const auto other_epsilon = [](ModelConfig& model) { model.block.layer_norm_epsilon = 1e-6; };
  EXPECT_EQ(complaint(kPytorch, other_epsilon),
            "the authors' PyTorch code computes model.block.layer_norm_epsilon 1e-05 only, this model has 1e-06");
  EXPECT_EQ(complaint(kHuggingFace, other_epsilon), "no error");
  const auto extra_key = [](ModelConfig& model) { model.visibility.same_length_extra_key = true; };
  EXPECT_EQ(complaint(kHuggingFace, extra_key),
            "Hugging Face's transformers computes model.visibility.same_length_extra_key false only, this model has "
            "true");
  EXPECT_EQ(complaint(kHuggingFace,
                      [&](ModelConfig& model) {
                        extra_key(model);
                        model.visibility.same_length = false;
                      }),
            "no error");
  const auto no_projection = [](ModelConfig& model) { model.head.proj_same_dim = false; };
  EXPECT_EQ(complaint(kHuggingFace, no_projection),
            "Hugging Face's transformers computes model.head.proj_same_dim true only, this model has false");
  EXPECT_EQ(complaint(kHuggingFace,
                      [&](ModelConfig& model) {
                        no_projection(model);
                        model.d_embed = 12;
                      }),
            "no error");
}

TEST_F(TransformerXlTest, ExportTellsWhatTheProgramDoesOtherwise) {
  ModelConfig model = grid_model();
  model.head = {.kind = HeadKind::kAdaptive, .cutoffs = {7, 9}, .div_val = 2};
  const HeldTensors tensors = parameters_of(model, kGridVocab);
  const auto notes_of = [&](WeightFormat format) {
    return export_weights(format, model, kGridVocab, named(tensors), directory_ / "out");
  };
  EXPECT_THAT(notes_of(WeightFormat::kTransformerXl), SizeIs(0));
  EXPECT_THAT(notes_of(WeightFormat::kHuggingFace),
              ElementsAre("cluster rows are written in reverse, as Hugging Face's transformers reads them",
                          "this model starts with model.memory.initial empty, Hugging Face's transformers with zeros: "
                          "the losses of the first segments differ"));
  model.memory.kind = MemoryKind::kKeysValues;
  EXPECT_THAT(notes_of(WeightFormat::kTransformerXl),
              ElementsAre("this model was trained with model.memory.kind keys_values, the authors' PyTorch code has "
                          "hidden_states: the same losses until training goes on there"));
}

TEST_F(TransformerXlTest, ImportTellsWhatItSet) {
  EXPECT_THAT(import(original_model(), original_args()).settings,
              ElementsAre("model.block.layer_norm_epsilon = 1e-05: what the authors' PyTorch code adds to variances; "
                          "another one shifts every loss a little",
                          "model.memory.initial = empty: in the authors' PyTorch code the memory grows from nothing; "
                          "the first losses depend on it",
                          "model.visibility.same_length_extra_key = false: with same_length a query sees mem_len keys, "
                          "its own included",
                          "model.position.untie_r = false: all layers share the biases u and w",
                          "model.position.clamp_len = 9: larger distances count as this one; segue eval --clamp-len "
                          "takes another",
                          "model.mem_len = 12: the memory of the source; segue eval --mem-len takes another"));
}

}  // namespace
}  // namespace segue

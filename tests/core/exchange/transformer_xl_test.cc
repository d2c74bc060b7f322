// Models in the original's names: round trips bitwise, and every way in which files do not fit is named.
#include "core/exchange/transformer_xl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/json_text.h"
#include "core/exchange/transformer_xl_args.h"
#include "tests/message_of.h"
#include "tests/temporary_directory.h"

namespace segue {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr int64_t kVocab = 7, kLayers = 2, kHeads = 2, kWidth = 6, kHeadWidth = 4, kInner = 5;

struct OriginalTensor {
  DType dtype = DType::kFloat32;
  Shape shape;
  std::vector<std::byte> bytes;
};
using OriginalModel = std::map<std::string, OriginalTensor>;

void add(OriginalModel& model, const std::string& name, const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(model.size()) + 0.001F * static_cast<float>(i);
  const auto bytes = std::as_bytes(std::span(values));
  model[name] = {DType::kFloat32, shape, {bytes.begin(), bytes.end()}};
}

void add_layer(OriginalModel& model, const std::string& layer) {
  constexpr int64_t kHeadsWidth = kHeads * kHeadWidth;
  add(model, layer + "dec_attn.qkv_net.weight", {3 * kHeadsWidth, kWidth});
  add(model, layer + "dec_attn.r_net.weight", {kHeadsWidth, kWidth});
  add(model, layer + "dec_attn.o_net.weight", {kWidth, kHeadsWidth});
  add(model, layer + "pos_ff.CoreNet.0.weight", {kInner, kWidth});
  add(model, layer + "pos_ff.CoreNet.0.bias", {kInner});
  add(model, layer + "pos_ff.CoreNet.3.weight", {kWidth, kInner});
  add(model, layer + "pos_ff.CoreNet.3.bias", {kWidth});
  for (const std::string norm : {"dec_attn.layer_norm.", "pos_ff.layer_norm."}) {
    add(model, layer + norm + "weight", {kWidth});
    add(model, layer + norm + "bias", {kWidth});
  }
}

// Tied as the published models are: both names, one content.
OriginalModel original_model(int64_t d_embed = kWidth) {
  OriginalModel model;
  add(model, "r_w_bias", {kHeads, kHeadWidth});
  add(model, "r_r_bias", {kHeads, kHeadWidth});
  add(model, "word_emb.emb_layers.0.weight", {kVocab, d_embed});
  model["crit.out_layers.0.weight"] = model["word_emb.emb_layers.0.weight"];
  add(model, "crit.out_layers.0.bias", {kVocab});
  for (int64_t layer = 0; layer < kLayers; ++layer) add_layer(model, fmt::format("layers.{}.", layer));
  return model;
}

Json original_args() {
  return {{"n_token", kVocab},    {"n_layer", kLayers},
          {"n_head", kHeads},     {"d_model", kWidth},
          {"d_head", kHeadWidth}, {"d_inner", kInner},
          {"d_embed", kWidth},    {"tied", true},
          {"div_val", 1},         {"tie_projs", {false}},
          {"pre_lnorm", false},   {"tgt_len", 16},
          {"mem_len", 12},        {"cutoffs", Json::array()},
          {"same_length", true},  {"attn_type", 0},
          {"clamp_len", 9},       {"batch", 3}};
}

class TransformerXlTest : public testing::Test {
 protected:
  ImportedModel import(const OriginalModel& model, const Json& args) {
    write(directory_ / "model.safetensors", model);
    write_file_atomically(directory_ / "args.json", args.dump());
    return import_transformer_xl(directory_ / "model.safetensors", directory_ / "args.json");
  }

  // What is wrong with these files, without the directory's name.
  template <typename Error>
  std::string complaint(const OriginalModel& model, const Json& args) {
    const std::string message = message_of<Error>([&] { import(model, args); });
    const std::string prefix = directory_.path().string() + "/";
    return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
  }

  static void write(const std::filesystem::path& path, const OriginalModel& model) {
    std::vector<NamedTensor> tensors;
    for (const auto& [name, tensor] : model)
      tensors.push_back({name, {tensor.bytes.data(), tensor.dtype, tensor.shape}});
    write_safetensors(path, tensors, {});
  }

  static OriginalModel read(const std::filesystem::path& path) {
    const SafetensorsFile file(path);
    OriginalModel model;
    for (const std::string& name : file.names()) {
      const ConstTensorView view = file.tensor(name);
      model[name] = {view.dtype, view.shape, {view.data, view.data + view.bytes()}};
    }
    return model;
  }

  OriginalModel exported_again(const ImportedModel& imported) {
    std::vector<NamedTensor> tensors;
    for (const ImportedTensor& tensor : imported.tensors) tensors.push_back({tensor.name, tensor.values.view()});
    export_transformer_xl(imported.model, imported.vocab_size, tensors, directory_ / "exported.safetensors");
    return read(directory_ / "exported.safetensors");
  }

  static void expect_same(const OriginalModel& found, const OriginalModel& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [name, tensor] : expected) {
      ASSERT_TRUE(found.contains(name)) << name;
      EXPECT_EQ(found.at(name).shape, tensor.shape) << name;
      EXPECT_EQ(found.at(name).bytes, tensor.bytes) << name;
    }
  }

  static std::vector<std::string> names_of(const ImportedModel& imported) {
    std::vector<std::string> names;
    for (const ImportedTensor& tensor : imported.tensors) names.push_back(tensor.name);
    return names;
  }

  const TemporaryDirectory directory_;
};

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
  OriginalModel model = original_model();
  std::erase_if(model, [](const auto& tensor) { return tensor.first.starts_with("layers.1."); });
  EXPECT_THAT(names_of(import(model, args)),
              ElementsAre("embedding.table", "attention.u", "attention.w", "layers.0.attention.qkv",
                          "layers.0.attention.r", "layers.0.attention.output", "layers.0.attention.norm.gain",
                          "layers.0.attention.norm.bias", "layers.0.feed_forward.w1", "layers.0.feed_forward.b1",
                          "layers.0.feed_forward.w2", "layers.0.feed_forward.b2", "layers.0.feed_forward.norm.gain",
                          "layers.0.feed_forward.norm.bias", "head.bias"));
}

TEST_F(TransformerXlTest, BiasUIsTheOneOfContent) {
  const OriginalModel model = original_model();
  const ImportedModel imported = import(model, original_args());
  const OwnedTensor& u = imported.tensors[1].values;
  ASSERT_EQ(imported.tensors[1].name, "attention.u");
  EXPECT_EQ(std::memcmp(u.view().data, model.at("r_w_bias").bytes.data(), model.at("r_w_bias").bytes.size()), 0);
}

TEST_F(TransformerXlTest, RoundTripIsBitwise) {
  const OriginalModel model = original_model();
  expect_same(exported_again(import(model, original_args())), model);
}

TEST_F(TransformerXlTest, RoundTripOfANarrowEmbeddingWithItsOwnHead) {
  OriginalModel model = original_model(4);
  add(model, "crit.out_layers.0.weight", {kVocab, 4});
  add(model, "word_emb.emb_projs.0", {kWidth, 4});
  add(model, "crit.out_projs.0", {kWidth, 4});
  Json args = original_args();
  args["d_embed"] = 4;
  args["tied"] = false;
  const ImportedModel imported = import(model, args);
  EXPECT_THAT(names_of(imported), testing::IsSupersetOf({"head.table", "embedding.projection", "head.projection"}));
  expect_same(exported_again(imported), model);
}

TEST_F(TransformerXlTest, RoundTripOfTiedProjections) {
  OriginalModel model = original_model(4);
  add(model, "word_emb.emb_projs.0", {kWidth, 4});
  model["crit.out_projs.0"] = model["word_emb.emb_projs.0"];
  Json args = original_args();
  args["d_embed"] = 4;
  args["tie_projs"] = {true};
  expect_same(exported_again(import(model, args)), model);
}

TEST_F(TransformerXlTest, RoundTripOfBiasesPerLayer) {
  OriginalModel model = original_model();
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
  expect_same(exported_again(imported), model);
}

TEST_F(TransformerXlTest, ArgumentsRoundTrip) {
  const ImportedModel imported = import(original_model(), original_args());
  const std::string text = transformer_xl_args_text({imported.model, imported.vocab_size, imported.tgt_len});
  const Json written = parse_json<ConfigError>(text, "args");
  Json expected = original_args();
  expected.erase("batch");
  for (const auto& [key, value] : expected.items()) EXPECT_EQ(written.at(key), value) << key;
  const ImportedModel again = import(original_model(), written);
  EXPECT_EQ(transformer_xl_args_text({again.model, again.vocab_size, again.tgt_len}), text);
}

TEST_F(TransformerXlTest, FrequenciesAreIgnored) {
  OriginalModel model = original_model();
  add(model, "pos_emb.inv_freq", {kWidth / 2});
  EXPECT_THAT(import(model, original_args()).tensors, SizeIs(original_model().size() - 1));
}

TEST_F(TransformerXlTest, OneOfTwoTiedCopiesIsEnough) {
  for (const std::string left_out : {"word_emb.emb_layers.0.weight", "crit.out_layers.0.weight"}) {
    OriginalModel model = original_model();
    model.erase(left_out);
    expect_same(exported_again(import(model, original_args())), original_model());
  }
}

TEST_F(TransformerXlTest, DoublesAreConvertedWithANote) {
  OriginalModel model = original_model();
  const std::vector<double> doubles(kVocab, 0.1);
  const auto bytes = std::as_bytes(std::span(doubles));
  model["crit.out_layers.0.bias"] = {DType::kFloat64, {kVocab}, {bytes.begin(), bytes.end()}};
  const ImportedModel imported = import(model, original_args());
  EXPECT_EQ(imported.tensors.back().name, "head.bias");
  EXPECT_EQ(imported.tensors.back().values.as<float>()[0], 0.1F);
  EXPECT_THAT(imported.notes, ElementsAre(HasSubstr(": 1 tensors converted from float64 to float32")));
}

TEST_F(TransformerXlTest, TensorsThatDoNotFitAreNamed) {
  OriginalModel model = original_model();
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

TEST_F(TransformerXlTest, TiedCopiesMustBeTheSame) {
  OriginalModel model = original_model();
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
  const OriginalModel model = original_model();
  EXPECT_EQ(complaint<ConfigError>(model, with("div_val", 2)),
            "args.json: div_val, cutoffs, sample_softmax: expected 1, [] and at most 0 (a plain softmax), found 2, a "
            "list of 0 and -1");
  EXPECT_THAT(complaint<ConfigError>(model, with("cutoffs", {2, 4})), HasSubstr("found 1, a list of 2 and -1"));
  EXPECT_THAT(complaint<ConfigError>(model, with("sample_softmax", 5)), HasSubstr("a list of 0 and 5"));
  EXPECT_EQ(complaint<ConfigError>(model, with("attn_type", 2)),
            "args.json: attn_type: expected 0 (relative attention), found 2");
  EXPECT_EQ(complaint<ConfigError>(model, with("tie_projs", {true, false})),
            "args.json: tie_projs: expected a list of at most 1 without cutoffs, found a list of 2");
  EXPECT_EQ(complaint<ConfigError>(model, with("d_model", 7)), "args.json: d_model: expected an even number, found 7");
  EXPECT_THAT(complaint<ConfigError>(model, with("n_layer", 0)),
              HasSubstr("args.json: n_layer: expected an integer >= 1"));
  EXPECT_EQ(complaint<ConfigError>(model, with("n_layers", 2)),
            "args.json: n_layers: unknown key; did you mean n_layer?");
  EXPECT_THAT(complaint<ConfigError>(model, with("tgt_len", "x")),
              HasSubstr("args.json: tgt_len: expected an integer"));
  Json args = original_args();
  args.erase("n_token");
  EXPECT_THAT(complaint<ConfigError>(model, args), HasSubstr("args.json: n_token: required key is missing"));
}

TEST_F(TransformerXlTest, ExportRefusesOtherTensorsAndOtherModels) {
  const ImportedModel imported = import(original_model(), original_args());
  const auto export_of = [&](const std::vector<NamedTensor>& tensors) {
    return message_of<CheckpointError>([&] { export_transformer_xl(imported.model, kVocab, tensors, "out"); });
  };
  std::vector<NamedTensor> tensors;
  for (const ImportedTensor& tensor : imported.tensors) tensors.push_back({tensor.name, tensor.values.view()});
  std::vector<NamedTensor> more = tensors;
  more.push_back({"head.table", tensors.front().tensor});
  EXPECT_EQ(export_of(more), "export to out: tensor head.table has no name in the original");
  std::vector<NamedTensor> wrong = tensors;
  wrong.front().tensor = tensors.back().tensor;
  EXPECT_EQ(export_of(wrong), "export to out: tensor embedding.table: expected [7, 6], found [7]");
  tensors.pop_back();
  EXPECT_EQ(export_of(tensors), "export to out: expected a tensor head.bias");

  ModelConfig model = imported.model;
  model.block.activation = ActivationKind::kGelu;
  EXPECT_THAT(message_of<ConfigError>([&] { export_transformer_xl(model, kVocab, tensors, "out"); }),
              HasSubstr("the original Transformer-XL has model.block.activation relu"));
}

}  // namespace
}  // namespace segue

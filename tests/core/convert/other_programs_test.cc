// Files as NVIDIA's, Hugging Face's and the authors' TensorFlow code write them, made here from a model of Segue by
// those programs' own rules, and read back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "base/json_fields.h"
#include "core/config/head_kind.h"
#include "core/convert/import_model.h"
#include "core/head/vocabulary_clusters.h"
#include "tests/core/convert/foreign_model.h"
#include "tests/core/convert/model_grid.h"
#include "tests/message_of.h"
#include "tests/temporary_directory.h"

namespace segue {
namespace {

using testing::Contains;
using testing::HasSubstr;

HeldTensor transpose(const HeldTensor& tensor) {
  const int64_t rows = tensor.shape[0];
  const int64_t columns = tensor.shape[1];
  std::vector<float> values(static_cast<size_t>(rows * columns));
  const auto* from = tensor.view().as<float>();
  for (int64_t i = 0; i < rows * columns; ++i) values[static_cast<size_t>(i % columns * rows + i / columns)] = from[i];
  return held(values, {columns, rows});
}

HeldTensor rows_of(const HeldTensor& tensor, int64_t begin, int64_t count) {
  return held(tensor.view().rows(begin, count));
}

HeldTensor stacked(const std::vector<HeldTensor>& layers) {
  HeldTensor result{DType::kFloat32, {std::ssize(layers)}, {}};
  for (int i = 0; i < layers.front().shape.rank(); ++i) result.shape.append(layers.front().shape[i]);
  for (const HeldTensor& layer : layers)
    result.bytes.insert(result.bytes.end(), layer.bytes.begin(), layer.bytes.end());
  return result;
}

// The arguments that all these programs share.
Json arguments_of(const ModelConfig& model) {
  return {{"n_token", kGridVocab},
          {"n_layer", model.n_layer},
          {"n_head", model.n_head},
          {"d_model", model.d_model},
          {"d_head", model.d_head},
          {"d_inner", model.d_inner},
          {"d_embed", effective_d_embed(model)},
          {"div_val", model.head.div_val},
          {"cutoffs", model.head.cutoffs},
          {"tie_projs", model.head.tie_projs},
          {"same_length", model.visibility.same_length},
          {"clamp_len", model.position.clamp_len},
          {"mem_len", model.mem_len},
          {"tgt_len", 16},
          {"dropout", model.dropout},
          {"dropatt", model.dropatt}};
}

class OtherProgramsTest : public testing::Test {
 protected:
  ImportedModel import(WeightFormat format, const HeldTensors& tensors, const Json& arguments) const {
    write_safetensors(directory_ / "weights", named(tensors), {});
    write_file_atomically(directory_ / "args", arguments.dump());
    return import_model(format, directory_ / "weights", directory_ / "args");
  }

  const TemporaryDirectory directory_;
};

// The layers as all three PyTorch codes name them, below `prefix`.
void add_layers(HeldTensors& to, const HeldTensors& from, const ModelConfig& model, const std::string& prefix) {
  const std::map<std::string, std::string> names{
      {"attention.qkv", "dec_attn.qkv_net.weight"},        {"attention.r", "dec_attn.r_net.weight"},
      {"attention.output", "dec_attn.o_net.weight"},       {"attention.norm.gain", "dec_attn.layer_norm.weight"},
      {"attention.norm.bias", "dec_attn.layer_norm.bias"}, {"feed_forward.w1", "pos_ff.CoreNet.0.weight"},
      {"feed_forward.b1", "pos_ff.CoreNet.0.bias"},        {"feed_forward.w2", "pos_ff.CoreNet.3.weight"},
      {"feed_forward.b2", "pos_ff.CoreNet.3.bias"},        {"feed_forward.norm.gain", "pos_ff.layer_norm.weight"},
      {"feed_forward.norm.bias", "pos_ff.layer_norm.bias"}};
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    const std::string place = fmt::format("layers.{}.", layer);
    for (const auto& [ours, theirs] : names) to[prefix + place + theirs] = from.at(place + ours);
  }
}

std::string cluster_of(const ModelConfig& model, int64_t i) {
  return model.head.div_val > 1 ? fmt::format("clusters.{}.", i) : "";
}

// ProjectedAdaptiveLogSoftmax of NVIDIA's code: weights in a plain list when tied (so not in the file), projections of
// the embedding once more under crit.shared_out_projs, its own projections under their cluster's number.
HeldTensors nvidia_tensors(const ModelConfig& model, const HeldTensors& ours) {
  HeldTensors theirs;
  add_layers(theirs, ours, model, "");
  theirs["r_w_bias"] = ours.at("attention.u");
  theirs["r_r_bias"] = ours.at("attention.w");
  theirs["pos_emb.inv_freq"] = distinct_values(0, {model.d_model / 2});
  const int64_t clusters = std::ssize(model.head.cutoffs) + 1;
  for (int64_t i = 0; i < (model.head.div_val > 1 ? clusters : 1); ++i) {
    const std::string cluster = cluster_of(model, i);
    theirs[fmt::format("word_emb.emb_layers.{}.weight", i)] = ours.at("embedding." + cluster + "table");
    theirs[fmt::format("crit.out_layers_biases.{}", i)] = ours.at("head." + cluster + "bias");
    if (!model.head.tie_weight)
      theirs[fmt::format("crit.out_layers_weights.{}", i)] = ours.at("head." + cluster + "table");
    if (!ours.contains("embedding." + cluster + "projection")) continue;
    theirs[fmt::format("word_emb.emb_projs.{}", i)] = ours.at("embedding." + cluster + "projection");
    theirs[fmt::format("crit.shared_out_projs.{}", i)] = ours.at("embedding." + cluster + "projection");
  }
  for (int64_t i = 0; i < clusters; ++i) {
    const std::string own =
        model.head.kind == HeadKind::kSoftmax ? "head.projection" : fmt::format("head.clusters.{}.projection", i);
    if (ours.contains(own)) theirs[fmt::format("crit.out_projs.{}", i)] = ours.at(own);
  }
  if (clusters > 1) {
    theirs["crit.cluster_weight"] = ours.at("head.cluster_weight");
    theirs["crit.cluster_bias"] = ours.at("head.cluster_bias");
  }
  return theirs;
}

TEST_F(OtherProgramsTest, NvidiaModels) {
  for (const ModelConfig& model : model_grid(false)) {
    SCOPED_TRACE(write_fields(model.head).dump() + " d_embed " + std::to_string(model.d_embed));
    const HeldTensors ours = parameters_of(model, kGridVocab);
    Json arguments = arguments_of(model);
    arguments["tie_weight"] = model.head.tie_weight;
    arguments["dtype"] = nullptr;
    arguments["ext_len"] = 0;
    arguments["attn_type"] = 0;
    arguments["pre_lnorm"] = model.block.pre_lnorm;
    arguments["sample_softmax"] = -1;
    const ImportedModel imported = import(WeightFormat::kNvidia, nvidia_tensors(model, ours), arguments);
    EXPECT_TRUE(tensors_of(imported) == ours);
    EXPECT_EQ(imported.model.head.cluster_order, ClusterOrder::kReversed);
    EXPECT_EQ(imported.model.memory.initial, InitialMemory::kEmpty);
    EXPECT_TRUE(imported.model.visibility.same_length_extra_key);
    EXPECT_EQ(imported.model.block.layer_norm_epsilon, 1e-5);
    EXPECT_EQ(imported.model.block.pre_lnorm, model.block.pre_lnorm);
    EXPECT_EQ(imported.model.head.tie_weight, model.head.tie_weight);
  }
}

// The variables of model.py: kernels and projections [in, out], tables always tied, biases of all layers in one.
HeldTensors tensorflow_variables(const ModelConfig& model, const HeldTensors& ours) {
  HeldTensors theirs;
  const std::map<std::string, std::string> copies{{"attention.norm.gain", "rel_attn/LayerNorm/gamma"},
                                                  {"attention.norm.bias", "rel_attn/LayerNorm/beta"},
                                                  {"feed_forward.b1", "ff/layer_1/bias"},
                                                  {"feed_forward.b2", "ff/layer_2/bias"},
                                                  {"feed_forward.norm.gain", "ff/LayerNorm/gamma"},
                                                  {"feed_forward.norm.bias", "ff/LayerNorm/beta"}};
  const std::map<std::string, std::string> kernels{{"attention.qkv", "rel_attn/qkv/kernel"},
                                                   {"attention.r", "rel_attn/r/kernel"},
                                                   {"attention.output", "rel_attn/o/kernel"},
                                                   {"feed_forward.w1", "ff/layer_1/kernel"},
                                                   {"feed_forward.w2", "ff/layer_2/kernel"}};
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    const std::string from = fmt::format("layers.{}.", layer);
    const std::string to = fmt::format("transformer/layer_{}/", layer);
    for (const auto& [name, variable] : copies) theirs[to + variable] = ours.at(from + name);
    for (const auto& [name, variable] : kernels) theirs[to + variable] = transpose(ours.at(from + name));
  }
  for (const auto& [name, variable] : {std::pair("attention.u", "r_w_bias"), std::pair("attention.w", "r_r_bias")}) {
    std::vector<HeldTensor> layers;
    for (int64_t layer = 0; model.position.untie_r && layer < model.n_layer; ++layer)
      layers.push_back(ours.at(fmt::format("layers.{}.{}", layer, name)));
    theirs[std::string("transformer/") + variable] = layers.empty() ? ours.at(name) : stacked(layers);
  }

  const std::string embedding = "transformer/adaptive_embed/";
  const std::string softmax = "transformer/adaptive_softmax/";
  const std::vector<VocabularyCluster> clusters = vocabulary_clusters(model, kGridVocab);
  for (size_t i = 0; i < clusters.size(); ++i) {
    const std::string part = fmt::format("cutoff_{}/", i);
    const std::string own = model.head.div_val > 1 ? part : "";
    const std::string cluster = cluster_of(model, static_cast<int64_t>(i));
    theirs[embedding + own + "lookup_table"] = ours.at("embedding." + cluster + "table");
    if (ours.contains("embedding." + cluster + "projection"))
      theirs[embedding + own + "proj_W"] = transpose(ours.at("embedding." + cluster + "projection"));
    const HeldTensor& bias = ours.at("head." + cluster + "bias");
    if (clusters.size() == 1) {
      theirs[softmax + "bias"] = bias;
      continue;
    }
    theirs[softmax + part + "b"] = cluster.empty() ? rows_of(bias, clusters[i].first, clusters[i].words) : bias;
    const std::string projection = fmt::format("head.clusters.{}.projection", i);
    if (ours.contains(projection)) theirs[softmax + part + "proj"] = transpose(ours.at(projection));
  }
  if (clusters.size() > 1) {
    theirs[softmax + "cutoff_0/cluster_W"] = ours.at("head.cluster_weight");
    theirs[softmax + "cutoff_0/cluster_b"] = ours.at("head.cluster_bias");
  }
  return theirs;
}

// Whether TensorFlow's code can build such a model.
bool is_tensorflow_model(const ModelConfig& model) {
  const HeadConfig& head = model.head;
  if (!head.tie_weight || model.block.pre_lnorm) return false;
  return !head.cutoffs.empty() || (head.div_val == 1 && head.tie_projs.front());
}

TEST_F(OtherProgramsTest, TensorflowModels) {
  int models = 0;
  for (ModelConfig model : model_grid(true)) {
    model.block.pre_lnorm = false;
    if (!is_tensorflow_model(model)) continue;
    for (const bool proj_same_dim : {true, false}) {
      if (model.head.div_val == 1 && !proj_same_dim) continue;
      model.head.proj_same_dim = proj_same_dim;
      SCOPED_TRACE(write_fields(model.head).dump() + " d_embed " + std::to_string(model.d_embed));
      const HeldTensors ours = parameters_of(model, kGridVocab);
      Json arguments = arguments_of(model);
      arguments["proj_same_dim"] = proj_same_dim;
      arguments["untie_r"] = model.position.untie_r;
      const ImportedModel imported =
          import(WeightFormat::kTransformerXlTf, tensorflow_variables(model, ours), arguments);
      EXPECT_TRUE(tensors_of(imported) == ours);
      EXPECT_EQ(imported.model.block.layer_norm_epsilon, 1e-12);
      EXPECT_EQ(imported.model.memory.initial, InitialMemory::kZeros);
      EXPECT_TRUE(imported.model.visibility.same_length_extra_key);
      EXPECT_EQ(imported.model.position.untie_r, model.position.untie_r);
      if (model.head.kind == HeadKind::kAdaptive) {
        EXPECT_EQ(imported.model.head.cluster_order, ClusterOrder::kAscending);
        EXPECT_EQ(imported.model.head.proj_same_dim, proj_same_dim);
      }
      ++models;
    }
  }
  EXPECT_GT(models, 50);
}

ModelConfig adaptive_model() {
  ModelConfig model = grid_model();
  model.head = {.kind = HeadKind::kAdaptive, .tie_projs = {false, true}, .cutoffs = {7}, .div_val = 2};
  return model;
}

TEST_F(OtherProgramsTest, TensorflowOptimizerIsPassedOver) {
  const ModelConfig model = adaptive_model();
  HeldTensors variables = tensorflow_variables(model, parameters_of(model, kGridVocab));
  const HeldTensors weights = variables;
  for (const auto& [name, tensor] : weights) {
    variables[name + "/Adam"] = tensor;
    variables[name + "/Adam_1"] = tensor;
  }
  variables["global_step"] = distinct_values(1, {});
  const ImportedModel imported = import(WeightFormat::kTransformerXlTf, variables, arguments_of(model));
  EXPECT_THAT(imported.notes,
              Contains(HasSubstr(fmt::format("passed over {} tensors of the optimizer", 2 * weights.size() + 1))));
}

TEST_F(OtherProgramsTest, TensorflowModelsThatItCannotBuildAreRefused) {
  const auto complaint = [&](const std::string& key, const Json& value) {
    Json arguments = arguments_of(adaptive_model());
    arguments["tie_projs"] = Json::array();
    arguments[key] = value;
    return message_of<ConfigError>([&] { import(WeightFormat::kTransformerXlTf, {}, arguments); });
  };
  EXPECT_THAT(complaint("tie_weight", false), HasSubstr("tie_weight: expected true, found false"));
  EXPECT_THAT(complaint("cutoffs", Json::array()), HasSubstr("div_val: expected 1 without cutoffs, found 2"));
  EXPECT_THAT(complaint("pre_lnorm", true), HasSubstr("pre_lnorm: unknown key"));
}

// The state_dict of a TransfoXLLMHeadModel, as its save_pretrained writes it: without what is shared.
HeldTensors hugging_face_tensors(const ModelConfig& model, const HeldTensors& ours) {
  HeldTensors theirs;
  add_layers(theirs, ours, model, "transformer.");
  theirs["transformer.r_w_bias"] = ours.at("attention.u");
  theirs["transformer.r_r_bias"] = ours.at("attention.w");
  theirs["transformer.pos_emb.inv_freq"] = distinct_values(0, {model.d_model / 2});
  for (int64_t i = 0; i <= std::ssize(model.head.cutoffs); ++i) {
    const std::string cluster = cluster_of(model, i);
    theirs[fmt::format("transformer.word_emb.emb_layers.{}.weight", i)] = ours.at("embedding." + cluster + "table");
    theirs[fmt::format("transformer.word_emb.emb_projs.{}", i)] = ours.at("embedding." + cluster + "projection");
    theirs[fmt::format("crit.out_layers.{}.bias", i)] = ours.at("head." + cluster + "bias");
    if (!model.head.tie_projs[static_cast<size_t>(i)])
      theirs[fmt::format("crit.out_projs.{}", i)] = ours.at("head." + cluster + "projection");
  }
  theirs["crit.cluster_weight"] = ours.at("head.cluster_weight");
  theirs["crit.cluster_bias"] = ours.at("head.cluster_bias");
  return theirs;
}

Json hugging_face_config(const ModelConfig& model) {
  Json config = arguments_of(model);
  config.erase("n_token");
  config.erase("tgt_len");
  config["vocab_size"] = kGridVocab;
  config["untie_r"] = false;
  config["layer_norm_epsilon"] = 1e-6;
  config["model_type"] = "transfo-xl";
  config["torch_dtype"] = "float32";
  config["task_specific_params"] = {{"text-generation", {{"do_sample", true}}}};
  config["bos_token_id"] = nullptr;
  config["a\nline\x7f"] = 1;
  return config;
}

TEST_F(OtherProgramsTest, HuggingFaceModels) {
  const ModelConfig model = adaptive_model();
  const HeldTensors ours = parameters_of(model, kGridVocab);
  const ImportedModel imported =
      import(WeightFormat::kHuggingFace, hugging_face_tensors(model, ours), hugging_face_config(model));
  EXPECT_TRUE(tensors_of(imported) == ours);
  EXPECT_EQ(imported.model.block.layer_norm_epsilon, 1e-6);
  EXPECT_EQ(imported.model.head.cluster_order, ClusterOrder::kAscending);
  EXPECT_EQ(imported.model.memory.initial, InitialMemory::kZeros);
  EXPECT_FALSE(imported.model.visibility.same_length_extra_key);
  EXPECT_EQ(imported.tgt_len, 128);
  EXPECT_THAT(imported.notes, Contains(HasSubstr(R"(passed over "a\nline\u007f", task_specific_params, torch_dtype)")));
  EXPECT_THAT(imported.notes, Contains(HasSubstr("has no tgt_len; 128 is used")));
}

TEST_F(OtherProgramsTest, HuggingFaceSharesAllProjectionsButTheFirstUnlessToldOtherwise) {
  const ModelConfig model = adaptive_model();
  const HeldTensors ours = parameters_of(model, kGridVocab);
  Json config = hugging_face_config(model);
  config.erase("tie_projs");
  EXPECT_EQ(import(WeightFormat::kHuggingFace, hugging_face_tensors(model, ours), config).model.head.tie_projs,
            (std::vector<bool>{false, true}));
}

// Keys as versions of transformers have had them.
TEST_F(OtherProgramsTest, HuggingFaceConfigsOfOtherAgesAreRead) {
  const ModelConfig model = adaptive_model();
  const HeldTensors tensors = hugging_face_tensors(model, parameters_of(model, kGridVocab));
  Json config = hugging_face_config(model);
  config["n_token"] = config["vocab_size"];
  EXPECT_EQ(import(WeightFormat::kHuggingFace, tensors, config).vocab_size, kGridVocab);
  config.erase("vocab_size");
  config["hidden_size"] = config["d_model"];
  config.erase("d_model");
  EXPECT_EQ(import(WeightFormat::kHuggingFace, tensors, config).vocab_size, kGridVocab);
  config["vocab_size"] = kGridVocab + 1;
  EXPECT_THAT(message_of<ConfigError>([&] { import(WeightFormat::kHuggingFace, tensors, config); }),
              HasSubstr(fmt::format("n_token: expected the {} of vocab_size, found {}", kGridVocab + 1, kGridVocab)));
  config.erase("vocab_size");
  config.erase("tie_word_embeddings");
  config["tie_weight"] = false;
  EXPECT_THAT(message_of<CheckpointError>([&] { import(WeightFormat::kHuggingFace, tensors, config); }),
              HasSubstr("expected a tensor"));
}

TEST_F(OtherProgramsTest, HuggingFaceConfigsOfOtherModelsAreRefused) {
  Json config = hugging_face_config(adaptive_model());
  config["model_type"] = "gpt2";
  EXPECT_THAT(message_of<ConfigError>([&] { import(WeightFormat::kHuggingFace, {}, config); }),
              HasSubstr("model_type: expected \"transfo-xl\", found \"gpt2\""));
}

TEST_F(OtherProgramsTest, NamesOfAnotherProgramAreRecognised) {
  const ModelConfig model = adaptive_model();
  const HeldTensors ours = parameters_of(model, kGridVocab);
  Json arguments = arguments_of(model);
  EXPECT_THAT(message_of<CheckpointError>(
                  [&] { import(WeightFormat::kTransformerXl, hugging_face_tensors(model, ours), arguments); }),
              HasSubstr("expected a tensor r_w_bias, found none; the names are those of --from huggingface"));
  EXPECT_THAT(message_of<CheckpointError>(
                  [&] { import(WeightFormat::kTransformerXl, nvidia_tensors(model, ours), arguments); }),
              HasSubstr("the names are those of --from nvidia"));
  EXPECT_THAT(message_of<CheckpointError>(
                  [&] { import(WeightFormat::kTransformerXl, tensorflow_variables(model, ours), arguments); }),
              HasSubstr("the names are those of --from transformer-xl-tf"));
}

}  // namespace
}  // namespace segue

// A small model in the names of the authors' PyTorch code, and its way through import and export.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json_text.h"
#include "core/convert/export_model.h"
#include "core/convert/import_model.h"
#include "tests/core/convert/foreign_model.h"
#include "tests/message_of.h"
#include "tests/temporary_directory.h"

namespace segue {

inline constexpr int64_t kVocab = 7, kLayers = 2, kHeads = 2, kWidth = 6, kHeadWidth = 4, kInner = 5;

inline void add(HeldTensors& model, const std::string& name, const Shape& shape) {
  model[name] = distinct_values(std::ssize(model), shape);
}

inline void add_layer(HeldTensors& model, const std::string& layer) {
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
inline HeldTensors original_model(int64_t d_embed = kWidth) {
  HeldTensors model;
  add(model, "r_w_bias", {kHeads, kHeadWidth});
  add(model, "r_r_bias", {kHeads, kHeadWidth});
  add(model, "word_emb.emb_layers.0.weight", {kVocab, d_embed});
  model["crit.out_layers.0.weight"] = model["word_emb.emb_layers.0.weight"];
  add(model, "crit.out_layers.0.bias", {kVocab});
  for (int64_t layer = 0; layer < kLayers; ++layer) add_layer(model, fmt::format("layers.{}.", layer));
  return model;
}

inline Json original_args() {
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
  ImportedModel import(const HeldTensors& model, const Json& args) {
    write_safetensors(directory_ / "model.safetensors", named(model), {});
    write_file_atomically(directory_ / "args.json", args.dump());
    return import_model(WeightFormat::kTransformerXl, directory_ / "model.safetensors", directory_ / "args.json");
  }

  // The complaint about these files, without the directory's name.
  template <typename Error>
  std::string complaint(const HeldTensors& model, const Json& args) {
    const std::string message = message_of<Error>([&] { import(model, args); });
    const std::string prefix = directory_.path().string() + "/";
    return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
  }

  HeldTensors exported_again(const ImportedModel& imported) {
    std::vector<NamedTensor> tensors;
    for (const ImportedTensor& tensor : imported.tensors) tensors.push_back({tensor.name, tensor.values.view()});
    export_weights(WeightFormat::kTransformerXl, imported.model, imported.vocab_size, tensors,
                   directory_ / "exported.safetensors");
    HeldTensors exported = read_tensors(directory_ / "exported.safetensors");
    exported.erase("pos_emb.inv_freq");
    return exported;
  }

  static void expect_same(const HeldTensors& found, const HeldTensors& expected) {
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

}  // namespace segue

// Weights in one file or in shards, under names that wrappers have changed, and files that are none.
#include "core/convert/weight_file.h"

#include <filesystem>
#include <utility>

#include "base/error.h"
#include "tests/core/convert/original_model.h"

namespace segue {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// As PyTorch names the tensors of modules inside of others.
TEST_F(TransformerXlTest, WrappersOfModulesAreLeftOut) {
  const HeldTensors model = original_model();
  for (const std::string prefix :
       {"_orig_mod.", "module.", "module._orig_mod.", "_orig_mod.module.", "model.", "net.lm."}) {
    HeldTensors wrapped;
    for (const auto& [name, tensor] : model) wrapped[prefix + name] = tensor;
    const ImportedModel imported = import(wrapped, original_args());
    expect_same(exported_again(imported), model);
    EXPECT_THAT(imported.notes, ElementsAre(testing::EndsWith("model.safetensors: names without " + prefix)));
  }
  HeldTensors wrapped = model;  // a layer alone
  for (const std::string name : {"dec_attn.qkv_net.weight", "pos_ff.CoreNet.0.bias"}) {
    wrapped["layers.0._fsdp_wrapped_module._checkpoint_wrapped_module." + name] = model.at("layers.0." + name);
    wrapped.erase("layers.0." + name);
  }
  expect_same(exported_again(import(wrapped, original_args())), model);
  wrapped = model;
  wrapped["module.r_w_bias"] = model.at("r_w_bias");
  EXPECT_THAT(complaint<CheckpointError>(wrapped, original_args()), HasSubstr("tensor module.r_w_bias is not one of"));
  wrapped = model;
  wrapped["_orig_mod.r_w_bias"] = model.at("r_w_bias");
  EXPECT_EQ(complaint<CheckpointError>(wrapped, original_args()),
            "model.safetensors: tensors _orig_mod.r_w_bias and r_w_bias are the same without their wrappers");
}

TEST_F(TransformerXlTest, WeightsInPartsAreNamed) {
  for (const auto& [part, advice] : {std::pair("weight_g", "remove_weight_norm"), std::pair("SCB", "are quantized"),
                                     std::pair("parametrizations.weight.original0", "remove_parametrizations")}) {
    HeldTensors model = original_model();
    model[std::string("layers.0.dec_attn.qkv_net.") + part] = model.at("layers.0.dec_attn.qkv_net.weight");
    model.erase("layers.0.dec_attn.qkv_net.weight");
    EXPECT_THAT(complaint<CheckpointError>(model, original_args()),
                testing::AllOf(HasSubstr("expected a tensor layers.0.dec_attn.qkv_net.weight, found none; "),
                               HasSubstr(part), HasSubstr(advice)));
  }
}

class ShardsTest : public TransformerXlTest {
 protected:
  // The model in two files, and the list of them.
  Json write_shards() {
    HeldTensors parts[2];
    Json list{{"metadata", {{"total_size", 1}}}, {"weight_map", Json::object()}};
    for (const auto& [name, tensor] : original_model()) {
      const size_t part = name < "layers.1." ? 0 : 1;
      parts[part][name] = tensor;
      list["weight_map"][name] = file_of(part);
    }
    for (size_t part = 0; part < 2; ++part) write_safetensors(directory_ / file_of(part), named(parts[part]), {});
    write_file_atomically(directory_ / "args.json", original_args().dump());
    return list;
  }

  static std::string file_of(size_t part) { return fmt::format("model-0000{}-of-00002.safetensors", part + 1); }

  ImportedModel read(const Json& list, const std::filesystem::path& path = kList) {
    write_file_atomically(directory_ / kList, list.dump());
    return import_model(WeightFormat::kTransformerXl, directory_ / path, directory_ / "args.json");
  }

  std::string shards_complaint(const Json& list) {
    return message_of<CheckpointError>([&] { read(list); });
  }

  static constexpr const char* kList = "model.safetensors.index.json";
};

TEST_F(ShardsTest, AreReadByTheirListOrTheirDirectory) {
  const Json list = write_shards();
  expect_same(exported_again(read(list)), original_model());
  std::filesystem::remove(directory_ / "exported.safetensors");
  expect_same(exported_again(read(list, ".")), original_model());
  std::filesystem::create_directory(directory_ / "one");
  write_safetensors(directory_ / "one" / "weights.safetensors", named(original_model()), {{"format", "pt"}});
  expect_same(exported_again(read(list, "one")), original_model());
}

TEST_F(ShardsTest, ListsThatAreWrongAreRefused) {
  const Json list = write_shards();
  const auto with = [&list](const Json& file) {
    Json changed = list;
    changed["weight_map"]["r_w_bias"] = file;
    return changed;
  };
  EXPECT_THAT(shards_complaint({{"metadata", 1}}), HasSubstr("expected a list of shards with a weight_map"));
  EXPECT_THAT(shards_complaint({{"weight_map", Json::object()}}), HasSubstr("weight_map"));
  EXPECT_THAT(shards_complaint(Json::array()), HasSubstr("weight_map"));
  EXPECT_THAT(shards_complaint(with(5)), HasSubstr("weight_map.r_w_bias: expected a file, found 5"));
  for (const char* elsewhere : {"../model-00001-of-00002.safetensors", "/etc/passwd", "..", ""})
    EXPECT_THAT(shards_complaint(with(elsewhere)), HasSubstr("expected a file beside the list"));
  EXPECT_THAT(shards_complaint(with("pytorch_model.bin")), HasSubstr("convert_torch.py"));
  EXPECT_THAT(shards_complaint(with(file_of(0))), HasSubstr("expected a tensor r_w_bias, found"));
  Json fewer = list;
  fewer["weight_map"].erase("r_w_bias");
  EXPECT_THAT(shards_complaint(fewer),
              HasSubstr("holds a tensor r_w_bias, which model.safetensors.index.json does not"));
  EXPECT_THAT(message_of<FileError>([&] {
                read({{"weight_map", {{"r_w_bias", "none.safetensors"}}}});
              }),
              HasSubstr("none.safetensors"));
}

TEST_F(ShardsTest, OtherFilesAreNamed) {
  const Json list = write_shards();
  const auto of = [&](const std::string& name, std::string_view content) {
    write_file_atomically(directory_ / name, content);
    return message_of<CheckpointError>([&] { read(list, name); });
  };
  EXPECT_THAT(of("a.bin", "\x80\x02}q\1."),
              HasSubstr("a.bin: expected safetensors or .npz, found a file of torch.save"));
  EXPECT_THAT(of("a", std::string("PK\3\4") + std::string(22, '\0') + std::string("\x10\0\0\0archive/data.pkl", 20)),
              HasSubstr("torch.save"));
  EXPECT_THAT(of("b.bin", "something"), HasSubstr("torch.save"));
  EXPECT_THAT(of("a.gguf", "GGUF12345678"), HasSubstr("quantized"));
  EXPECT_THAT(of("a.onnx", "\x08\x07something"), HasSubstr("ONNX"));
  EXPECT_THAT(of("a.h5", "\x89HDF\r\n\x1a\n"), HasSubstr("Keras"));
  EXPECT_THAT(of("a.msgpack", "\x81\xa5"), HasSubstr("Flax"));
  EXPECT_THAT(of("model.ckpt-1.index", "something"), HasSubstr("TensorFlow"));
  EXPECT_THAT(of("model.ckpt-1.data-00000-of-00001", "something"), HasSubstr("TensorFlow"));
  EXPECT_THAT(of("a.distcp", "something"), HasSubstr("a distributed checkpoint"));
  EXPECT_THAT(of("empty", ""), HasSubstr("found an empty file"));
  std::filesystem::create_directory(directory_ / "parts");
  write_file_atomically(directory_ / "parts" / "__0_0.distcp", "something");
  EXPECT_THAT(message_of<CheckpointError>([&] { read(list, "parts"); }), HasSubstr("a distributed checkpoint"));
  std::filesystem::create_directory(directory_ / "nothing");
  EXPECT_THAT(message_of<CheckpointError>([&] { read(list, "nothing"); }), HasSubstr("found 0 and 0"));
}

}  // namespace
}  // namespace segue

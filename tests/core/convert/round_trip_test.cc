// Every kind of head, written for another program and read again, bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "base/json_fields.h"
#include "core/config/head_kind.h"
#include "core/convert/arguments.h"
#include "core/convert/export_model.h"
#include "tests/core/convert/foreign_model.h"
#include "tests/core/convert/model_grid.h"
#include "tests/temporary_directory.h"

namespace segue {
namespace {

class RoundTripTest : public testing::TestWithParam<WeightFormat> {
 protected:
  WeightFormat format() const { return GetParam(); }

  ImportedModel there_and_back(const ModelConfig& model, const HeldTensors& tensors) const {
    write_file_atomically(directory_ / "args", arguments_text(format(), {model, kGridVocab, 16}));
    export_weights(format(), model, kGridVocab, named(tensors), directory_ / "weights");
    return import_model(format(), directory_ / "weights", directory_ / "args");
  }

  // The model as it is read back, with what the program does its own way.
  ModelConfig as_read(ModelConfig model) const {
    const FormatTraits& traits = traits_of(format());
    if (model.head.kind == HeadKind::kAdaptive) model.head.cluster_order = traits.cluster_order;
    model.memory.initial = traits.initial_memory;
    model.visibility.same_length_extra_key = traits.same_length_extra_key;
    model.d_embed = effective_d_embed(model);
    model.head.tie_projs.resize(model.head.cutoffs.size() + 1, false);
    return model;
  }

  const TemporaryDirectory directory_;
};

void reverse_rows(HeldTensor& tensor) {
  const int64_t rows = tensor.shape[0];
  const auto row_bytes = std::ssize(tensor.bytes) / rows;
  std::vector<std::byte> reversed;
  for (int64_t row = rows - 1; row >= 0; --row) {
    const auto begin = tensor.bytes.begin() + row * row_bytes;
    reversed.insert(reversed.end(), begin, begin + row_bytes);
  }
  tensor.bytes = reversed;
}

TEST_P(RoundTripTest, EveryHeadIsTheSameBitForBit) {
  for (const ModelConfig& model : model_grid(traits_of(format()).biases_per_layer)) {
    SCOPED_TRACE(write_fields(model.head).dump() + " d_embed " + std::to_string(model.d_embed));
    const HeldTensors tensors = parameters_of(model, kGridVocab);
    const ImportedModel imported = there_and_back(model, tensors);
    EXPECT_EQ(imported.vocab_size, kGridVocab);
    EXPECT_EQ(imported.tgt_len, 16);
    EXPECT_EQ(write_fields(imported.model).dump(), write_fields(as_read(model)).dump());
    HeldTensors expected = tensors;
    if (model.head.cluster_order != imported.model.head.cluster_order) {
      for (const char* name : {"head.cluster_weight", "head.cluster_bias"}) {
        if (expected.contains(name)) reverse_rows(expected.at(name));
      }
    }
    EXPECT_TRUE(tensors_of(imported) == expected);

    const std::string once = read_file(directory_ / "weights");
    there_and_back(imported.model, tensors_of(imported));
    EXPECT_TRUE(read_file(directory_ / "weights") == once);
  }
}

std::string test_name(const testing::TestParamInfo<WeightFormat>& format) {
  std::string name(name_of_choice(format.param));
  std::erase(name, '-');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Formats, RoundTripTest,
                         testing::Values(WeightFormat::kTransformerXl, WeightFormat::kHuggingFace), test_name);

}  // namespace
}  // namespace segue

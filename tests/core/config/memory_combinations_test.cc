// What kinds of memory cannot go with: the message names both keys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/config/kind_requirements.h"
#include "core/config/memory_kind.h"
#include "core/config/objective_kind.h"
#include "core/config/position_kind.h"
#include "core/config/visibility_kind.h"
#include "tests/core/config/error_with.h"

namespace segue {
namespace {

using ::testing::HasSubstr;

TEST(MemoryCombinations, DocumentsBeginWithoutZeros) {
  EXPECT_EQ(error_with({"data.document_boundary=a", "model.memory.initial=zeros"}),
            "c: model.memory.initial: expected \"empty\" with data.document_boundary, found \"zeros\"");
  EXPECT_EQ(error_with({"data.document_boundary=a"}), "no error");
  EXPECT_EQ(error_with({"model.memory.initial=zeros"}), "no error");
}

TEST(MemoryCombinations, MemoryTokensAreReadByEveryTokenAndWrittenOnceASegment) {
  const std::string tokens = R"(model.memory={"kind": "tokens", "tokens": 4})";
  EXPECT_EQ(error_with({tokens, "training.segments_per_step=3"}), "no error");
  EXPECT_THAT(error_with({R"(model.memory={"kind": "tokens", "tokens": 0})"}), HasSubstr("model.memory.tokens"));
  EXPECT_THAT(error_with({"model.memory.tokens=4"}), HasSubstr("model.memory.tokens"));
  EXPECT_EQ(error_with({"training.segments_per_step=3"}),
            "c: training.segments_per_step: expected 1 with model.memory.kind = \"hidden_states\" and no layer that "
            "keeps a state, found 3; no gradient would pass from segment to segment");
  EXPECT_EQ(error_with({tokens, "training.segments_per_step=3", "training.loss_part=half"}),
            "c: training.loss_part: expected \"full\" with training.segments_per_step = 3, found \"half\"");
  EXPECT_EQ(error_with({tokens, "training.segments_per_step=2", "training.max_step=9",
                        R"(training.stages=[{"until_step": 3, "tgt_len": 8, "mem_len": 0, "segments_per_step": 3}])"}),
            "c: training.stages[0].segments_per_step: expected at most training.segments_per_step = 2, found 3");
  EXPECT_EQ(error_with({tokens, "data.document_boundary=a"}),
            "c: data.document_boundary: expected \"\" with model.memory.kind = \"tokens\", found \"a\"; memory tokens "
            "are written once a segment, even where a document ends inside it");
  EXPECT_EQ(error_with({tokens, "model.visibility.kind=window", "model.visibility.window=9"}),
            "c: model.visibility.kind: expected \"causal\" with model.memory.kind = \"tokens\", found \"window\"; "
            "every token reads all memory tokens");
  EXPECT_EQ(error_with({tokens, "model.visibility.same_length=true"}),
            "c: model.visibility.same_length: expected false with model.memory.kind = \"tokens\", found true; every "
            "token reads all memory tokens");
  EXPECT_EQ(
      error_with({tokens, "model.objective.kind=masked", "model.visibility.kind=full", "model.position.kind=rope"}),
      "c: model.objective.kind: expected \"next_token\" with model.memory.kind = \"tokens\", found \"masked\"");
}

TEST(MemoryCombinations, AssociationsAreLearnedThroughLaterSegments) {
  const std::string associative = R"(model.memory={"kind": "associative", "tokens": 4})";
  const std::string segments = "training.segments_per_step=2";
  EXPECT_EQ(error_with({associative, segments}), "no error");
  EXPECT_EQ(error_with({associative, segments, "model.mem_len=0"}), "no error");
  EXPECT_EQ(error_with({associative}), "no error");  // training warns
  EXPECT_EQ(error_with({associative, segments, "model.d_head=64", "model.memory.shifts=3"}),
            "c: model.memory.shifts: expected at most 2 with model.memory.kind = \"associative\", found 3; each shift "
            "makes 128 features, at most 256 in all");
  EXPECT_EQ(error_with({associative, segments, "model.d_head=192"}),
            "c: model.d_head: expected at most 128 with model.memory.kind = \"associative\", found 192; one shift "
            "makes 2 * model.d_head features, at most 256");
  EXPECT_EQ(error_with({associative, segments, "model.visibility.kind=window", "model.visibility.window=9"}),
            "c: model.visibility.kind: expected \"causal\" with model.memory.kind = \"associative\", found \"window\"; "
            "memory tokens read the whole segment");
  EXPECT_THAT(error_with({associative, segments, "data.document_boundary=a"}), HasSubstr("written once a segment"));
  EXPECT_THAT(error_with({associative, segments, "model.memory.written=own"}), HasSubstr("read by \"tokens\""));
  EXPECT_THAT(error_with({R"(model.memory={"kind": "tokens", "shifts": 2})"}), HasSubstr("read by \"associative\""));
}

TEST(MemoryCombinations, CompressesRowsOfEarlierSegmentsInWholeGroups) {
  const std::string compressed = R"(model.memory={"kind": "compressed", "compressed_len": 9, "compression_rate": 5})";
  const std::string short_segments = "training.tgt_len=96";
  EXPECT_EQ(error_with({compressed}), "no error");
  EXPECT_EQ(error_with({compressed, short_segments, "model.mem_len=96"}), "no error");
  EXPECT_EQ(error_with({compressed, short_segments, "model.mem_len=95"}),
            "c: model.mem_len: expected at least training.tgt_len = 96 with model.memory.kind = \"compressed\", found "
            "95; what a segment pushes out must be older than the segment");
  EXPECT_EQ(error_with({compressed, "training.tgt_len=4", "model.mem_len=4"}),
            "c: model.mem_len: expected at least model.memory.compression_rate = 5 with model.memory.kind = "
            "\"compressed\", found 4; so many rows are compressed into one");
  EXPECT_EQ(error_with({compressed, short_segments, "evaluation.mem_len=90"}),
            "c: evaluation.mem_len: expected at least evaluation.tgt_len = 96 with model.memory.kind = \"compressed\", "
            "found 90; what a segment pushes out must be older than the segment");
  EXPECT_EQ(error_with({compressed, "training.max_step=9",
                        R"(training.stages=[{"until_step": 3, "tgt_len": 8, "mem_len": 7}])"}),
            "c: training.stages[0].mem_len: expected at least training.stages[0].tgt_len = 8 with model.memory.kind = "
            "\"compressed\", found 7; what a segment pushes out must be older than the segment");
  EXPECT_EQ(error_with({compressed, "data.document_boundary=a"}),
            "c: data.document_boundary: expected \"\" with model.memory.kind = \"compressed\", found \"a\"; a "
            "compressed row can mix tokens of two documents");
  EXPECT_EQ(error_with({compressed, "training.segments_per_step=2"}),
            "c: training.segments_per_step: expected 1 with model.memory.kind = \"compressed\" and no layer that keeps "
            "a state, found 2; no gradient would pass from segment to segment");
}

TEST(MemoryCombinations, AnEncoderSeesTokensBeforeAndAfterEach) {
  const std::string encoder = R"(model.memory={"kind": "encoder", "encoder_layers": 3})";
  const std::string rope = "model.position.kind=rope";
  EXPECT_EQ(error_with({encoder, rope}), "no error");
  EXPECT_EQ(error_with({encoder, "model.position.kind=none"}), "no error");
  EXPECT_EQ(error_with({encoder, rope, R"(model.layers=[{"only": [0], "position": {"kind": "alibi"}}])"}), "no error");
  EXPECT_THAT(error_with({rope, "model.memory.encoder_layers=3"}), HasSubstr("model.memory.encoder_layers"));
  EXPECT_EQ(error_with({encoder}),
            "c: model.position.kind: expected \"rope\" or \"none\" with model.memory.kind = \"encoder\", found "
            "\"relative\"; the encoder also sees keys after a query");
  EXPECT_EQ(error_with({encoder, rope, "model.mem_len=0"}),
            "c: model.mem_len: expected at least 1 with model.memory.kind = \"encoder\", found 0; the encoder reads "
            "the tokens in memory");
  EXPECT_EQ(error_with({encoder, rope, "model.objective.kind=masked"}),
            "c: model.objective.kind: expected \"next_token\" with model.memory.kind = \"encoder\", found \"masked\"");
  EXPECT_EQ(error_with({encoder, rope, "model.memory.initial=zeros"}),
            "c: model.memory.initial: expected \"empty\" with model.memory.kind = \"encoder\", found \"zeros\"; this "
            "memory holds tokens");
  EXPECT_EQ(error_with({encoder, rope, "model.visibility.kind=window", "model.visibility.window=9"}),
            "c: model.visibility.kind: expected \"causal\" with model.memory.kind = \"encoder\", found \"window\"; "
            "every token sees all that the encoder makes");
  EXPECT_EQ(error_with({encoder, rope, "model.visibility.same_length=true"}),
            "c: model.visibility.same_length: expected false with model.memory.kind = \"encoder\", found true; every "
            "token sees all that the encoder makes");
  EXPECT_EQ(error_with({encoder, rope, "model.objective.kind=masked", "model.visibility.kind=full"}),
            "c: model.objective.kind: expected \"next_token\" with model.memory.kind = \"encoder\", found \"masked\"");
  EXPECT_EQ(error_with({encoder, rope, "training.segments_per_step=2"}),
            "c: training.segments_per_step: expected 1 with model.memory.kind = \"encoder\" and no layer that keeps a "
            "state, found 2; no gradient would pass from segment to segment");
  EXPECT_EQ(error_with({encoder, rope, "data.document_boundary=a"}),
            "c: data.document_boundary: expected \"\" with model.memory.kind = \"encoder\", found \"a\"; the encoder "
            "would read tokens of two documents together");
}

TEST(MemoryCombinations, FeaturesOfStates) {
  const auto error = [](const std::string& score, const std::string& training = "training.tgt_len=128") {
    return error_with({R"(model.score={"kind": "state", )" + score + "}", "model.position.kind=none", "model.mem_len=0",
                       "model.n_head=4", "model.d_model=64", "model.d_head=16", training});
  };
  const std::string performer = R"("feature": "performer", "erases": false)";
  EXPECT_EQ(error(performer), "no error");
  EXPECT_EQ(error(performer + R"(, "output_norm": "weights")"), "no error");
  EXPECT_EQ(error(R"("feature": "dpfp", "shifts": 8, "convolution": 4)"), "no error");
  EXPECT_EQ(error(R"("feature": "random_fourier", "random_features": 128)"), "no error");
  EXPECT_EQ(error(R"("random_features": 8)"),
            "c: model.score.random_features: expected the default 64 with model.score.feature = \"silu\", found 8; "
            "only \"performer\" or \"random_fourier\" reads it");
  EXPECT_EQ(error(performer + R"(, "shifts": 2)"),
            "c: model.score.shifts: expected the default 1 with model.score.feature = \"performer\", found 2; only "
            "\"dpfp\" reads it");
  EXPECT_EQ(error(R"("feature": "dpfp", "shifts": 32)"),
            "c: model.score.shifts: expected less than 2 * model.d_head = 32, found 32");
  EXPECT_EQ(error(R"("feature": "dpfp", "shifts": 9)"),
            "c: model.score.shifts: expected at most 256 features in each head, found 9, which makes 288 with "
            "model.score.feature = \"dpfp\" and model.d_head = 16");
  EXPECT_EQ(error(R"("feature": "random_fourier", "random_features": 129)"),
            "c: model.score.random_features: expected at most 256 features in each head, found 129, which makes 258 "
            "with model.score.feature = \"random_fourier\" and model.d_head = 16");
  EXPECT_EQ(error(R"("convolution": 1)"), "c: model.score.convolution: expected 0 or at least 2 tokens, found 1");
  EXPECT_THAT(error(R"("convolution": 9)"), HasSubstr("model.score.convolution"));
  EXPECT_EQ(error(R"("feature": "performer")"),
            "c: model.score.erases: expected false with model.score.feature = \"performer\", found true; its keys have "
            "no fixed length");
  EXPECT_EQ(error(R"("feature": "relu", "output_norm": "weights")"),
            "c: model.score.erases: expected false with model.score.output_norm = \"weights\", found true; the weights "
            "would be erased too");
  EXPECT_EQ(
      error(R"("erases": false, "output_norm": "weights")"),
      "c: model.score.feature: expected \"relu\", \"elu_plus_one\", \"dpfp\", \"performer\" or \"random_fourier\" with "
      "model.score.output_norm = \"weights\", found \"silu\"; its products are no weights");
  EXPECT_EQ(error(performer, R"(training={"reset_interval": 5, "redraw_interval": 10})"), "no error");
  EXPECT_EQ(error(performer, "training.redraw_interval=10"),
            "c: training.reset_interval: expected at least 1 with training.redraw_interval = 10, found 0; states "
            "written with the old features must be reset when features are redrawn");
  EXPECT_EQ(error_with({"model.mem_len=0", "training.reset_interval=5"}),
            "c: training.reset_interval: expected 0 with model.mem_len = 0 and no layer that keeps a state, found 5; "
            "there is nothing to reset");
  EXPECT_EQ(error_with({"training.reset_interval=5"}), "no error");
  EXPECT_EQ(error(performer, R"(training={"reset_interval": 4, "redraw_interval": 10})"),
            "c: training.redraw_interval: expected a multiple of training.reset_interval = 4, found 10; states written "
            "with the old features must be reset when features are redrawn");
  EXPECT_EQ(error(R"("decay": "none")", R"(training={"reset_interval": 5, "redraw_interval": 10})"),
            "c: training.redraw_interval: expected 0 without random features, found 10; they need a layer with "
            "score.kind = \"state\" and score.feature = \"performer\" or \"random_fourier\"");
}

TEST(MemoryCombinations, StatesSeeAllThatCameBefore) {
  const std::string state = R"(model.score={"kind": "state", "decay": "channel"})";
  const std::string none = "model.position.kind=none";
  const std::string alone = "model.mem_len=0";
  EXPECT_EQ(error_with({state, none, alone}), "no error");
  EXPECT_EQ(error_with({state, none, alone, "training.segments_per_step=2"}), "no error");
  const std::string below =
      R"(model.layers=[{"only": [0, 2], "position": {"kind": "none"}, "score": {"kind": "state"}}])";
  EXPECT_EQ(error_with({below}), "no error");
  EXPECT_EQ(error_with({below, "model.memory.kind=keys_values", "model.position.kind=rope"}), "no error");
  EXPECT_THAT(error_with({"model.score.decay=fixed"}), HasSubstr("model.score.decay"));
  EXPECT_THAT(error_with({state, none, alone, "model.score.feature=tanh"}), HasSubstr("model.score.feature"));
  EXPECT_EQ(error_with({R"(model.score={"kind": "state", "erases": false, "strength": "step"})", none, alone}),
            "no error");
  EXPECT_EQ(error_with({R"(model.score={"kind": "state", "strength": "step"})", none, alone}),
            "c: model.score.erases: expected false with model.score.strength = \"step\", found true; a step may be "
            "above 1, and would erase more than there is");
  EXPECT_EQ(error_with({R"(model.score={"kind": "state", "erases": false, "strength": "step", "decay": "fixed"})", none,
                        alone}),
            "c: model.score.decay: expected \"token\" with model.score.strength = \"step\", found \"fixed\"");
  EXPECT_EQ(error_with({R"(model.score={"kind": "state", "unit_keys": false})", none, alone}),
            "c: model.score.unit_keys: expected true with model.score.erases = true, found false");
  EXPECT_EQ(error_with({state, none, alone, "model.memory.kind=keys_values"}),
            "c: model.memory.kind: expected \"hidden_states\" with model.score.kind = \"state\", found "
            "\"keys_values\"; no layer has rows of memory");
  EXPECT_EQ(error_with({state, none, alone, "evaluation.tgt_len=32"}), "no error");
  EXPECT_EQ(error_with({R"(model.layers=[{"only": [0]}])"}),
            "c: model.layers[0]: expected position, visibility or score, found none of them");
  EXPECT_EQ(error_with({state, none}),
            "c: model.mem_len: expected 0 with model.score.kind = \"state\", found 128; no layer has rows of memory");
  EXPECT_EQ(
      error_with({state, none, alone, "evaluation.mem_len=3"}),
      "c: evaluation.mem_len: expected 0 with model.score.kind = \"state\", found 3; no layer has rows of memory");
  EXPECT_EQ(error_with({below, "evaluation.mem_len=3"}), "no error");
  EXPECT_EQ(error_with({state, alone}),
            "c: model.position.kind: expected \"rope\" or \"none\" with model.score.kind = \"state\", found "
            "\"relative\", which needs rows of distances");
  EXPECT_EQ(error_with({below, R"(model.memory={"kind": "tokens"})"}),
            "c: model.memory.kind: expected \"hidden_states\" or \"keys_values\" with model.layers[0].score.kind = "
            "\"state\", found \"tokens\"");
  const std::string window = R"("visibility": {"kind": "window", "window": 9})";
  EXPECT_EQ(error_with({below, "model.visibility.kind=window", "model.visibility.window=9"}), "no error");
  EXPECT_EQ(error_with({below, "model.visibility.same_length=true"}), "no error");
  EXPECT_EQ(error_with({state, none, alone, "model.visibility.kind=window", "model.visibility.window=9"}),
            "c: model.visibility.kind: expected \"causal\" with model.score.kind = \"state\", found \"window\"");
  EXPECT_EQ(
      error_with({R"(model.layers=[{"only": [0], "position": {"kind": "none"}, "score": {"kind": "state"}, )" + window +
                  "}]"}),
      "c: model.layers[0].visibility.kind: expected \"causal\" with model.layers[0].score.kind = \"state\", found "
      "\"window\"");
  EXPECT_EQ(
      error_with({below, "model.position.kind=rope", "model.objective.kind=masked", "model.visibility.kind=full"}),
      "c: model.objective.kind: expected \"next_token\" with model.layers[0].score.kind = \"state\", found \"masked\"");
  EXPECT_EQ(error_with({below, "data.document_boundary=a"}),
            "c: data.document_boundary: expected \"\" with model.layers[0].score.kind = \"state\", found \"a\"; what "
            "it remembers goes on from one document to the next");
}

TEST(MemoryCombinations, TurnsPassThroughStatesWhoseChannelsFadeAlike) {
  const auto error = [](const std::string& score, const std::string& position = R"("kind": "rope")") {
    return error_with({R"(model.score={"kind": "state", )" + score + "}", "model.position={" + position + "}",
                       "model.mem_len=0", "model.n_head=4", "model.d_model=64", "model.d_head=16"});
  };
  for (const char* decay : {"none", "fixed", "token"})
    EXPECT_EQ(error(R"("decay": ")" + std::string(decay) + R"(", "convolution": 4)"), "no error");
  EXPECT_EQ(error(R"("decay": "channel")"),
            "c: model.score.decay: expected \"none\", \"fixed\" or \"token\" with model.position.kind = \"rope\", "
            "found \"channel\"; rotated keys need a decay that is the same in all channels of a head");
  EXPECT_EQ(error(R"("feature": "relu", "erases": false, "output_norm": "weights")"),
            "c: model.score.output_norm: expected \"head\" with model.position.kind = \"rope\", found \"weights\"; "
            "weights of rotated keys may be below 0");
  for (const char* feature : {"dpfp", "random_fourier"})
    EXPECT_EQ(error(R"("feature": ")" + std::string(feature) + R"(")"),
              "c: model.score.feature: expected \"silu\", \"identity\", \"relu\" or \"elu_plus_one\" with "
              "model.position.kind = \"rope\", found \"" +
                  std::string(feature) + "\"; the others make features of several columns");
  EXPECT_THAT(error(R"("decay": "none")", R"("kind": "rope", "rotary_share": 0.3)"), HasSubstr("even number"));
  EXPECT_EQ(error_with({R"(model.layers=[{"only": [1], "score": {"kind": "state"}}])", "model.position.kind=rope"}),
            "no error");
}

TEST(MemoryCombinations, InfiniAttentionSumsTextAsItComes) {
  const std::string infini = "model.memory.kind=infini";
  EXPECT_EQ(error_with({infini}), "no error");
  EXPECT_EQ(error_with({infini, "model.mem_len=0", "training.segments_per_step=3", "training.reset_interval=4"}),
            "no error");
  EXPECT_EQ(error_with({infini, "model.visibility.kind=window", "model.visibility.window=9"}), "no error");
  EXPECT_EQ(
      error_with({infini, "model.objective.kind=masked", "model.visibility.kind=full", "model.position.kind=rope"}),
      "c: model.objective.kind: expected \"next_token\" with model.memory.kind = \"infini\", found \"masked\"");
  EXPECT_EQ(error_with({infini, "data.document_boundary=a"}),
            "c: data.document_boundary: expected \"\" with model.memory.kind = \"infini\", found \"a\"; what it "
            "remembers goes on from one document to the next");
  EXPECT_EQ(
      error_with({infini, R"(model.layers=[{"only": [1], "position": {"kind": "none"}, "score": {"kind": "state"}}])"}),
      "c: model.memory.kind: expected \"hidden_states\" or \"keys_values\" with model.layers[0].score.kind = "
      "\"state\", found \"infini\"");
}

TEST(MemoryCombinations, RecurrentStatesAreOfALayerThatThereIs) {
  const std::string recurrent = R"(model.memory={"kind": "block_recurrent", "states": 5, "gate": "lstm"})";
  EXPECT_EQ(error_with({recurrent}), "no error");  // training warns
  EXPECT_EQ(error_with({recurrent, "model.mem_len=0", "training.segments_per_step=3", "training.reset_interval=4"}),
            "no error");
  EXPECT_EQ(error_with({recurrent, "model.visibility.kind=window", "model.visibility.window=9"}), "no error");
  EXPECT_EQ(error_with({recurrent, "model.memory.recurrent_layer=3"}), "no error");
  EXPECT_EQ(error_with({recurrent, "model.memory.recurrent_layer=4"}),
            "c: model.memory.recurrent_layer: expected at most 3 with model.n_layer = 4, found 4; layers are counted "
            "from 0");
  EXPECT_THAT(error_with({recurrent, "model.memory.states=0"}), HasSubstr("model.memory.states"));
  EXPECT_THAT(error_with({recurrent, "model.memory.gate=gru"}), HasSubstr("model.memory.gate"));
  EXPECT_THAT(error_with({"model.memory.states=5"}), HasSubstr("read by \"block_recurrent\""));
  EXPECT_EQ(
      error_with({recurrent, "model.objective.kind=masked", "model.visibility.kind=full", "model.position.kind=rope"}),
      "c: model.objective.kind: expected \"next_token\" with model.memory.kind = \"block_recurrent\", found "
      "\"masked\"");
  EXPECT_EQ(error_with({recurrent, "data.document_boundary=a"}),
            "c: data.document_boundary: expected \"\" with model.memory.kind = \"block_recurrent\", found \"a\"; what "
            "it remembers goes on from one document to the next");
  EXPECT_EQ(error_with({recurrent,
                        R"(model.layers=[{"only": [1], "position": {"kind": "none"}, "score": {"kind": "state"}}])"}),
            "c: model.memory.kind: expected \"hidden_states\" or \"keys_values\" with model.layers[0].score.kind = "
            "\"state\", found \"block_recurrent\"");
}

TEST(MemoryCombinations, CompressionsKnowWhatTheyCanLearnFrom) {
  const auto error = [](const std::string& memory) {
    return error_with({R"(model.memory={"kind": "compressed", )" + memory + "}"});
  };
  EXPECT_EQ(error(R"("compression": "dilated_convolution", "compression_rate": 8)"), "no error");
  for (const char* rate : {"1", "3", "12"})
    EXPECT_EQ(error(R"("compression": "dilated_convolution", "compression_rate": )" + std::string(rate)),
              "c: model.memory.compression_rate: expected a power of two above 1 with model.memory.compression = "
              "\"dilated_convolution\", found " +
                  std::string(rate));
  EXPECT_EQ(error(R"("compression": "mean")"), "no error");
  EXPECT_EQ(error(R"("compression": "mean", "reconstruction": "auto")"), "no error");
  EXPECT_EQ(error(R"("compression": "mean", "reconstruction": "none")"), "no error");
  EXPECT_EQ(error(R"("compression": "convolution", "reconstruction": "none")"), "no error");
  EXPECT_EQ(error(R"("compression": "max", "reconstruction": "attention")"),
            "c: model.memory.reconstruction: expected \"none\" with model.memory.compression = \"max\", found "
            "\"attention\"; this compression learns nothing");
  EXPECT_EQ(error(R"("compression": "mean", "reconstruction": "auto_encoding")"),
            "c: model.memory.reconstruction: expected \"none\" with model.memory.compression = \"mean\", found "
            "\"auto_encoding\"; this compression learns nothing");
  EXPECT_EQ(error(R"("compression": "most_used")"), "no error");
  EXPECT_EQ(error(R"("compression": "most_used", "reconstruction": "attention")"),
            "c: model.memory.reconstruction: expected \"none\" with model.memory.compression = \"most_used\", found "
            "\"attention\"; this compression learns nothing");
  EXPECT_THAT(error(R"("compression": "least_used")"), HasSubstr("model.memory.compression"));
  EXPECT_THAT(error(R"("compressed_len": 0)"), HasSubstr("model.memory.compressed_len"));
  EXPECT_THAT(error(R"("tokens": 3)"), HasSubstr("model.memory.tokens"));
  EXPECT_THAT(error_with({"model.memory.compression_rate=5"}), HasSubstr("model.memory.compression_rate"));
}

TEST(MemoryCombinations, EveryQuerySeesAllThatIsCompressed) {
  const std::string compressed = R"(model.memory={"kind": "compressed"})";
  EXPECT_EQ(error_with({compressed, "model.visibility.kind=window"}),
            "c: model.visibility.kind: expected \"causal\" or \"full\" with model.memory.kind = \"compressed\", found "
            "\"window\"; a compressed row stands for more than one token");
  const std::vector<std::pair<std::string, std::string>> hiding = {
      {"window", R"({"kind": "window"})"},
      {"sparse", R"({"kind": "sparse", "patterns": [{"kind": "window", "window": 4}]})"},
      {"adaptive", R"({"kind": "adaptive"})"}};
  for (const auto& [kind, visibility] : hiding)
    EXPECT_EQ(error_with({R"(model.memory={"kind": "compressed", "compression": "most_used"})",
                          "model.visibility=" + visibility, "model.position.kind=none"}),
              "c: model.visibility.kind: expected \"causal\" or \"full\" with model.memory.compression = "
              "\"most_used\", found \"" +
                  kind + "\"; it chooses among rows that every query sees");
  EXPECT_EQ(error_with({compressed, "model.visibility.same_length=true"}),
            "c: model.visibility.same_length: expected false with model.memory.kind = \"compressed\", found true; no "
            "query would see its oldest rows");
  EXPECT_EQ(
      error_with({compressed, "model.objective.kind=masked", "model.visibility.kind=full", "model.position.kind=rope"}),
      "no error");
}

// Each kind by itself, with each kind of visibility and each objective: what its row does not name is refused.
TEST(MemoryCombinations, KindsGoWithWhatTheirRowsName) {
  for (size_t kind = 0; kind < choices_of(MemoryKind{}).size(); ++kind) {
    ModelConfig model;
    model.position.kind = PositionKind::kRope;
    model.memory.kind = static_cast<MemoryKind>(kind);
    const KindRequirements needs = requirements_of(model.memory);
    const auto is_refused = [](const ModelConfig& changed) {
      return message_of<ConfigError>([&] { check_memory_requirements(changed, "m"); }) != "no error";
    };
    EXPECT_FALSE(is_refused(model)) << name_of_choice(model.memory.kind);
    for (size_t seen = 0; seen < choices_of(VisibilityKind{}).size(); ++seen) {
      ModelConfig changed = model;
      changed.visibility.kind = static_cast<VisibilityKind>(seen);
      EXPECT_NE(is_refused(changed), needs.visibility.choices.contain(seen)) << name_of_choice(model.memory.kind);
    }
    ModelConfig masked = model, same_length = model;
    masked.objective.kind = ObjectiveKind::kMasked;
    same_length.visibility.same_length = true;
    EXPECT_NE(is_refused(masked), needs.objective.choices.contain(1)) << name_of_choice(model.memory.kind);
    EXPECT_EQ(is_refused(same_length), needs.no_same_length.has_value()) << name_of_choice(model.memory.kind);
  }
}

TEST(MemoryCombinations, OfSeveralProblemsTheSameIsToldFirst) {
  const std::string encoder = R"(model.memory={"kind": "encoder", "initial": "zeros"})";
  EXPECT_THAT(error_with({encoder, "model.mem_len=0", "model.objective.kind=masked"}),
              HasSubstr("model.position.kind: expected \"rope\" or \"none\""));
  EXPECT_THAT(error_with({encoder, "model.mem_len=0", "model.position.kind=rope"}), HasSubstr("model.mem_len"));
  EXPECT_THAT(error_with({encoder, "model.position.kind=rope", "model.objective.kind=masked"}),
              HasSubstr("model.memory.initial"));
  const std::string compressed = R"(model.memory={"kind": "compressed", "compression": "mean", )"
                                 R"("reconstruction": "attention"})";
  EXPECT_THAT(error_with({compressed, "model.global_stream.tokens=2"}),
              HasSubstr("model.global_stream.tokens: expected 0 with model.objective.kind = \"next_token\""));
  EXPECT_THAT(error_with({compressed, "model.visibility.kind=window"}), HasSubstr("model.memory.reconstruction"));
}

}  // namespace
}  // namespace segue

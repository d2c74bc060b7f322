// The results of `segue eval`, read from its evaluation.json and effective_context.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/report/json_node.h"
#include "data_pipeline/dataset.h"

namespace segue::report {

// Losses in nats per token; `confidence95` is half the width of the interval.
struct LossOfPart {
  int64_t from = 0;
  int64_t to = 0;
  int64_t tokens = 0;
  int64_t bytes = 0;  // of text that these tokens stand for; 0: not known
  double loss = 0.0;
  double confidence95 = 0.0;
  std::optional<double> bits95 = {};            // half width in bits per byte; none: not known
  std::optional<double> bits_per_byte() const;  // of the text of these tokens
};

// Neighbouring parts joined until each group is enough: the means of their losses by tokens, and confidence as if they
// were independent.
using IsEnough = bool (*)(const LossOfPart& group);
std::vector<LossOfPart> joined(const std::vector<LossOfPart>& parts, IsEnough is_enough);

// Each of the first places by itself, then ever more of them: as many as a logarithmic axis can show.
bool is_wide_for_its_place(const LossOfPart& group);
// And so many tokens that their mean says something.
bool has_many_tokens(const LossOfPart& group);

// Right answers to some of the questions of marked data.
struct AnswerShare {
  int64_t answers = 0;
  double accuracy = 0.0;                    // from 0 to 1
  std::optional<double> confidence95 = {};  // half the width of its interval; none: not known
};

// Examples of one length and one kind, such as {"items": 4}.
struct AnswersOfExamples {
  int64_t tokens = 0;  // of each
  std::map<std::string, int64_t> traits = {};
  AnswerShare share = {};
};

struct AnswersAtDistance {
  int64_t from = 0;  // tokens back to what decides the answer
  int64_t to = 0;
  AnswerShare share = {};
};

struct HardExample {
  int64_t example = 0;  // in the split
  int64_t answers = 0;
  int64_t right = 0;
  int64_t begin = 0;                    // offset in the split of its first token
  int64_t first_wrong = 0;              // of the first token of its first wrong answer
  int64_t distance = 0;                 // back to what decides that; 0: not said
  std::vector<int64_t> tokens = {};     // some of the example, the last that of the wrong answer
  std::vector<std::string> texts = {};  // theirs; none where they cannot be decoded
};

struct Answers {
  AnswerShare total = {};
  std::vector<AnswersOfExamples> by_examples = {};
  std::vector<AnswersAtDistance> by_distance = {};
  std::vector<HardExample> hardest = {};
  std::optional<int64_t> longest_trained = {};  // tokens of the longest example in training
};

// The share of a layer's attention that rows of memory get, from..to back from the segment, the newest being 1.
struct AttentionOfAge {
  int64_t from = 0;
  int64_t to = 0;
  double share = 0.0;  // from 0 to 1
};

struct EvaluatedLength {
  bool is_recomputed = false;  // windows without memory
  int64_t mem_len = 0;
  int64_t tgt_len = 0;
  int64_t stride = 0;  // of windows
  int64_t clamp_len = -1;
  bool same_length = false;
  int64_t context = 0;  // most tokens that a token could attend to
  int64_t tokens = 0;
  int64_t bytes = 0;                           // of text that these tokens stand for; 0: not known
  std::optional<int64_t> unknown_tokens = {};  // of these, to the vocabulary; none: it has no unknown token
  double loss = 0.0;
  double confidence95 = 0.0;
  std::optional<double> bits95 = {};             // likewise in bits per byte
  std::optional<double> difference_bits95 = {};  // likewise of the difference
  bool is_baseline = false;                      // from which the differences of all results are
  std::optional<double> difference95 = {};       // of what it is above the baseline, at the same tokens
  std::optional<double> bits_per_byte = {};
  double tokens_per_second = 0.0;            // 0: not stated
  std::vector<LossOfPart> by_position = {};  // from == to
  std::vector<LossOfPart> by_context = {};
  std::string per_token = {};           // file of its losses, within the evaluation's directory; empty: none
  std::optional<Answers> answers = {};  // of marked data
  std::vector<std::vector<AttentionOfAge>> attention = {};  // per layer, from the newest row on; empty: not told
};

struct SampleToken {
  std::string text = {};
  std::vector<std::optional<double>> nll = {};  // one for each result
};

struct Evaluation {
  std::string name = {};
  std::string data = {};
  std::string dataset = {};              // Dataset::identity() of the split; empty: not known
  std::optional<SourcePlace> text = {};  // where it stands in its sources; none: not known
  std::string split = {};
  std::string unit = {};
  int64_t step = 0;
  std::string command = {};  // that makes it again
  int64_t trained_mem_len = 0;
  int64_t trained_tgt_len = 0;
  std::vector<EvaluatedLength> results = {};
  int64_t sample_offset = 0;
  std::vector<SampleToken> sample = {};
};

struct ContextPoint {
  double context = 0.0;
  double gain = 0.0;  // relative, of the next longer context
};

struct ContextCurve {
  double ratio = 0.0;
  bool ends_within = true;  // otherwise longer contexts than were compared might help as much
  std::vector<ContextPoint> points = {};
};

struct EffectiveContextModel {
  std::string name = {};
  std::vector<std::optional<double>> lengths = {};  // one for each ratio
  std::vector<ContextCurve> curves = {};
};

struct EffectiveContext {
  double threshold = 0.0;
  std::vector<double> ratios = {};
  std::vector<EffectiveContextModel> models = {};
};

// The key "text" of what was evaluated; none where it is not told.
std::optional<SourcePlace> read_text_place(const JsonNode& document);

// Throw DataError naming file, key, expected and found; FileError when the file cannot be read.
Evaluation read_evaluation(const std::filesystem::path& path);
EffectiveContext read_effective_context(const std::filesystem::path& path);

}  // namespace segue::report

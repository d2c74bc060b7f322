// The head alone on a tape of its own, on random hidden states.
#include "core/bench/head_bench.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/random.h"
#include "core/config/head_kind.h"
#include "core/head/head.h"

namespace segue {

namespace {

ModelConfig model_of(const HeadShape& shape) {
  ModelConfig model;
  model.d_model = shape.d_model;
  model.head.kind = HeadKind::kAdaptive;
  model.head.tie_weight = false;
  model.head.cutoffs = shape.cutoffs;
  model.head.div_val = shape.div_val;
  model.head.proj_same_dim = false;
  check_model(model, "bench head");
  return model;
}

std::vector<ParameterSpec> parameters_of(const ModelConfig& model, int64_t vocabulary) {
  std::vector<ParameterSpec> specs;
  declare_output(model, vocabulary, specs);
  return specs;
}

OwnedTensor zipf_words(const HeadShape& shape) {
  OwnedTensor words(DType::kInt32, {1, shape.tokens});
  const RandomSequence random{.seed = 1, .step = 0, .site = 1};
  for (int64_t i = 0; i < shape.tokens; ++i)
    words.as<int32_t>()[i] = zipf_word(random_uniform(random, static_cast<uint64_t>(i)), shape.vocabulary);
  return words;
}

OwnedTensor placed(Workbench& workbench, const OwnedTensor& tensor) {
  OwnedTensor copy(tensor.view().dtype, tensor.shape(), workbench.device());
  workbench.queue().copy(copy.view(), tensor.view());
  workbench.queue().synchronize();
  return copy;
}

// A head with its inputs, which both measurements share.
struct HeadInputs {
  ModelConfig model;
  std::unique_ptr<Head> head;
  Parameters parameters;
  OwnedTensor hidden, targets;

  HeadInputs(Workbench& workbench, const HeadShape& shape, const OwnedTensor& words)
      : model(model_of(shape)),
        head(make_head(model, shape.vocabulary)),
        parameters(parameters_of(model, shape.vocabulary),
                   compute_of(model, workbench.precision(), workbench.device())),
        hidden(workbench.random_tensor({1, shape.tokens, shape.d_model})),
        targets(placed(workbench, words)) {
    parameters.initialize(model.init, 1);
  }
};

class HeadTape {
 public:
  HeadTape(Workbench& workbench, HeadInputs& inputs, Tape::Mode mode)
      : queue_(workbench.queue()), arena_(workbench.device()), tape_(arena_, mode, inputs.hidden.view().dtype) {
    const Shape shape = inputs.hidden.shape();
    const Slot hidden = tape_.bound(shape, tape_.activations());
    const Slot targets = tape_.bound(inputs.targets.shape(), DType::kInt32);
    const Slot gradient = tape_.training() ? tape_.new_slot(shape, tape_.activations()) : Slot{};
    inputs.head->loss(tape_, inputs.parameters, {hidden, gradient}, {targets});
    tape_.seal();
    tape_.bind(hidden, inputs.hidden.view());
    tape_.bind(targets, inputs.targets.view());
    tape_.info().loss_scale = 1.0F / static_cast<float>(inputs.targets.shape().elements());
  }

  void run() {
    tape_.forward(queue_);
    if (tape_.training()) tape_.backward(queue_);
  }
  int64_t planned_bytes() const { return tape_.planned_bytes(); }

 private:
  kernels::Queue& queue_;
  Arena arena_;
  Tape tape_;
};

std::vector<int64_t> tokens_of_clusters(const std::vector<VocabularyCluster>& clusters, const OwnedTensor& words) {
  std::vector<int64_t> tokens(clusters.size());
  for (int64_t i = 0; i < words.shape().elements(); ++i) {
    const int64_t word = words.as<int32_t>()[i];
    for (size_t c = 0; c < clusters.size(); ++c)
      tokens[c] += word >= clusters[c].first && word < clusters[c].first + clusters[c].words ? 1 : 0;
  }
  return tokens;
}

// The operations of the loss: of the projections and logits of those tokens that a cluster must see.
double loss_flops(const ModelConfig& model, const std::vector<VocabularyCluster>& clusters,
                  const std::vector<int64_t>& cluster_tokens, int64_t tokens) {
  double products = 0.0;
  for (size_t c = 0; c < clusters.size(); ++c) {
    const int64_t seen = c == 0 ? tokens : cluster_tokens[c];
    const int64_t gates = c == 0 ? static_cast<int64_t>(clusters.size()) - 1 : 0;
    const int64_t projected = clusters[c].projection.empty() ? 0 : model.d_model;
    products +=
        static_cast<double>(seen * clusters[c].width) * static_cast<double>(clusters[c].words + gates + projected);
  }
  return 2.0 * products;
}

}  // namespace

int32_t zipf_word(double uniform, int64_t vocabulary) {
  const double one_based = std::pow(static_cast<double>(vocabulary) + 1.0, uniform);
  return static_cast<int32_t>(std::min(static_cast<int64_t>(one_based), vocabulary) - 1);
}

void HeadShape::describe(JsonFields& fields) {
  fields.optional("vocab_size", vocabulary, {.meaning = "size of the vocabulary", .unit = "tokens", .minimum = 1});
  fields.optional("cutoffs", cutoffs, {.meaning = "first word of each cluster except the first", .minimum = 1});
  fields.optional("div_val", div_val,
                  {.meaning = "how many times narrower each cluster is than the one before", .minimum = 1});
  fields.optional("d_model", d_model, {.meaning = "width of the hidden states, D", .minimum = 1});
  fields.optional(
      "tokens", tokens,
      {.meaning = "tokens of a step, with random targets that are distributed like the words of a text", .minimum = 1});
}

HeadBench bench_head(Workbench& workbench, const Effort& effort, const HeadShape& shape, bool loss_only) {
  const OwnedTensor words = zipf_words(shape);
  HeadInputs inputs(workbench, shape, words);
  const std::vector<VocabularyCluster> clusters = vocabulary_clusters(inputs.model, shape.vocabulary);
  HeadBench bench;
  bench.cluster_tokens = tokens_of_clusters(clusters, words);
  const double flops = loss_flops(inputs.model, clusters, bench.cluster_tokens, shape.tokens);
  const auto measure = [&](const char* name, Tape::Mode mode, double passes) {
    HeadTape tape(workbench, inputs, mode);
    bench.scratch_bytes = tape.planned_bytes();
    bench.measurements.push_back({.name = name,
                                  .timing = time_calls(workbench.queue(), effort, [&] { tape.run(); }),
                                  .flops = passes * flops,
                                  .tokens = static_cast<double>(shape.tokens)});
  };
  measure("loss", Tape::Mode::kEvaluation, 1.0);
  if (!loss_only) measure("loss and gradient", Tape::Mode::kTraining, 3.0);
  bench.logits_bytes = shape.tokens * shape.vocabulary * bytes_of(inputs.hidden.view().dtype);
  return bench;
}

}  // namespace segue

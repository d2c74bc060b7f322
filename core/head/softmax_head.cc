// The plain softmax over the whole vocabulary.
#include "core/head/head.h"

namespace segue {

namespace {

class SoftmaxHead : public Head {
 public:
  using Head::Head;

  TokenLoss loss(Tape& tape, Parameters& parameters, const Value& hidden, const TokenTargets& targets) const override {
    const VocabularyCluster& all = clusters_.front();
    const Value x = project(tape, parameters, hidden, all);
    return cross_entropy(tape, linear(tape, x, parameters[all.output_table]), parameters[all.output_bias], targets);
  }

  std::vector<Slot> logits(Tape& tape, Parameters& parameters, const Value& hidden) const override {
    const VocabularyCluster& all = clusters_.front();
    return {linear(tape, project(tape, parameters, hidden, all), parameters[all.output_table]).data};
  }
};

}  // namespace

HeadMaker make_softmax_head;
std::unique_ptr<Head> make_softmax_head(const ModelConfig& model, int64_t vocab_size) {
  return std::make_unique<SoftmaxHead>(model, vocab_size);
}

}  // namespace segue

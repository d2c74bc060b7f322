// LAMB: pieces cut where tensors begin and end, and the norms of tensors that several ranks hold parts of.
#include <algorithm>
#include <utility>

#include "base/buffer.h"
#include "core/optimizer/update_rule.h"
#include "kernels/lamb.h"

namespace segue {

namespace {

// Elements that one thread, or one block of a GPU's, takes at a time; a multiple of 16 bytes.
constexpr int64_t kChunk = int64_t{1} << 15;

// The chunks that this rank updates, tensor by tensor.
struct ChunkTable {
  std::vector<kernels::LambChunk> chunks;
  std::vector<int64_t> starts{0};  // of every tensor's chunks, and the end
};

// The elements of a tensor that lie in a piece, where they lie.
void append_chunks(ChunkTable& table, int64_t tensor, const Share& elements, const Piece& piece) {
  const Share common = common_part(elements, piece.flat);
  const int64_t end = common.first + common.count;
  for (int64_t first = common.first; first < end; first += kChunk)
    table.chunks.push_back({.tensor = tensor,
                            .first = first,
                            .own = piece.own.first + first - piece.flat.first,
                            .count = std::min(kChunk, end - first)});
}

ChunkTable make_chunks(const Parameters& parameters, const std::vector<Piece>& pieces) {
  ChunkTable table;
  for (size_t i = 0; i < parameters.specs().size(); ++i) {
    const Share elements{parameters.offset_of(i), parameters.specs()[i].shape.elements()};
    for (const Piece& piece : pieces) append_chunks(table, static_cast<int64_t>(i), elements, piece);
    table.starts.push_back(static_cast<int64_t>(table.chunks.size()));
  }
  return table;
}

// Chunks one after the other that decay, or do not.
struct ChunkRun {
  Share chunks;
  bool is_decayed;
};

std::vector<ChunkRun> runs_of(const Parameters& parameters, const std::vector<int64_t>& starts) {
  std::vector<ChunkRun> runs;
  for (size_t i = 0; i < parameters.specs().size(); ++i) {
    const int64_t count = starts[i + 1] - starts[i];
    const bool is_decayed = parameters.specs()[i].decays();
    if (count == 0) continue;
    if (runs.empty() || runs.back().is_decayed != is_decayed)
      runs.push_back({.chunks = {.first = starts[i], .count = 0}, .is_decayed = is_decayed});
    runs.back().chunks.count += count;
  }
  return runs;
}

OwnedTensor on_device(ConstTensorView tensor, Device device) {
  OwnedTensor copy(tensor.dtype, tensor.shape, device);
  copy_tensor(copy.view(), tensor, device);
  return copy;
}

class LambRule : public UpdateRule {
 public:
  LambRule(const OptimizerConfig& config, UpdateRuleParts parts) : config_(config), parts_(std::move(parts)) {
    const ChunkTable table = make_chunks(parts_.parameters, parts_.pieces);
    const auto count = static_cast<int64_t>(table.chunks.size());
    const auto tensors = static_cast<int64_t>(table.starts.size()) - 1;
    const Device device = parts_.queue.device();
    const ConstTensorView chunks{
        reinterpret_cast<const std::byte*>(table.chunks.data()), DType::kInt64, {count, kernels::kLambChunkFields}};
    chunks_ = on_device(chunks, device);
    starts_ = on_device(view_of(table.starts.data(), {tensors + 1}), device);
    sums_ = OwnedTensor(DType::kFloat64, {count, 2}, device);
    squares_ = OwnedTensor(DType::kFloat64, {tensors, 2}, device);
    runs_ = runs_of(parts_.parameters, table.starts);
  }

  void queue(const UpdateInputs& inputs) override {
    const double epsilon = effective_epsilon(config_);
    for (const auto& [chunks, is_decayed] : runs_)
      kernels::lamb_moments(parts_.queue, {.parameters = parts_.parameters.values(),
                                           .gradients = inputs.gradients,
                                           .first_moment = parts_.moments[0],
                                           .second_moment = parts_.moments[1],
                                           .chunks = part_of(chunks_.view(), chunks),
                                           .sums = part_of(sums_.view(), chunks),
                                           .clipped = inputs.clipped,
                                           .beta1 = config_.beta1,
                                           .beta2 = config_.beta2,
                                           .epsilon = epsilon,
                                           .weight_decay = is_decayed ? config_.weight_decay : 0.0});
    kernels::lamb_norms(parts_.queue, {.sums = sums_.view(), .starts = starts_.view(), .squares = squares_.view()});
    if (parts_.all_ranks) parts_.all_ranks(squares_.view());
    for (const auto& [chunks, is_decayed] : runs_)
      kernels::lamb_step(parts_.queue, {.parameters = parts_.parameters.values(),
                                        .first_moment = parts_.moments[0],
                                        .second_moment = parts_.moments[1],
                                        .chunks = part_of(chunks_.view(), chunks),
                                        .squares = squares_.view(),
                                        .compute_copy = parts_.parameters.compute_copy(),
                                        .clipped = inputs.clipped,
                                        .learning_rate = inputs.learning_rate,
                                        .epsilon = epsilon,
                                        .weight_decay = is_decayed ? config_.weight_decay : 0.0});
  }

 private:
  OptimizerConfig config_;
  UpdateRuleParts parts_;
  OwnedTensor chunks_;
  OwnedTensor starts_;
  OwnedTensor sums_;     // scratch
  OwnedTensor squares_;  // scratch
  std::vector<ChunkRun> runs_;
};

}  // namespace

UpdateRuleMaker make_lamb_rule;
std::unique_ptr<UpdateRule> make_lamb_rule(const OptimizerConfig& config, UpdateRuleParts parts) {
  return std::make_unique<LambRule>(config, std::move(parts));
}

}  // namespace segue

#include "core/optimizer/optimizer.h"

#include <utility>

#include "base/cuda.h"
#include "kernels/gradient_clip.h"

namespace segue {

Optimizer::Optimizer(const OptimizerConfig& config, Parameters& parameters, kernels::Queue& queue,
                     std::vector<Piece> pieces, std::optional<Sharding> sharding)
    : config_(config),
      parameters_(parameters),
      queue_(queue),
      pieces_(std::move(pieces)),
      sharding_(std::move(sharding)),
      bounded_(parameters, pieces_, queue) {
  const Shape own{pieces_.back().own.first + pieces_.back().own.count};
  UpdateRuleParts parts{
      .parameters = parameters, .queue = queue, .pieces = pieces_, .moments = {}, .all_ranks = nullptr};
  moments_.resize(moment_names(config).size());
  for (OwnedTensor& moment : moments_) {
    moment = OwnedTensor(DType::kFloat32, own, queue.device());
    parts.moments.push_back(moment.view());
  }
  if (sharding_) {
    gradient_shard_ = OwnedTensor(DType::kFloat32, own, queue.device());
    parts.all_ranks = [this](TensorView values) {
      sharding_->ordered.run([&](Collectives& ranks) { ranks.all_reduce(values); });
    };
  }
  norm_parts_ = OwnedTensor(DType::kFloat64, {kernels::kGradientNormParts}, queue.device());
  clipped_ = OwnedTensor(DType::kFloat64, {2}, queue.device());
  rule_ = make_update_rule(config, std::move(parts));
}

Optimizer::Optimizer(const OptimizerConfig& config, Parameters& parameters, kernels::Queue& queue)
    : Optimizer(
          config, parameters, queue,
          [&] {
            const Share all{0, parameters.values().elements()};
            return std::vector<Piece>{{.flat = all, .own = all}};
          }(),
          std::nullopt) {}

Optimizer::Optimizer(const OptimizerConfig& config, Parameters& parameters, kernels::Queue& queue,
                     const Buckets& buckets, Collectives& collectives)
    : Optimizer(
          config, parameters, queue,
          [&] {
            std::vector<Piece> pieces;
            for (int64_t b = 0; b < buckets.count(); ++b)
              pieces.push_back({.flat = buckets.part(b, collectives.rank()), .own = buckets.in_shard(b)});
            return pieces;
          }(),
          Sharding{buckets, collectives, OrderedCollectives(collectives, queue)}) {}

void Optimizer::step(double learning_rate) {
  const cuda::Range range("optimizer");
  const TensorView gradients = sharding_ ? gradient_shard_.view() : parameters_.gradients();
  bounded_.add_penalties(gradients);
  const auto describe_clip = [&] {
    return StepPart{.name = "gradient_norm", .pass = "", .bytes = static_cast<double>(gradients.bytes())};
  };
  observed(observer_, describe_clip, [&] { clip(gradients); });
  const auto describe_update = [&] { return StepPart{.name = "optimizer", .pass = "", .bytes = bytes_of_update()}; };
  observed(observer_, describe_update, [&] {
    rule_->queue(
        {.gradients = gradients, .clipped = clipped_.view(), .learning_rate = learning_rate, .step = ++steps_});
  });
  bounded_.clamp();
  if (!sharding_) return;
  gather(parameters_.values());
  if (!parameters_.compute_copy().empty()) gather(parameters_.compute_copy());
}

void Optimizer::clip(ConstTensorView gradients) {
  kernels::gradient_norm(queue_, {.gradients = gradients, .parts = norm_parts_.view()});
  if (sharding_) sharding_->ordered.run([&](Collectives& ranks) { ranks.all_reduce(norm_parts_.view()); });
  kernels::clip_gradients(queue_, {.parts = norm_parts_.view(), .clip = config_.clip, .outcome = clipped_.view()});
}

// Gradients are read, parameters and moments read and written, the compute copy written.
double Optimizer::bytes_of_update() const {
  int64_t elements = 0;
  for (const Piece& piece : pieces_) elements += piece.own.count;
  const int64_t passes = 3 + 2 * std::ssize(moments_);
  const int64_t copied = parameters_.compute_copy().empty() ? 0 : bytes_of(parameters_.compute_copy().dtype);
  return static_cast<double>(elements * (passes * bytes_of(DType::kFloat32) + copied));
}

// Every rank's parts of a flat block to all.
void Optimizer::gather(TensorView flat) {
  sharding_->ordered.run([&](Collectives& ranks) {
    for (int64_t b = 0; b < sharding_->buckets.count(); ++b)
      ranks.all_gather(part_of(flat, pieces_[static_cast<size_t>(b)].flat),
                       part_of(flat, sharding_->buckets.elements(b)));
  });
}

double Optimizer::norm() const {
  queue_.synchronize();
  return *HostTensor(outcome(), queue_.device()).view().as<double>();
}

int64_t Optimizer::bytes(const OptimizerConfig& config, const Buckets& buckets) {
  const auto moments = static_cast<int64_t>(moment_names(config).size());
  return (moments + (buckets.parts() == 1 ? 0 : 1)) * buckets.shard_elements() * bytes_of(DType::kFloat32);
}

std::optional<HostTensor> Optimizer::collect_moment(size_t i) {
  const ConstTensorView moment = moments_[i].view();
  if (!sharding_) return HostTensor(moment, queue_.device());
  const Buckets& buckets = sharding_->buckets;
  const bool is_first = sharding_->collectives.rank() == 0;
  OwnedTensor bucket(moment.dtype, {buckets.elements(0).count}, queue_.device());
  OwnedTensor whole(moment.dtype, is_first ? parameters_.values().shape : Shape{0});
  for (int64_t b = 0; b < buckets.count(); ++b) {
    const Share own = pieces_[static_cast<size_t>(b)].own;
    const TensorView gathered = part_of(bucket.view(), {0, buckets.elements(b).count});
    sharding_->ordered.run([&](Collectives& ranks) { ranks.all_gather(part_of(moment, own), gathered); });
    queue_.synchronize();
    if (is_first) copy_tensor(part_of(whole.view(), buckets.elements(b)), gathered, queue_.device());
  }
  return is_first ? std::optional<HostTensor>(std::move(whole)) : std::nullopt;
}

void Optimizer::restore_moment(size_t i, ConstTensorView flat) {
  for (const Piece& piece : pieces_)
    copy_tensor(part_of(moment(i), piece.own), part_of(flat, piece.flat), queue_.device());
}

}  // namespace segue

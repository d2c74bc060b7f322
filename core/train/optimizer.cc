// Norm, clip, update; and what ranks that share the work tell each other.
#include "core/train/optimizer.h"

#include <utility>

#include "base/cuda.h"
#include "kernels/adam.h"

namespace segue {

namespace {

TensorView part_of(TensorView flat, const Share& part) { return flat.rows(part.first, part.count); }

}  // namespace

Optimizer::Optimizer(const OptimizerConfig& config, Parameters& parameters, kernels::Stream& stream,
                     std::vector<Piece> pieces)
    : config_(config), parameters_(parameters), stream_(stream), pieces_(std::move(pieces)) {
  const Shape own{pieces_.back().own.first + pieces_.back().own.count};
  first_moment_ = OwnedTensor(DType::kFloat32, own, stream.device());
  second_moment_ = OwnedTensor(DType::kFloat32, own, stream.device());
  norm_parts_ = OwnedTensor(DType::kFloat64, {kernels::kGradientNormParts}, stream.device());
  clipped_ = OwnedTensor(DType::kFloat64, {2}, stream.device());
}

Optimizer::Optimizer(const OptimizerConfig& config, Parameters& parameters, kernels::Stream& stream)
    : Optimizer(config, parameters, stream, [&] {
        const Share all{0, parameters.values().elements()};
        return std::vector<Piece>{{.flat = all, .own = all}};
      }()) {}

Optimizer::Optimizer(const OptimizerConfig& config, Parameters& parameters, kernels::Stream& stream,
                     const Buckets& buckets, Communicator& communicator)
    : Optimizer(config, parameters, stream, [&] {
        std::vector<Piece> pieces;
        for (int64_t b = 0; b < buckets.count(); ++b)
          pieces.push_back({.flat = buckets.part(b, communicator.rank()), .own = buckets.in_shard(b)});
        return pieces;
      }()) {
  gradient_shard_ = OwnedTensor(DType::kFloat32, first_moment_.shape(), stream.device());
  sharding_.emplace(Sharding{buckets, communicator, OrderedCollectives(communicator, stream)});
}

void Optimizer::step(double learning_rate) {
  const cuda::Range range("optimizer");
  const ConstTensorView gradients = sharding_ ? gradient_shard_.view() : parameters_.gradients();
  kernels::gradient_norm(stream_, {.gradients = gradients, .parts = norm_parts_.view()});
  if (sharding_) sharding_->collectives.run([&](Communicator& ranks) { ranks.all_reduce(norm_parts_.view()); });
  kernels::clip_gradients(stream_, {.parts = norm_parts_.view(), .clip = config_.clip, .outcome = clipped_.view()});
  ++steps_;
  for (const Piece& piece : pieces_) update(piece, gradients.rows(piece.own.first, piece.own.count), learning_rate);
  if (!sharding_) return;
  gather(parameters_.values());
  if (!parameters_.compute_copy().empty()) gather(parameters_.compute_copy());
}

void Optimizer::update(const Piece& piece, ConstTensorView gradients, double learning_rate) {
  const TensorView copy = parameters_.compute_copy();
  kernels::adam_step(stream_, {.parameters = part_of(parameters_.values(), piece.flat),
                               .gradients = gradients,
                               .first_moment = part_of(first_moment(), piece.own),
                               .second_moment = part_of(second_moment(), piece.own),
                               .compute_copy = copy.empty() ? copy : part_of(copy, piece.flat),
                               .clipped = clipped_.view(),
                               .learning_rate = learning_rate,
                               .beta1 = config_.beta1,
                               .beta2 = config_.beta2,
                               .epsilon = config_.epsilon,
                               .weight_decay = config_.weight_decay,
                               .step = steps_});
}

// Every rank's parts of a flat block to all.
void Optimizer::gather(TensorView flat) {
  sharding_->collectives.run([&](Communicator& ranks) {
    for (int64_t b = 0; b < sharding_->buckets.count(); ++b)
      ranks.all_gather(part_of(flat, pieces_[static_cast<size_t>(b)].flat),
                       part_of(flat, sharding_->buckets.elements(b)));
  });
}

double Optimizer::norm() const {
  stream_.synchronize();
  return *HostTensor(outcome(), stream_.device()).view().as<double>();
}

int64_t Optimizer::bytes(const Buckets& buckets) {
  return (buckets.parts() == 1 ? 2 : 3) * buckets.shard_elements() * bytes_of(DType::kFloat32);
}

std::optional<HostTensor> Optimizer::collect(ConstTensorView moment) {
  if (!sharding_) return HostTensor(moment, stream_.device());
  const Buckets& buckets = sharding_->buckets;
  const bool is_first = sharding_->communicator.is_first();
  OwnedTensor bucket(moment.dtype, {buckets.elements(0).count}, stream_.device());
  OwnedTensor whole(moment.dtype, is_first ? parameters_.values().shape : Shape{0});
  for (int64_t b = 0; b < buckets.count(); ++b) {
    const Share own = pieces_[static_cast<size_t>(b)].own;
    const TensorView gathered = part_of(bucket.view(), {0, buckets.elements(b).count});
    sharding_->collectives.run(
        [&](Communicator& ranks) { ranks.all_gather(moment.rows(own.first, own.count), gathered); });
    stream_.synchronize();
    if (is_first) copy_tensor(part_of(whole.view(), buckets.elements(b)), gathered, stream_.device());
  }
  return is_first ? std::optional<HostTensor>(std::move(whole)) : std::nullopt;
}

void Optimizer::restore(ConstTensorView flat_first_moment, ConstTensorView flat_second_moment) {
  for (const Piece& piece : pieces_) {
    const auto take = [&](TensorView own, ConstTensorView flat) {
      copy_tensor(part_of(own, piece.own), flat.rows(piece.flat.first, piece.flat.count), stream_.device());
    };
    take(first_moment(), flat_first_moment);
    take(second_moment(), flat_second_moment);
  }
}

}  // namespace segue

// A layer's next rows are put together in a second block, which then takes the place of the first.
#include "core/kinds/memory/compressed/kept_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/cuda.h"
#include "core/kinds/memory/compressed/compressed_slots.h"
#include "kernels/copy_block.h"

namespace segue {

namespace {

void check_saved(const ConstTensorView& saved, const Shape& expected, DType dtype, const std::string& what) {
  if (saved.shape != expected || (saved.dtype != DType::kFloat32 && saved.dtype != DType::kBFloat16))
    throw CheckpointError("memory: {} is {} {}, expected {} {}", what, name_of(saved.dtype), saved.shape.text(),
                          name_of(dtype), expected.text());
}

}  // namespace

CompressedMemory::CompressedMemory(const ModelConfig& model, const ModelUse& use, int64_t streams,
                                   const Compute& compute)
    : d_model_(model.d_model), streams_(streams), use_(use), most_mem_len_(use.mem_len), compute_(compute) {
  const Shape all{streams, use.memory_rows(), d_model_};
  for (int64_t l = 0; l < model.n_layer; ++l) layers_.emplace_back(compute.activations, all, compute.device);
  next_ = OwnedTensor(compute.activations, all, compute.device);
  reset();
}

TensorView CompressedMemory::view(const OwnedTensor& block, int64_t length) const {
  return {const_cast<OwnedTensor&>(block).view().data, compute_.activations, {streams_, length, d_model_}};
}

ConstTensorView CompressedMemory::layer(int64_t l) const {
  return view(layers_[static_cast<size_t>(l)], compressed_ + rows_);
}

void CompressedMemory::reset() {
  compressed_ = use_.starts_full() ? use_.compressed_len : 0;
  rows_ = use_.starts_full() ? use_.mem_len : 0;
  for (OwnedTensor& owner : layers_) fill_zero(owner.view(), compute_.device);
}

void CompressedMemory::fit(SegmentShape& shape) const {
  if (shape.tgt_len > use_.mem_len)
    throw ContractError("a memory that compresses: expected segments of at most mem_len = {} tokens, found {}",
                        use_.mem_len, shape.tgt_len);
  shape.remembered = Remembered::kHiddenStates;
  shape.memory_rows = compressed_ + rows_;
  shape.compressed = compressed_;
  shape.pushed_out = use_.pushed_out(rows_, shape.tgt_len);
}

// From then on what a segment of a shape leaves behind is said by the shape.
bool CompressedMemory::is_settled() const { return compressed_ == use_.compressed_len && rows_ >= use_.mem_len; }

void CompressedMemory::bind(SegmentTape& segment) {
  for (size_t l = 0; l < segment.memories.size(); ++l)
    segment.tape.bind(segment.memories[l], layer(static_cast<int64_t>(l)));
}

CompressedMemory::Counts CompressedMemory::after(int64_t tgt_len) const {
  const int64_t pushed_out = use_.pushed_out(rows_, tgt_len);
  return {.compressed = std::min(use_.compressed_len, compressed_ + pushed_out / use_.compression_rate),
          .rows = rows_ - pushed_out + tgt_len};
}

void CompressedMemory::update(kernels::Queue& queue, const SegmentTape& segment) {
  const cuda::Range range("compressed_memory");
  const std::vector<Slot>& compressed = slots_as<CompressedSlots>(segment).compressed;
  for (size_t l = 0; l < layers_.size(); ++l)
    update(queue, static_cast<int64_t>(l), segment.tape.read(segment.fresh[l]),
           compressed.empty() ? ConstTensorView() : segment.tape.read(compressed[l]));
}

void CompressedMemory::update(kernels::Queue& queue, int64_t l, ConstTensorView inputs, ConstTensorView compressed) {
  const int64_t tgt_len = inputs.shape[1];
  const int64_t pushed_out = use_.pushed_out(rows_, tgt_len);
  const Counts then = after(tgt_len);
  const int64_t made = pushed_out / use_.compression_rate;
  const int64_t taken = std::min(made, use_.compressed_len);
  const TensorView next = view(next_, then.length());
  int64_t to_row = 0;
  const auto append = [&](ConstTensorView from, int64_t from_row, int64_t rows) {
    if (rows == 0) return;
    kernels::copy_block(
        queue, {.from = from, .from_row = from_row, .to = next, .to_row = to_row, .rows = rows, .columns = d_model_});
    to_row += rows;
  };
  const int64_t kept = then.compressed - taken;
  append(layer(l), compressed_ - kept, kept);
  append(compressed, made - taken, taken);
  append(layer(l), compressed_ + pushed_out, rows_ - pushed_out);
  append(inputs, 0, tgt_len);
  queue.copy(view(layers_[static_cast<size_t>(l)], then.length()), next);
}

void CompressedMemory::advance(const SegmentTape& segment) { advance(segment.tape.shape(segment.fresh.front())[1]); }

void CompressedMemory::advance(int64_t tgt_len) {
  const Counts then = after(tgt_len);
  compressed_ = then.compressed;
  rows_ = then.rows;
}

// Rows beyond the new limit are gone, without being compressed.
void CompressedMemory::set_mem_len(kernels::Queue& queue, int64_t mem_len) {
  if (mem_len < use_.compression_rate || mem_len > most_mem_len_)
    throw ContractError("a memory that compresses, of {} rows, expected {} to {}", mem_len, use_.compression_rate,
                        most_mem_len_);
  use_.mem_len = mem_len;
  const int64_t kept = std::min(rows_, use_.uncompressed_rows());
  if (kept == rows_) return;
  for (int64_t l = 0; l < std::ssize(layers_); ++l) {
    const TensorView next = view(next_, compressed_ + kept);
    if (compressed_ > 0)
      kernels::copy_block(queue, {.from = layer(l), .to = next, .rows = compressed_, .columns = d_model_});
    kernels::copy_block(queue, {.from = layer(l),
                                .from_row = compressed_ + rows_ - kept,
                                .to = next,
                                .to_row = compressed_,
                                .rows = kept,
                                .columns = d_model_});
    queue.copy(view(layers_[static_cast<size_t>(l)], compressed_ + kept), next);
  }
  rows_ = kept;
}

std::vector<NamedTensor> CompressedMemory::state() const {
  std::vector<NamedTensor> state;
  for (int64_t l = 0; l < std::ssize(layers_); ++l) state.push_back({fmt::format("layers.{}", l), layer(l)});
  state.push_back({"compressed", {layers_.front().view().data, compute_.activations, {streams_, compressed_, 0}}});
  return state;
}

void CompressedMemory::restore(std::span<const ConstTensorView> state) {
  const auto layers = std::ssize(layers_);
  if (std::ssize(state) != layers + 1)
    throw CheckpointError("memory of {} tensors, expected {}", state.size(), layers + 1);
  const auto rows_of = [](const ConstTensorView& saved) { return saved.shape.rank() == 3 ? saved.shape[1] : -1; };
  const int64_t compressed = rows_of(state.back());
  const int64_t length = rows_of(state.front());
  const int64_t most = most_mem_len_ + use_.compression_rate - 1;
  if (compressed < 0 || compressed > use_.compressed_len || length < compressed || length - compressed > most)
    throw CheckpointError("memory of {} compressed rows of {}, expected at most {} and {} others", compressed, length,
                          use_.compressed_len, most);
  check_saved(state.back(), {streams_, compressed, 0}, compute_.activations, "the number of compressed rows");
  for (int64_t l = 0; l < layers; ++l)
    check_saved(state[static_cast<size_t>(l)], {streams_, length, d_model_}, compute_.activations,
                fmt::format("layer {}", l));
  for (size_t l = 0; l < layers_.size(); ++l) {
    OwnedTensor rounded(compute_.activations, state[l].shape);
    convert(rounded.view(), state[l]);
    copy_tensor(view(layers_[l], length), rounded.view(), compute_.device);
  }
  compressed_ = compressed;
  rows_ = length - compressed;
}

int64_t CompressedMemory::remembered_bytes() const {
  int64_t bytes = 0;
  for (const OwnedTensor& layer : layers_) bytes += layer.view().bytes();
  return bytes;
}

}  // namespace segue

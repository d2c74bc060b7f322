// On the CPU a queue knows its number of threads; on a GPU it has a CUDA queue.
#include "kernels/queue.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/cuda.h"
#include "base/error.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cuda/queue.h"
#include "kernels/operations.h"
#include "kernels/thread_team.h"

namespace segue::kernels {

namespace {

// A piece(first, bytes) for each thread; one thread alone does not reach what memory can carry.
template <typename Piece>
void for_each_piece(const Queue& queue, int64_t bytes, const Piece& piece) {
  constexpr int64_t kBytesWorthAThread = int64_t{1} << 20;
  const int64_t pieces = std::clamp<int64_t>(bytes / kBytesWorthAThread, 1, queue.threads());
#pragma omp parallel for schedule(static) num_threads(static_cast <int>(pieces))
  for (int64_t i = 0; i < pieces; ++i) {
    const int64_t first = bytes * i / pieces;
    piece(first, static_cast<size_t>(bytes * (i + 1) / pieces - first));
  }
}

}  // namespace

Queue::Queue(int threads) : Queue(Device{}, threads) {}

Queue::Queue(Device device, int threads)
    : device_(device),
      threads_(threads == 0 ? omp_get_max_threads() : threads),
      operations_(operations_of(device.kind)) {
  if (threads < 0) throw ContractError("queue: expected 0 or more threads, found {}", threads);
  enter_team();  // before oneDNN asks how many
  products_ = std::make_unique<cpu::Products>();
  if (device.is_cuda()) queue_ = std::make_unique<segue::cuda::Queue>(device.index);
}

Queue::~Queue() = default;

void Queue::enter_team() {
  omp_set_num_threads(threads_);  // no more are started
  ThreadTeam::without_subnormals(threads_).enter();
}

void Queue::enter_thread() {
  enter_team();
  if (queue_) segue::cuda::make_current(device_.index);
}

segue::cuda::Queue& Queue::cuda() {
  if (!queue_) throw ContractError("queue: expected a GPU, found {}", name_of(device_));
  return *queue_;
}

std::string Queue::code_path() const {
  return fmt::format("{}, products by {}", operations_.level, cpu::name_of_products());
}

void Queue::copy(TensorView to, ConstTensorView from) {
  if (to.dtype != from.dtype || to.elements() != from.elements()) {
    throw ContractError("queue: cannot copy {} {} to {} {}", name_of(from.dtype), from.shape.text(), name_of(to.dtype),
                        to.shape.text());
  }
  if (from.empty()) return;
  if (queue_) {
    queue_->copy(to.data, from.data, from.bytes());
  } else {
    for_each_piece(*this, from.bytes(),
                   [&](int64_t first, size_t bytes) { std::memcpy(to.data + first, from.data + first, bytes); });
  }
}

void Queue::fill_zero(TensorView tensor) {
  if (tensor.empty()) return;
  if (queue_) {
    queue_->fill_zero(tensor.data, tensor.bytes());
  } else {
    for_each_piece(*this, tensor.bytes(),
                   [&](int64_t first, size_t bytes) { std::memset(tensor.data + first, 0, bytes); });
  }
}

void Queue::synchronize() {
  if (queue_) queue_->synchronize();
}

void Queue::watch_with(Watch watch) {
  if (queue_) queue_->watch_with(std::move(watch));
}

}  // namespace segue::kernels

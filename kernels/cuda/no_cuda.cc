// A build without CUDA: no queue can be made, so that nothing else of it and no operation is ever called.
#include "base/cuda.h"
#include "base/error.h"
#include "kernels/cuda/operations.h"
#include "kernels/cuda/queue.h"

namespace segue::cuda {

struct Queue::State {};

namespace {

[[noreturn]] void refuse() { throw DeviceError("this program was built without CUDA"); }

}  // namespace

Queue::Queue(int device) { require_device(device); }
Queue::~Queue() = default;
int Queue::device() const { refuse(); }
void* Queue::stream() const { refuse(); }
void Queue::copy(void* /*to*/, const void* /*from*/, int64_t /*bytes*/) { refuse(); }
void Queue::fill_zero(void* /*memory*/, int64_t /*bytes*/) { refuse(); }
void* Queue::scratch(int64_t /*bytes*/) { refuse(); }

void Fence::set(void* /*stream*/) { refuse(); }
bool Fence::has_come() const { refuse(); }
void Fence::wait() const { refuse(); }
void Fence::hold(void* /*stream*/) { refuse(); }

Stopwatch::Stopwatch() { refuse(); }
void Stopwatch::start(void* /*stream*/) { refuse(); }
void Stopwatch::stop(void* /*stream*/) { refuse(); }
double Stopwatch::seconds() const { refuse(); }

void Graph::record(Queue& /*queue*/, const std::function<void()>& /*work*/) { refuse(); }
void Graph::launch(Queue& /*queue*/) { refuse(); }

}  // namespace segue::cuda

namespace segue::kernels::cuda {

// The abilities of a GPU are known here too, since jobs for one are planned without it.
const Operations& operations() {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a type
#define SEGUE_REFUSED_OPERATION(name, arguments) .name = [](Queue&, const arguments&) { segue::cuda::refuse(); },
  static const Operations table{
      .level = "CUDA",
      .widest_head = kMaxHeadWidth,
      .has_bfloat16_products = [] { return true; },
      .linear_cross_entropy_workspace = [](const LinearCrossEntropyExtents&) -> int64_t { segue::cuda::refuse(); },
      .relative_attention_workspace = [](const RelativeAttentionExtents&) -> int64_t { segue::cuda::refuse(); },
      SEGUE_OPERATIONS(SEGUE_REFUSED_OPERATION)};
#undef SEGUE_REFUSED_OPERATION
  return table;
}

}  // namespace segue::kernels::cuda

// A build without CUDA: no queue can be made and there are no operations, so nothing else here is ever called.
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

const Operations& operations() { segue::cuda::refuse(); }

}  // namespace segue::kernels::cuda

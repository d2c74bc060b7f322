// A build without CUDA: no queue can be made, so nothing else of it is ever called.
#include "kernels/cuda/queue.h"

#include "base/cuda.h"
#include "base/error.h"

namespace segue::cuda {

struct Queue::State {};
struct Fence::State {};
struct Stopwatch::State {};
struct Graph::State {};

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

Fence::Fence() = default;
Fence::~Fence() = default;
Fence::Fence(Fence&& other) noexcept = default;
Fence& Fence::operator=(Fence&& other) noexcept = default;
void Fence::set(void* /*stream*/) { refuse(); }
bool Fence::has_come() const { refuse(); }
void Fence::wait() const { refuse(); }
void Fence::hold(void* /*stream*/) { refuse(); }

Stopwatch::Stopwatch() { refuse(); }
Stopwatch::~Stopwatch() = default;
Stopwatch::Stopwatch(Stopwatch&& other) noexcept = default;
Stopwatch& Stopwatch::operator=(Stopwatch&& other) noexcept = default;
void Stopwatch::start(void* /*stream*/) { refuse(); }
void Stopwatch::stop(void* /*stream*/) { refuse(); }
double Stopwatch::seconds() const { refuse(); }

Graph::Graph() = default;
Graph::~Graph() = default;
Graph::Graph(Graph&& other) noexcept = default;
Graph& Graph::operator=(Graph&& other) noexcept = default;
void Graph::record(Queue& /*queue*/, const std::function<void()>& /*work*/) { refuse(); }
void Graph::launch(Queue& /*queue*/) { refuse(); }

}  // namespace segue::cuda

// The emulated GPU behind base/cuda_stream.h.
#include "tests/simt/stream.h"

#include <memory>
#include <set>
#include <utility>

#include "base/cuda.h"
#include "base/cuda_stream.h"
#include "base/error.h"

namespace segue::cuda {

namespace {

std::set<QueuedWork*>& queues() {
  static std::set<QueuedWork*> all;
  return all;
}

}  // namespace

QueuedWork::QueuedWork() { queues().insert(this); }
QueuedWork::~QueuedWork() { queues().erase(this); }

bool QueuedWork::run_until(uint64_t place) {
  while (done_ < place && !is_stalled) {
    waiting_.front()();
    if (is_stalled) break;
    waiting_.pop_front();
    ++done_;
  }
  return done_ >= place;
}

void finish_all_work() {
  for (QueuedWork* work : queues()) work->run_until(work->end());
}

OwnedStream::OwnedStream(int device) {
  require_device(device);
  stream_ = std::make_unique<EmulatedStream>().release();
}

OwnedStream::~OwnedStream() {
  const std::unique_ptr<EmulatedStream> owner(static_cast<EmulatedStream*>(stream_));
  if (owner) owner->queued->run_until(owner->queued->end());
}

void submit(EmulatedStream& stream, std::function<void()> work) {
  if (stream.recording == nullptr) return stream.queued->add(std::move(work));
  stream.recording->work.push_back(std::move(work));
  stream.is_waited_for = false;
}

bool is_idle(void* stream) {
  if (emulated(stream).recording != nullptr) throw DeviceError("queue: waited for while a graph is recorded");
  QueuedWork& work = *emulated(stream).queued;
  return work.run_until(work.end());
}

void synchronize(void* stream) {
  if (!is_idle(stream)) throw DeviceError("queue: waited for without end");
}

}  // namespace segue::cuda

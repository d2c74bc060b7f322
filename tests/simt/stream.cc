// The emulated GPU behind base/cuda_stream.h.
#include "tests/simt/stream.h"

#include <memory>

#include "base/cuda.h"
#include "base/cuda_stream.h"
#include "base/error.h"

namespace segue::cuda {

OwnedStream::OwnedStream(int device) {
  require_device(device);
  stream_ = std::make_unique<EmulatedStream>().release();
}

OwnedStream::~OwnedStream() { const std::unique_ptr<EmulatedStream> owner(static_cast<EmulatedStream*>(stream_)); }

void submit(EmulatedStream& stream, std::function<void()> work) {
  if (stream.recording == nullptr) return work();
  stream.recording->work.push_back(std::move(work));
  stream.is_waited_for = false;
}

bool is_idle(void* stream) {
  if (emulated(stream).recording != nullptr) throw DeviceError("queue: waited for while a graph is recorded");
  return !emulated(stream).is_stalled;
}

void synchronize(void* stream) {
  if (!is_idle(stream)) throw DeviceError("queue: waited for without end");
}

}  // namespace segue::cuda

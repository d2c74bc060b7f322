// A build without CUDA: no stream can be made, so nothing is ever asked of one.
#include "base/cuda.h"
#include "base/cuda_stream.h"
#include "base/error.h"

namespace segue::cuda {

namespace {

[[noreturn]] void refuse_stream() { throw DeviceError("this program was built without CUDA"); }

}  // namespace

OwnedStream::OwnedStream(int device) { require_device(device); }
OwnedStream::~OwnedStream() = default;
bool is_idle(void* /*stream*/) { refuse_stream(); }
void synchronize(void* /*stream*/) { refuse_stream(); }

}  // namespace segue::cuda

// The functions of the CUDA runtime that Segue calls, as its reference describes them, above a GPU that stands in.
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <utility>

#include "tests/cuda_standins/gpu.h"
#include "tests/cuda_standins/machine.h"
#include "tests/cuda_standins/memory.h"

namespace segue::standin {

namespace {

thread_local cudaError_t last_error = cudaSuccess;
thread_local int current_device = 0;

// That work is not done yet is no error: it is never the last one.
cudaError_t told(cudaError_t status) {
  if (status != cudaSuccess && status != cudaErrorNotReady) last_error = status;
  return status;
}

template <typename Body>
cudaError_t call(const Body& body) {
  const std::lock_guard lock(gpu().mutex);
  if (gpu().fault != cudaSuccess) return told(gpu().fault);
  return told(body());
}

// Makes a call that waits, or that allocates.
template <typename Body>
cudaError_t call_outside_graphs(const Body& body) {
  return call([&] {
    const cudaError_t refused = gpu().refuse_while_capturing();
    return refused == cudaSuccess ? body() : refused;
  });
}

template <typename Handle, typename Body>
cudaError_t call_with(Handle handle, const Body& body) {
  return call([&] { return gpu().has(handle) ? body() : cudaErrorInvalidResourceHandle; });
}

template <typename Body>
cudaError_t call_with(cudaEvent_t event, cudaStream_t stream, const Body& body) {
  return call([&] { return gpu().has(event) && gpu().has(stream) ? body() : cudaErrorInvalidResourceHandle; });
}

cudaError_t allocate_for(void** memory, size_t bytes, Place place) {
  return call_outside_graphs([&] {
    *memory = nullptr;
    const size_t free = machine().memory_bytes - gpu_bytes();
    if (place != Place::kPinned && bytes > free) return cudaErrorMemoryAllocation;
    *memory = allocate(bytes, place);
    return *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
  });
}

// Everything is waited for first, as what is queued may still use it.
cudaError_t release_from(void* memory, bool is_pinned) {
  return call_outside_graphs([&] {
    if (memory == nullptr) return cudaSuccess;
    const cudaError_t status = gpu().wait_for_all();
    if (status != cudaSuccess) return status;
    return release(memory, is_pinned) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

Work copying(void* to, const void* from, size_t bytes) {
  return [=] {
    if (place_of(to, bytes) == Place::kNowhere || place_of(from, bytes) == Place::kNowhere)
      return cudaErrorIllegalAddress;
    std::memmove(to, from, bytes);
    return cudaSuccess;
  };
}

// Memory of the host that the GPU does not know is copied aside before the call returns, or has been written when it
// returns. A graph would read and write it whenever it is launched, which is refused here.
cudaError_t copy(void* to, const void* from, size_t bytes, cudaStream_t stream) {
  const Place target = place_of(to, bytes);
  const Place source = place_of(from, bytes);
  if (target == Place::kNowhere || source == Place::kNowhere) return cudaErrorInvalidValue;
  const bool is_pageable = target == Place::kHost || source == Place::kHost;
  if (is_pageable && gpu().is_capturing(stream)) {
    gpu().refuse_while_capturing();
    return cudaErrorStreamCaptureUnsupported;
  }
  cudaError_t status = cudaSuccess;
  if (source == Place::kHost) {
    std::string aside(static_cast<const char*>(from), bytes);
    status = gpu().queue(stream, [to, aside = std::move(aside)] { return copying(to, aside.data(), aside.size())(); });
  } else {
    status = gpu().queue(stream, copying(to, from, bytes));
  }
  return status == cudaSuccess && target == Place::kHost ? gpu().wait_for(stream) : status;
}

cudaError_t fill(void* memory, int value, size_t bytes, cudaStream_t stream) {
  if (!gpu_reaches(memory, bytes)) return cudaErrorInvalidValue;
  return gpu().queue(stream, [=] {
    if (!gpu_reaches(memory, bytes)) return cudaErrorIllegalAddress;
    std::memset(memory, value, bytes);
    return cudaSuccess;
  });
}

bool is_gpu(int index) { return index >= 0 && index < machine().gpus; }

}  // namespace

}  // namespace segue::standin

using namespace segue::standin;  // NOLINT(google-build-using-namespace): these are C's functions

// Errors.

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorInvalidResourceHandle:
      return "cudaErrorInvalidResourceHandle";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorStreamCaptureUnsupported:
      return "cudaErrorStreamCaptureUnsupported";
    case cudaErrorStreamCaptureInvalidated:
      return "cudaErrorStreamCaptureInvalidated";
    case cudaErrorStreamCaptureUnjoined:
      return "cudaErrorStreamCaptureUnjoined";
    case cudaErrorStreamCaptureIsolation:
      return "cudaErrorStreamCaptureIsolation";
    case cudaErrorCapturedEvent:
      return "cudaErrorCapturedEvent";
    default:
      return "cudaError";
  }
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated:
      return "operation failed due to a previous error during capture";
    case cudaErrorStreamCaptureUnjoined:
      return "capturing stream has unjoined work";
    case cudaErrorStreamCaptureIsolation:
      return "dependency created on uncaptured work in another stream";
    case cudaErrorCapturedEvent:
      return "operation not permitted on an event last recorded in a capturing stream";
    default:
      return "unrecognized error code";
  }
}

cudaError_t cudaGetLastError() {
  const std::lock_guard lock(gpu().mutex);
  return gpu().fault != cudaSuccess ? gpu().fault : std::exchange(last_error, cudaSuccess);
}

// Devices.

cudaError_t cudaDriverGetVersion(int* version) {
  *version = machine().driver_version;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  return call([&] {
    *count = machine().gpus;
    return machine().enumeration;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return call([&] {
    if (!is_gpu(device)) return cudaErrorInvalidDevice;
    if (attribute == cudaDevAttrComputeCapabilityMajor)
      *value = machine().major;
    else if (attribute == cudaDevAttrComputeCapabilityMinor)
      *value = 0;
    else
      return cudaErrorInvalidValue;
    return cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device) {
  return call([&] {
    if (!is_gpu(device)) return cudaErrorInvalidDevice;
    current_device = device;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return call([&] {
    *device = current_device;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return call([&] {
    if (!is_gpu(device)) return cudaErrorInvalidDevice;
    *properties = {};
    std::strcpy(properties->name, "a GPU that stands in");
    properties->uuid.bytes[0] = static_cast<char>(0xAB);
    properties->uuid.bytes[1] = static_cast<char>(device);
    const pid_t process = getpid();  // every process has GPUs of its own
    std::memcpy(properties->uuid.bytes + 12, &process, sizeof(process));
    properties->multiProcessorCount = 2;
    return cudaSuccess;
  });
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return call([&] {
    *total = machine().memory_bytes;
    *free = machine().memory_bytes - gpu_bytes();
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSynchronize() {
  return call_outside_graphs([] { return gpu().wait_for_all(); });
}

// Memory.

cudaError_t cudaMalloc(void** memory, size_t bytes) { return allocate_for(memory, bytes, Place::kGpu); }
cudaError_t cudaMallocHost(void** memory, size_t bytes) { return allocate_for(memory, bytes, Place::kPinned); }
cudaError_t cudaFree(void* memory) { return release_from(memory, false); }
cudaError_t cudaFreeHost(void* memory) { return release_from(memory, true); }

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return call_outside_graphs([&] {
    if (kind != cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
    const cudaError_t status = copy(to, from, bytes, nullptr);
    const bool stays_on_gpu = place_of(to, bytes) == Place::kGpu && place_of(from, bytes) == Place::kGpu;
    return status == cudaSuccess && !stays_on_gpu ? gpu().wait_for(cudaStream_t{}) : status;
  });
}

cudaError_t cudaMemset(void* memory, int value, size_t bytes) {
  return call_outside_graphs([&] { return fill(memory, value, bytes, nullptr); });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return call_with(stream, [&] {
    return kind == cudaMemcpyDefault ? copy(to, from, bytes, stream) : cudaErrorInvalidMemcpyDirection;
  });
}

cudaError_t cudaMemsetAsync(void* memory, int value, size_t bytes, cudaStream_t stream) {
  return call_with(stream, [&] { return fill(memory, value, bytes, stream); });
}

// Streams.

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return call([&] {
    if (flags != cudaStreamNonBlocking) return cudaErrorInvalidValue;  // others wait for the default stream: not here
    *stream = gpu().create_stream();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return call([&] { return gpu().destroy(stream); });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return call_with(stream, [&] { return gpu().look_at(stream); });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return call_with(stream, [&] { return gpu().wait_for(stream); });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return call_with(event, stream,
                   [&] { return flags == cudaEventWaitDefault ? gpu().hold(stream, event) : cudaErrorInvalidValue; });
}

// Events.

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return call([&] {
    if (flags != cudaEventDefault && flags != cudaEventDisableTiming) return cudaErrorInvalidValue;
    *event = gpu().create_event(flags == cudaEventDefault);
    return cudaSuccess;
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call([&] { return gpu().destroy(event); });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return call_with(event, stream, [&] {
    if (flags != cudaEventRecordDefault && flags != cudaEventRecordExternal) return cudaErrorInvalidValue;
    return gpu().record(event, stream, flags == cudaEventRecordExternal);
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return call_with(event, [&] { return gpu().look_at(event); });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return call_with(event, [&] { return gpu().wait_for(event); });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return call([&] {
    for (const cudaEvent_t event : {start, end}) {
      if (!gpu().has(event) || !event->is_timed || !event->mark) return cudaErrorInvalidResourceHandle;
      if (!event->mark->has_come) return cudaErrorNotReady;
    }
    *milliseconds = std::chrono::duration<float, std::milli>(end->mark->at - start->mark->at).count();
    return cudaSuccess;
  });
}

// Graphs.

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return call_with(stream, [&] {
    return mode == cudaStreamCaptureModeThreadLocal ? gpu().begin_capture(stream) : cudaErrorInvalidValue;
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return call_with(stream, [&] { return gpu().end_capture(stream, graph); });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return call_with(stream, [&] {
    *status = gpu().is_capturing(stream) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  return call([&] { return flags == 0 ? gpu().instantiate(graph, executable) : cudaErrorInvalidValue; });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return call_with(stream, [&] { return gpu().launch(executable, stream); });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return call([&] { return gpu().destroy(graph); });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return call([&] { return gpu().destroy(executable); });
}

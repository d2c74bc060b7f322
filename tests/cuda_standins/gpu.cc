// How streams advance, and what a graph records of them.
#include "tests/cuda_standins/gpu.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tests/cuda_standins/memory.h"

namespace segue::standin {

namespace {

// Ends the process where a host would wait for ever.
[[noreturn]] void hang() {
  std::fputs("CUDA's stand-in: the host waits for work that never comes\n", stderr);
  std::abort();
}

template <typename Handle>
cudaError_t erase(std::set<Handle>& from, Handle handle) {
  if (from.erase(handle) == 0) return cudaErrorInvalidResourceHandle;
  const std::unique_ptr<std::remove_pointer_t<Handle>> owner(handle);
  return cudaSuccess;
}

template <typename Handle>
void erase_all(std::set<Handle>& from) {
  while (!from.empty()) erase(from, *from.begin());
}

// All nodes that these come behind, and these.
std::set<size_t> with_ancestors(const std::vector<Node>& nodes, std::set<size_t> these) {
  for (size_t node = nodes.size(); node-- > 0;) {  // a node comes behind earlier ones only
    if (these.contains(node)) these.insert(nodes[node].behind.begin(), nodes[node].behind.end());
  }
  return these;
}

}  // namespace

Gpu& gpu() {
  static Gpu only;
  return only;
}

Gpu::Gpu() { draw_from(1); }

void Gpu::draw_from(uint64_t seed) {
  const char* more = std::getenv("SEGUE_SIMT_SEED");
  random_.seed(seed + (more == nullptr ? 0 : std::strtoull(more, nullptr, 10)));
}

void Gpu::reset(uint64_t seed) {
  fault = cudaSuccess;
  default_ = {};
  captures_.clear();
  streams_.clear();
  all_streams_.clear();
  erase_all(events_);
  erase_all(graphs_);
  erase_all(executables_);
  draw_from(seed);
}

cudaStream_t Gpu::create_stream() {
  all_streams_.push_back(std::make_unique<CUstream_st>());
  return *streams_.insert(all_streams_.back().get()).first;
}

// Work queued there is still done.
cudaError_t Gpu::destroy(cudaStream_t stream) {
  return streams_.erase(stream) == 0 ? cudaErrorInvalidResourceHandle : cudaSuccess;
}

cudaEvent_t Gpu::create_event(bool is_timed) {
  auto event = std::make_unique<CUevent_st>();
  event->is_timed = is_timed;
  return *events_.insert(event.release()).first;
}

cudaError_t Gpu::destroy(cudaEvent_t event) { return erase(events_, event); }
cudaError_t Gpu::destroy(cudaGraph_t graph) { return erase(graphs_, graph); }
cudaError_t Gpu::destroy(cudaGraphExec_t executable) { return erase(executables_, executable); }

cudaError_t Gpu::spoil(Capture& capture, cudaError_t error) {
  capture.is_invalid = true;
  return error;
}

cudaError_t Gpu::refuse_while_capturing() {
  for (const std::shared_ptr<Capture>& capture : captures_) {
    if (capture->thread == std::this_thread::get_id()) return spoil(*capture, cudaErrorStreamCaptureUnsupported);
  }
  return cudaSuccess;
}

cudaError_t Gpu::queue(cudaStream_t handle, Work work) {
  CUstream_st& stream = of(handle);
  if (!stream.capture) {
    stream.items.push_back({.work = std::move(work), .awaited = nullptr});
    return cudaSuccess;
  }
  if (stream.capture->is_invalid) return cudaErrorStreamCaptureInvalidated;
  std::vector<Node>& nodes = stream.capture->nodes;
  nodes.push_back({.work = std::move(work), .behind = stream.behind});
  stream.behind = {nodes.size() - 1};
  return cudaSuccess;
}

namespace {

Work coming(const std::shared_ptr<Mark>& mark) {
  return [mark] {
    mark->has_come = true;
    mark->at = Clock::now();
    return cudaSuccess;
  };
}

}  // namespace

cudaError_t Gpu::record(cudaEvent_t event, cudaStream_t stream, bool is_external) {
  if (!is_capturing(stream)) {
    if (is_external) return cudaErrorInvalidValue;
    event->capture = nullptr;
    event->mark = std::make_shared<Mark>();
    event->mark->stream = &of(stream);
    return queue(stream, coming(event->mark));
  }
  if (is_external) {
    const cudaError_t status = queue(stream, nullptr);
    if (status == cudaSuccess) stream->capture->nodes.back().recorded = event;
    return status;
  }
  event->capture = stream->capture;
  event->behind = stream->behind;
  return cudaSuccess;
}

cudaError_t Gpu::hold(cudaStream_t handle, cudaEvent_t event) {
  CUstream_st& stream = of(handle);
  if (!event->capture) {
    if (!event->mark) return cudaSuccess;
    if (stream.capture) return spoil(*stream.capture, cudaErrorStreamCaptureIsolation);
    stream.items.push_back({.work = nullptr, .awaited = event->mark});
    return cudaSuccess;
  }
  if (std::find(captures_.begin(), captures_.end(), event->capture) == captures_.end()) return cudaErrorCapturedEvent;
  if (!stream.capture) {
    stream.capture = event->capture;
    stream.capture->streams.push_back(handle);
    stream.behind.clear();
  } else if (stream.capture != event->capture) {
    return spoil(*stream.capture, cudaErrorStreamCaptureMerge);
  }
  stream.behind.insert(event->behind.begin(), event->behind.end());
  return cudaSuccess;
}

// The nodes in an order that is drawn among those which the graph allows.
cudaError_t Gpu::launch(cudaGraphExec_t executable, cudaStream_t stream) {
  if (!executables_.contains(executable)) return cudaErrorInvalidValue;
  if (is_capturing(stream)) return spoil(*stream->capture, cudaErrorNotSupported);
  const std::vector<Node>& nodes = executable->nodes;
  std::set<size_t> done;
  while (done.size() < nodes.size()) {
    std::vector<size_t> ready;
    for (size_t node = 0; node < nodes.size(); ++node) {
      const std::set<size_t>& behind = nodes[node].behind;
      if (!done.contains(node) && std::includes(done.begin(), done.end(), behind.begin(), behind.end()))
        ready.push_back(node);
    }
    if (ready.empty()) hang();
    const size_t next = ready[random_() % ready.size()];
    done.insert(next);
    if (nodes[next].recorded == nullptr) {
      queue(stream, nodes[next].work);
    } else if (!has(nodes[next].recorded)) {
      return cudaErrorInvalidResourceHandle;
    } else {
      record(nodes[next].recorded, stream, false);
    }
  }
  return cudaSuccess;
}

std::vector<CUstream_st*> Gpu::busy() {
  std::vector<CUstream_st*> found;
  if (!default_.items.empty()) found.push_back(&default_);
  for (const auto& stream : all_streams_) {
    if (!stream->items.empty()) found.push_back(stream.get());
  }
  return found;
}

// One item of the stream, or of one that it waits for.
bool Gpu::advance(CUstream_st& stream) {
  if (stream.items.empty()) return false;
  const std::shared_ptr<Mark> awaited = stream.items.front().awaited;
  if (awaited && !awaited->has_come) return advance(*awaited->stream);
  const Work& work = stream.items.front().work;
  const cudaError_t status = work && fault == cudaSuccess ? work() : cudaSuccess;
  if (status == cudaErrorNotReady) {
    waits_outside_ = true;
    return false;
  }
  stream.items.pop_front();
  if (status != cudaSuccess) fault = status;
  return true;
}

void Gpu::advance_any(CUstream_st& target, unsigned order) {
  constexpr unsigned kTarget = 0;
  constexpr unsigned kOthers = 1;
  if (order != kTarget) {
    std::vector<CUstream_st*> others = busy();
    if (order == kOthers) std::erase(others, &target);
    std::shuffle(others.begin(), others.end(), random_);
    for (CUstream_st* other : others) {
      if (advance(*other)) return;
    }
  }
  waits_outside_ = false;
  if (advance(target)) return;
  if (!waits_outside_) hang();
  std::this_thread::yield();
}

cudaError_t Gpu::run_until(const std::function<CUstream_st*()>& unfinished) {
  const AtWork at_work;
  const auto order = static_cast<unsigned>(random_() % 3);
  while (fault == cudaSuccess) {
    CUstream_st* stream = unfinished();
    if (stream == nullptr) break;
    advance_any(*stream, order);
  }
  return fault;
}

cudaError_t Gpu::wait_for(cudaStream_t handle) {
  CUstream_st& stream = of(handle);
  if (stream.capture) return spoil(*stream.capture, cudaErrorStreamCaptureUnsupported);
  return run_until([&] { return stream.items.empty() ? nullptr : &stream; });
}

cudaError_t Gpu::wait_for(cudaEvent_t event) {
  if (event->capture) return spoil(*event->capture, cudaErrorCapturedEvent);
  if (!event->mark) return cudaSuccess;
  return run_until([&] { return event->mark->has_come ? nullptr : event->mark->stream; });
}

cudaError_t Gpu::wait_for_all() {
  return run_until([&] {
    const std::vector<CUstream_st*> all = busy();
    return all.empty() ? nullptr : all.front();
  });
}

// Work that is only looked at advances now and then.
void Gpu::look(CUstream_st& stream) {
  const AtWork at_work;
  const unsigned drawn = static_cast<unsigned>(random_() % 4);
  const std::vector<CUstream_st*> all = busy();
  if (drawn == 0) advance(stream);
  if (drawn == 1 && !all.empty()) advance(*all[random_() % all.size()]);
}

cudaError_t Gpu::look_at(cudaStream_t handle) {
  CUstream_st& stream = of(handle);
  if (stream.capture) return spoil(*stream.capture, cudaErrorStreamCaptureUnsupported);
  look(stream);
  if (fault != cudaSuccess) return fault;
  return stream.items.empty() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t Gpu::look_at(cudaEvent_t event) {
  if (event->capture) return spoil(*event->capture, cudaErrorCapturedEvent);
  if (!event->mark) return cudaSuccess;
  look(*event->mark->stream);
  if (fault != cudaSuccess) return fault;
  return event->mark->has_come ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t Gpu::begin_capture(cudaStream_t stream) {
  if (stream == nullptr) return cudaErrorStreamCaptureUnsupported;
  if (stream->capture) return cudaErrorIllegalState;
  captures_.push_back(std::make_shared<Capture>());
  stream->capture = captures_.back();
  stream->capture->streams = {stream};
  stream->behind.clear();
  return cudaSuccess;
}

cudaError_t Gpu::end_capture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = nullptr;
  if (!is_capturing(stream)) return cudaErrorIllegalState;
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture->streams.front() != stream) return spoil(*capture, cudaErrorStreamCaptureUnmatched);
  if (capture->thread != std::this_thread::get_id()) return spoil(*capture, cudaErrorStreamCaptureWrongThread);
  const std::set<size_t> joined = with_ancestors(capture->nodes, stream->behind);
  for (const cudaStream_t taking_part : capture->streams) taking_part->capture = nullptr;
  std::erase(captures_, capture);
  if (capture->is_invalid) return cudaErrorStreamCaptureInvalidated;
  if (joined.size() < capture->nodes.size()) return cudaErrorStreamCaptureUnjoined;
  *graph = *graphs_.insert(std::make_unique<CUgraph_st>(CUgraph_st{capture->nodes}).release()).first;
  return cudaSuccess;
}

cudaError_t Gpu::instantiate(cudaGraph_t graph, cudaGraphExec_t* executable) {
  if (!graphs_.contains(graph)) return cudaErrorInvalidValue;
  auto made = std::make_unique<CUgraphExec_st>(CUgraphExec_st{graph->nodes});
  *executable = *executables_.insert(made.release()).first;
  return cudaSuccess;
}

cudaError_t launch_kernel(cudaStream_t stream, Work work) {
  const std::lock_guard lock(gpu().mutex);
  if (gpu().fault != cudaSuccess) return gpu().fault;
  if (!gpu().has(stream)) return cudaErrorInvalidResourceHandle;
  const cudaError_t status = gpu().queue(stream, std::move(work));
  const char* blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
  const bool blocks = blocking != nullptr && std::strcmp(blocking, "1") == 0;
  if (status != cudaSuccess || !blocks || gpu().is_capturing(stream)) return status;
  return gpu().wait_for(stream);
}

}  // namespace segue::standin

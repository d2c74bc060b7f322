// The GPU that stands in: streams whose work is done only when something waits for it, in an order between streams that
// is drawn, so that a wait which is missing shows in what comes out.
//
// A third of the waits lets other streams advance as far as they can before the one that is waited for, a third does
// nothing but what it needs, and a third takes steps of any stream. The environment's SEGUE_SIMT_SEED draws others.
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace segue::standin {

using Clock = std::chrono::steady_clock;
using Work = std::function<cudaError_t()>;  // ends in cudaErrorNotReady to be called again

// One recording of an event.
struct Mark {
  bool has_come = false;
  Clock::time_point at;
  cudaStream_t stream = nullptr;
};

struct Item {
  Work work;
  std::shared_ptr<Mark> awaited;  // before it, or null
};

// A node of a graph: work behind other nodes, or an event to record.
struct Node {
  Work work;
  std::set<size_t> behind;
  cudaEvent_t recorded = nullptr;
};

struct Capture {
  std::vector<Node> nodes;
  std::vector<cudaStream_t> streams;  // the first is the one that began
  std::thread::id thread = std::this_thread::get_id();
  bool is_invalid = false;
};

}  // namespace segue::standin

struct CUstream_st {
  std::deque<segue::standin::Item> items;
  std::shared_ptr<segue::standin::Capture> capture;  // that takes its work, or null
  std::set<size_t> behind;                           // the nodes which its next one comes after
};

struct CUevent_st {
  bool is_timed = true;
  std::shared_ptr<segue::standin::Mark> mark;        // of its last recording, or null
  std::shared_ptr<segue::standin::Capture> capture;  // that its last recording is part of, or null
  std::set<size_t> behind;
};

struct CUgraph_st {
  std::vector<segue::standin::Node> nodes;
};

struct CUgraphExec_st {
  std::vector<segue::standin::Node> nodes;
};

namespace segue::standin {

class Gpu {
 public:
  Gpu();

  std::mutex mutex;                 // held by every call
  cudaError_t fault = cudaSuccess;  // of work that was done: every call ends in it from then on

  void reset(uint64_t seed);
  size_t handles() const { return streams_.size() + events_.size() + graphs_.size() + executables_.size(); }

  cudaStream_t create_stream();
  cudaError_t destroy(cudaStream_t stream);
  cudaEvent_t create_event(bool is_timed);
  cudaError_t destroy(cudaEvent_t event);
  cudaError_t destroy(cudaGraph_t graph);
  cudaError_t destroy(cudaGraphExec_t executable);
  bool has(cudaStream_t stream) const { return stream == nullptr || streams_.contains(stream); }
  bool has(cudaEvent_t event) const { return events_.contains(event); }

  // Behind everything on the stream, or into the graph that is recorded from it.
  cudaError_t queue(cudaStream_t stream, Work work);
  cudaError_t record(cudaEvent_t event, cudaStream_t stream, bool is_external);
  cudaError_t hold(cudaStream_t stream, cudaEvent_t event);
  cudaError_t launch(cudaGraphExec_t executable, cudaStream_t stream);

  cudaError_t wait_for(cudaStream_t stream);
  cudaError_t wait_for(cudaEvent_t event);
  cudaError_t wait_for_all();
  cudaError_t look_at(cudaStream_t stream);  // cudaErrorNotReady until it is idle; advances meanwhile
  cudaError_t look_at(cudaEvent_t event);

  cudaError_t begin_capture(cudaStream_t stream);
  cudaError_t end_capture(cudaStream_t stream, cudaGraph_t* graph);
  cudaError_t instantiate(cudaGraph_t graph, cudaGraphExec_t* executable);
  bool is_capturing(cudaStream_t stream) const { return stream != nullptr && stream->capture != nullptr; }
  // For a call that a graph cannot hold: an error that spoils the graph which the calling thread is recording, if any.
  cudaError_t refuse_while_capturing();

 private:
  void draw_from(uint64_t seed);
  CUstream_st& of(cudaStream_t stream) { return stream == nullptr ? default_ : *stream; }
  std::vector<CUstream_st*> busy();
  bool advance(CUstream_st& stream);  // false: it waits for what does not come
  void advance_any(CUstream_st& target, unsigned order);
  cudaError_t run_until(const std::function<CUstream_st*()>& unfinished);
  void look(CUstream_st& stream);
  cudaError_t spoil(Capture& capture, cudaError_t error);

  CUstream_st default_;
  std::set<cudaStream_t> streams_;
  std::set<cudaEvent_t> events_;
  std::set<cudaGraph_t> graphs_;
  std::set<cudaGraphExec_t> executables_;
  std::vector<std::unique_ptr<CUstream_st>> all_streams_;  // those that were destroyed may still have work
  std::vector<std::shared_ptr<Capture>> captures_;         // in progress
  std::mt19937_64 random_;
  bool waits_outside_ = false;  // some work does, for another process
};

Gpu& gpu();

// A kernel of a library or of the program: done at once where CUDA_LAUNCH_BLOCKING says so.
cudaError_t launch_kernel(cudaStream_t stream, Work work);

}  // namespace segue::standin

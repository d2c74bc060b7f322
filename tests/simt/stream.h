// A stream of the emulated GPU: its work is done when it is waited for and no sooner, so that a wait that is missing
// shows.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace segue::cuda {

struct EmulatedStream;

// A graph while it is recorded, and after.
struct Recording {
  std::vector<std::function<void()>> work;
  std::vector<std::vector<float>> scratch;  // of every operation its own
  std::vector<EmulatedStream*> streams;     // beside the queue's own, brought into it by fences
};

// The work of a stream in its order. Places are counted from the stream's first work on.
class QueuedWork {
 public:
  QueuedWork();
  ~QueuedWork();
  QueuedWork(const QueuedWork&) = delete;
  QueuedWork& operator=(const QueuedWork&) = delete;

  void add(std::function<void()> work) { waiting_.push_back(std::move(work)); }
  uint64_t end() const { return done_ + waiting_.size(); }
  bool run_until(uint64_t place);  // whether it got there

  bool is_stalled = false;  // nothing more is done, as if the work waited for another GPU

 private:
  std::deque<std::function<void()>> waiting_;  // the first may be in progress
  uint64_t done_ = 0;
};

// The target of a cudaStream_t here.
struct EmulatedStream {
  Recording* recording = nullptr;                                       // that takes its work
  bool is_waited_for = true;                                            // by the stream whose recording it is
  std::shared_ptr<QueuedWork> queued = std::make_shared<QueuedWork>();  // also of fences in it
};

inline EmulatedStream& emulated(void* stream) { return *static_cast<EmulatedStream*>(stream); }

// Keeps it for who waits for the stream, or for the graph that is being recorded: it must hold all it needs by value.
void submit(EmulatedStream& stream, std::function<void()> work);

// Waits for all streams.
void finish_all_work();

}  // namespace segue::cuda

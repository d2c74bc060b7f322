// A stream of the emulated GPU: everything has been done when a call returns, unless a graph is being recorded.
#pragma once

#include <functional>
#include <vector>

namespace segue::cuda {

struct EmulatedStream;

// A graph while it is recorded, and after.
struct Recording {
  std::vector<std::function<void()>> work;
  std::vector<std::vector<float>> scratch;  // of every operation its own
  std::vector<EmulatedStream*> streams;     // beside the queue's own, brought into it by fences
};

// What a cudaStream_t points to here.
struct EmulatedStream {
  Recording* recording = nullptr;  // that takes its work
  bool is_waited_for = true;       // by the stream whose recording it is
  bool is_stalled = false;         // by a test: it never becomes idle, as if its work waited for another GPU
};

inline EmulatedStream& emulated(void* stream) { return *static_cast<EmulatedStream*>(stream); }

// Does it now, or keeps it for the graph that is being recorded: it must hold all it needs by value.
void submit(EmulatedStream& stream, std::function<void()> work);

}  // namespace segue::cuda

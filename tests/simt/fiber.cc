// Stacks, kept for the next fiber, and the switches between them.
#include "tests/simt/fiber.h"

#include <boost/context/fixedsize_stack.hpp>
#include <utility>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace segue::simt::emulation {

namespace {

using boost::context::stack_context;

#if defined(__SANITIZE_ADDRESS__)
constexpr size_t kStackBytes = 256 * 1024;
void leave(void** kept, const void* stack, size_t bytes) { __sanitizer_start_switch_fiber(kept, stack, bytes); }
void arrive(void* kept, const void** from, size_t* bytes) { __sanitizer_finish_switch_fiber(kept, from, bytes); }
void forget(const stack_context& stack) {
  __asan_unpoison_memory_region(static_cast<char*>(stack.sp) - stack.size, stack.size);
}
#else
constexpr size_t kStackBytes = 64 * 1024;
void leave(void**, const void*, size_t) {}
void arrive(void*, const void**, size_t*) {}
void forget(const stack_context&) {}
#endif

// A block of a thousand threads needs a thousand stacks; the next block needs them again.
class StackPool {
 public:
  ~StackPool() {
    for (stack_context& stack : free_) allocator_.deallocate(stack);
  }
  stack_context allocate() {
    if (free_.empty()) return allocator_.allocate();
    const stack_context stack = free_.back();
    free_.pop_back();
    return stack;
  }
  void deallocate(stack_context& stack) {
    forget(stack);
    free_.push_back(stack);
  }

 private:
  boost::context::fixedsize_stack allocator_{kStackBytes};
  std::vector<stack_context> free_;
};

StackPool& pool() {
  static StackPool stacks;
  return stacks;
}

struct PooledStack {
  stack_context allocate() { return pool().allocate(); }
  void deallocate(stack_context& stack) { pool().deallocate(stack); }
};

}  // namespace

Fiber::Fiber(const std::function<void()>& body) : stack_(pool().allocate()) {
  inside_ = boost::context::fiber(
      std::allocator_arg, boost::context::preallocated(stack_.sp, stack_.size, stack_), PooledStack{},
      [this, &body](boost::context::fiber&& caller) { return enter(std::move(caller), body); });
}

boost::context::fiber Fiber::enter(boost::context::fiber&& caller, const std::function<void()>& body) {
  arrive(nullptr, &outside_stack_, &outside_stack_bytes_);
  outside_ = std::move(caller);
  body();
  returned_ = true;
  leave(nullptr, outside_stack_, outside_stack_bytes_);
  return std::move(outside_);
}

bool Fiber::resume() {
  void* kept = nullptr;
  leave(&kept, static_cast<char*>(stack_.sp) - stack_.size, stack_.size);
  inside_ = std::move(inside_).resume();
  arrive(kept, nullptr, nullptr);
  return !returned_;
}

void Fiber::pause() {
  void* kept = nullptr;
  leave(&kept, outside_stack_, outside_stack_bytes_);
  outside_ = std::move(outside_).resume();
  arrive(kept, &outside_stack_, &outside_stack_bytes_);
}

}  // namespace segue::simt::emulation

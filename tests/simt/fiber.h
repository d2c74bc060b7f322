// A function that can pause in the middle and be resumed later, on a stack of its own (Boost.Context), with what
// AddressSanitizer must know about such stacks.
#pragma once

#include <boost/context/fiber.hpp>
#include <functional>

namespace segue::simt::emulation {

class Fiber {
 public:
  // `body` outlives the fiber. Nothing runs yet.
  explicit Fiber(const std::function<void()>& body);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // From outside: runs until the body pauses (true) or has returned (false).
  bool resume();
  // From inside: back to whoever resumed.
  void pause();

 private:
  boost::context::fiber enter(boost::context::fiber&& caller, const std::function<void()>& body);

  boost::context::stack_context stack_;
  boost::context::fiber inside_;
  boost::context::fiber outside_;
  const void* outside_stack_ = nullptr;
  size_t outside_stack_bytes_ = 0;
  bool returned_ = false;
};

}  // namespace segue::simt::emulation

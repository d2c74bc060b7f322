// Sums run on a thread, on a CUDA stream, or after backward.
#include "core/train/gradient_exchange.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "base/stopwatch.h"
#include "core/optimizer/ordered_collectives.h"
#include "kernels/cuda/queue.h"

namespace segue {

namespace {

using Clock = std::chrono::steady_clock;

// Sums of times, as many as there were steps.
class StepTimes {
 public:
  void add_exchanging(double seconds) { sums_.exchanging += seconds; }
  void end_step(double exposed) {
    sums_.exposed += exposed;
    ++steps_;
  }
  ExchangeTimes take_mean() {
    const auto steps = static_cast<double>(std::max<int64_t>(1, std::exchange(steps_, 0)));
    const ExchangeTimes sums = std::exchange(sums_, {});
    return {.exchanging = sums.exchanging / steps, .exposed = sums.exposed / steps};
  }

 private:
  ExchangeTimes sums_;
  int64_t steps_ = 0;
};

// The sum of one bucket over all ranks.
void sum(const ExchangePlan& plan, int64_t bucket, Collectives& collectives) {
  const Share range = plan.buckets.elements(bucket);
  const TensorView gradients = plan.gradients.rows(range.first, range.count);
  if (plan.shard.empty()) return collectives.all_reduce(gradients);
  const Share part = plan.buckets.in_shard(bucket);
  collectives.reduce_scatter(gradients, plan.shard.rows(part.first, part.count));
}

// Buckets, counted from 0, whose gradients all lie at `open_end` or above.
int64_t complete_buckets(const ExchangePlan& plan, const std::byte* open_end) {
  int64_t complete = 0;
  const auto begin_of = [&](int64_t bucket) {
    return plan.gradients.data + plan.buckets.elements(bucket).first * bytes_of(plan.gradients.dtype);
  };
  while (complete < plan.buckets.count() && !std::less<>()(begin_of(complete), open_end)) ++complete;
  return complete;
}

// On a thread of its own, where collectives run while backward does.
class ThreadExchange : public GradientExchange {
 public:
  ThreadExchange(const ExchangePlan& plan, Collectives& collectives) : plan_(plan), collectives_(collectives) {
    thread_ = std::jthread([this](const std::stop_token& end) { run(end); });
  }

  Tape::GradientProgress progress() override {
    return [this](const std::byte* open_end) { hand_over(complete_buckets(plan_, open_end)); };
  }

  void finish() override {
    const Clock::time_point start = Clock::now();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return error_ || summed_ == plan_.buckets.count(); });
    if (error_) std::rethrow_exception(error_);
    complete_ = summed_ = 0;
    times_.end_step(seconds_since(start));
  }

  ExchangeTimes take_times() override {
    const std::lock_guard lock(mutex_);
    return times_.take_mean();
  }

 private:
  void hand_over(int64_t complete) {
    {
      const std::lock_guard lock(mutex_);
      complete_ = complete;
    }
    changed_.notify_all();
  }

  void run(const std::stop_token& end) try {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, end, [this] { return summed_ < complete_; })) {
      const int64_t bucket = summed_;
      lock.unlock();
      const Clock::time_point start = Clock::now();
      sum(plan_, bucket, collectives_);
      const double seconds = seconds_since(start);
      lock.lock();
      times_.add_exchanging(seconds);
      ++summed_;
      changed_.notify_all();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    error_ = std::current_exception();
    changed_.notify_all();
  }

  ExchangePlan plan_;
  Collectives& collectives_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  int64_t complete_ = 0;  // buckets handed over, and summed, of this step
  int64_t summed_ = 0;
  std::exception_ptr error_;
  StepTimes times_;
  std::jthread thread_;
};

// On the collectives' CUDA stream, beside backward and part of its graph.
class QueuedExchange : public GradientExchange {
 public:
  QueuedExchange(const ExchangePlan& plan, Collectives& collectives, kernels::Queue& queue)
      : plan_(plan), collectives_(collectives), queue_(queue), ordered_(collectives, queue) {}

  Tape::GradientProgress progress() override {
    started_ = 0;
    return [this](const std::byte* open_end) {
      start_sums(complete_buckets(plan_, open_end));
      if (open_end == nullptr) wait_for_sums();
    };
  }

  void finish() override { is_timed_ = true; }

  // The times of the last step alone: events keep no more.
  ExchangeTimes take_times() override {
    if (!std::exchange(is_timed_, false)) return {};
    collectives_.wait();
    queue_.synchronize();
    return {.exchanging = exchanging_.seconds(), .exposed = exposed_.seconds()};
  }

 private:
  void start_sums(int64_t complete) {
    if (started_ == complete) return;
    ordered_.fork();
    if (started_ == 0) exchanging_.start(collectives_.stream());
    for (; started_ < complete; ++started_) sum(plan_, started_, collectives_);
  }

  void wait_for_sums() {
    exchanging_.stop(collectives_.stream());
    exposed_.start(queue_.cuda().stream());
    ordered_.join();
    exposed_.stop(queue_.cuda().stream());
  }

  ExchangePlan plan_;
  Collectives& collectives_;
  kernels::Queue& queue_;
  OrderedCollectives ordered_;
  cuda::Stopwatch exchanging_;
  cuda::Stopwatch exposed_;
  int64_t started_ = 0;  // buckets of this step
  bool is_timed_ = false;
};

// When backward is over.
class LateExchange : public GradientExchange {
 public:
  LateExchange(const ExchangePlan& plan, Collectives& collectives, kernels::Queue& queue)
      : plan_(plan), collectives_(collectives), queue_(queue) {}

  Tape::GradientProgress progress() override {
    return [](const std::byte*) {};
  }

  void finish() override {
    queue_.synchronize();
    const Clock::time_point start = Clock::now();
    for (int64_t bucket = 0; bucket < plan_.buckets.count(); ++bucket) sum(plan_, bucket, collectives_);
    const double seconds = seconds_since(start);
    times_.add_exchanging(seconds);
    times_.end_step(seconds);
  }

  ExchangeTimes take_times() override { return times_.take_mean(); }

 private:
  ExchangePlan plan_;
  Collectives& collectives_;
  kernels::Queue& queue_;
  StepTimes times_;
};

}  // namespace

std::unique_ptr<GradientExchange> make_gradient_exchange(const ExchangePlan& plan, Collectives& collectives,
                                                         kernels::Queue& queue) {
  if (collectives.stream() != nullptr) return std::make_unique<QueuedExchange>(plan, collectives, queue);
  if (queue.device().is_cuda()) return std::make_unique<LateExchange>(plan, collectives, queue);
  return std::make_unique<ThreadExchange>(plan, collectives);
}

}  // namespace segue

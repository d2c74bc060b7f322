// Scheduling of fibers, barriers, and the memory of a block.
#include "tests/simt/emulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "tests/simt/fiber.h"
#include "tests/simt/shared_memory.h"

namespace segue::simt::emulation {

namespace {

constexpr int kNaNByte = 0xFF;
constexpr int64_t kMostSharedBytes = 227 * 1024;
constexpr size_t kDetour = 64;  // once in so many times, any thread continues where warps run ahead

struct Piece {
  void* memory;
  size_t bytes;
};

struct PendingCopy {
  void* to;
  const void* from;
  size_t bytes;
  bool valid;
};

enum class State : uint8_t { kReady, kAtBarrier, kAtWarp, kFinished };

struct Thread {
  Place place;
  State state = State::kReady;
  const char* operation = "";  // that it waits in, and where it was called
  CallSite site;
  void* handed_in = nullptr;
  Combine combine = nullptr;
  size_t pieces_taken = 0;
  std::vector<PendingCopy> open_group;
  std::deque<std::vector<PendingCopy>> groups;
  std::unique_ptr<Fiber> fiber;
};

// Small, fast, and the same on every machine (Marsaglia 2003).
class Chooser {
 public:
  explicit Chooser(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15U + 0x2545F4914F6CDD1DU) {}
  size_t below(size_t limit) {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return static_cast<size_t>((state_ >> 32U) * limit >> 32U);
  }

 private:
  uint64_t state_;
};

class Block {
 public:
  Block(const Grid& grid, const Place& first, uint64_t seed, const std::function<void()>& body);
  void run();

  Thread& running() { return *running_; }
  void arrive_at_barrier(const CallSite& site);
  void arrive_at_warp(const char* operation, const CallSite& site, void* mine, Combine combine);
  void* static_shared(const void* key, size_t bytes);
  void* take_shared(size_t bytes, int64_t alignment);

 private:
  void wait(State state);
  void ready(Thread& thread);
  void check_site(const Thread& other) const;
  void check_lanes(size_t first) const;
  [[noreturn]] void report_deadlock();

  const Grid& grid_;
  Chooser chooser_;
  bool runs_ahead_;  // the last to become ready continues: a warp that met runs until it must wait for the block
  std::vector<Thread> threads_;
  std::vector<Thread*> ready_;
  Thread* running_ = nullptr;
  int at_barrier_ = 0;
  std::vector<int> at_warp_;
  std::map<const void*, void*> static_pieces_;
  std::vector<Piece> dynamic_pieces_;
  int64_t dynamic_bytes_ = 0;
};

// The block and the grid of the launch that runs; kernels know nothing of them.
Block* the_block = nullptr;
const Grid* the_grid = nullptr;

Block::Block(const Grid& grid, const Place& first, uint64_t seed, const std::function<void()>& body)
    : grid_(grid),
      chooser_(seed),
      runs_ahead_(chooser_.below(2) == 0),
      threads_(static_cast<size_t>(grid.threads)),
      at_warp_(threads_.size() / kWarp) {
  shared_memory::begin_block();
  for (size_t t = 0; t < threads_.size(); ++t) {
    Thread& thread = threads_[t];
    thread.place = first;
    thread.place.thread = static_cast<int>(t);
    thread.fiber = std::make_unique<Fiber>(body);
    ready_.push_back(&thread);
  }
}

void Block::run() {
  while (!ready_.empty()) {
    if (!runs_ahead_ || chooser_.below(kDetour) == 0) std::swap(ready_[chooser_.below(ready_.size())], ready_.back());
    running_ = ready_.back();
    ready_.pop_back();
    if (running_->fiber->resume()) continue;
    if (!running_->groups.empty() || !running_->open_group.empty()) fail("left before its asynchronous copies landed");
    running_->state = State::kFinished;
  }
  const auto finished = [](const Thread& thread) { return thread.state == State::kFinished; };
  if (!std::all_of(threads_.begin(), threads_.end(), finished)) report_deadlock();
}

void Block::wait(State state) {
  running_->state = state;
  running_->fiber->pause();
}

void Block::ready(Thread& thread) {
  thread.state = State::kReady;
  ready_.push_back(&thread);
}

// Names with the same text may differ by their addresses.
bool is_same(const CallSite& a, const CallSite& b) {
  const auto same = [](const char* x, const char* y) { return x == y || std::strcmp(x, y) == 0; };
  return a.line() == b.line() && a.column() == b.column() && same(a.file_name(), b.file_name()) &&
         same(a.function_name(), b.function_name());
}

void Block::check_site(const Thread& other) const {
  if (is_same(other.site, running_->site)) return;
  const auto text = [](const CallSite& site) {
    return fmt::format("{}:{}:{}", site.file_name(), site.line(), site.column());
  };
  fail(fmt::format("called {} at {}, thread {} at {}", running_->operation, text(running_->site), other.place.thread,
                   text(other.site)));
}

void Block::arrive_at_barrier(const CallSite& site) {
  running_->operation = "sync_block";
  running_->site = site;
  if (++at_barrier_ < grid_.threads) return wait(State::kAtBarrier);
  at_barrier_ = 0;
  shared_memory::order_block();
  for (Thread& thread : threads_) {
    check_site(thread);
    if (thread.state == State::kAtBarrier) ready(thread);
  }
  ready(*running_);
  wait(State::kReady);  // the last to come is not the first to go
}

void Block::check_lanes(size_t first) const {
  for (size_t lane = 0; lane < kWarp; ++lane) {
    const Thread& other = threads_[first + lane];
    if (other.combine != running_->combine)
      fail(fmt::format("lane {} is in {}, others in {}", lane, other.operation, running_->operation));
    check_site(other);
  }
}

void Block::arrive_at_warp(const char* operation, const CallSite& site, void* mine, Combine combine) {
  running_->handed_in = mine;
  running_->combine = combine;
  running_->operation = operation;
  running_->site = site;
  const auto warp = static_cast<size_t>(running_->place.thread) / kWarp;
  if (++at_warp_[warp] < kWarp) return wait(State::kAtWarp);
  at_warp_[warp] = 0;
  check_lanes(warp * kWarp);
  void* lanes[kWarp];
  for (size_t lane = 0; lane < kWarp; ++lane) lanes[lane] = threads_[warp * kWarp + lane].handed_in;
  combine(lanes);
  for (size_t lane = 0; lane < kWarp; ++lane) {
    Thread& thread = threads_[warp * kWarp + lane];
    if (&thread != running_) ready(thread);
  }
}

void* Block::static_shared(const void* key, size_t bytes) {
  void*& piece = static_pieces_[key];
  if (piece == nullptr) piece = shared_memory::take(bytes);
  return piece;
}

void* Block::take_shared(size_t bytes, int64_t alignment) {
  const size_t index = running_->pieces_taken++;
  if (index == dynamic_pieces_.size()) {
    dynamic_bytes_ = SharedPiece(dynamic_bytes_, static_cast<int64_t>(bytes), alignment).end;
    if (dynamic_bytes_ > grid_.shared_bytes)
      fail(
          fmt::format("takes {} bytes of dynamic shared memory, launched with {}", dynamic_bytes_, grid_.shared_bytes));
    dynamic_pieces_.push_back({shared_memory::take(bytes), bytes});
  }
  if (dynamic_pieces_[index].bytes != bytes) fail("threads take different pieces of shared memory");
  return dynamic_pieces_[index].memory;
}

void Block::report_deadlock() {
  for (Thread& thread : threads_) {
    if (thread.state == State::kFinished) continue;
    running_ = &thread;
    fail(fmt::format("waits for ever in {}: another thread does not come", thread.operation));
  }
  std::abort();
}

void check_grid(const Grid& grid) {
  const bool threads = grid.threads > 0 && grid.threads <= kMostThreads && grid.threads % kWarp == 0;
  const bool blocks =
      grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x < (int64_t{1} << 31) && grid.y < 65536 && grid.z < 65536;
  if (!threads || !blocks || grid.shared_bytes < 0 || grid.shared_bytes > kMostSharedBytes) {
    fail(fmt::format("cannot be launched: {} x {} x {} blocks of {} threads, {} bytes of shared memory", grid.x, grid.y,
                     grid.z, grid.threads, grid.shared_bytes));
  }
}

uint64_t seed_of_environment() {
  const char* text = std::getenv("SEGUE_SIMT_SEED");
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

}  // namespace

void run(const Grid& grid, const std::function<void()>& body) {
  static uint64_t seed = seed_of_environment();
  the_grid = &grid;
  check_grid(grid);
  for (int z = 0; z < grid.z; ++z) {
    for (int y = 0; y < grid.y; ++y) {
      for (int64_t x = 0; x < grid.x; ++x) {
        Block block(grid, {.thread = 0, .block_x = static_cast<int>(x), .block_y = y, .block_z = z}, ++seed, body);
        the_block = &block;
        block.run();
        the_block = nullptr;
      }
    }
  }
  the_grid = nullptr;
}

const Grid& grid() { return *the_grid; }
const Place& place() { return the_block->running().place; }

void fail(const std::string& what) {
  std::string who = the_grid == nullptr ? "" : the_grid->kernel;
  if (the_block != nullptr) {
    const Place& at = place();
    who += fmt::format(": block ({}, {}, {}) thread {}", at.block_x, at.block_y, at.block_z, at.thread);
  }
  fmt::print(stderr, "{}: {}\n", who, what);
  std::fflush(stderr);
  std::abort();
}

void wait_for_block(const CallSite& site) { the_block->arrive_at_barrier(site); }

void wait_for_warp() {
  the_block->arrive_at_warp("sync_warp", {}, nullptr,
                            [](void* const(&)[kWarp]) { shared_memory::order_warp(place().thread / kWarp); });
}

void meet_warp(const char* operation, const CallSite& site, void* mine, Combine combine) {
  the_block->arrive_at_warp(operation, site, mine, combine);
}

void* static_shared(const void* key, size_t bytes) { return the_block->static_shared(key, bytes); }

void* take_shared(size_t bytes, int64_t alignment) { return the_block->take_shared(bytes, alignment); }

void start_copy(void* to, const void* from, size_t bytes, bool valid) {
  const auto aligned = [&](const void* address) { return reinterpret_cast<uintptr_t>(address) % bytes == 0; };
  if (!aligned(to) || !aligned(from)) fail(fmt::format("asynchronous copy not aligned to {} bytes", bytes));
  if (valid && shared_memory::holds(from)) fail("asynchronous copy from shared memory");
  Thread& thread = the_block->running();
  shared_memory::begin_copy(thread.place.thread, to, bytes);
  std::memset(to, kNaNByte, bytes);
  thread.open_group.push_back({to, from, bytes, valid});
}

void commit_copies() {
  Thread& thread = the_block->running();
  thread.groups.push_back(std::exchange(thread.open_group, {}));
}

void wait_for_copies(int pending_groups) {
  Thread& thread = the_block->running();
  while (thread.groups.size() > static_cast<size_t>(pending_groups)) {
    for (const PendingCopy& copy : thread.groups.front()) {
      shared_memory::land_copy(thread.place.thread, copy.to, copy.bytes);
      if (copy.valid) {
        std::memcpy(copy.to, copy.from, copy.bytes);
      } else {
        std::memset(copy.to, 0, copy.bytes);
      }
    }
    thread.groups.pop_front();
  }
}

}  // namespace segue::simt::emulation

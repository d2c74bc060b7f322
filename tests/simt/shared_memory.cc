// Keeps the last accesses to each two bytes of a block's shared memory.
#include "tests/simt/shared_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "tests/simt/emulator.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes)
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes)
#endif

namespace segue::simt::emulation::shared_memory {

alignas(kSharedAlignment) std::byte room[kRoom];

namespace {

constexpr int kNaNByte = 0xFF;  // a float or bfloat16 of such bytes is NaN
constexpr size_t kLine = kSharedAlignment;
constexpr size_t kCellBytes = 2;  // a bfloat16

constexpr uint32_t kLastTime = (1U << 16U) - 1;
constexpr uint32_t kLastThread = kMostThreads - 1;

// Times are counted from barrier to barrier of the block or a warp. Readers are two when no barrier is between them: of
// two warps if there are such, otherwise of one.
struct Cell {
  uint64_t written : 16;
  uint64_t read : 16;
  uint64_t writer : 10;
  uint64_t reader : 10;
  uint64_t other_reader : 10;
  uint64_t is_awaited : 1;  // by its writer: an asynchronous copy
};
static_assert(sizeof(Cell) == sizeof(uint64_t) && kMostThreads == 1U << 10U);

std::array<Cell, kRoom / kCellBytes> cells;
std::array<uint8_t, kRoom / kLine> taken_of_line;
size_t lines_taken = 0;

uint32_t now = 0;
uint32_t last_barrier = 0;                 // of the block
std::array<uint32_t, kMostThreads> times;  // of each thread's last barrier, the block's or its warp's

uint32_t time_of(int thread) { return times[static_cast<size_t>(thread)]; }

uint64_t warp_of(uint64_t thread) { return thread / kWarp; }

bool is_before(uint64_t earlier, uint64_t time, int thread) {
  const auto later = static_cast<uint64_t>(thread);
  return time < last_barrier || earlier == later || (warp_of(earlier) == warp_of(later) && time < time_of(thread));
}

std::string text_of(size_t cell) { return fmt::format("byte {} of the block's shared memory", cell * kCellBytes); }

[[noreturn]] void report_race(size_t cell, int thread, const char* does, uint64_t other, const char* did) {
  fail(fmt::format("thread {} {} {}, which thread {} {} with no barrier between", thread, does, text_of(cell), other,
                   did));
}

void require_landed(const Cell& cell, size_t at, int thread, const char* does) {
  if (cell.is_awaited != 0) {
    fail(fmt::format("thread {} {} {}, where a copy of thread {} has not landed", thread, does, text_of(at),
                     uint64_t{cell.writer}));
  }
}

Cell after_reading(Cell cell, size_t at, int thread) {
  require_landed(cell, at, thread, "reads");
  if (!is_before(cell.writer, cell.written, thread)) report_race(at, thread, "reads", cell.writer, "wrote");
  if (!is_before(cell.reader, cell.read, thread)) {
    if (warp_of(cell.other_reader) == warp_of(static_cast<uint64_t>(thread))) cell.other_reader = cell.reader;
  } else if (is_before(cell.other_reader, cell.read, thread)) {
    cell.other_reader = static_cast<uint32_t>(thread) & kLastThread;
  }
  cell.reader = static_cast<uint32_t>(thread) & kLastThread;
  cell.read = time_of(thread) & kLastTime;
  return cell;
}

Cell after_writing(Cell cell, size_t at, int thread) {
  require_landed(cell, at, thread, "writes");
  if (!is_before(cell.writer, cell.written, thread)) report_race(at, thread, "writes", cell.writer, "wrote");
  for (const uint64_t reader : {uint64_t{cell.reader}, uint64_t{cell.other_reader}}) {
    if (!is_before(reader, cell.read, thread)) report_race(at, thread, "writes", reader, "read");
  }
  cell.writer = static_cast<uint32_t>(thread) & kLastThread;
  cell.written = time_of(thread) & kLastTime;
  return cell;
}

bool is_taken(size_t offset) { return offset < kRoom && offset % kLine < taken_of_line[offset / kLine]; }

// cell = change(cell, its number) for each that holds some of these bytes; neighbours are often alike.
template <typename Change>
void change_cells(int thread, const void* begin, size_t bytes, const Change& change) {
  const size_t first = reinterpret_cast<uintptr_t>(begin) - reinterpret_cast<uintptr_t>(room);
  const size_t last = first + bytes - 1;
  if (!is_taken(first) || !is_taken(last))
    fail(fmt::format("thread {} touches {} bytes outside the pieces of shared memory", thread, bytes));
  size_t at = first / kCellBytes;
  auto before = std::bit_cast<uint64_t>(cells[at]);
  Cell after = change(cells[at], at);
  cells[at] = after;
  while (++at <= last / kCellBytes) {
    if (std::bit_cast<uint64_t>(cells[at]) != before) {
      before = std::bit_cast<uint64_t>(cells[at]);
      after = change(cells[at], at);
    }
    cells[at] = after;
  }
}

void forget(size_t first_line, size_t lines) {
  std::fill_n(cells.begin() + static_cast<int64_t>(first_line * kLine / kCellBytes), lines * kLine / kCellBytes,
              Cell{});
}

}  // namespace

void begin_block() {
  ASAN_POISON_MEMORY_REGION(room, kRoom);
  std::fill_n(taken_of_line.begin(), lines_taken, uint8_t{0});
  lines_taken = 0;
  now = 0;
  order_block();
}

void* take(size_t bytes) {
  const size_t first = lines_taken;
  const size_t lines = (bytes + kLine - 1) / kLine;
  if ((first + lines + 1) * kLine > kRoom) fail(fmt::format("takes {} bytes of shared memory too many", bytes));
  for (size_t line = 0; line < lines; ++line)
    taken_of_line[first + line] = static_cast<uint8_t>(std::min(kLine, bytes - line * kLine));
  forget(first, lines);
  lines_taken += lines + 1;  // with a gap behind
  std::byte* piece = room + first * kLine;
  ASAN_UNPOISON_MEMORY_REGION(piece, bytes);
  std::memset(piece, kNaNByte, bytes);
  return piece;
}

void read(int thread, const void* from, size_t bytes) {
  change_cells(thread, from, bytes, [&](Cell cell, size_t at) { return after_reading(cell, at, thread); });
}

void write(int thread, const void* to, size_t bytes) {
  change_cells(thread, to, bytes, [&](Cell cell, size_t at) { return after_writing(cell, at, thread); });
}

void begin_copy(int thread, const void* to, size_t bytes) {
  change_cells(thread, to, bytes, [&](Cell cell, size_t at) {
    Cell after = after_writing(cell, at, thread);
    after.is_awaited = 1;
    return after;
  });
}

void land_copy(int thread, const void* to, size_t bytes) {
  change_cells(thread, to, bytes, [&](Cell cell, size_t at) {
    cell.is_awaited = 0;
    return after_writing(cell, at, thread);
  });
}

void order_block() {
  if (now == kLastTime) {  // all is in the past: time may begin anew
    forget(0, lines_taken);
    now = 0;
  }
  last_barrier = ++now;
  times.fill(now);
}

void order_warp(int warp) {
  if (now == kLastTime) fail("too many barriers of warps between two of the block");
  std::fill_n(times.begin() + int64_t{warp} * kWarp, kWarp, ++now);
}

}  // namespace segue::simt::emulation::shared_memory

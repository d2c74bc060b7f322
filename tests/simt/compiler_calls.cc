// The functions that the compiler calls in kernels built with -fsanitize=thread, before every access to memory, and
// with -fsanitize=alignment, at one that is not aligned. The sanitizers' own libraries are not linked: the emulated GPU
// answers.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

#include "tests/simt/emulator.h"
#include "tests/simt/shared_memory.h"

namespace {

namespace emulation = segue::simt::emulation;
namespace shared_memory = segue::simt::emulation::shared_memory;

// Threads of the program may be here while a kernel runs; what is not shared memory is not checked.
void reads(const void* at, size_t bytes) {
  if (shared_memory::holds(at)) shared_memory::read(emulation::place().thread, at, bytes);
}
void writes(const void* at, size_t bytes) {
  if (shared_memory::holds(at)) shared_memory::write(emulation::place().thread, at, bytes);
}

// As compilers lay them out (compiler-rt/lib/ubsan/ubsan_handlers.h).
struct SourceLocation {
  const char* file;
  uint32_t line;
  uint32_t column;
};
struct TypeDescriptor {
  uint16_t kind;
  uint16_t info;
  char name[1];
};
struct TypeMismatch {
  SourceLocation at;
  const TypeDescriptor* type;
  unsigned char log_alignment;
  unsigned char kind;
};

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the compiler's names
extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}

void __tsan_read1(void* at) { reads(at, 1); }
void __tsan_read2(void* at) { reads(at, 2); }
void __tsan_read4(void* at) { reads(at, 4); }
void __tsan_read8(void* at) { reads(at, 8); }
void __tsan_read16(void* at) { reads(at, 16); }
void __tsan_unaligned_read2(void* at) { reads(at, 2); }
void __tsan_unaligned_read4(void* at) { reads(at, 4); }
void __tsan_unaligned_read8(void* at) { reads(at, 8); }
void __tsan_unaligned_read16(void* at) { reads(at, 16); }
void __tsan_read_range(void* at, size_t bytes) { reads(at, bytes); }

void __tsan_write1(void* at) { writes(at, 1); }
void __tsan_write2(void* at) { writes(at, 2); }
void __tsan_write4(void* at) { writes(at, 4); }
void __tsan_write8(void* at) { writes(at, 8); }
void __tsan_write16(void* at) { writes(at, 16); }
void __tsan_unaligned_write2(void* at) { writes(at, 2); }
void __tsan_unaligned_write4(void* at) { writes(at, 4); }
void __tsan_unaligned_write8(void* at) { writes(at, 8); }
void __tsan_unaligned_write16(void* at) { writes(at, 16); }
void __tsan_write_range(void* at, size_t bytes) { writes(at, bytes); }

// Called by the standard library, which counts references.
int32_t __tsan_atomic32_fetch_add(volatile int32_t* at, int32_t value, int) {
  return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);
}
int32_t __tsan_atomic32_fetch_sub(volatile int32_t* at, int32_t value, int) {
  return __atomic_fetch_sub(at, value, __ATOMIC_SEQ_CST);
}

[[noreturn]] void __ubsan_handle_type_mismatch_v1_abort(const TypeMismatch* mismatch, const void* at) {
  emulation::fail(fmt::format("{}:{}: {} at {}, not aligned to {} bytes", mismatch->at.file, mismatch->at.line,
                              mismatch->type->name, at, 1U << mismatch->log_alignment));
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

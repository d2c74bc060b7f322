/* A disk that is full, fails or stalls, for processes that load this with LD_PRELOAD: launch/checks/chaos says when, through a
   page that it shares with them. Only what lies under CHAOS_DIRECTORY is harmed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct order {
  volatile int write_error; /* errno that writes fail with; 0: none */
  volatile int sync_error;
  volatile int write_delay_ms;
  volatile int sync_delay_ms;
  volatile int process; /* only this one; 0: all */
};

static const struct order* order;
static const char* directory;

__attribute__((constructor)) static void open_page(void) {
  const char* page = getenv("CHAOS_PAGE");
  directory = getenv("CHAOS_DIRECTORY");
  if (page == NULL || directory == NULL) return;
  const int file = open(page, O_RDONLY | O_CLOEXEC);
  void* mapped = mmap(NULL, sizeof *order, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (mapped != MAP_FAILED) order = mapped;
}

static int is_harmed(int file) {
  char link[32], target[PATH_MAX];
  if (order == NULL || (order->process != 0 && order->process != getpid())) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, target, sizeof target - 1);
  return length > 0 && strncmp(target, directory, strlen(directory)) == 0;
}

/* Whether the call is to fail. A stall ends when the order is withdrawn. */
static int harms(int file, const volatile int* error, const volatile int* delay_ms) {
  if (order == NULL || (*error == 0 && *delay_ms == 0) || !is_harmed(file)) return 0;
  const struct timespec moment = {0, 1000000};
  for (int waited = 0; waited < *delay_ms; ++waited) nanosleep(&moment, NULL);
  if (*error == 0) return 0;
  errno = *error;
  return 1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int file, const void* bytes, size_t count) {
  return harms(file, &order->write_error, &order->write_delay_ms) ? -1 : NEXT(write)(file, bytes, count);
}

ssize_t writev(int file, const struct iovec* parts, int count) {
  return harms(file, &order->write_error, &order->write_delay_ms) ? -1 : NEXT(writev)(file, parts, count);
}

int fsync(int file) { return harms(file, &order->sync_error, &order->sync_delay_ms) ? -1 : NEXT(fsync)(file); }

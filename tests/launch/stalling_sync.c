/* A file system that stalls, to be preloaded: syncs of files whose path holds $STALLED_PATH take $STALL_SECONDS. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void stall(int file) {
  char link[64];
  char path[4096] = "";
  const char* stalled = getenv("STALLED_PATH");
  const char* seconds = getenv("STALL_SECONDS");
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  if (stalled == NULL || seconds == NULL || readlink(link, path, sizeof path - 1) < 0) return;
  if (strstr(path, stalled) == NULL) return;
  const double wait = atof(seconds);
  struct timespec left = {.tv_sec = (time_t)wait, .tv_nsec = (long)(1e9 * (wait - (double)(time_t)wait))};
  while (nanosleep(&left, &left) != 0) {
  }
}

int fsync(int file) {
  stall(file);
  int (*system_sync)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  return system_sync(file);
}

// A wall clock that tests can set: loaded before the C library, it adds the milliseconds
// that stand in a file, 8 bytes in the machine's order, to what the real clock shows.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static volatile const int64_t *ahead;
static int (*real)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void) {
  const char *name = getenv("FOLIOT_TEST_CLOCK");
  int fd = name == NULL ? -1 : open(name, O_RDONLY);
  void *at = fd < 0 ? MAP_FAILED : mmap(NULL, 8, PROT_READ, MAP_SHARED, fd, 0);
  if (at != MAP_FAILED) {
    ahead = at;
  }
}

int clock_gettime(clockid_t id, struct timespec *ts) {
  if (real == NULL) {
    real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  }
  int failed = real(id, ts);
  if (failed == 0 && ahead != NULL && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
    int64_t ns = ts->tv_nsec + *ahead % 1000 * 1000000;
    ts->tv_sec += *ahead / 1000 + (ns < 0 ? -1 : ns / 1000000000);
    ts->tv_nsec = ns < 0 ? ns + 1000000000 : ns % 1000000000;
  }
  return failed;
}

int gettimeofday(struct timeval *tv, void *zone) {
  struct timespec ts;
  int failed = clock_gettime(CLOCK_REALTIME, &ts);
  tv->tv_sec = ts.tv_sec;
  tv->tv_usec = ts.tv_nsec / 1000;
  return failed;
}

time_t time(time_t *to) {
  struct timespec ts;
  clock_gettime(CLOCK_REALTIME, &ts);
  if (to != NULL) {
    *to = ts.tv_sec;
  }
  return ts.tv_sec;
}

/*Waits with a deadline on a clock of the caller's choice (glibc 2.30), as waits with a deadline of
the wall clock. What std::condition_variable::wait_for, std::timed_mutex and their like are made of,
for std::chrono::steady_clock. */

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#define NANOSECONDS 1000000000L

static int known(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC; }

static int passed(clockid_t clock, const struct timespec *deadline) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec != deadline->tv_sec ? now.tv_sec > deadline->tv_sec : now.tv_nsec >= deadline->tv_nsec;
}

/*The time of the wall clock at which another clock shows `deadline`, if nobody sets the former
until then. */
static struct timespec on_the_wall(clockid_t clock, const struct timespec *deadline) {
  struct timespec wall = *deadline, here, there;
  if (clock == CLOCK_REALTIME || deadline->tv_nsec < 0 || deadline->tv_nsec >= NANOSECONDS) return wall;
  clock_gettime(clock, &there);
  clock_gettime(CLOCK_REALTIME, &here);
  wall.tv_sec += here.tv_sec - there.tv_sec;
  wall.tv_nsec += here.tv_nsec - there.tv_nsec;
  if (wall.tv_nsec < 0) {
    wall.tv_nsec += NANOSECONDS;
    wall.tv_sec -= 1;
  } else if (wall.tv_nsec >= NANOSECONDS) {
    wall.tv_nsec -= NANOSECONDS;
    wall.tv_sec += 1;
  }
  return wall;
}

/* Does `wait` until it ends for another reason than a wall clock that was set forward. */
#define UNTIL_PASSED(wait)                                             \
  do {                                                                 \
    int result;                                                        \
    if (!known(clock)) return EINVAL;                                  \
    do {                                                               \
      struct timespec wall = on_the_wall(clock, deadline);             \
      result = (wait);                                                 \
    } while (result == ETIMEDOUT && !passed(clock, deadline));         \
    return result;                                                     \
  } while (0)

int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *deadline) {
  struct timespec wall;
  int result;
  if (!known(clock)) return EINVAL;
  wall = on_the_wall(clock, deadline);
  result = pthread_cond_timedwait(condition, mutex, &wall);
  /* The mutex was free for a moment, so waiting again could miss a signal: let the caller look. */
  return result == ETIMEDOUT && !passed(clock, deadline) ? 0 : result;
}

int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *deadline) {
  UNTIL_PASSED(pthread_mutex_timedlock(mutex, &wall));
}

int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *deadline) {
  UNTIL_PASSED(pthread_rwlock_timedrdlock(lock, &wall));
}

int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *deadline) {
  UNTIL_PASSED(pthread_rwlock_timedwrlock(lock, &wall));
}

int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *deadline) {
  int result;
  if (!known(clock)) {
    errno = EINVAL;
    return -1;
  }
  do {
    struct timespec wall = on_the_wall(clock, deadline);
    result = sem_timedwait(semaphore, &wall);
  } while (result == -1 && errno == ETIMEDOUT && !passed(clock, deadline));
  return result;
}

/* The arc4random family (glibc 2.36), behind std::random_device. */

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

void arc4random_buf(void *buffer, size_t size) {
  char *to = buffer;
  while (size > 0) {
    ssize_t count = getrandom(to, size, 0);
    if (count < 0) {
      if (errno == EINTR) continue;
      abort();
    }
    to += count;
    size -= (size_t)count;
  }
}

uint32_t arc4random(void) {
  uint32_t number;
  arc4random_buf(&number, sizeof number);
  return number;
}

uint32_t arc4random_uniform(uint32_t bound) {
  uint32_t number, smallest;
  if (bound < 2) return 0;
  /* Numbers below 2^32 mod bound would make some results likelier. */
  smallest = -bound % bound;
  do number = arc4random();
  while (number < smallest);
  return number % bound;
}

/*Instead of libstdc++.a's member of this name, which its code for std::exception_ptr needs one
function of: the rest of it would bring a second terminate handler into the process. */

#include <stdlib.h>

/* __cxxabiv1::__terminate(void (*)()) */
void end_with(void (*handler)(void)) __asm__("_ZN10__cxxabiv111__terminateEPFvvE");

void end_with(void (*handler)(void)) {
  handler();
  abort();
}

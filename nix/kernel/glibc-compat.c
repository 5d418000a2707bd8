/* Symbols that libstdc++'s headers take from a newer glibc than the policy allows.
   __libc_single_threaded (glibc 2.32) only says whether atomics may be skipped; false is always right. */
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;

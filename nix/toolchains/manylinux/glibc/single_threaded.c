/*glibc 2.32's hint that atomic operations may be skipped, read by libstdc++'s headers. "No" is
always right. */

char __libc_single_threaded = 0;

/* System calls that glibc has as functions from 2.29 (getcpu) and 2.30 on. */

#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

int getcpu(unsigned *cpu, unsigned *node) { return (int)syscall(SYS_getcpu, cpu, node, 0); }
pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); }
int tgkill(pid_t group, pid_t thread, int number) { return (int)syscall(SYS_tgkill, group, thread, number); }

/*The stat and mknod families, which are functions from glibc 2.33 on. Before, programs had them as
static wrappers of versioned ones, as here. */

#define _GNU_SOURCE
#include <sys/stat.h>

/* The layout of struct stat that programs of an architecture have. */
#if defined __x86_64__
#define STAT_VERSION 1
#elif defined __aarch64__
#define STAT_VERSION 0
#else
#error "bits/stat.h of a glibc before 2.33 says _STAT_VER"
#endif
#define MKNOD_VERSION 0

int __xstat(int, const char *, struct stat *);
int __lxstat(int, const char *, struct stat *);
int __fxstat(int, int, struct stat *);
int __fxstatat(int, int, const char *, struct stat *, int);
int __xstat64(int, const char *, struct stat64 *);
int __lxstat64(int, const char *, struct stat64 *);
int __fxstat64(int, int, struct stat64 *);
int __fxstatat64(int, int, const char *, struct stat64 *, int);
int __xmknod(int, const char *, mode_t, dev_t *);
int __xmknodat(int, int, const char *, mode_t, dev_t *);

int stat(const char *path, struct stat *to) { return __xstat(STAT_VERSION, path, to); }
int lstat(const char *path, struct stat *to) { return __lxstat(STAT_VERSION, path, to); }
int fstat(int file, struct stat *to) { return __fxstat(STAT_VERSION, file, to); }
int fstatat(int dir, const char *path, struct stat *to, int flags) {
  return __fxstatat(STAT_VERSION, dir, path, to, flags);
}

int stat64(const char *path, struct stat64 *to) { return __xstat64(STAT_VERSION, path, to); }
int lstat64(const char *path, struct stat64 *to) { return __lxstat64(STAT_VERSION, path, to); }
int fstat64(int file, struct stat64 *to) { return __fxstat64(STAT_VERSION, file, to); }
int fstatat64(int dir, const char *path, struct stat64 *to, int flags) {
  return __fxstatat64(STAT_VERSION, dir, path, to, flags);
}

int mknod(const char *path, mode_t mode, dev_t device) { return __xmknod(MKNOD_VERSION, path, mode, &device); }
int mknodat(int dir, const char *path, mode_t mode, dev_t device) {
  return __xmknodat(MKNOD_VERSION, dir, path, mode, &device);
}

/* The `fatbinary` that clang calls, which no package of CUDA 12 has. It puts the device code of a
 * file, for all of its architectures, into one container, through NVIDIA's library for that. Not a
 * general fatbinary: it knows the arguments of clang alone.
 *
 * fatbinary -64 --create FILE, and for each image:
 * clang 19: --image=profile=sm_90,file=F or --image=profile=compute_90,file=F
 * clang 22: --image3=kind=elf,sm=90,file=F or --image3=kind=ptx,sm=90,file=F
 */
#include <nvFatbin.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("fatbinary: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    exit(1);
}

static void check(nvFatbinResult result, const char *action) {
    if (result != NVFATBIN_SUCCESS) fail("%s: %s", action, nvFatbinGetErrorString(result));
}

/* The text after a prefix, or null. */
static const char *after(const char *text, const char *prefix) {
    size_t length = strlen(prefix);
    return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

/* A whole file, with a zero behind it. */
static char *contents(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) fail("cannot read %s", path);
    long length = ftell(file);
    char *bytes = length < 0 ? NULL : malloc((size_t)length + 1);
    rewind(file);
    if (!bytes || fread(bytes, 1, (size_t)length, file) != (size_t)length) fail("cannot read %s", path);
    bytes[length] = '\0';
    fclose(file);
    *size = (size_t)length;
    return bytes;
}

/*Adds one image. NB: the library's `identifier` stays empty, since the names of clang's files are
random. */
static void add(nvFatbinHandle fatbin, char *image) {
    const char *path = NULL, *sm = NULL, *kind = NULL, *value;
    for (char *field = strtok(image, ","); field; field = strtok(NULL, ",")) {
        if ((value = after(field, "file="))) path = value;
        else if ((value = after(field, "sm="))) sm = value;
        else if ((value = after(field, "kind="))) kind = value;
        else if ((value = after(field, "profile=sm_"))) sm = value, kind = "elf";
        else if ((value = after(field, "profile=compute_"))) sm = value, kind = "ptx";
        else fail("unknown field of an image: %s", field);
    }
    if (!path || !sm || !kind) fail("an image needs a file, an architecture and a kind");
    size_t size;
    char *code = contents(path, &size);
    if (strcmp(kind, "elf") == 0) check(nvFatbinAddCubin(fatbin, code, size, sm, ""), sm);
    else if (strcmp(kind, "ptx") == 0) check(nvFatbinAddPTX(fatbin, code, size + 1, sm, "", ""), sm);
    else fail("unknown kind of image: %s", kind);
    free(code);
}

int main(int count, char **arguments) {
    const char *output = NULL, *value;
    /*The library has options when it starts. Those of compression may come through clang's
    -Xcuda-fatbinary. */
    const char **options = calloc((size_t)count + 2, sizeof *options);
    if (!options) fail("no memory");
    size_t known = 0;
    options[known++] = "-64";
    options[known++] = "-host=linux";
    for (int at = 1; at < count; at++) {
        const char *argument = arguments[at];
        if (after(argument, "--compress")) argument++;
        if (after(argument, "-compress")) options[known++] = argument;
        else if (strcmp(argument, "--create") == 0 && at + 1 < count) output = arguments[++at];
        else if (!after(argument, "--image=") && !after(argument, "--image3=") && strcmp(argument, "-64") != 0)
            fail("unknown argument: %s", argument);
    }
    nvFatbinHandle fatbin;
    check(nvFatbinCreate(&fatbin, options, known), "options");
    for (int at = 1; at < count; at++) {
        if ((value = after(arguments[at], "--image=")) || (value = after(arguments[at], "--image3=")))
            add(fatbin, (char *)value);
    }
    if (!output) fail("no --create");

    size_t size;
    check(nvFatbinSize(fatbin, &size), "size");
    void *bytes = malloc(size);
    if (!bytes) fail("no memory");
    check(nvFatbinGet(fatbin, bytes), "result");
    FILE *file = fopen(output, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) fail("cannot write %s", output);
    check(nvFatbinDestroy(&fatbin), "end");
    return 0;
}

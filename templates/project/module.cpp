// The Python module of a library whose author only registers operators. A module of the author's
// own takes its place.
#include "registration.h"

extern "C" __attribute__((weak)) PyObject *CONCAT(PyInit_, TORCH_EXTENSION_NAME)(void);

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)

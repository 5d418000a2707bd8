// Registration macros for the torch binding of a kernel. The build copies this file onto the
// include path of the binding. It includes Python.h and no header of torch, so a stable-ABI binding
// can use it too.
#pragma once

#include <Python.h>

// Operators ## and # of the preprocessor. NB: one level below the macros that call them, so that
// arguments which are macros themselves (TORCH_EXTENSION_NAME above all) are expanded before they
// are pasted or quoted.
#define KERNEL_CONCAT_NOW(A, B) A##B
#define KERNEL_STRINGIFY_NOW(A) #A

// CONCAT(A, B): one identifier made of the expansions of A and B.
#define CONCAT(A, B) KERNEL_CONCAT_NOW(A, B)

// STRINGIFY(A): the expansion of A as a string literal.
#define STRINGIFY(A) KERNEL_STRINGIFY_NOW(A)

// STABLE_TORCH_LIBRARY_EXPAND(NAME, MODULE): TORCH_LIBRARY_EXPAND for torch's stable ABI. Needs
// <torch/csrc/stable/library.h>.
#define STABLE_TORCH_LIBRARY_EXPAND(NAME, MODULE) STABLE_TORCH_LIBRARY(NAME, MODULE)

// STABLE_TORCH_LIBRARY_IMPL_EXPAND(NAME, DEVICE, MODULE): TORCH_LIBRARY_IMPL_EXPAND for torch's
// stable ABI. Needs <torch/csrc/stable/library.h>.
#define STABLE_TORCH_LIBRARY_IMPL_EXPAND(NAME, DEVICE, MODULE) STABLE_TORCH_LIBRARY_IMPL(NAME, DEVICE, MODULE)

#ifndef KERNEL_BUILDER_NAMESPACE_LINKED

// TORCH_LIBRARY_EXPAND(NAME, MODULE) { MODULE.def(...); }: TORCH_LIBRARY with NAME expanded first.
// Opens the block that declares the operators of namespace NAME. Needs <torch/library.h>.
#define TORCH_LIBRARY_EXPAND(NAME, MODULE) TORCH_LIBRARY(NAME, MODULE)

// TORCH_LIBRARY_IMPL_EXPAND(NAME, DEVICE, MODULE) { MODULE.impl(...); }: the same for
// TORCH_LIBRARY_IMPL. DEVICE is a dispatch key such as CPU or CUDA. Needs <torch/library.h>.
#define TORCH_LIBRARY_IMPL_EXPAND(NAME, DEVICE, MODULE) TORCH_LIBRARY_IMPL(NAME, DEVICE, MODULE)

// REGISTER_EXTENSION(NAME): the Python module NAME, which is empty: importing it loads the library,
// and loading the library runs the static initialisers of the blocks above. Use once per extension,
// outside any namespace.
// NB: single-phase initialisation on purpose. Py_LIMITED_API=3 hides PyModuleDef_Init, which is
// newer than that.
#define REGISTER_EXTENSION(NAME)                                                                                       \
  PyMODINIT_FUNC CONCAT(PyInit_, NAME)(void) {                                                                         \
    static PyModuleDef module = {                                                                                      \
        PyModuleDef_HEAD_INIT, STRINGIFY(NAME), nullptr, 0, nullptr, nullptr, nullptr, nullptr, nullptr};              \
    return PyModule_Create(&module);                                                                                   \
  }

#else  // The same macros, for files that use TORCH_EXTENSION_NAME only as an argument of them.

// The namespace holds a hash of all code of the kernel. Files that do not know it need not be
// compiled again when another file changes, so it is defined at the link, as is PyInit_<namespace>,
// which calls kernel_builder_module.
extern "C" __attribute__((visibility("hidden"))) const char kernel_builder_namespace[];

#define KERNEL_LIBRARY(MODULE, N)                                                                                      \
  static void kernel_library_init_##N(::torch::Library &);                                                             \
  static const ::torch::detail::TorchLibraryInit kernel_library_##N(                                                   \
      ::torch::Library::DEF, &kernel_library_init_##N, kernel_builder_namespace, {}, __FILE__, __LINE__);              \
  void kernel_library_init_##N(::torch::Library &MODULE)
#define KERNEL_LIBRARY_NOW(MODULE, N) KERNEL_LIBRARY(MODULE, N)
#define TORCH_LIBRARY_EXPAND(NAME, MODULE) KERNEL_LIBRARY_NOW(MODULE, __COUNTER__)

#define KERNEL_LIBRARY_IMPL(DEVICE, MODULE, N)                                                                         \
  static void kernel_library_init_##N(::torch::Library &);                                                             \
  static const ::torch::detail::TorchLibraryInit kernel_library_##N(                                                   \
      ::torch::Library::IMPL, &kernel_library_init_##N, kernel_builder_namespace, {::c10::DispatchKey::DEVICE},        \
      __FILE__, __LINE__);                                                                                             \
  void kernel_library_init_##N(::torch::Library &MODULE)
#define KERNEL_LIBRARY_IMPL_NOW(DEVICE, MODULE, N) KERNEL_LIBRARY_IMPL(DEVICE, MODULE, N)
#define TORCH_LIBRARY_IMPL_EXPAND(NAME, DEVICE, MODULE) KERNEL_LIBRARY_IMPL_NOW(DEVICE, MODULE, __COUNTER__)

#define REGISTER_EXTENSION(NAME)                                                                                       \
  extern "C" __attribute__((visibility("hidden"))) PyObject *kernel_builder_module(void) {                             \
    static PyModuleDef module = {                                                                                      \
        PyModuleDef_HEAD_INIT, kernel_builder_namespace, nullptr, 0, nullptr, nullptr, nullptr, nullptr, nullptr};     \
    return PyModule_Create(&module);                                                                                   \
  }

#endif

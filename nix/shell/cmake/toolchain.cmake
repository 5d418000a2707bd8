# CUDA that clang compiles, for CMake. Shells name this file in CMAKE_TOOLCHAIN_FILE. The wheels of
# NVIDIA's runtime have no static libraries, which CMake would link.
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared CACHE STRING "CUDA runtime library type")
set(CMAKE_USER_MAKE_RULES_OVERRIDE_CUDA "${CMAKE_CURRENT_LIST_DIR}/cuda.cmake")

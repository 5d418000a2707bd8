# The compiler of device code, its toolkit, and steps before it compiles: the translation of CUDA
# sources to HIP, and shaders of Metal. Included by kernel.cmake, which has found the backend.
set(KERNEL_TOOLKIT "")
set(KERNEL_COMPUTE "${KERNEL_BACKEND}")
set(KERNEL_DEVICE_DRIVER "")
set(KERNEL_TOOLKIT_INCLUDE "")
set(KERNEL_TOOLKIT_LIBRARIES "")
if(NOT KERNEL_BACKEND IN_LIST KERNEL_BACKENDS)
  # Python alone has no compiler.
elseif(KERNEL_BACKEND STREQUAL "cuda")
  # The flags of this project name the architectures.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES OFF)
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    message(FATAL_ERROR "there is no CUDA compiler: put nvcc on the PATH, or set CUDACXX; -DGPU_LANG=CPU builds \
for the CPU")
  endif()
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  set(KERNEL_TOOLKIT "${CUDAToolkit_VERSION_MAJOR}.${CUDAToolkit_VERSION_MINOR}")
  if(NOT FOUND_toolkit)
    set(FOUND_toolkit "${KERNEL_TOOLKIT}")
  endif()
  if(NOT FOUND_toolkit MATCHES "^${CUDAToolkit_VERSION_MAJOR}[.]")
    message(FATAL_ERROR "the framework is made for CUDA ${FOUND_toolkit}, and the compiler is of CUDA ${KERNEL_TOOLKIT}")
  endif()
  string(REPLACE "." "" KERNEL_COMPUTE "cu${FOUND_toolkit}")
  set(KERNEL_DEVICE_DRIVER nvcc)
  if(CMAKE_CUDA_COMPILER_ID STREQUAL "Clang")
    set(KERNEL_DEVICE_DRIVER clang)
  endif()
  set(KERNEL_TOOLKIT_INCLUDE ${CUDAToolkit_INCLUDE_DIRS})
  set(KERNEL_TOOLKIT_LIBRARIES "${CUDAToolkit_LIBRARY_DIR}")
elseif(KERNEL_BACKEND STREQUAL "rocm")
  if(NOT DEFINED CMAKE_HIP_ARCHITECTURES)
    set(CMAKE_HIP_ARCHITECTURES OFF)
  endif()
  # NB: check_language() would look for a GPU of this machine, which need not have one.
  enable_language(HIP)
  set(KERNEL_TOOLKIT "${FOUND_toolkit}")
  string(REPLACE "." "" KERNEL_COMPUTE "rocm${KERNEL_TOOLKIT}")
  set(KERNEL_DEVICE_DRIVER hip)
  set(KERNEL_TOOLKIT_INCLUDE "${CMAKE_HIP_COMPILER_ROCM_ROOT}/include")
  set(KERNEL_TOOLKIT_LIBRARIES "${CMAKE_HIP_COMPILER_ROCM_ROOT}/lib")
elseif(KERNEL_BACKEND STREQUAL "xpu")
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "IntelLLVM")
    message(FATAL_ERROR "there is no compiler for Intel's GPUs: source oneAPI's setvars.sh and start with a new folder of the \
build, or set CXX=icpx; -DGPU_LANG=CPU builds for the CPU")
  endif()
  set(KERNEL_TOOLKIT "${FOUND_toolkit}")
  string(REPLACE "." "" KERNEL_COMPUTE "xpu${KERNEL_TOOLKIT}")
elseif(KERNEL_BACKEND STREQUAL "metal")
  # Xcode mounts the compiler of shaders where only xcodebuild finds it.
  if(NOT KERNEL_METAL_TOOLCHAIN)
    execute_process(COMMAND xcodebuild -showComponent MetalToolchain OUTPUT_VARIABLE component ERROR_QUIET)
    string(REGEX MATCH "Toolchain Search Path: ([^\n]+)" found "${component}")
    if(NOT found)
      message(FATAL_ERROR "Xcode has no Metal toolchain: `xcodebuild -downloadComponent MetalToolchain`, or name its folder with \
-DKERNEL_METAL_TOOLCHAIN=; -DGPU_LANG=CPU builds for the CPU")
    endif()
    set(KERNEL_METAL_TOOLCHAIN "${CMAKE_MATCH_1}/Metal.xctoolchain/usr" CACHE PATH "The folder of bin/metal and bin/metallib")
  endif()
  # NB: a language that a function enables is lost at its end.
  enable_language(ASM)
  configure_file("${CMAKE_CURRENT_LIST_DIR}/metallib.h.in" "${CMAKE_BINARY_DIR}/include/kernel_builder_metallib.h" COPYONLY)
endif()
if(KERNEL_BACKEND STREQUAL "cuda" AND FOUND_toolkit)
  if((KERNEL_CUDA_MINVER AND FOUND_toolkit VERSION_LESS KERNEL_CUDA_MINVER)
     OR (KERNEL_CUDA_MAXVER AND FOUND_toolkit VERSION_GREATER KERNEL_CUDA_MAXVER))
    message(FATAL_ERROR "build.toml does not allow CUDA ${FOUND_toolkit}")
  endif()
endif()

# The architectures of a list of AMD's that serve the GPUs of this machine; the whole list if there
# is no GPU, or if some GPU has none.
function(kernel_amd_archs_for_machine result)
  set(${result} ${ARGN} PARENT_SCOPE)
  foreach(gpu IN LISTS FOUND_capabilities)
    if(NOT gpu IN_LIST ARGN)
      message(STATUS "no architecture of ${ARGN} is for ${gpu}: all are compiled")
      return()
    endif()
  endforeach()
  if(FOUND_capabilities)
    set(${result} ${FOUND_capabilities} PARENT_SCOPE)
  endif()
endfunction()

# The translations of CUDA sources to HIP, which torch's hipify makes in a copy of the folders of a
# kernel. Other sources stay as they are.
function(kernel_hipify result target)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "" "" "SOURCES;INCLUDE")
  set(copy "${CMAKE_BINARY_DIR}/hip/${target}")
  list(GET FOUND_include 0 tools)
  cmake_path(GET tools PARENT_PATH tools)
  set(folders "")
  set(include "")
  foreach(path IN LISTS ARG_SOURCES ARG_INCLUDE)
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY "${KERNEL_DIR}")
    string(REGEX MATCH "^[^/]+" first "${path}")
    list(APPEND folders "${first}")
  endforeach()
  foreach(path IN LISTS ARG_INCLUDE)
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY "${KERNEL_DIR}")
    list(APPEND include "${path}")
  endforeach()
  list(REMOVE_DUPLICATES folders)
  set(commands "")
  set(watched "")
  foreach(first IN LISTS folders)
    if(IS_DIRECTORY "${KERNEL_DIR}/${first}")
      list(APPEND commands COMMAND "${CMAKE_COMMAND}" -E copy_directory "${KERNEL_DIR}/${first}" "${copy}/${first}")
      file(GLOB_RECURSE files CONFIGURE_DEPENDS "${KERNEL_DIR}/${first}/*")
      list(APPEND watched ${files})
    else()
      list(APPEND commands COMMAND "${CMAKE_COMMAND}" -E copy "${KERNEL_DIR}/${first}" "${copy}/${first}")
      list(APPEND watched "${KERNEL_DIR}/${first}")
    endif()
  endforeach()
  file(MAKE_DIRECTORY "${copy}")
  execute_process(${commands} WORKING_DIRECTORY "${copy}" COMMAND_ERROR_IS_FATAL ANY)
  set(sources "")
  set(made "")
  foreach(source IN LISTS ARG_SOURCES)
    if(NOT source MATCHES "[.]cu$")
      list(APPEND sources "${source}")
      continue()
    endif()
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${KERNEL_DIR}")
    set(hipify "${Python3_EXECUTABLE}" "${KERNEL_SCRIPTS}/hipify.py" "${tools}/utils" "${source}" ${include})
    # It knows the name of the translation.
    execute_process(
      COMMAND ${hipify}
      WORKING_DIRECTORY "${copy}"
      OUTPUT_VARIABLE name
      OUTPUT_STRIP_TRAILING_WHITESPACE
      ERROR_VARIABLE problem
      RESULT_VARIABLE failed
    )
    if(failed)
      message(FATAL_ERROR "${problem}")
    endif()
    list(APPEND commands COMMAND ${hipify})
    list(APPEND made "${copy}/${name}")
  endforeach()
  if(made)
    add_custom_command(
      OUTPUT ${made}
      ${commands}
      # It leaves a translation that would be the same.
      COMMAND "${CMAKE_COMMAND}" -E touch ${made}
      DEPENDS ${watched}
      WORKING_DIRECTORY "${copy}"
      COMMENT "hipify ${target}"
      VERBATIM
    )
  endif()
  set(${result} ${sources} ${made} PARENT_SCOPE)
endfunction()

# Compiles shaders, which kernel_metallib() joins.
function(kernel_shaders)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "" "SOURCES;INCLUDE;FLAGS")
  separate_arguments(flags UNIX_COMMAND "${ARG_FLAGS}")
  list(TRANSFORM ARG_INCLUDE PREPEND "-I")
  foreach(source IN LISTS ARG_SOURCES)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${KERNEL_DIR}" OUTPUT_VARIABLE name)
    set(made "${CMAKE_BINARY_DIR}/shaders/${name}.air")
    cmake_path(GET made PARENT_PATH folder)
    file(MAKE_DIRECTORY "${folder}")
    add_custom_command(
      OUTPUT "${made}"
      COMMAND "${KERNEL_METAL_TOOLCHAIN}/bin/metal" ${ARG_INCLUDE} ${flags} -MD -MF "${made}.d" -o "${made}" -c "${source}"
      DEPENDS "${source}"
      DEPFILE "${made}.d"
      VERBATIM
    )
    set_property(GLOBAL APPEND PROPERTY KERNEL_SHADERS "${made}")
  endforeach()
endfunction()

# The object that holds the compiled shaders of the kernel, under the names of metallib.h. Empty if
# there are none.
function(kernel_metallib result)
  get_property(shaders GLOBAL PROPERTY KERNEL_SHADERS)
  set(${result} "" PARENT_SCOPE)
  if(NOT shaders)
    return()
  endif()
  set(metallib "${CMAKE_BINARY_DIR}/shaders/kernel.metallib")
  add_custom_command(
    OUTPUT "${metallib}"
    COMMAND "${KERNEL_METAL_TOOLCHAIN}/bin/metallib" -o "${metallib}" ${shaders}
    DEPENDS ${shaders}
    VERBATIM
  )
  file(
    CONFIGURE
    OUTPUT "${CMAKE_BINARY_DIR}/shaders/kernel.s"
    @ONLY
    CONTENT [[.section __TEXT,__const
.p2align 4
.globl _kernel_builder_metallib_data
.private_extern _kernel_builder_metallib_data
_kernel_builder_metallib_data:
.incbin "@metallib@"
1:
.p2align 3
.globl _kernel_builder_metallib_size
.private_extern _kernel_builder_metallib_size
_kernel_builder_metallib_size:
.quad 1b - _kernel_builder_metallib_data
]]
  )
  add_library(kernel-shaders OBJECT "${CMAKE_BINARY_DIR}/shaders/kernel.s")
  set_source_files_properties("${CMAKE_BINARY_DIR}/shaders/kernel.s" PROPERTIES OBJECT_DEPENDS "${metallib}")
  set(${result} kernel-shaders PARENT_SCOPE)
endfunction()

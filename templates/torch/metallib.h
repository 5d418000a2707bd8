// The shaders of a kernel, inside of its library. The build copies this file onto the include path
// of Metal variants as EMBEDDED_METALLIB_HEADER; `EMBEDDED_METALLIB_NAMESPACE::createLibrary`
// returns the Metal library. The shaders themselves are added at the link, so that a file that uses
// them need not be compiled again when a shader changes.
#pragma once

#import <Metal/Metal.h>
#include <cstddef>

extern "C" __attribute__((visibility("hidden"))) const unsigned char kernel_builder_metallib_data[];
extern "C" __attribute__((visibility("hidden"))) const std::size_t kernel_builder_metallib_size;

namespace kernel_builder_metallib {

// Returns the library of all shaders of the kernel. If Metal refuses it, returns nil and puts the
// reason into *error.
inline id<MTLLibrary> createLibrary(id<MTLDevice> device, NSError **error) {
  dispatch_data_t data =
      dispatch_data_create(kernel_builder_metallib_data, kernel_builder_metallib_size, nullptr, ^{
      });
  return [device newLibraryWithData:data error:error];
}

}  // namespace kernel_builder_metallib

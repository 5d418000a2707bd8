// relu on Apple GPUs: the launcher. A tensor's memory is a buffer of Metal, so this code knows torch.
#include "relu_metal.h"

#include <torch/mps.h>

#include EMBEDDED_METALLIB_HEADER

static id<MTLBuffer> buffer_of(const at::Tensor &tensor) {
  return __builtin_bit_cast(id<MTLBuffer>, tensor.storage().data());
}

static NSUInteger offset_of(const at::Tensor &tensor) {
  return tensor.storage_offset() * tensor.element_size();
}

void relu_metal(at::Tensor &out, const at::Tensor &input) {
  if (input.numel() == 0) {
    return;
  }
  @autoreleasepool {
    NSError *error = nil;
    id<MTLDevice> device = MTLCreateSystemDefaultDevice();
    id<MTLLibrary> library = EMBEDDED_METALLIB_NAMESPACE::createLibrary(device, &error);
    TORCH_CHECK(library, "relu: ", error.localizedDescription.UTF8String);
    id<MTLFunction> function = [library newFunctionWithName:@"relu_kernel"];
    id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithFunction:function error:&error];
    TORCH_CHECK(pipeline, "relu: ", error.localizedDescription.UTF8String);

    id<MTLCommandBuffer> commands = torch::mps::get_command_buffer();
    dispatch_sync(torch::mps::get_dispatch_queue(), ^() {
      id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
      [encoder setComputePipelineState:pipeline];
      [encoder setBuffer:buffer_of(out) offset:offset_of(out) atIndex:0];
      [encoder setBuffer:buffer_of(input) offset:offset_of(input) atIndex:1];
      NSUInteger width = pipeline.maxTotalThreadsPerThreadgroup;
      [encoder dispatchThreads:MTLSizeMake(input.numel(), 1, 1) threadsPerThreadgroup:MTLSizeMake(width, 1, 1)];
      [encoder endEncoding];
      torch::mps::commit();
    });
  }
}

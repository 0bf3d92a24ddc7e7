// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the families share on the host side of a launch.
#pragma once

#include <utility>

#include "device/check.hpp"
#include "stages/common/stage.hpp"

namespace xcorr::cuda {

template <class A, class B>
constexpr auto ceil_div(A a, B b) {
  return (a + b - 1) / b;
}

/// The shared memory that a block may have, by compute capability (CUDA programming guide,
/// technical specifications); newer devices than are listed have at least what 9.0 has.
constexpr std::size_t max_shared_bytes(const Device& device) {
  const int cc = device.compute_capability;
  const std::size_t kib = cc < 75                    ? 48
                          : cc < 80                  ? 64
                          : cc == 80 || cc == 87     ? 163
                          : cc < 90 || cc / 10 == 12 ? 99
                                                     : 227;
  return kib * 1024;
}

/// `bytes`, or more of shared memory a block, so that no multiprocessor takes more of `blocks` than
/// its even share. Otherwise the blocks of a kernel that begins early would crowd onto the
/// multiprocessors that the previous kernel frees first.
inline std::size_t spreading_bytes(const Device& device, dim3 blocks, std::size_t bytes) {
  const std::size_t share =
      ceil_div(std::size_t{blocks.x} * blocks.y * blocks.z, std::size_t(device.multiprocessors));
  return std::max(bytes, max_shared_bytes(device) / (share + 1) + 1);
}

/// How a kernel is launched.
struct LaunchMode {
  bool early = false;  ///< see enqueue_early()
  int cluster = 1;     ///< see enqueue_clusters()
};

/// Enqueues a kernel. All launches go through here, so that one place decides where kernels run.
/// `shared_bytes`: of dynamic shared memory; past 48 KiB the kernel's limit is raised first.
template <class... Parameters, class... Arguments>
Status enqueue_kernel(LaunchMode mode, const char* name, void (*kernel)(Parameters...), dim3 grid,
                      dim3 block, std::size_t shared_bytes, Stream stream,
                      Arguments&&... arguments) {
  if (shared_bytes > 48 * 1024)
    if (Status s = raise_shared_limit(reinterpret_cast<const void*>(kernel), shared_bytes, name);
        !s.ok())
      return s;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = native(stream);
  cudaLaunchAttribute attributes[2] = {};
  config.attrs = attributes;
  if (mode.early) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
  }
  if (mode.cluster > 1) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = mode.cluster;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  }
  return check(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...), name);
}

template <class... Parameters, class... Arguments>
Status enqueue(const char* name, void (*kernel)(Parameters...), dim3 grid, dim3 block,
               std::size_t shared_bytes, Stream stream, Arguments&&... arguments) {
  return enqueue_kernel({}, name, kernel, grid, block, shared_bytes, stream,
                        std::forward<Arguments>(arguments)...);
}

/// A kernel that may begin before the one enqueued before it has ended (programmatic dependent
/// launch, compute capability 9.0; an ordinary launch below): it calls wait_for_previous() before
/// it reads what that one writes, or writes anything.
template <class... Parameters, class... Arguments>
Status enqueue_early(const Device& device, const char* name, void (*kernel)(Parameters...),
                     dim3 grid, dim3 block, std::size_t shared_bytes, Stream stream,
                     Arguments&&... arguments) {
  return enqueue_kernel({device.compute_capability >= 90}, name, kernel, grid, block, shared_bytes,
                        stream, std::forward<Arguments>(arguments)...);
}

/// Such a kernel in clusters of blocks, at most eight, where a device has clusters; else in blocks
/// (see Cluster). `grid`: of clusters.
template <class... Parameters, class... Arguments>
Status enqueue_clusters(const Device& device, const char* name, void (*kernel)(Parameters...),
                        int cluster, unsigned grid, dim3 block, std::size_t shared_bytes,
                        Stream stream, Arguments&&... arguments) {
  LaunchMode mode;
  mode.early = device.compute_capability >= 90;
  mode.cluster = mode.early ? cluster : 1;
  return enqueue_kernel(mode, name, kernel, dim3(grid * mode.cluster), block, shared_bytes, stream,
                        std::forward<Arguments>(arguments)...);
}

/// See enqueue_early().
__device__ inline void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Lets a kernel that was enqueued early begin once all blocks of this one have reached this call.
__device__ inline void let_next_begin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// The features that the stages after correlate support here.
inline constexpr Features match_features{Feature::u8,        Feature::u16,           Feature::f32,
                                         Feature::wide_sums, Feature::several_peaks, Feature::mask,
                                         Feature::contrast,  Feature::planes};

/// Grids have at most 65,535 blocks in y and z; kernels loop over the rest. In the CPU emulation
/// the limit is low, so that small problems loop, too.
inline unsigned grid_extent(std::int64_t blocks) {
#ifdef XCORR_SIMT
  constexpr std::int64_t most = 5;
#else
  constexpr std::int64_t most = 65535;
#endif
  return static_cast<unsigned>(blocks < most ? blocks : most);
}

}  // namespace xcorr::cuda

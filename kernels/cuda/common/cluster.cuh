// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Blocks that run at the same time and write into each other's shared memory: a thread block
// cluster (compute capability 9.0; enqueue_clusters()). Elsewhere a block is a cluster of its own.
#pragma once

#include "cuda/common/launch.cuh"

namespace xcorr::cuda {

struct Cluster {
  int rank = 0, size = 1;  ///< which of them this block is

  __device__ Cluster() {
#if __CUDA_ARCH__ >= 900
    rank = static_cast<int>(__clusterRelativeBlockRank());
    size = static_cast<int>(__clusterSizeInBlocks());
#endif
  }
  /// Of the grid's clusters.
  __device__ int index() const { return static_cast<int>(blockIdx.x) / size; }
  __device__ int count() const { return static_cast<int>(gridDim.x) / size; }

  /// Waits for all threads of all blocks; what they wrote before is seen after it.
  __device__ void sync() const {
#if __CUDA_ARCH__ >= 900
    if (size > 1) {
      __cluster_barrier_arrive();
      __cluster_barrier_wait();
      return;
    }
#endif
    __syncthreads();
  }

  /// The same variable in another block's shared memory: after a sync(), since before it that block
  /// may not have begun, and before one, since after it that block may have ended.
  template <class T>
  __device__ T* in_block(T* shared, int block) const {
#if __CUDA_ARCH__ >= 900
    return static_cast<T*>(__cluster_map_shared_rank(shared, block));
#else
    static_cast<void>(block);
    return shared;
#endif
  }
};

}  // namespace xcorr::cuda

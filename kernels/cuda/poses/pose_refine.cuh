// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The parts of least squares by a block: the matrix of the template, its inverse, the right side at
// a pose, and the steps.
#pragma once

#include <algorithm>

#include "cuda/common/row_words.cuh"
#include "cuda/common/tiles.cuh"
#include "cuda/poses/cluster_sums.cuh"
#include "stages/poses/pose_refine.hpp"

namespace xcorr::cuda {

/// The equations of all steps but for their right side. Of several planes the offsets, of which
/// each has its own, are taken out before they are added.
template <int planes>
struct PoseRefineSystemOf : PoseRefineSystem {
  PoseRefineMatrix of_planes[planes];

  XCORR_HD void set_matrix(const PoseRefineMatrix (&matrices)[planes]) {
    matrix.clear();
    for (int plane = 0; plane < planes; ++plane) {
      of_planes[plane] = matrices[plane];
      matrix.add(without_offset(matrices[plane]));
    }
  }
  XCORR_HD PoseRefineRight right(const PoseRefineRight (&rights)[planes]) const {
    PoseRefineRight sums;
    sums.clear();
    for (int plane = 0; plane < planes; ++plane)
      sums.add(without_offset(rights[plane], of_planes[plane]));
    return sums;
  }
};
template <>
struct PoseRefineSystemOf<1> : PoseRefineSystem {
  XCORR_HD void set_matrix(const PoseRefineMatrix (&matrices)[1]) { matrix = matrices[0]; }
  XCORR_HD const PoseRefineRight& right(const PoseRefineRight (&rights)[1]) const {
    return rights[0];
  }
};

/// The frame's planes, or of each the same part.
template <class Pixel>
struct PoseRefinePlanes {
  PoseRefineFrame<Pixel> first;
  std::int64_t plane;  ///< bytes from one to the next

  __device__ PoseRefineFrame<Pixel> of(int index) const {
    PoseRefineFrame<Pixel> frame = first;
    frame.rows = row_of<Pixel>(first.rows, plane, index);
    return frame;
  }
};

/// T: of the frame's pixels. Sum: in which a thread adds up the right side.
template <class T, class Sum, int planes_ = 1>
struct PoseRefine {
  static constexpr int threads = 512, warps = threads / 32, planes = planes_;
  using System = PoseRefineSystemOf<planes>;

  /// Which of the blocks that share the pixels this one is.
  struct Share {
    int index = 0, count = 1;

    __device__ static Share of_grid() {
      return {static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x)};
    }
  };

  /// Gives a plane's sums over this block's share to put(number, sum), called by all lanes of a
  /// warp.
  template <class Put>
  __device__ static void add_matrix(const stage::PoseRefine::Problem& p,
                                    const stage::PoseRefine::Buffers& b, int plane, Share share,
                                    Put put) {
    PoseRefineMatrix sums;
    sums.clear();
    for_pixels(p, b, plane, share, [&](int x, int y, const SmoothedPixel& pixel) {
      sums.add_pixel(p.equation<T>(x, y, pixel));
    });
    add_up(sums, put);
  }

  /// Of the frame at a pose, likewise.
  template <class Put>
  __device__ static void add_right(const stage::PoseRefine::Problem& p,
                                   const stage::PoseRefine::Buffers& b, int plane, Share share,
                                   const PoseRefinePlanes<T>& frame, const PoseRefineMap& map,
                                   Put put) {
    const PoseRefineFrame<T> pixels = frame.of(plane);
    PoseRefineRightOf<Sum> sums;
    sums.clear();
    for_pixels(p, b, plane, share, [&](int x, int y, const SmoothedPixel& pixel) {
      p.add(map, pixels, x, y, pixel, ReadFour<T>(), sums);
    });
    add_up(sums, put);
  }

  /// By all threads of the block: one lane per column.
  __device__ static void invert(const stage::PoseRefine::Problem& p, PoseRefineSystem& system) {
    const int column = threadIdx.x;
    if (column >= pose_refine_unknowns) return;
    const bool exists = system.invert(p.freedom, column);
    if (column == 0) system.has_inverse = exists;
  }

  /// Blocks of a launch that share the pixels: more than multiprocessors would take turns.
  static int blocks(Size size) {
    return static_cast<int>(std::min<std::int64_t>(ceil_div(size.area(), threads), 128));
  }
  /// Blocks that share a pose, so that a thread has few pixels: it waits for one after the other.
  static int cluster(Size size) {
    int blocks = 1;
    while (blocks < most_cluster && size.area() > std::int64_t{threads} * blocks) blocks *= 2;
    return blocks;
  }

  /// Of the poses that fall to this block's cluster.
  /// \param frame_at  PoseRefinePlanes of what steps from a pose read, by all threads of the block
  template <class FrameAt>
  __device__ static void take_all_steps(const stage::PoseRefine::Problem& p,
                                        const stage::PoseRefine::Buffers& b,
                                        const System* system_of_template, FrameAt frame_at) {
    // Of a step, and of the one before, which another block may still read.
    __shared__ ClusterParts<PoseRefineRight> rights[2][planes];
    __shared__ System system;
    __shared__ PoseRefineRight sums[planes];
    __shared__ PoseRefineMap map;
    const Cluster cluster;
    const Share share{cluster.rank, cluster.size};
    copy(*system_of_template, system);
    cluster.sync();
    int turn = 0;
    for (int i = cluster.index(); i < p.count; i += cluster.count()) {
      if (b.starts[i].scale == 0) {
        if (cluster.rank == 0 && threadIdx.x == 0) b.refinements[i] = {};
        continue;
      }
      PoseRefineSteps steps(b.starts[i], p.freedom, p.radius());  // of thread 0
      if (threadIdx.x == 0) map = PoseRefineMap(steps.pose());
      const PoseRefinePlanes<T> frame = frame_at(b.starts[i]);
      __syncthreads();
      for (int step = 0; step < PoseRefineSteps::most; ++step) {
        auto& parts = rights[turn++ % 2];
        XCORR_ROLL
        for (int plane = 0; plane < planes; ++plane)
          add_right(p, b, plane, share, frame, map, to_all(cluster, parts[plane]));
        cluster.sync();
        bool goes_on = false;
        if (threadIdx.x < 32) {  // each block takes the same step
          for (int plane = 0; plane < planes; ++plane)
            add_parts(cluster, parts[plane], sums[plane]);
          __syncwarp();
        }
        if (threadIdx.x == 0) {
          goes_on = steps.step(system, system.right(sums));
          map = PoseRefineMap(steps.pose());
        }
        if (!__syncthreads_or(goes_on)) break;
      }
      if (cluster.rank == 0 && threadIdx.x == 0) b.refinements[i] = steps.result();
    }
  }

 private:
  /// By all threads of the block.
  __device__ static void copy(const System& from, System& to) {
    using Word = std::uint64_t;
    static_assert(sizeof to % sizeof(Word) == 0);
    for (unsigned i = threadIdx.x; i < sizeof to / sizeof(Word); i += threads)
      reinterpret_cast<Word*>(&to)[i] = reinterpret_cast<const Word*>(&from)[i];
  }

  /// Calls visit(x, y, smoothed pixel) for the pixels of this thread that take part in a plane.
  template <class Visit>
  __device__ static void for_pixels(const stage::PoseRefine::Problem& p,
                                    const stage::PoseRefine::Buffers& b, int plane, Share share,
                                    Visit visit) {
    const SmoothedPixel* const smoothed = b.smoothed + plane * p.size.area();
    for_tiles(p.size, share.index * warps + threadIdx.x / 32, share.count * warps,
              [&](int x, int y) {
                const SmoothedPixel pixel = smoothed[y * p.size.width + x];
                if (pixel.counts) visit(x, y, pixel);
              });
  }

  /// The sums over the threads of the block, see add_matrix().
  template <class Term, int count, class Put>
  __device__ static void add_up(PoseRefineSums<Term, count>& sums, Put put) {
    put_block_sums<warps>(sums.of, put);
    if (planes > 1) __syncthreads();  // the next plane overwrites what is shared
  }
};

}  // namespace xcorr::cuda

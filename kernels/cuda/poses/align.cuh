// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The parts of least squares by a block: the matrix of the template, its inverse, the right side at
// a pose, and the steps.
#pragma once

#include "cuda/common/row_words.cuh"
#include "cuda/common/tiles.cuh"
#include "cuda/common/warp.cuh"
#include "stages/align.hpp"

namespace xcorr::cuda {

/// T: of the frame's pixels. Sum: in which a thread adds up the right side.
template <class T, class Sum>
struct Align {
  static constexpr int threads = 512, warps = threads / 32;

  /// Which of the blocks that share the pixels this one is.
  struct Share {
    int index = 0, count = 1;
  };

  /// The sums over this block's share, which all threads may read after the next barrier.
  __device__ static void add_matrix(const stage::Align::Problem& p, const stage::Align::Buffers& b,
                                    Share share, AlignMatrix& matrix) {
    AlignMatrix sums;
    sums.clear();
    for_pixels(p, b, share, [&](int x, int y, const SmoothedPixel& pixel) {
      sums.add_pixel(p.equation<T>(x, y, pixel));
    });
    add_up(sums, matrix);
  }

  /// Of the frame at a pose, likewise.
  __device__ static void add_right(const stage::Align::Problem& p, const stage::Align::Buffers& b,
                                   Share share, const AlignFrame<T>& frame, const AlignMap& map,
                                   AlignRight& right) {
    AlignRightOf<Sum> sums;
    sums.clear();
    for_pixels(p, b, share, [&](int x, int y, const SmoothedPixel& pixel) {
      p.add(map, frame, x, y, pixel, ReadFour<T>(), sums);
    });
    add_up(sums, right);
  }

  /// By all threads of the block: a lane a column.
  __device__ static void invert(const stage::Align::Problem& p, AlignSystem& system) {
    const int column = threadIdx.x;
    if (column >= align_unknowns) return;
    const bool exists = system.invert(p.freedom, column);
    if (column == 0) system.has_inverse = exists;
  }

  /// Of the poses that fall to this block.
  /// \param frame_at  the frame, or of it what steps from a pose read, by all threads of the block
  template <class FrameAt>
  __device__ static void take_all_steps(const stage::Align::Problem& p,
                                        const stage::Align::Buffers& b, FrameAt frame_at) {
    __shared__ AlignSystem system;
    __shared__ AlignRight right;
    __shared__ AlignMap map;
    bool has_system = false;
    for (int i = blockIdx.x; i < p.count; i += gridDim.x) {
      if (b.starts[i].scale == 0) {
        if (threadIdx.x == 0) b.alignments[i] = {};
        continue;
      }
      if (!has_system) {
        add_matrix(p, b, {}, system.matrix);
        __syncthreads();
        invert(p, system);
        has_system = true;
      }
      AlignSteps steps(b.starts[i], p.freedom, p.radius());  // of thread 0
      if (threadIdx.x == 0) map = AlignMap(steps.pose());
      const AlignFrame<T> frame = frame_at(b.starts[i]);
      __syncthreads();
      for (int step = 0; step < AlignSteps::most; ++step) {
        add_right(p, b, {}, frame, map, right);
        __syncthreads();
        bool goes_on = false;
        if (threadIdx.x == 0) {
          goes_on = steps.step(system, right);
          map = AlignMap(steps.pose());
        }
        if (!__syncthreads_or(goes_on)) break;
      }
      if (threadIdx.x == 0) b.alignments[i] = steps.result();
    }
  }

 private:
  /// Calls visit(x, y, smoothed pixel) for the pixels of this thread that take part.
  template <class Visit>
  __device__ static void for_pixels(const stage::Align::Problem& p, const stage::Align::Buffers& b,
                                    Share share, Visit visit) {
    for_tiles(p.size, share.index * warps + threadIdx.x / 32, share.count * warps,
              [&](int x, int y) {
                const SmoothedPixel pixel = b.smoothed[y * p.size.width + x];
                if (pixel.counts) visit(x, y, pixel);
              });
  }

  /// The sums over the threads of the block.
  template <class Term, int count>
  __device__ static void add_up(AlignSums<Term, count>& sums, AlignSums<double, count>& all) {
    __shared__ Term partial[warps][count];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    using OfWarp = WarpSums<count, 16>;
    OfWarp::find(sums.of);
    if (const int k = OfWarp::number(); k < count) partial[warp][k] = sums.of[0];
    __syncthreads();
    for (int k = warp; k < count; k += warps) {
      const double sum = warp_sum(lane < warps ? double(partial[lane][k]) : 0);
      if (lane == 0) all.of[k] = sum;
    }
  }
};

}  // namespace xcorr::cuda

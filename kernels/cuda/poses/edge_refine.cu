// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Poses on edges on the GPU: a cluster of blocks takes all steps of a pose, whose threads share the
// template's points. Each point reads dozens of gradients in every step, so those of the part of
// the frame that the steps may reach are made first, in shared memory; where there is too little of
// it, they are made of the pixels each time.
#include <algorithm>

#include "cuda/common/launch.cuh"
#include "cuda/common/shared_budget.cuh"
#include "cuda/common/shared_memory.cuh"
#include "cuda/poses/cluster_sums.cuh"
#include "stages/poses/edge_refine.hpp"

namespace xcorr::cuda {
namespace {

constexpr int threads = 256, warps = threads / 32;

/// What a block has besides gradients.
struct Own {
  /// Of a step, and of the one before, which another block may still read.
  ClusterParts<EdgeEquations> parts[2];
  EdgeEquations sums;
  EdgeRefineMap map;
};
/// With what put_block_sums() has for the sums of a block.
struct OwnAndSums {
  Own own;
  double sums[warps][EdgeEquations::count];
};
/// Rows that a thread walks down, with what its column needs of the rows before in registers.
constexpr int strip = 8;

/// A pixel's gradient, whose parts have 16 bits.
struct PackedGradient {
  std::int16_t x, y;
};

/// Makes the gradients of a part's rows, from `first` on. Called by the whole block.
__device__ void make_rows(const stage::EdgeRefine::Problem& p, const std::uint8_t* frame,
                          const Rect& part, int first, int count, PackedGradient* to) {
  constexpr int taps = 2 * gradient_radius + 1;
  const auto inside = [](int i, int length) { return min(max(i, 0), length - 1); };
  const int items = part.width * ceil_div(count, strip);
  XCORR_ROLL
  for (int item = threadIdx.x; item < items; item += threads) {
    const int x = item % part.width, top = item / part.width * strip,
              rows = min(strip, count - top);
    int columns[taps];
#pragma unroll
    for (int u = 0; u < taps; ++u)
      columns[u] = inside(part.x + x + u - gradient_radius, p.frame.width);
    XCORR_ROLL
    for (int plane = 0; plane < p.planes; ++plane) {
      int smooths[taps] = {}, slopes[taps] = {};  // of the last rows
#pragma unroll
      for (int j = 0; j < strip + taps - 1; ++j) {  // all are read at once
        const std::uint8_t* const row =
            frame + plane * p.plane +
            inside(part.y + first + top + j - gradient_radius, p.frame.height) * p.pitch;
#pragma unroll
        for (int v = 1; v < taps; ++v) {
          smooths[v - 1] = smooths[v];
          slopes[v - 1] = slopes[v];
        }
        const auto pixel = [&](int u) -> int { return row[columns[u]]; };
        smooths[taps - 1] = edge_smooth(pixel);
        slopes[taps - 1] = edge_slope(pixel);
        if (j < taps - 1 || j - (taps - 1) >= rows) continue;
        PackedGradient& made = to[(first + top + j - (taps - 1)) * part.width + x];
        LongestGradient longest;
        if (plane > 0) longest.take(made.x, made.y);
        longest.take(edge_smooth([&](int v) { return slopes[v]; }),
                     edge_slope([&](int v) { return smooths[v]; }));
        made = {static_cast<std::int16_t>(longest.x), static_cast<std::int16_t>(longest.y)};
      }
    }
  }
}

/// Makes the gradients of a part, row by row: each block of the cluster its share of the rows, for
/// all of them. Called by all threads of the cluster, which are there at its end.
__device__ void make_gradients(const stage::EdgeRefine::Problem& p, const std::uint8_t* frame,
                               const Rect& part, const Cluster& cluster, PackedGradient* to) {
  const int share = ceil_div(part.height, cluster.size),
            first = min(cluster.rank * share, part.height), count = min(share, part.height - first);
  make_rows(p, frame, part, first, count, to);
  __syncthreads();
  // Two at once: rows are of an even number.
  using Pair = std::uint64_t;
  static_assert(sizeof(Pair) == 2 * sizeof(PackedGradient));
  Pair* const pairs = reinterpret_cast<Pair*>(to) + first * part.width / 2;
  for (int i = threadIdx.x; i < count * part.width / 2; i += threads)
    for (int k = 1; k < cluster.size; ++k)  // a power of two
      cluster.in_block(pairs, cluster.rank ^ k)[i] = pairs[i];
  cluster.sync();
}

/// Takes all steps from there with such gradients; the result is thread 0's.
template <class Gradients>
__device__ PoseRefinement refined(const stage::EdgeRefine::Problem& p,
                                  const stage::EdgeRefine::Buffers& b, const RefinedPose& start,
                                  const Gradients& gradients, const Cluster& cluster, int& turn,
                                  Own& own) {
  EdgeRefineSteps steps(start, p.radius);
  // Few points are of few warps of each block.
  const int warp = threadIdx.x / 32 * cluster.size + cluster.rank;
  if (threadIdx.x == 0) own.map = steps.map();
  __syncthreads();
  XCORR_ROLL
  for (int step = 0; step < EdgeRefineSteps::count; ++step) {
    EdgeEquations sums;
    sums.clear();
    XCORR_ROLL
    for (int k = 32 * warp + threadIdx.x % 32; k < p.points; k += cluster.size * threads)
      own.map.add(b.points[k], gradients, EdgeRefineSteps::step(step), p.rule, sums);
    auto& parts = own.parts[turn++ % 2];
    put_block_sums<warps>(sums.of, to_all<EdgeEquations>(cluster, parts));
    cluster.sync();
    bool goes_on = false;
    if (threadIdx.x < 32) {  // each block takes the same step
      add_parts(cluster, parts, own.sums);
      __syncwarp();
    }
    if (threadIdx.x == 0) {
      goes_on = steps.take(own.sums, p.least_found, p.freedom);
      own.map = steps.map();
    }
    if (!__syncthreads_or(goes_on)) break;
  }
  return steps.result();
}

/// `room`: for so many gradients.
__global__ void __launch_bounds__(threads, 1)
    edge_refine(stage::EdgeRefine::Problem p, stage::EdgeRefine::Buffers b, int room) {
  __shared__ Own own;
  auto* const made = dynamic_shared<PackedGradient>();
  const Cluster cluster;
  wait_for_previous();
  cluster.sync();  // all of it are there before one puts something into another
  int turn = 0;
  for (int i = cluster.index(); i < p.count; i += cluster.count()) {
    const RefinedPose start = b.starts[i];
    PoseRefinement result = {};
    if (start.scale != 0) {
      const Rect part = EdgeRefineSteps::around(start, p.farthest);
      const auto refine = [&](auto gradient_at) {
        return refined(p, b, start, EdgeGradients(part, gradient_at), cluster, turn, own);
      };
      if (part.size().area() <= room) {
        make_gradients(p, b.frame, part, cluster, made);
        result = refine([&](int x, int y) {
          const PackedGradient& at = made[y * part.width + x];
          return EdgeVector{float(at.x), float(at.y)};
        });
      } else {
        result = refine([&](int x, int y) { return p.gradient(b.frame, part.x + x, part.y + y); });
      }
    }
    if (cluster.rank == 0 && threadIdx.x == 0) b.refinements[i] = result;
  }
}

Status launch(const stage::EdgeRefine::Problem& p, const Device& device,
              const stage::EdgeRefine::Buffers& b, PlanState*) {
  // For parts as large as the template and, if there is room, for larger ones.
  constexpr double largest = 1.5;
  const Rect part = EdgeRefineSteps::around({.scale = largest}, p.farthest);
  const auto wanted = static_cast<std::size_t>(part.size().area()) * sizeof(PackedGradient);
  const std::size_t bytes =
      std::min(wanted, max_shared_bytes(device) - own_shared_bytes<OwnAndSums>());
  return enqueue_clusters(device, "edge_refine", edge_refine, most_cluster, grid_extent(p.count),
                          dim3(threads), bytes, b.stream, p, b,
                          static_cast<int>(bytes / sizeof(PackedGradient)));
}

constexpr Variant<stage::EdgeRefine> table[] = {
    {{.name = "edge_refine", .backend = Backend::cuda, .features = {Feature::u8, Feature::planes}},
     {.launch = launch}},
};

}  // namespace

Family edge_refine_family() { return Family(table); }

}  // namespace xcorr::cuda

// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Least squares on the GPU. Of a small template a cluster takes all steps of a pose. Of a large one
// blocks share a pose's pixels, one launch per step, and the last one to finish takes the step from
// their sums. Threads add up few pixels in single precision; the rest is in double and in a fixed
// order, which keeps the solution independent of it to well below what is asked.
#include "cuda/common/shared_memory.cuh"
#include "cuda/poses/pose_refine_system.cuh"

namespace xcorr::cuda {
namespace {

template <int planes>
using PoseRefining = PoseRefine<std::uint8_t, float, planes>;
constexpr int threads = PoseRefining<1>::threads, warps = PoseRefining<1>::warps;

/// Blocks that share a pose in launches of their own: of more pixels than that a thread, a cluster
/// would take longer than launches do.
int parts_of(const stage::PoseRefine::Problem& p) {
  constexpr std::int64_t of_thread = 8;
  const bool has_cluster = p.size.area() <= of_thread * threads * PoseRefining<1>::cluster(p.size);
  return has_cluster ? 1 : PoseRefining<1>::blocks(p.size);
}

/// Of shared memory, for the part of the frame that a pose's steps read.
constexpr int part_bytes = 40 * 1024;

/// Brings that part there; the whole frame where it is too large. Called by all threads of a block.
template <int planes>
__device__ PoseRefinePlanes<std::uint8_t> part_at(const stage::PoseRefine::Problem& p,
                                                  const std::uint8_t* bytes,
                                                  const RefinedPose& pose) {
  // A pixel, what turning and scaling move the far ends of a narrow template, and the spline.
  constexpr int margin = 1 + static_cast<int>(2 * PoseRefineSteps::farthest) + 2;
  const PoseRefinePlanes<std::uint8_t> frame{p.pixels<std::uint8_t>(bytes), p.plane};
  const double c = fabs(pose.cosine * pose.scale), s = fabs(pose.sine * pose.scale);
  const double half_width = 0.5 * (c * p.size.width + s * p.size.height) + margin,
               half_height = 0.5 * (s * p.size.width + c * p.size.height) + margin;
  const auto whole = [](double x) { return static_cast<int>(floor(x)); };
  const int left = max(0, whole(pose.x - half_width)), top = max(0, whole(pose.y - half_height));
  const int width = min(p.frame.width, whole(pose.x + half_width) + 1) - left,
            height = min(p.frame.height, whole(pose.y + half_height) + 1) - top;
  if (width <= 0 || height <= 0) return frame;
  // An odd number of words per row: pixels below each other are in different banks.
  const int words = (width + 3) / 4 | 1;
  const std::int64_t plane = std::int64_t{4} * words * height;
  if (planes * plane > part_bytes) return frame;
  auto* const part = dynamic_shared<std::uint32_t>();
  for (int row = threadIdx.x / 32; row < planes * height; row += warps) {
    const std::uint8_t* const from = bytes + row / height * p.plane;
    for (int i = threadIdx.x % 32; i < words; i += 32) {
      std::uint32_t word[1];
      load_words(from + (top + row % height) * p.pitch, left + 4 * i, p.frame.width, word);
      part[row * words + i] = word[0];
    }
  }
  return {{reinterpret_cast<const std::uint8_t*>(part), 4 * words, {width, height}, left, top},
          plane};
}

template <int planes>
__global__ void __launch_bounds__(threads)
    pose_refine(stage::PoseRefine::Problem p, stage::PoseRefine::Buffers b,
                const PoseRefineSystemOf<planes>* system) {
  wait_for_previous();
  PoseRefining<planes>::take_all_steps(
      p, b, system, [&](const RefinedPose& pose) { return part_at<planes>(p, b.frame, pose); });
}

/// What outlives a launch.
struct Progress {
  PoseRefineSteps steps;
  bool goes_on;
};
template <int planes>
struct Parts {
  Progress* progress;       ///< of each pose
  PoseRefineRight* rights;  ///< of each block, of each plane, of each pose
  const PoseRefineSystemOf<planes>* system;
  unsigned* block_counters;  ///< of each pose

  static std::size_t bytes(const stage::PoseRefine::Problem& p) {
    return p.count * (sizeof(Progress) + planes * parts_of(p) * sizeof(PoseRefineRight));
  }
  Parts(const stage::PoseRefine::Problem& p, void* workspace,
        const TemplateSystem<PoseRefining<planes>>& of)
      : progress(static_cast<Progress*>(workspace)),
        rights(reinterpret_cast<PoseRefineRight*>(progress + p.count)),
        system(of.system()),
        block_counters(of.block_counters()) {}
};

/// Whether any of the poses takes a step. Called by all threads of a block.
__device__ bool any_goes_on(const stage::PoseRefine::Problem& p, int step,
                            const Progress* progress) {
  bool any = step == 0;
  for (int i = threadIdx.x; i < p.count; i += threads) any = any || progress[i].goes_on;
  return __syncthreads_or(any);
}

/// Grid: the blocks that share each pose. With the registers of two blocks per multiprocessor a
/// step does not fit in them on 7.5.
template <int planes>
__global__ void __launch_bounds__(threads, 1)
    pose_refine_step(stage::PoseRefine::Problem p, stage::PoseRefine::Buffers b, int step,
                     Parts<planes> parts) {
  __shared__ PoseRefineRight sums[planes];
  __shared__ PoseRefineMap map;
  __shared__ bool goes_on;
  wait_for_previous();
  if (!any_goes_on(p, step, parts.progress)) return;
  for (int i = 0; i < p.count; ++i) {
    Progress& progress = parts.progress[i];
    const auto steps_before = [&] {
      return step == 0 ? PoseRefineSteps(b.starts[i], p.freedom, p.radius()) : progress.steps;
    };
    if (threadIdx.x == 0) {
      goes_on = step > 0 ? progress.goes_on : b.starts[i].scale != 0;
      if (goes_on) map = PoseRefineMap(steps_before().pose());
      if (!goes_on && step == 0 && blockIdx.x == 0) {
        b.refinements[i] = {};
        progress.goes_on = false;
      }
    }
    __syncthreads();
    if (goes_on) {
      PoseRefineRight* const shares = parts.rights + std::int64_t{i} * planes * gridDim.x;
      XCORR_ROLL
      for (int plane = 0; plane < planes; ++plane)
        PoseRefining<planes>::add_right(p, b, plane, PoseRefining<planes>::Share::of_grid(),
                                        {p.pixels<std::uint8_t>(b.frame), p.plane}, map,
                                        to_global(shares[plane * gridDim.x + blockIdx.x]));
      if (add_parts(shares, &parts.block_counters[i], sums) && threadIdx.x == 0) {
        PoseRefineSteps steps = steps_before();
        const bool more = steps.step(*parts.system, parts.system->right(sums)) &&
                          step + 1 < PoseRefineSteps::most;
        progress = {steps, more};
        if (!more) b.refinements[i] = steps.result();
      }
    }
    __syncthreads();  // the next pose overwrites what is shared
  }
}

template <int planes>
Status launch_as(const stage::PoseRefine::Problem& p, const Device& device,
                 const stage::PoseRefine::Buffers& b, PlanState* state) {
  const auto& of_template = *static_cast<const TemplateSystem<PoseRefining<planes>>*>(state);
  const int blocks = parts_of(p);
  if (blocks == 1)
    return enqueue_clusters(device, "pose_refine", pose_refine<planes>,
                            PoseRefining<planes>::cluster(p.size), grid_extent(p.count),
                            dim3(threads), part_bytes, b.stream, p, b, of_template.system());
  const Parts<planes> parts(p, b.workspace, of_template);
  for (int step = 0; step < PoseRefineSteps::most; ++step)
    if (Status s = enqueue_early(device, "pose_refine_step", pose_refine_step<planes>, dim3(blocks),
                                 dim3(threads), 0, b.stream, p, b, step, parts);
        !s.ok())
      return s;
  return {};
}

/// Calls f(std::integral_constant) with the number of planes.
template <class F>
auto with_planes(const stage::PoseRefine::Problem& p, F f) {
  return p.planes == 1 ? f(std::integral_constant<int, 1>())
                       : f(std::integral_constant<int, color_planes>());
}

std::size_t workspace(const stage::PoseRefine::Problem& p, const Device&) {
  if (parts_of(p) == 1) return 0;
  return with_planes(p, [&](auto planes) { return Parts<planes()>::bytes(p); });
}

Status launch(const stage::PoseRefine::Problem& p, const Device& device,
              const stage::PoseRefine::Buffers& b, PlanState* state) {
  return with_planes(p, [&](auto planes) { return launch_as<planes()>(p, device, b, state); });
}

Result<std::unique_ptr<PlanState>> plan(const stage::PoseRefine::Problem& p, const Device& device) {
  return with_planes(
      p, [&](auto planes) { return TemplateSystem<PoseRefining<planes()>>::make(p, device); });
}

/// Edges are refined otherwise.
bool supports(const stage::PoseRefine::Problem& p, const Device&) {
  return p.planes == 1 || p.planes == color_planes;
}

constexpr Variant<stage::PoseRefine> table[] = {
    {{.name = "pose_refine",
      .backend = Backend::cuda,
      .features = {Feature::u8, Feature::contrast, Feature::planes}},
     {.supports = supports, .launch = launch, .workspace = workspace, .plan = plan}},
};

}  // namespace

Family pose_refine_family() { return Family(table); }

}  // namespace xcorr::cuda

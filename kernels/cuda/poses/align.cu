// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Least squares on the GPU. Of a small template a block takes all steps of a pose. Of a large one
// blocks share a pose's pixels, a launch a step, and the last one to finish takes the step from
// their sums. Threads add up few pixels in single precision; the rest is in double and in a fixed
// order, which keeps the solution independent of it to well below what is asked.
#include "cuda/poses/align.cuh"

#include <algorithm>

#include "cuda/common/launch.cuh"
#include "cuda/common/shared_memory.cuh"
#include "cuda/common/tickets.cuh"

namespace xcorr::cuda {
namespace {

using Aligning = Align<std::uint8_t, float>;
constexpr int threads = Aligning::threads;

/// Blocks that share a pose: of more pixels than that a thread, one block would take longer than
/// launches do; the sums of very many would take longer than what they save.
int parts_of(const stage::Align::Problem& p) {
  constexpr std::int64_t of_thread = 16, most = 192;
  const std::int64_t pixels = p.size.area();
  return pixels <= of_thread * threads
             ? 1
             : static_cast<int>(std::min<std::int64_t>(ceil_div(pixels, threads), most));
}

/// Of shared memory, for the part of the frame that a pose's steps read.
constexpr int part_bytes = 40 * 1024;

/// Brings that part there; the whole frame where it is too large. Called by all threads of a block.
__device__ AlignFrame<std::uint8_t> part_at(const stage::Align::Problem& p,
                                            const std::uint8_t* bytes, const AlignedPose& pose) {
  // A pixel, what turning and scaling move the far ends of a narrow template, and the spline.
  constexpr int margin = 1 + static_cast<int>(2 * AlignSteps::farthest) + 2;
  const AlignFrame<std::uint8_t> frame = p.pixels<std::uint8_t>(bytes);
  const double c = fabs(pose.cosine * pose.scale), s = fabs(pose.sine * pose.scale);
  const double half_width = 0.5 * (c * p.size.width + s * p.size.height) + margin,
               half_height = 0.5 * (s * p.size.width + c * p.size.height) + margin;
  const auto whole = [](double x) { return static_cast<int>(floor(x)); };
  const int left = max(0, whole(pose.x - half_width)), top = max(0, whole(pose.y - half_height));
  const int width = min(p.frame.width, whole(pose.x + half_width) + 1) - left,
            height = min(p.frame.height, whole(pose.y + half_height) + 1) - top;
  if (width <= 0 || height <= 0) return frame;
  // An odd number of words a row: pixels below each other are in different banks.
  const int words = (width + 3) / 4 | 1;
  if (std::int64_t{4} * words * height > part_bytes) return frame;
  auto* const part = dynamic_shared<std::uint32_t>();
  for (int y = threadIdx.x / 32; y < height; y += Aligning::warps)
    for (int i = threadIdx.x % 32; i < words; i += 32) {
      std::uint32_t word[1];
      load_words(bytes + (top + y) * p.pitch, left + 4 * i, p.frame.width, word);
      part[y * words + i] = word[0];
    }
  return {reinterpret_cast<const std::uint8_t*>(part), 4 * words, {width, height}, left, top};
}

__global__ void __launch_bounds__(threads) align(stage::Align::Problem p, stage::Align::Buffers b) {
  wait_for_previous();
  Aligning::take_all_steps(p, b,
                           [&](const AlignedPose& pose) { return part_at(p, b.frame, pose); });
}

/// What outlives a launch.
struct Progress {
  AlignSteps steps;
  bool goes_on;
};
struct Parts {
  AlignSystem* system;
  Progress* progress;     ///< of each pose
  AlignMatrix* matrices;  ///< of each block
  AlignRight* rights;     ///< of each block, of each pose
  unsigned* tickets;      ///< of each pose

  static std::size_t bytes(const stage::Align::Problem& p) {
    return sizeof(AlignSystem) + p.count * sizeof(Progress) +
           parts_of(p) * (sizeof(AlignMatrix) + p.count * sizeof(AlignRight));
  }
  Parts(const stage::Align::Problem& p, void* workspace, unsigned* tickets)
      : system(static_cast<AlignSystem*>(workspace)),
        progress(reinterpret_cast<Progress*>(system + 1)),
        matrices(reinterpret_cast<AlignMatrix*>(progress + p.count)),
        rights(reinterpret_cast<AlignRight*>(matrices + parts_of(p))),
        tickets(tickets) {}
};

__device__ Aligning::Share share() {
  return {static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x)};
}

/// The sums of the blocks that share them; true in the last of them, which has all.
template <class Sums>
__device__ bool add_parts(const Sums* parts, unsigned* ticket, Sums& all) {
  __threadfence();
  __syncthreads();
  if (!is_last_block(ticket, gridDim.x)) return false;
  // Some lanes a sum, so that more loads are in flight together.
  constexpr int lanes = 16;
  for (int k = threadIdx.x / lanes; k < Sums::count; k += threads / lanes) {
    double sum = 0;
#pragma unroll 4
    for (int part = threadIdx.x % lanes; part < static_cast<int>(gridDim.x); part += lanes)
      sum += __ldcg(&parts[part].of[k]);
    const unsigned together = ((1u << lanes) - 1) << (threadIdx.x % 32 / lanes * lanes);
    for (int step = lanes / 2; step > 0; step /= 2) sum += __shfl_xor_sync(together, sum, step);
    if (threadIdx.x % lanes == 0) all.of[k] = sum;
  }
  __syncthreads();
  return true;
}

/// Grid: the blocks that share the template. With the registers of two blocks a multiprocessor the
/// inverse does not fit in them on 7.5.
__global__ void __launch_bounds__(threads, 1)
    align_system(stage::Align::Problem p, stage::Align::Buffers b, Parts parts) {
  __shared__ AlignSystem system;
  wait_for_previous();
  Aligning::add_matrix(p, b, share(), parts.matrices[blockIdx.x]);
  if (!add_parts(parts.matrices, parts.tickets, system.matrix)) return;
  Aligning::invert(p, system);
  __syncthreads();
  if (threadIdx.x == 0) *parts.system = system;
}

/// Grid: the blocks that share a pose, poses.
__global__ void __launch_bounds__(threads)
    align_step(stage::Align::Problem p, stage::Align::Buffers b, int step, Parts parts) {
  __shared__ AlignRight right;
  __shared__ AlignMap map;
  __shared__ bool goes_on;
  wait_for_previous();
  for (int i = blockIdx.y; i < p.count; i += gridDim.y) {
    Progress& progress = parts.progress[i];
    const auto steps_before = [&] {
      return step == 0 ? AlignSteps(b.starts[i], p.freedom, p.radius()) : progress.steps;
    };
    if (threadIdx.x == 0) {
      goes_on = step > 0 ? progress.goes_on : b.starts[i].scale != 0;
      if (goes_on) map = AlignMap(steps_before().pose());
      if (!goes_on && step == 0 && blockIdx.x == 0) {
        b.alignments[i] = {};
        progress.goes_on = false;
      }
    }
    __syncthreads();
    if (goes_on) {
      AlignRight* const shares = parts.rights + std::int64_t{i} * gridDim.x;
      Aligning::add_right(p, b, share(), p.pixels<std::uint8_t>(b.frame), map, shares[blockIdx.x]);
      if (add_parts(shares, &parts.tickets[i], right) && threadIdx.x == 0) {
        AlignSteps steps = steps_before();
        const bool more = steps.step(*parts.system, right) && step + 1 < AlignSteps::most;
        progress = {steps, more};
        if (!more) b.alignments[i] = steps.result();
      }
    }
    __syncthreads();  // the next pose overwrites what is shared
  }
}

std::size_t workspace(const stage::Align::Problem& p, const Device&) {
  return parts_of(p) > 1 ? Parts::bytes(p) : 0;
}

Result<std::unique_ptr<PlanState>> plan(const stage::Align::Problem& p, const Device&) {
  return Tickets::make(p.count);
}

Status launch(const stage::Align::Problem& p, const Device& device, const stage::Align::Buffers& b,
              PlanState* state) {
  const int blocks = parts_of(p);
  if (blocks == 1)
    return enqueue_early(device, "align", align, dim3(grid_extent(p.count)), dim3(threads),
                         part_bytes, b.stream, p, b);
  const Parts parts(p, b.workspace, static_cast<const Tickets*>(state)->counters());
  if (Status s = enqueue_early(device, "align_system", align_system, dim3(blocks), dim3(threads), 0,
                               b.stream, p, b, parts);
      !s.ok())
    return s;
  for (int step = 0; step < AlignSteps::most; ++step)
    if (Status s =
            enqueue_early(device, "align_step", align_step, dim3(blocks, grid_extent(p.count)),
                          dim3(threads), 0, b.stream, p, b, step, parts);
        !s.ok())
      return s;
  return {};
}

constexpr Variant<stage::Align> table[] = {
    {{"align", Backend::cuda, {Feature::u8, Feature::contrast}},
     supports_all,
     launch,
     workspace,
     plan},
};

}  // namespace

Family align_family() { return Family(table); }

}  // namespace xcorr::cuda

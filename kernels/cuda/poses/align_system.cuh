// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What least squares need of a template besides its pixels: the matrix of the equations and its
// inverse, made once a template by blocks that share its pixels.
#pragma once

#include "cuda/common/tickets.cuh"
#include "cuda/poses/align.cuh"

namespace xcorr::cuda {

/// Puts a block's sums where all blocks have theirs.
template <class Sums>
__device__ auto to_global(Sums& sums) {
  return [&sums](int k, double sum) {
    if (threadIdx.x % 32 == 0) sums.of[k] = sum;
  };
}

/// The sums of the blocks that share them; true in the last of them, which has all.
template <class Sums>
__device__ bool add_parts(const Sums* parts, unsigned* ticket, Sums& all) {
  __syncthreads();
  if (!is_last_block(ticket, gridDim.x)) return false;
  // Some lanes a sum, so that more loads are in flight together.
  constexpr int lanes = 16;
  for (int k = threadIdx.x / lanes; k < Sums::count; k += blockDim.x / lanes) {
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
template <class Aligning>
__global__ void __launch_bounds__(Aligning::threads, 1)
    align_system(stage::Align::Problem p, stage::Align::Buffers b, AlignMatrix* matrices,
                 unsigned* ticket, AlignSystem* to) {
  __shared__ AlignSystem system;
  wait_for_previous();
  Aligning::add_matrix(p, b, Aligning::Share::of_grid(), to_global(matrices[blockIdx.x]));
  if (!add_parts(matrices, ticket, system.matrix)) return;
  Aligning::invert(p, system);
  __syncthreads();
  if (threadIdx.x == 0) *to = system;
}

template <class Aligning>
class TemplateSystem final : public PlanState {
 public:
  static Result<std::unique_ptr<PlanState>> make(const stage::Align::Problem& p,
                                                 const Device& device) {
    auto block = Block::make(Backend::cuda,
                             sizeof(AlignSystem) + Aligning::blocks(p.size) * sizeof(AlignMatrix));
    if (!block.ok()) return block.status();
    auto tickets = Tickets::make(1 + p.count);
    if (!tickets.ok()) return tickets.status();
    return std::unique_ptr<PlanState>(
        new TemplateSystem(p, device, std::move(block.value()), std::move(tickets.value())));
  }

  /// Enqueues it, of the smoothed template.
  Status set_rights(const void* smoothed, Stream stream) override {
    stage::Align::Buffers b;
    b.smoothed = static_cast<const SmoothedPixel*>(smoothed);
    return enqueue_early(device_, "align_system", align_system<Aligning>,
                         dim3(Aligning::blocks(problem_.size)), dim3(Aligning::threads), 0, stream,
                         problem_, b, reinterpret_cast<AlignMatrix*>(system() + 1), counters(),
                         system());
  }
  AlignSystem* system() const { return block_.as<AlignSystem>(); }
  /// Of the poses.
  unsigned* tickets() const { return counters() + 1; }

 private:
  TemplateSystem(const stage::Align::Problem& p, const Device& device, Block block,
                 std::unique_ptr<PlanState> tickets)
      : problem_(p), device_(device), block_(std::move(block)), tickets_(std::move(tickets)) {}

  unsigned* counters() const { return static_cast<const Tickets*>(tickets_.get())->counters(); }

  stage::Align::Problem problem_;
  Device device_;
  Block block_;
  std::unique_ptr<PlanState> tickets_;
};

}  // namespace xcorr::cuda

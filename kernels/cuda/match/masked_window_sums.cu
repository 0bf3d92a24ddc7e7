// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The window sums of masked windows. The mask is a list of runs, each of adjacent pixels of a row
// that count. For u8 a first launch makes the rows' prefix sums, in 32 bits that wrap around; then
// a run costs a thread, which has one window, two reads, whatever the run's length. A run's sum of
// squares fits 32 bits, so the difference is right. Floating-point pixels are summed one by one,
// since a difference of prefix sums would lose precision where the window is dark and its row is
// not.
#include "cuda/common/launch.cuh"
#include "cuda/common/warp.cuh"
#include "device/runtime.hpp"
#include "stages/mask_runs.hpp"
#include "stages/window_sums.hpp"

namespace xcorr::cuda {
namespace {

using u32 = std::uint32_t;
using u64 = unsigned long long;

constexpr int threads = 256, warps = threads / 32;

/// Sums of the pixels before a place in a row, and of their squares.
struct Prefix {
  u32 sum, squares;
};

/// Of all rows of the left, each one element longer than a row.
__host__ __device__ std::int64_t prefix_pitch(const Problem& p) { return p.left.width + 1; }

/// A warp goes along a row.
__global__ void __launch_bounds__(threads)
    prefix_sums(Problem p, const std::byte* left, Prefix* prefixes) {
  const int lane = threadIdx.x % 32;
  for (int y = blockIdx.x * warps + threadIdx.x / 32; y < p.left.height; y += gridDim.x * warps) {
    const auto* row = reinterpret_cast<const std::uint8_t*>(left + y * p.left_pitch);
    Prefix* const to = prefixes + y * prefix_pitch(p);
    Prefix before{0, 0};
    if (lane == 0) to[0] = before;
    for (int first = 0; first < p.left.width; first += 32) {
      const int x = first + lane;
      const u32 f = x < p.left.width ? row[x] : 0;
      const Prefix here{before.sum + warp_scan(f), before.squares + warp_scan(f * f)};
      if (x < p.left.width) to[x + 1] = here;
      before = {__shfl_sync(0xffffffff, here.sum, 31), __shfl_sync(0xffffffff, here.squares, 31)};
    }
  }
}

/// The window of this thread: element (x, y) of the output.
struct WindowOfThread {
  int x = static_cast<int>(blockIdx.x * threads + threadIdx.x);
  int y = static_cast<int>(blockIdx.y);

  __device__ bool exists(const Problem& p) const { return x < p.shifts.width; }
  __device__ std::int64_t place(const Problem& p) const {
    return std::int64_t{y} * p.shifts.width + x;
  }
};

template <class Squares>
__global__ void __launch_bounds__(threads)
    sums_of_bytes(Problem p, const Prefix* prefixes, const MaskRun* runs, int run_count, u32* sums,
                  Squares* squares) {
  for (WindowOfThread window; window.y < p.shifts.height; window.y += gridDim.y) {
    if (!window.exists(p)) return;
    const Prefix* const corner =
        prefixes + (p.shifts.y + window.y) * prefix_pitch(p) + p.shifts.x + window.x;
    u32 sum = 0;
    Squares square = 0;
#pragma unroll 4
    for (int i = 0; i < run_count; ++i) {
      const MaskRun run = runs[i];
      const Prefix* const begin = corner + run.y * prefix_pitch(p) + run.x;
      const Prefix a = begin[0], b = begin[run.length];
      sum += b.sum - a.sum;
      square += b.squares - a.squares;
    }
    sums[window.place(p)] = sum;
    squares[window.place(p)] = square;
  }
}

__global__ void __launch_bounds__(threads)
    sums_of_floats(Problem p, const std::byte* left, const MaskRun* runs, int run_count,
                   double* sums, double* squares) {
  for (WindowOfThread window; window.y < p.shifts.height; window.y += gridDim.y) {
    if (!window.exists(p)) return;
    double sum = 0, square = 0;
    for (int i = 0; i < run_count; ++i) {
      const MaskRun run = runs[i];
      const auto* f =
          reinterpret_cast<const float*>(left + (p.shifts.y + window.y + run.y) * p.left_pitch) +
          p.shifts.x + window.x + run.x;
      for (int k = 0; k < run.length; ++k) {
        const double v = f[k];
        sum += v;
        square += v * v;
      }
    }
    sums[window.place(p)] = sum;
    squares[window.place(p)] = square;
  }
}

class Runs final : public PlanState {
 public:
  explicit Runs(Size size) : size_(size) {}

  Status set_rights(const void* mask, Stream stream) override {
    const Runtime& device = runtime(Backend::cuda);
    std::vector<std::uint8_t> bytes(size_.area());
    if (Status s = device.copy(bytes_copy(bytes.data(), mask, bytes.size()), Memory::device,
                               Memory::host, stream);
        !s.ok())
      return s;
    if (Status s = device.wait(stream); !s.ok()) return s;
    const std::vector<MaskRun> runs = mask_runs(bytes.data(), size_);
    auto block = Block::make(Backend::cuda, runs.size() * sizeof(MaskRun));
    if (!block.ok()) return block.status();
    if (Status s = device.copy(bytes_copy(block.value().data(), runs.data(), block.value().bytes()),
                               Memory::host, Memory::device, stream);
        !s.ok())
      return s;
    runs_ = std::move(block.value());
    return device.wait(stream);
  }

  const MaskRun* runs() const { return runs_.as<MaskRun>(); }
  int count() const { return static_cast<int>(runs_.bytes() / sizeof(MaskRun)); }

 private:
  Size size_;
  Block runs_;
};

template <class Squares>
Status launch_bytes(const Problem& p, const stage::WindowSums::Buffers& b, const Runs& runs,
                    dim3 grid) {
  auto* prefixes = static_cast<Prefix*>(b.workspace);
  if (Status s = enqueue("prefix_sums", prefix_sums, grid_extent(ceil_div(p.left.height, warps)),
                         threads, 0, b.stream, p, static_cast<const std::byte*>(b.lefts), prefixes);
      !s.ok())
    return s;
  return enqueue("sums_of_bytes", sums_of_bytes<Squares>, grid, threads, 0, b.stream, p, prefixes,
                 runs.runs(), runs.count(), static_cast<u32*>(b.window_sums),
                 static_cast<Squares*>(b.window_squares));
}

Status launch(const stage::WindowSums::Problem& problem, const Device&,
              const stage::WindowSums::Buffers& b, PlanState* state) {
  const Problem& p = problem.correlate;
  const Runs& runs = *static_cast<const Runs*>(state);
  const dim3 grid(ceil_div(p.shifts.width, threads), grid_extent(p.shifts.height));
  if (p.type == ElementType::f32)
    return enqueue("sums_of_floats", sums_of_floats, grid, threads, 0, b.stream, p,
                   static_cast<const std::byte*>(b.lefts), runs.runs(), runs.count(),
                   static_cast<double*>(b.window_sums), static_cast<double*>(b.window_squares));
  return p.output_type() == ElementType::u64 ? launch_bytes<u64>(p, b, runs, grid)
                                             : launch_bytes<u32>(p, b, runs, grid);
}

std::size_t workspace(const stage::WindowSums::Problem& problem, const Device&) {
  const Problem& p = problem.correlate;
  return p.type == ElementType::u8 ? sizeof(Prefix) * prefix_pitch(p) * p.left.height : 0;
}

Result<std::unique_ptr<PlanState>> plan(const stage::WindowSums::Problem& problem, const Device&) {
  return std::unique_ptr<PlanState>(std::make_unique<Runs>(problem.correlate.right));
}

bool supports(const stage::WindowSums::Problem& problem, const Device&) {
  return bool(problem.masking);
}

constexpr Variant<stage::WindowSums> table[] = {
    {{"masked_window_sums",
      Backend::cuda,
      {Feature::u8, Feature::f32, Feature::wide_sums, Feature::mask}},
     supports,
     launch,
     workspace,
     plan},
};

}  // namespace

Family masked_window_sums_family() { return Family(table); }

}  // namespace xcorr::cuda

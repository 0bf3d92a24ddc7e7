// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The window sums of masked windows. The mask is a list of runs, each of adjacent pixels of a row
// that count. For u8 a first launch makes the rows' prefix sums, in 32 bits that wrap around; then
// a run costs a window two reads, whatever the run's length. A run's sum of squares fits 32 bits,
// so the difference is right. A thread has some windows one below the other, for which it fetches a
// run once. Floating-point pixels are summed one by one, since a difference of prefix sums would
// lose precision where the window is dark and its row is not.
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
constexpr int windows = 4;  ///< of a thread, of u8

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

/// A run among the prefix sums.
struct PrefixRun {
  std::int32_t begin;  ///< relative to the window's upper left corner
  std::int32_t length;
};

template <class Squares>
__global__ void __launch_bounds__(threads)
    sums_of_bytes(Problem p, const Prefix* prefixes, const PrefixRun* runs, int run_count,
                  u32* sums, Squares* squares) {
  const int x = static_cast<int>(blockIdx.x * threads + threadIdx.x);
  if (x >= p.shifts.width) return;
  const auto pitch = static_cast<int>(prefix_pitch(p));
  for (int y = blockIdx.y * windows; y < p.shifts.height; y += gridDim.y * windows) {
    // Windows past the last row repeat it and are not written.
    int rows[windows];
    for (int k = 0; k < windows; ++k) rows[k] = (min(y + k, p.shifts.height - 1) - y) * pitch;
    const Prefix* const corner = prefixes + std::int64_t{p.shifts.y + y} * pitch + p.shifts.x + x;
    u32 sum[windows] = {};
    Squares square[windows] = {};
#pragma unroll 2
    for (int i = 0; i < run_count; ++i) {
      const PrefixRun run = runs[i];
#pragma unroll
      for (int k = 0; k < windows; ++k) {
        const Prefix* const begin = corner + (run.begin + rows[k]);
        const Prefix a = begin[0], b = begin[run.length];
        sum[k] += b.sum - a.sum;
        square[k] += b.squares - a.squares;
      }
    }
    for (int k = 0; k < windows && y + k < p.shifts.height; ++k) {
      const std::int64_t place = std::int64_t{y + k} * p.shifts.width + x;
      sums[place] = sum[k];
      squares[place] = square[k];
    }
  }
}

__global__ void __launch_bounds__(threads)
    sums_of_floats(Problem p, const std::byte* left, const MaskRun* runs, int run_count,
                   double* sums, double* squares) {
  const int x = static_cast<int>(blockIdx.x * threads + threadIdx.x);
  if (x >= p.shifts.width) return;
  for (int y = blockIdx.y; y < p.shifts.height; y += gridDim.y) {
    double sum = 0, square = 0;
    for (int i = 0; i < run_count; ++i) {
      const MaskRun run = runs[i];
      const auto* f =
          reinterpret_cast<const float*>(left + (p.shifts.y + y + run.y) * p.left_pitch) +
          p.shifts.x + x + run.x;
      for (int k = 0; k < run.length; ++k) {
        const double v = f[k];
        sum += v;
        square += v * v;
      }
    }
    const std::int64_t place = std::int64_t{y} * p.shifts.width + x;
    sums[place] = sum;
    squares[place] = square;
  }
}

/// The mask's runs in device memory: those among prefix sums for u8, MaskRuns for f32.
class Runs final : public PlanState {
 public:
  explicit Runs(const Problem& problem) : problem_(problem) {}

  Status set_rights(const void* mask, Stream stream) override {
    std::vector<std::uint8_t> bytes(problem_.right.area());
    if (Status s = copy({bytes.data(), mask, bytes.size()}, Memory::device, Memory::host, stream);
        !s.ok())
      return s;
    const std::vector<MaskRun> runs = mask_runs(bytes.data(), problem_.right);
    count_ = static_cast<int>(runs.size());
    if (problem_.type == ElementType::f32) return upload(runs, stream);
    std::vector<PrefixRun> prefix_runs;
    for (const MaskRun& run : runs)
      prefix_runs.push_back(
          {static_cast<std::int32_t>(run.y * prefix_pitch(problem_) + run.x), run.length});
    return upload(prefix_runs, stream);
  }

  template <class Run>
  const Run* runs() const {
    return runs_.as<Run>();
  }
  int count() const { return count_; }

 private:
  struct Bytes {
    void* to;
    const void* from;
    std::size_t count;
  };
  /// Waits.
  static Status copy(const Bytes& bytes, Memory from, Memory to, Stream stream) {
    const Runtime& device = runtime(Backend::cuda);
    if (Status s = device.copy(bytes_copy(bytes.to, bytes.from, bytes.count), from, to, stream);
        !s.ok())
      return s;
    return device.wait(stream);
  }
  template <class Run>
  Status upload(const std::vector<Run>& runs, Stream stream) {
    auto block = Block::make(Backend::cuda, runs.size() * sizeof(Run));
    if (!block.ok()) return block.status();
    runs_ = std::move(block.value());
    return copy({runs_.data(), runs.data(), runs_.bytes()}, Memory::host, Memory::device, stream);
  }

  Problem problem_;
  Block runs_;
  int count_ = 0;
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
                 runs.runs<PrefixRun>(), runs.count(), static_cast<u32*>(b.window_sums),
                 static_cast<Squares*>(b.window_squares));
}

Status launch(const stage::WindowSums::Problem& problem, const Device&,
              const stage::WindowSums::Buffers& b, PlanState* state) {
  const Problem& p = problem.correlate;
  const Runs& runs = *static_cast<const Runs*>(state);
  const unsigned across = ceil_div(p.shifts.width, threads);
  const dim3 grid(across, grid_extent(ceil_div(p.shifts.height, windows)));
  if (p.type == ElementType::f32)
    return enqueue("sums_of_floats", sums_of_floats, dim3(across, grid_extent(p.shifts.height)),
                   threads, 0, b.stream, p, static_cast<const std::byte*>(b.lefts),
                   runs.runs<MaskRun>(), runs.count(), static_cast<double*>(b.window_sums),
                   static_cast<double*>(b.window_squares));
  return p.output_type() == ElementType::u64 ? launch_bytes<u64>(p, b, runs, grid)
                                             : launch_bytes<u32>(p, b, runs, grid);
}

std::size_t workspace(const stage::WindowSums::Problem& problem, const Device&) {
  const Problem& p = problem.correlate;
  return p.type == ElementType::u8 ? sizeof(Prefix) * prefix_pitch(p) * p.left.height : 0;
}

Result<std::unique_ptr<PlanState>> plan(const stage::WindowSums::Problem& problem, const Device&) {
  return std::unique_ptr<PlanState>(std::make_unique<Runs>(problem.correlate));
}

/// Runs are found by 32 bits.
bool supports(const stage::WindowSums::Problem& problem, const Device&) {
  const Problem& p = problem.correlate;
  return problem.masking && prefix_pitch(p) * (p.right.height + windows) < 0x7fffffff;
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

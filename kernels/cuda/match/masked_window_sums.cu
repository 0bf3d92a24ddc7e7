// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The window sums of masked windows. The mask is a list of runs, each of adjacent pixels of a row
// that count. For u8 a block goes along a row of windows: from one window to the next a run loses
// its first pixel and gains the one after its last, so each run costs a window two pixels, whatever
// its length; the sums are then prefix sums of what is gained. A run of weights is one of equal
// ones, whose sums take 64 bits. Pixels of 16 bits and floating-point ones are summed one by one:
// of the latter sums of differences would lose precision.
#include "cuda/common/block_sums.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/common/row_words.cuh"
#include "cuda/common/warp.cuh"
#include "device/runtime.hpp"
#include "stages/match/mask_runs.hpp"
#include "stages/match/window_sums.hpp"

namespace xcorr::cuda {
namespace {

using u32 = std::uint32_t;
using u64 = unsigned long long;

constexpr int threads = 256, warps = threads / 32;
/// Windows side by side, of a thread: of long rows, and of those for which fewer do.
constexpr int long_share = 8, short_share = 4;

/// The searched area and its runs of pixels that count.
struct RunsOfBytes {
  const std::uint8_t* first;  ///< pixel of the first window
  std::int64_t pitch;
  int left, width;  ///< the first window's place in its row, and all of the row
  bool is_aligned;  ///< rows are words of four pixels
  const MaskRun* runs;
  int count;

  __device__ const std::uint8_t* row(int window_y, const MaskRun& run) const {
    return first + (window_y + run.y) * pitch - left;
  }
};

/// A thread's windows: what each loses and gains on the way to the next. Gain: int, or of weights
/// std::int64_t.
template <class Gain, int share>
struct Gains {
  Gain sums[share] = {}, squares[share] = {};

  /// \param x  of the thread's first window; past a row's `count` windows it has none
  __device__ Gains(const RunsOfBytes& from, int x, int y, int count) {
    if (x >= count) return;
    const int first = from.left + x;
    if (from.is_aligned)  // no branches, which the last threads of a row would take
      add(from, first, y, [&](const std::uint8_t* row, int at, u32(&words)[share / 4]) {
        load_aligned(row, at, from.width - 4, words);
      });
    else
      add(from, first, y, [&](const std::uint8_t* row, int at, u32(&words)[share / 4]) {
        load_words(row, at, from.width, words);
      });
  }

 private:
  static constexpr bool is_weighted = sizeof(Gain) > sizeof(int);

  /// From rows of whole words, the last of which stands for those after it: no window needs them.
  __device__ static void load_aligned(const std::uint8_t* row, int x, int last,
                                      u32 (&words)[share / 4]) {
    const int skew = x % 4;
    words_between(skew, words, [&](int i) {
      return *reinterpret_cast<const u32*>(row + min(x - skew + 4 * i, last));
    });
  }
  template <class Load>
  __device__ void add(const RunsOfBytes& from, int first, int y, Load load) {
#pragma unroll 2
    for (int i = 0; i < from.count; ++i) {
      const MaskRun run = from.runs[i];
      const std::uint8_t* const row = from.row(y, run);
      u32 lost[share / 4], gained[share / 4];
      load(row, first + run.x, lost);
      load(row, first + run.x + run.length, gained);
#pragma unroll
      for (int k = 0; k < share; ++k) {
        const int f = byte_of(gained, k), g = byte_of(lost, k);
        const int gain = is_weighted ? run.weight * (f - g) : f - g;
        sums[k] += gain;
        squares[k] += gain * (f + g);
      }
    }
  }
  __device__ static int byte_of(const u32 (&words)[share / 4], int k) {
    return static_cast<int>(__byte_perm(words[k / 4], 0, 0x4440 + k % 4));
  }
};

/// The first window of a row, summed by the whole block.
template <bool weighted>
__device__ void sum_window(const RunsOfBytes& from, int y, u64 (&sums)[2]) {
  sums[0] = sums[1] = 0;
#pragma unroll 4
  for (int i = threadIdx.x / 32; i < from.count; i += warps) {
    const MaskRun run = from.runs[i];
    const std::uint8_t* const pixels = from.row(y, run) + from.left + run.x;
    for (int k = threadIdx.x % 32; k < run.length; k += 32) {
      const u32 f = pixels[k], times = weighted ? run.weight : 1;
      sums[0] += times * f;
      sums[1] += times * f * f;
    }
  }
  block_sums<warps>(sums);
}

/// Writes values of the block's windows, `first` and what is gained up to each, to a row. Returns
/// the value of the window after the last. Called by all threads.
template <class T, class Gain, int share>
__device__ T write_row(T first, const Gain (&gains)[share], T* to, int count) {
  constexpr int across = share * threads;
  __shared__ T line[across + across / 32];
  __shared__ T totals[warps];
  const auto place = [](int i) { return i + i / 32; };  // no two lanes' in a bank
  T own = 0;
#pragma unroll
  for (const Gain gain : gains) own += static_cast<T>(static_cast<std::int64_t>(gain));
  const T upto = warp_scan(own);
  __syncthreads();  // the values before have been read
  if (threadIdx.x % 32 == 31) totals[threadIdx.x / 32] = upto;
  __syncthreads();
  T value = first + upto - own, all = first;
#pragma unroll
  for (int i = 0; i < warps; ++i) {
    if (i < static_cast<int>(threadIdx.x) / 32) value += totals[i];
    all += totals[i];
  }
#pragma unroll
  for (int k = 0; k < share; ++k) {
    line[place(share * threadIdx.x + k)] = value;
    value += static_cast<T>(static_cast<std::int64_t>(gains[k]));
  }
  __syncthreads();
  for (int i = threadIdx.x; i < min(across, count); i += threads) to[i] = line[place(i)];
  return all;
}

template <int share, class Sums, class Squares, class Gain>
__global__ void __launch_bounds__(threads, 2)
    sums_of_bytes(Problem p, RunsOfBytes from, Sums* sums, Squares* squares) {
  wait_for_previous();  // first: what then begins reads the frame before it waits
  let_next_begin();
  from.first += p.left_offset(blockIdx.y);
  sums += first_window(p, blockIdx.y);
  squares += first_window(p, blockIdx.y);
  for (int y = blockIdx.x; y < p.shifts.height; y += gridDim.x) {
    const std::int64_t place = std::int64_t{y} * p.shifts.width;
    u64 first[2];
    sum_window<sizeof(Gain) != sizeof(int)>(from, y, first);
    auto sum = static_cast<Sums>(first[0]);
    auto square = static_cast<Squares>(first[1]);
    for (int x = 0; x < p.shifts.width; x += share * threads) {
      const Gains<Gain, share> gains(from, x + share * static_cast<int>(threadIdx.x), y,
                                     p.shifts.width);
      const int count = p.shifts.width - x;
      sum = write_row(sum, gains.sums, sums + place + x, count);
      square = write_row(square, gains.squares, squares + place + x, count);
    }
  }
}

template <class In, class Sum>
__global__ void __launch_bounds__(threads)
    sums_of_pixels(Problem p, const std::byte* left, const MaskRun* runs, int run_count, Sum* sums,
                   Sum* squares) {
  let_next_begin();
  const int x = static_cast<int>(blockIdx.x * threads + threadIdx.x);
  if (x >= p.shifts.width) return;
  for (int y = blockIdx.y; y < p.shifts.height; y += gridDim.y) {
    Sum sum = 0, square = 0;
    for (int i = 0; i < run_count; ++i) {
      const MaskRun run = runs[i];
      const auto* f = reinterpret_cast<const In*>(left + (p.shifts.y + y + run.y) * p.left_pitch) +
                      p.shifts.x + x + run.x;
      for (int k = 0; k < run.length; ++k) {
        const Sum v = f[k];
        sum += v;
        square += v * v;
      }
    }
    const std::int64_t place = std::int64_t{y} * p.shifts.width + x;
    sums[place] = sum;
    squares[place] = square;
  }
}

/// The mask's runs in device memory.
class Runs final : public PlanState {
 public:
  explicit Runs(Size size) : size_(size) {}

  Status set_rights(const void* mask, Stream stream) override {
    std::vector<std::uint8_t> bytes(size_.area());
    if (Status s = copy({bytes.data(), mask, bytes.size()}, Memory::device, Memory::host, stream);
        !s.ok())
      return s;
    const std::vector<MaskRun> runs = mask_runs(bytes.data(), size_);
    count_ = static_cast<int>(runs.size());
    auto block = Block::make(Backend::cuda, runs.size() * sizeof(MaskRun));
    if (!block.ok()) return block.status();
    runs_ = std::move(block.value());
    return copy({runs_.data(), runs.data(), runs_.bytes()}, Memory::host, Memory::device, stream);
  }

  const MaskRun* runs() const { return runs_.as<MaskRun>(); }
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

  Size size_;
  Block runs_;
  int count_ = 0;
};

template <class Sums, class Squares, class Gain = int>
Status launch_bytes(const Problem& p, const Device& device, const stage::WindowSums::Buffers& b,
                    const Runs& runs) {
  const auto* pixels = static_cast<const std::uint8_t*>(b.lefts);
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(pixels) % 4 == 0 &&
                          p.left_pitch % 4 == 0 && p.left_offset(1) % 4 == 0 &&
                          p.left.width % 4 == 0;
  const RunsOfBytes from{pixels + p.shifts.y * p.left_pitch + p.shifts.x,
                         p.left_pitch,
                         p.shifts.x,
                         p.left.width,
                         is_aligned,
                         runs.runs(),
                         runs.count()};
  const dim3 grid(grid_extent(p.shifts.height), static_cast<unsigned>(p.total_lefts()));
  const auto kernel = p.shifts.width <= short_share * threads
                          ? sums_of_bytes<short_share, Sums, Squares, Gain>
                          : sums_of_bytes<long_share, Sums, Squares, Gain>;
  return enqueue_early(device, "sums_of_bytes", kernel, grid, threads, 0, b.stream, p, from,
                       static_cast<Sums*>(b.window_sums), static_cast<Squares*>(b.window_squares));
}

template <class In, class Sum>
Status launch_pixels(const Problem& p, const stage::WindowSums::Buffers& b, const Runs& runs) {
  return enqueue("sums_of_pixels", sums_of_pixels<In, Sum>,
                 dim3(ceil_div(p.shifts.width, threads), grid_extent(p.shifts.height)), threads, 0,
                 b.stream, p, static_cast<const std::byte*>(b.lefts), runs.runs(), runs.count(),
                 static_cast<Sum*>(b.window_sums), static_cast<Sum*>(b.window_squares));
}

Status launch(const stage::WindowSums::Problem& problem, const Device& device,
              const stage::WindowSums::Buffers& b, PlanState* state) {
  const Problem& p = problem.correlate;
  const Runs& runs = *static_cast<const Runs*>(state);
  if (p.type == ElementType::f32) return launch_pixels<float, double>(p, b, runs);
  if (p.type == ElementType::u16) return launch_pixels<std::uint16_t, u64>(p, b, runs);
  if (problem.masking.weighted) return launch_bytes<u64, u64, std::int64_t>(p, device, b, runs);
  return p.output_type() == ElementType::u64 ? launch_bytes<u32, u64>(p, device, b, runs)
                                             : launch_bytes<u32, u32>(p, device, b, runs);
}

Result<std::unique_ptr<PlanState>> plan(const stage::WindowSums::Problem& problem, const Device&) {
  return std::unique_ptr<PlanState>(std::make_unique<Runs>(problem.correlate.right));
}

bool supports(const stage::WindowSums::Problem& problem, const Device&) {
  const Problem& p = problem.correlate;
  return problem.masking && problem.masking.allows(p.type) && p.total_lefts() <= 65535 &&
         (p.type == ElementType::u8 || !p.own_lefts);
}

constexpr Variant<stage::WindowSums> table[] = {
    {{.name = "masked_window_sums",
      .backend = Backend::cuda,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::wide_sums, Feature::mask,
                   Feature::weights, Feature::own_lefts}},
     {.supports = supports, .launch = launch, .plan = plan}},
};

}  // namespace

Family masked_window_sums_family() { return Family(table); }

}  // namespace xcorr::cuda

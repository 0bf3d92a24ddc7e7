// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches of windows of bytes by matrix instructions, one block per window (tensor_window.cuh).
// The sums of the frame's windows, which neighbours share, are those of all of a band of the frame,
// mostly its whole, from a kernel before. Single precision then names the few shifts that may be
// the best, to be scored exactly.
#include "cuda/common/warp.cuh"
#include "cuda/fields/tensor_window.cuh"

namespace xcorr::cuda {
namespace {

using u32 = std::uint32_t;

/// Of a multiprocessor, which shared memory has room for; more than 16 not all devices take.
template <class T>
constexpr int blocks = min_of(16, (T::steps == 1 ? 27 : 15) / T::warps);

/// Where a block's data lie in shared memory, in words. Products and estimates take the place of
/// the images.
template <class T>
struct Layout {
  typename T::Frame frame;
  int copy, window, end;

  static constexpr int product_pitch =
      16 * T::tiles_x + 4;  ///< of the products' rows: in banks of their own
  static constexpr int estimates = 8 * T::tiles_y * product_pitch;

  __host__ __device__ explicit Layout(const stage::WindowSearch::Problem& p)
      : frame{p.window + p.shifts() - 1, p.window + p.shifts() - 1},
        copy(frame.copy()),
        window(4 * copy),
        end(window + T::window_words) {
    constexpr int results = estimates + T::of_lane * T::threads;
    const int read = 3 * copy + T::read_rows * T::words;
    end = max_of(end, max_of(results, read));
  }
  __host__ __device__ std::size_t bytes() const { return 4 * static_cast<std::size_t>(end); }
};

/// Returns this thread's part of the window's sum and sum of squares.
template <class T>
__device__ uint2 stage_window(const stage::WindowSearch::Problem& p, const SearchBuffers& b,
                              const InterrogationWindow& window, u32* to) {
  const std::uint8_t* const first = b.reference + window.y * p.pitch;
  uint2 own{0, 0};
  const auto stage = [&](auto load) {
    stage_words<T, 1>(p, to, load, [&](const u32(&words)[1]) {
      own.x = __dp4a(words[0], 0x01010101u, own.x);
      own.y = __dp4a(words[0], words[0], own.y);
    });
  };
  if (window.x >= 3 && window.x + 32 * T::steps + 8 <= p.frame.width)  // as in stage_part()
    stage([&](int y, int x, u32(&words)[1]) {
      load_words_inside(first + y * p.pitch, window.x + x, words);
    });
  else
    stage([&](int y, int x, u32(&words)[1]) {
      load_words(first + y * p.pitch, window.x + x, p.frame.width, words);
    });
  return own;
}

/// What the scores of a window's shifts are made of.
struct ShiftSums : WindowScores {
  const u32* products;  ///< in shared memory
  int product_pitch;

  __device__ u32 product(int x, int y) const { return products[y * product_pitch + x]; }
  __device__ double exact(int x, int y) const { return WindowScores::exact(product(x, y), x, y); }
};

/// Estimates of the scores at a lane's shifts, and exact ones of the best. They lie in shared
/// memory, each read by its thread alone: in registers they would leave room for fewer warps.
template <class T>
class Scores {
 public:
  __device__ Scores(const ShiftSums& all, const SearchedPlaces& places, float* estimates)
      : all_(all), estimates_(estimates + threadIdx.x) {
    const bool inside[2] = {places.contains_column(shifts_.x(0)),
                            places.contains_column(shifts_.x(2))};
    const ScaledSum* sums = all.frame.sums + shifts_.y(0) * all.frame.pitch + shifts_.x(0);
    greatest_ = no_estimate;
#pragma unroll 2
    for (int i = 0; i < T::of_lane; i += 4) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {  // without branches, again
        const bool is_inside = inside[k / 2] & places.contains_row(shifts_.y(i + k));
        const int at = k % 2 * all.frame.pitch + shifts_.x(k) - shifts_.x(0);
        const ScaledSum there = is_inside ? sums[at] : ScaledSum{0, 0};
        of(i + k) = all.estimate(all.product(shifts_.x(k), shifts_.y(i + k)), there);
        greatest_ = fmaxf(greatest_, of(i + k));
      }
      sums += 8 * all.frame.pitch;
    }
  }

  /// The best of the block's shifts, found by all of its threads; -1 if no score is positive.
  __device__ int best(int shifts) const {
    __shared__ float greatest_of[T::warps];
    __shared__ ScoredShift scored[T::threads];
    __shared__ int likely, only, scored_count;
    float greatest = greatest_;
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
      greatest = fmaxf(greatest, __shfl_xor_sync(~0u, greatest, step));
    if (threadIdx.x % 32 == 0) greatest_of[threadIdx.x / 32] = greatest;
    if (threadIdx.x == 0) likely = scored_count = 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < T::warps; ++i) greatest = fmaxf(greatest, greatest_of[i]);
    if (!(greatest > 0)) return -1;
    const float least = greatest * estimate_slack;
    if (greatest_ >= least)
      for_likely(least, [&](int x, int y) {
        if (atomicAdd(&likely, 1) == 0) only = y * shifts + x;
      });
    __syncthreads();
    if (likely == 1) return only;  // as nearly always
    if (greatest_ >= least) {
      ScoredShift best{unscored, 0};
      for_likely(least, [&](int x, int y) {
        const ScoredShift other{all_.exact(x, y), y * shifts + x};
        if (other.is_better(best)) best = other;
      });
      scored[atomicAdd(&scored_count, 1)] = best;
    }
    __syncthreads();
    ScoredShift best = scored[0];
#pragma unroll 1
    for (int i = 1; i < scored_count; ++i)
      if (scored[i].is_better(best)) best = scored[i];
    return best.shift;
  }

  /// What is near a shift is out of the question from now on.
  __device__ void leave_out(int x, int y) {
    const int from_x = shifts_.x(0) - x;
    if (from_x < -FoundPlace::reach - 4 || from_x > FoundPlace::reach) return;
    greatest_ = no_estimate;
#pragma unroll 4
    for (int i = 0; i < T::of_lane; ++i) {
      if (FoundPlace::is_near(shifts_.x(i) - x, shifts_.y(i) - y)) of(i) = no_estimate;
      greatest_ = fmaxf(greatest_, of(i));
    }
  }

 private:
  __device__ float& of(int i) const { return estimates_[i * T::threads]; }
  /// Calls body(x, y) for those of the lane's shifts whose estimates reach the least.
  template <class Body>
  __device__ void for_likely(float least, Body body) const {
    u32 likely = 0;
#pragma unroll
    for (int i = 0; i < T::of_lane; ++i) likely |= u32{of(i) >= least} << i;
#pragma unroll 1
    for (; likely; likely &= likely - 1) {
      const int i = __ffs(static_cast<int>(likely)) - 1;
      body(shifts_.x(i), shifts_.y(i));
    }
  }

  const ShiftSums& all_;
  float* estimates_;
  float greatest_;
  LaneShifts<T> shifts_;
};

template <class T>
__device__ void find_vector(const stage::WindowSearch::Problem& p,
                            const InterrogationWindow& window, const SearchedPlaces& places,
                            const ShiftSums& all, Scores<T>& scores, FieldVector& vector) {
  __shared__ FoundPlace found;
  const int shifts = p.shifts(), best = scores.best(shifts);
  if (best < 0 || !(all.reference().n2_variance() > 0)) {
    if (threadIdx.x == 0) vector = vector_without(window, p.window, FieldStatus::flat);
    return;
  }
  const int best_x = best % shifts, best_y = best / shifts;
  scores.leave_out(best_x, best_y);  // what is near the best does not count as the second
  __syncthreads();                   // all have read what was found
  const int second = scores.best(shifts);
  if (threadIdx.x >= 32) return;
  write_found(
      p, window, places, best, second, [&](int x, int y) { return all.exact(x, y); }, found,
      vector);
}

template <class T>
__global__ void __launch_bounds__(T::threads, blocks<T>)
    window_search_tensor(stage::WindowSearch::Problem p, SearchBuffers b, Band band,
                         WindowSums frame_sums) {
  __shared__ uint2 reference;  // its window's sum and sum of squares
  const Layout<T> layout(p);
  auto* memory = dynamic_shared<u32>();
  const InterrogationWindow& window = b.windows[blockIdx.x];
  FieldVector& vector = b.vectors[blockIdx.x];
  const SearchedPlaces places(window, p.frame, p.window, p.range);
  if (write_if_left_out(p, window, places, vector)) return wait_for_previous();
  if (!band.contains(places)) return wait_for_previous();  // the next band's sums wait for this one
  stage_part<T::threads>(b.frame, p.frame_pitch, p.frame, layout.frame, places.left, places.top,
                         memory, T::words);
  const uint2 staged = stage_window<T>(p, b, window, memory + layout.window);
  unsigned sums[2] = {staged.x, staged.y};
  block_sums<T::warps>(sums);
  if (threadIdx.x == 0) reference = {sums[0], sums[1]};
  u32 products[T::tiles_y][4] = {};
  multiply<T>(layout.copy, memory, memory + layout.window, products);
  __syncthreads();  // the products take the frame's place
  const LaneShifts<T> shifts;
#pragma unroll
  for (int i = 0; i < T::of_lane; ++i)
    memory[shifts.y(i) * Layout<T>::product_pitch + shifts.x(i)] = products[i / 4][i % 4];
  wait_for_previous();
  const ShiftSums all{{static_cast<u32>(p.window * p.window), reference.x, reference.y,
                       frame_sums.from(band.first(places, frame_sums.pitch))},
                      memory,
                      Layout<T>::product_pitch};
  Scores<T> scores(all, places, dynamic_shared<float>() + layout.estimates);
  find_vector(p, window, places, all, scores, vector);
}

bool supports(const stage::WindowSearch::Problem& p, const Device& device) {
  return device.compute_capability >= 75 && supports_window_sums_strips(frame_windows(p), device) &&
         tiling_fits<Layout>(p, device);
}

std::size_t workspace(const stage::WindowSearch::Problem& p, const Device&) {
  return Bands(p).bytes(scaled_sum_bytes);
}

Status launch(const stage::WindowSearch::Problem& p, const Device& device,
              const stage::WindowSearch::Buffers& b, PlanState*) {
  return search_in_bands(p, device, b, [&](const Band& band, const WindowSums& sums) {
    return with_tiling(p, Status{}, [&](auto tiling) {
      using T = decltype(tiling);
      // Only the window sums are awaited: what came before has ended, since their kernel waited for
      // it.
      return enqueue_early(
          device, "window_search_tensor", window_search_tensor<T>,
          dim3(static_cast<unsigned>(p.count)), dim3(T::threads), Layout<T>(p).bytes(), b.stream, p,
          SearchBuffers{b.reference, b.frame, b.mask, b.windows, b.vectors}, band, sums);
    });
  });
}

constexpr Variant<stage::WindowSearch> table[] = {
    {{.name = "window_search_tensor", .backend = Backend::cuda, .features = Feature::u8, .rank = 1},
     {.supports = supports, .launch = launch, .workspace = workspace}},
};

}  // namespace

Family window_search_tensor_family() { return Family(table); }

}  // namespace xcorr::cuda

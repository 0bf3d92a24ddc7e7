// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches of windows by matrix instructions, a block a window. For one row y of the frame the
// products with all rows of the window, at shifts (dx, dy), are a matrix A times a matrix B:
//   A[dx][i] = frame[y][i + dx], B[i][dy] = window[y - dy][i],
// of which the sum over y is what is asked. Columns i fill the instructions' depth. Eight shifts dy
// share a tile of B, and so do eight rows further in the frame eight shifts further: of all rows y
// that differ by multiples of eight a warp loads each tile once. A's words begin at any byte: they
// are read from four copies of the frame that begin a byte apart. A warp has sixteen shifts dx and
// all dy, so that its lanes keep the sums of their shifts. The sums of the frame's windows, which
// neighbours share, are those of all of a band of the frame, mostly its whole, from a kernel
// before. Single precision then names the few shifts that may be the best, to be scored exactly.
#include "cuda/common/launch.cuh"
#include "cuda/common/row_words.cuh"
#include "cuda/common/warp.cuh"
#include "cuda/fields/search.cuh"
#include "cuda/match/window_sums_strips.hpp"
#include "cuda/tensor/mma.cuh"

namespace xcorr::cuda {
namespace {

using u32 = std::uint32_t;

/// Rows of zeros before the window's.
constexpr int margin = 7;

__host__ __device__ constexpr int min_of(int a, int b) { return a < b ? a : b; }
__host__ __device__ constexpr int max_of(int a, int b) { return a < b ? b : a; }

/// What a kernel is made for. \tparam steps  depths of 32 that hold the window's columns
/// \tparam tiles  of eight rows that hold the window's, and seven rows more
/// \tparam tiles_x, tiles_y  of 16 shifts in x, a warp each, and of 8 in y
template <int steps_, int tiles_, int tiles_x_, int tiles_y_>
struct Tiling {
  static constexpr int steps = steps_, tiles = tiles_, tiles_x = tiles_x_, tiles_y = tiles_y_;
  static constexpr int warps = tiles_x, threads = 32 * warps;
  /// Of a multiprocessor, which shared memory has room for; more than 16 not all devices take.
  static constexpr int blocks = min_of(16, (steps == 1 ? 27 : 15) / warps);
  static constexpr int words = 4 * tiles_x + 8 * steps;  ///< of a row of the frame
  static constexpr int pitch = steps == 1 ? 8 : 24;      ///< of the window's rows,
  static constexpr int product_pitch =
      16 * tiles_x + 4;  ///< of the products': in banks of their own
  static constexpr int window_rows = 8 * tiles + margin;
  static constexpr int of_lane = 4 * tiles_y;  ///< shifts whose sums a lane has
};

/// Where a block's data lie in shared memory, in words. Products and estimates take the place of
/// the pictures.
template <class T>
struct Layout {
  int rows;  ///< of the frame
  int copy;  ///< from copy to copy
  int window, end;

  static constexpr int estimates = 8 * T::tiles_y * T::product_pitch;

  __host__ __device__ explicit Layout(const stage::Displace::Problem& p)
      : rows(p.window + p.shifts() - 1),
        copy((rows * T::words + 31 - 8) / 32 * 32 + 8),  // copies lie in banks of their own
        window(4 * copy),
        end(window + T::window_rows * T::pitch) {
    constexpr int results = estimates + T::of_lane * T::threads;
    const int read = 3 * copy + 8 * (T::tiles_y + T::tiles - 1) * T::words;
    end = max_of(end, max_of(results, read));
  }
  __host__ __device__ std::size_t bytes() const { return 4 * static_cast<std::size_t>(end); }
};

/// \param load  load(row, x, words) gives five words of the searched area
template <class T, class Load>
__device__ void stage_rows(const Layout<T>& layout, u32* copies, Load load) {
  constexpr int pieces = T::words / 4;
#pragma unroll 2
  for (int k = threadIdx.x; k < layout.rows * pieces; k += T::threads) {
    const int row = k / pieces, piece = k % pieces;
    if (16 * piece >= layout.rows) continue;  // only of shifts that are not asked for
    u32 words[5];
    load(row, 16 * piece, words);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      *reinterpret_cast<uint4*>(copies + i * layout.copy + row * T::words + 4 * piece) = {
          __funnelshift_r(words[0], words[1], 8 * i), __funnelshift_r(words[1], words[2], 8 * i),
          __funnelshift_r(words[2], words[3], 8 * i), __funnelshift_r(words[3], words[4], 8 * i)};
  }
}

template <class T>
__device__ void stage_frame(const stage::Displace::Problem& p, const Layout<T>& layout,
                            const SearchBuffers& b, const SearchedPlaces& places, u32* copies) {
  const std::uint8_t* const first = b.frame + places.top * p.frame_pitch;
  const bool is_inside = places.left >= 3 && places.top >= 0 &&
                         places.left + 4 * T::words + 8 <= p.frame.width &&
                         places.top + layout.rows <= p.frame.height;
  if (is_inside)  // without branches the loads of several rows are in flight at once
    return stage_rows(layout, copies, [&](int row, int x, u32(&words)[5]) {
      load_words_inside(first + row * p.frame_pitch, places.left + x, words);
    });
  stage_rows(layout, copies, [&](int row, int x, u32(&words)[5]) {
    const int y = places.top + row;
    const int width = y >= 0 && y < p.frame.height ? p.frame.width : 0;
    load_words(first + row * p.frame_pitch, places.left + x, width, words);
  });
}

/// Rows of words of the window between its rows of zeros.
/// \param load  load(y, x) gives a word of it
template <class T, class Load>
__device__ uint2 stage_words(const stage::Displace::Problem& p, u32* to, Load load) {
  constexpr int across = 8 * T::steps;
  const auto number = [](int row, int column) { return (row + margin) * T::pitch + column; };
  for (int k = threadIdx.x; k < (T::window_rows - p.window) * across; k += T::threads) {
    const int row = k / across;
    to[number(row < margin ? row - margin : row - margin + p.window, k % across)] = 0;
  }
  uint2 own{0, 0};
#pragma unroll 2
  for (int k = threadIdx.x; k < p.window * across; k += T::threads) {
    const int y = k / across, x = 4 * (k % across), rest = p.window - x;
    u32 word = load(y, x);
    if (rest < 4) word &= rest <= 0 ? 0 : (1u << 8 * rest) - 1;
    to[number(y, x / 4)] = word;
    own.x = __dp4a(word, 0x01010101u, own.x);
    own.y = __dp4a(word, word, own.y);
  }
  return own;
}

/// Returns this thread's part of the window's sum and sum of squares.
template <class T>
__device__ uint2 stage_window(const stage::Displace::Problem& p, const SearchBuffers& b,
                              const FieldWindow& window, u32* to) {
  const std::uint8_t* const first = b.reference + window.y * p.pitch;
  u32 word[1];
  if (window.x >= 3 && window.x + 32 * T::steps + 8 <= p.frame.width)  // as in stage_frame()
    return stage_words<T>(p, to, [&](int y, int x) {
      load_words_inside(first + y * p.pitch, window.x + x, word);
      return word[0];
    });
  return stage_words<T>(p, to, [&](int y, int x) {
    load_words(first + y * p.pitch, window.x + x, p.frame.width, word);
    return word[0];
  });
}

/// The shifts of a lane: how far its i-th one lies from the first place. Rows g and g + 8 of A are
/// not eight shifts apart but four, and a lane's halves of the depth lie side by side: three words
/// in a row are all that it needs of A.
template <class T>
struct LaneShifts {
  int first_x, first_y;

  __device__ LaneShifts()
      : first_x(threadIdx.x / 32 * 16 + threadIdx.x / 16 % 2 * 8 + threadIdx.x / 4 % 4),
        first_y(2 * (threadIdx.x % 4)) {}
  __device__ int x(int i) const { return first_x + 4 * (i % 4 / 2); }
  __device__ int y(int i) const { return first_y + 8 * (i / 4) + i % 2; }
};

/// The products at the lane's shifts. Below the frame's rows words of any kind meet the window's
/// rows of zeros, or shifts that are not asked for.
template <class T>
__device__ void multiply(const Layout<T>& layout, const u32* copies, const u32* window,
                         u32 (&products)[T::tiles_y][4]) {
  const int lane = threadIdx.x % 32, group = lane / 4, column = lane % 4;
  copies += group % 4 * layout.copy + 4 * (threadIdx.x / 32) + 2 * (group / 4) + 2 * column;
  window += (margin - group) * T::pitch + 2 * column;
#pragma unroll 1
  for (int first = 0; first < 8; ++first)
#pragma unroll 1
    for (int step = 0; step < T::steps; ++step) {
      const u32* const right = window + first * T::pitch + 8 * step;
      uint2 b[T::tiles];
#pragma unroll
      for (int d = 0; d < T::tiles; ++d)
        b[d] = *reinterpret_cast<const uint2*>(right + 8 * d * T::pitch);
      const u32* const left = copies + first * T::words + 8 * step;
#pragma unroll
      for (int q = 0; q < T::tiles_y + T::tiles - 1; ++q) {
        // A lane has three words of A, but instructions take four registers in a row: what is
        // loaded twice need not be copied.
        const u32* const at = left + 8 * q * T::words;
        const auto* const bytes = reinterpret_cast<const std::uint8_t*>(at);
        const uint2 low = *reinterpret_cast<const uint2*>(at);
        const u32 a[4] = {low.x, low.y, load_word(bytes + 4), load_word(bytes + 8)};
#pragma unroll
        for (int n = 0; n < T::tiles_y; ++n)
          if (const int d = q - n; d >= 0 && d < T::tiles)
            multiply_add(products[n], a, b[d].x, b[d].y);
      }
    }
}

/// Of the frame's windows, at all places of a band.
struct WindowSums {
  const u32 *sums, *squares;
  const float* scales;  ///< see launch_window_sums_strips()
};

/// Rows of places in the frame. A launch searches the windows whose first place is in one of them.
struct Band {
  int top, until;

  __device__ bool contains(const SearchedPlaces& places) const {
    const int y = places.top + places.from_y;
    return y >= top && y < until;
  }
};

/// What the scores of a window's shifts are made of.
struct ShiftSums {
  u32 n, sum, squares;       ///< of the window of the reference
  const u32* products;       ///< in shared memory
  WindowSums frame;          ///< from the window at the first place on
  int product_pitch, pitch;  ///< of the products, and of the frame's sums

  /// The score up to a factor that the window's shifts share, off by less than 1e-6 of itself.
  /// \param sum_, scale  of the frame's window there; 0, 0 outside
  __device__ float estimate(int x, int y, u32 sum_, float scale) const {
    const auto wide = [](u32 a, u32 b) { return std::uint64_t{a} * b; };
    const u32 product = products[y * product_pitch + x];
    return static_cast<float>(static_cast<std::int64_t>(wide(n, product) - wide(sum_, sum))) *
           scale;
  }
  __device__ FieldSums reference() const { return {double(n), double(sum), double(squares)}; }
  __device__ double exact(int x, int y) const {
    const int at = y * pitch + x;
    const FieldSums window = reference();
    return window_score(window, window.n2_variance(),
                        {window.n, double(frame.sums[at]), double(frame.squares[at])},
                        double(products[y * product_pitch + x]));
  }
};

constexpr float no_estimate = -1e30F;

/// Estimates of the scores at a lane's shifts, and exact ones of the best. They lie in shared
/// memory, each read by its thread alone: in registers they would leave room for fewer warps.
template <class T>
class Scores {
 public:
  __device__ Scores(const ShiftSums& all, const SearchedPlaces& places, float* estimates)
      : all_(all), estimates_(estimates + threadIdx.x) {
    const bool inside[2] = {places.contains_column(shifts_.x(0)),
                            places.contains_column(shifts_.x(2))};
    const u32* sums = all.frame.sums + shifts_.y(0) * all.pitch + shifts_.x(0);
    const float* scales = all.frame.scales + (sums - all.frame.sums);
    greatest_ = no_estimate;
#pragma unroll 2
    for (int i = 0; i < T::of_lane; i += 4) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {  // without branches, again
        const bool is_inside = inside[k / 2] & places.contains_row(shifts_.y(i + k));
        const int at = k % 2 * all.pitch + shifts_.x(k) - shifts_.x(0);
        const u32 sum = is_inside ? sums[at] : 0;
        const float scale = is_inside ? scales[at] : 0;
        of(i + k) = all.estimate(shifts_.x(k), shifts_.y(i + k), sum, scale);
        greatest_ = fmaxf(greatest_, of(i + k));
      }
      sums += 8 * all.pitch;
      scales += 8 * all.pitch;
    }
  }

  /// The best of the block's shifts, found by all of its threads; -1 if no score is positive.
  __device__ int best(int shifts) const {
    constexpr float slack = 1 - 4e-6F;  // more than two estimates are off by
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
    const float least = greatest * slack;
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
__device__ void find_vector(const stage::Displace::Problem& p, const FieldWindow& window,
                            const SearchedPlaces& places, const ShiftSums& all, Scores<T>& scores,
                            FieldVector& vector) {
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
  // Of the best place and those around it, and of the second one.
  if (threadIdx.x < 10) {
    const bool of_second = threadIdx.x == 9;
    const int x = of_second ? second % shifts : best_x + threadIdx.x % 3 - 1,
              y = of_second ? second / shifts : best_y + threadIdx.x / 3 - 1;
    const bool exists = (!of_second || second >= 0) && places.contains(x, y);
    const double score = exists ? all.exact(x, y) : 0;
    if (of_second)
      found.second = score;
    else
      found.set_score(p.subpixel, static_cast<int>(threadIdx.x), score);
  }
  __syncwarp();
  if (threadIdx.x != 0) return;
  found.x = best_x;
  found.y = best_y;
  vector = vector_of(p, window, places, found);
}

template <class T>
__global__ void __launch_bounds__(T::threads, T::blocks)
    displace_tensor(stage::Displace::Problem p, SearchBuffers b, Band band, WindowSums frame_sums) {
  __shared__ uint2 reference;  // its window's sum and sum of squares
  const Layout<T> layout(p);
  auto* memory = dynamic_shared<u32>();
  const FieldWindow& window = b.windows[blockIdx.x];
  FieldVector& vector = b.vectors[blockIdx.x];
  const SearchedPlaces places(window, p.frame, p.window, p.range);
  if (write_if_left_out(p, window, places, vector)) return;
  if (!band.contains(places)) return wait_for_previous();  // the next band's sums wait for this one
  stage_frame(p, layout, b, places, memory);
  const uint2 staged = stage_window<T>(p, b, window, memory + layout.window);
  unsigned sums[2] = {staged.x, staged.y};
  block_sums<T::warps>(sums);
  if (threadIdx.x == 0) reference = {sums[0], sums[1]};
  u32 products[T::tiles_y][4] = {};
  multiply(layout, memory, memory + layout.window, products);
  __syncthreads();  // the products take the frame's place
  const LaneShifts<T> shifts;
#pragma unroll
  for (int i = 0; i < T::of_lane; ++i)
    memory[shifts.y(i) * T::product_pitch + shifts.x(i)] = products[i / 4][i % 4];
  wait_for_previous();
  const int pitch = p.frame.width - p.window + 1;
  const std::int64_t first = std::int64_t{places.top - band.top} * pitch + places.left;
  const ShiftSums all{
      static_cast<u32>(p.window * p.window),
      reference.x,
      reference.y,
      memory,
      {frame_sums.sums + first, frame_sums.squares + first, frame_sums.scales + first},
      T::product_pitch,
      pitch};
  Scores<T> scores(all, places, dynamic_shared<float>() + layout.estimates);
  find_vector(p, window, places, all, scores, vector);
}

/// Calls body(Tiling) with the least that holds the problem; `otherwise` if none does.
template <class Result, class Body>
Result with_tiling(const stage::Displace::Problem& p, Result otherwise, Body body) {
  const auto with_shifts = [&](auto steps, auto tiles) {
    constexpr int s = decltype(steps)::value, t = decltype(tiles)::value;
    if (p.shifts() <= 16) return body(Tiling<s, t, 1, 2>{});
    if (p.shifts() <= 24) return body(Tiling<s, t, 2, 3>{});
    if (p.shifts() <= 40) return body(Tiling<s, t, 3, 5>{});
    return otherwise;
  };
  using std::integral_constant;
  if (p.window <= 32) return with_shifts(integral_constant<int, 1>{}, integral_constant<int, 5>{});
  if (p.window <= 40) return with_shifts(integral_constant<int, 2>{}, integral_constant<int, 6>{});
  if (p.window <= 64) return with_shifts(integral_constant<int, 2>{}, integral_constant<int, 9>{});
  return otherwise;
}

bool supports(const stage::Displace::Problem& p, const Device& device) {
  return device.compute_capability >= 75 && supports_window_sums_strips(frame_windows(p), device) &&
         with_tiling(p, false, [&](auto tiling) {
           return Layout<decltype(tiling)>(p).bytes() + search_static_bytes <=
                  max_shared_bytes(device);
         });
}

/// How the places of the frame are divided into bands, for whose sums there is memory.
struct Bands {
  Size places;  ///< of the frame
  int step;     ///< rows from band to band
  int rows;     ///< of a band, in which its last windows have all their places

  explicit Bands(const stage::Displace::Problem& p)
      : places(frame_windows(p).correlate.shifts.size()), step(places.height), rows(step) {
#ifdef XCORR_SIMT
    constexpr int most = 1 << 11;  // small frames have several
#else
    constexpr int most = 1 << 25;  // 400 MB
#endif
    if (places.area() <= most) return;
    step = max_of(most / places.width - p.shifts() + 1, p.shifts());
    rows = min_of(step + p.shifts() - 1, places.height);
  }
  std::size_t numbers() const { return static_cast<std::size_t>(Size{places.width, rows}.area()); }
};

std::size_t workspace(const stage::Displace::Problem& p, const Device&) {
  return 3 * sizeof(u32) * Bands(p).numbers();
}

/// \param sums  of the band's places
Status launch_band(const stage::Displace::Problem& p, const Device& device,
                   const stage::Displace::Buffers& b, const Band& band, const WindowSums& sums) {
  return with_tiling(p, Status{}, [&](auto tiling) {
    using T = decltype(tiling);
    // Only the window sums are awaited: what came before has ended, since their kernel waited for
    // it.
    return enqueue_early(
        device, "displace_tensor", displace_tensor<T>, dim3(static_cast<unsigned>(p.count)),
        dim3(T::threads), Layout<T>(p).bytes(), b.stream, p,
        SearchBuffers{b.reference, b.frame, b.mask, b.windows, b.vectors}, band, sums);
  });
}

Status launch(const stage::Displace::Problem& p, const Device& device,
              const stage::Displace::Buffers& b, PlanState*) {
  const Bands bands(p);
  auto* const sums = static_cast<u32*>(b.workspace);
  u32* const squares = sums + bands.numbers();
  auto* const scales = reinterpret_cast<float*>(squares + bands.numbers());
  for (int top = 0; top < bands.places.height; top += bands.step) {
    const Rect places{0, top, bands.places.width, min_of(bands.rows, bands.places.height - top)};
    if (Status s = launch_window_sums_strips(frame_windows(p, places), device,
                                             {{nullptr, b.stream}, b.frame, nullptr, sums, squares},
                                             scales);
        !s.ok())
      return s;
    if (Status s = launch_band(p, device, b, {top, top + bands.step}, {sums, squares, scales});
        !s.ok())
      return s;
  }
  return {};
}

constexpr Variant<stage::Displace> table[] = {
    {{"displace_tensor", Backend::cuda, Feature::u8, 1}, supports, launch, workspace},
};

}  // namespace

Family displace_tensor_family() { return Family(table); }

}  // namespace xcorr::cuda

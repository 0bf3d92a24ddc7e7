// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches of windows by matrix instructions, a block a window. For one row y of the frame the
// products with all rows of the window, at shifts (dx, dy), are a matrix A times a matrix B:
//   A[dx][i] = frame[y][i + dx], B[i][dy] = window[y - dy][i],
// of which the sum over y is what is asked. Columns i fill the instructions' depth. Eight shifts dy
// share a tile of B, and so do eight rows further in the frame eight shifts further: of all rows y
// that differ by multiples of eight a warp loads each tile once. A's words begin at any byte: they
// are read from four copies of the frame that begin a byte apart. The sums of the frame's windows,
// which neighbours share, are those of the whole frame, from a kernel before. Single precision then
// names the few shifts that may be the best, and only these are scored exactly.
#include <type_traits>

#include "cuda/common/async_copy.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/common/row_words.cuh"
#include "cuda/fields/search.cuh"
#include "cuda/match/window_sums_strips.hpp"
#include "cuda/tensor/mma.cuh"

namespace xcorr::cuda {
namespace {

using u32 = std::uint32_t;

constexpr int threads = 128, warps = threads / 32;
/// Rows of zeros before the window's.
constexpr int margin = 7;

/// What a kernel is made for. \tparam steps  depths of 32 that hold the window's columns
/// \tparam tiles  of eight rows that hold the window's, and seven rows more
/// \tparam tiles_x, tiles_y  of 16 shifts in x and of 8 in y
template <int steps_, int tiles_, int tiles_x_, int tiles_y_>
struct Tiling {
  static constexpr int steps = steps_, tiles = tiles_, tiles_x = tiles_x_, tiles_y = tiles_y_;
  static constexpr int words = 4 * tiles_x + 8 * steps;  ///< of a row of the frame
  static constexpr int pitch = 8 * steps + 4;            ///< of the window's rows,
  static constexpr int product_pitch =
      16 * tiles_x + 4;  ///< of the products': in banks of their own
  static constexpr int window_rows = 8 * tiles + margin;
};

/// Where a block's data lie in shared memory, in words.
template <class T>
struct Layout {
  int shifts, rows;        ///< rows of the frame
  int copy;                ///< from copy to copy
  int window, products;    ///< after the copies
  int sums, squares, end;  ///< of the frame's windows

  __host__ __device__ explicit Layout(const stage::Displace::Problem& p)
      : shifts(p.shifts()),
        rows(p.window + shifts - 1),
        copy((rows * T::words + 31 - 8) / 32 * 32 + 8),  // copies lie in banks of their own
        window(4 * copy),
        products(window + T::window_rows * T::pitch),
        sums(products + 8 * T::tiles_y * T::product_pitch),
        squares(sums + shifts * shifts),
        end(squares + shifts * shifts) {}
  __host__ __device__ std::size_t bytes() const { return 4 * static_cast<std::size_t>(end); }
};

/// Calls body(shift, x, y) for the thread's part of the shifts.
template <class Body>
__device__ void for_shifts(int shifts, Body body) {
  const int across = threads % shifts, down = threads / shifts;
  int x = threadIdx.x % shifts, y = threadIdx.x / shifts;
  for (int shift = threadIdx.x; shift < shifts * shifts; shift += threads) {
    body(shift, x, y);
    x += across;
    y += down;
    if (x >= shifts) {
      x -= shifts;
      ++y;
    }
  }
}

/// \param load  load(row, x, words) gives five words of the searched area
template <class T, class Load>
__device__ void stage_rows(const Layout<T>& layout, u32* copies, Load load) {
  constexpr int pieces = T::words / 4;
#pragma unroll 2
  for (int k = threadIdx.x; k < layout.rows * pieces; k += threads) {
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

struct WindowSums {
  const u32 *sums, *squares;
};

/// The sums of the frame's windows at all shifts; 0 outside. They arrive later.
template <class T>
__device__ void stage_sums(const stage::Displace::Problem& p, const Layout<T>& layout,
                           const WindowSums& from, const SearchedPlaces& places, u32* memory) {
  const int shifts = layout.shifts, pitch = p.frame.width - p.window + 1;
  const std::int64_t first = std::int64_t{places.top} * pitch + places.left;
  for_shifts(shifts, [&](int shift, int x, int y) {
    const int valid = places.contains(x, y) ? 4 : 0;
    const std::int64_t at = valid ? first + y * pitch + x : 0;
    copy_async<4>(memory + layout.sums + shift, from.sums + at, valid);
    copy_async<4>(memory + layout.squares + shift, from.squares + at, valid);
  });
  commit_copies();
}

/// The window between its rows of zeros. Returns this thread's part of its sum and sum of squares.
template <class T>
__device__ uint2 stage_window(const stage::Displace::Problem& p, const SearchBuffers& b,
                              const FieldWindow& window, u32* to) {
  uint2 own{0, 0};
  constexpr int across = 8 * T::steps;
#pragma unroll 2
  for (int k = threadIdx.x; k < T::window_rows * across; k += threads) {
    const int y = k / across - margin, x = 4 * (k % across);
    u32 word[1] = {0};
    if (y >= 0 && y < p.window && x < p.window) {
      load_words(b.reference + (window.y + y) * p.pitch, window.x + x, p.frame.width, word);
      if (p.window - x < 4) word[0] &= (1u << 8 * (p.window - x)) - 1;
    }
    to[(y + margin) * T::pitch + x / 4] = word[0];
    own.x = __dp4a(word[0], 0x01010101u, own.x);
    own.y = __dp4a(word[0], word[0], own.y);
  }
  return own;
}

/// Adds the products of a warp's rows of the frame to those of all.
template <class T>
__device__ void add_products(const Layout<T>& layout, const u32* copies, const u32* window,
                             u32* products) {
  const int lane = threadIdx.x % 32, group = lane / 4, column = lane % 4;
  u32 sums[T::tiles_y][T::tiles_x][4] = {};
#pragma unroll 1
  for (int first = threadIdx.x / 32; first < 8; first += warps)
#pragma unroll 1
    for (int step = 0; step < T::steps; ++step) {
      const u32* const right = window + (margin + first - group) * T::pitch + 8 * step + column;
      u32 b[T::tiles][2];
#pragma unroll
      for (int d = 0; d < T::tiles; ++d)
#pragma unroll
        for (int i = 0; i < 2; ++i) b[d][i] = right[8 * d * T::pitch + 4 * i];
      const u32* const left =
          copies + group % 4 * layout.copy + first * T::words + 8 * step + group / 4 + column;
#pragma unroll
      for (int q = 0; q < T::tiles_y + T::tiles - 1; ++q) {
        if (8 * q + first >= layout.rows) break;
          // Sixteen shifts further, or half the depth, is four words on; eight shifts two.
#pragma unroll
        for (int m = 0; m < T::tiles_x; ++m) {
          u32 a[4];
#pragma unroll
          for (int i = 0; i < 4; ++i) a[i] = left[8 * q * T::words + 4 * m + 2 * i];
#pragma unroll
          for (int n = 0; n < T::tiles_y; ++n)
            if (const int d = q - n; d >= 0 && d < T::tiles)
              multiply_add(sums[n][m], a, b[d][0], b[d][1]);
        }
      }
    }
  u32* const own = products + 2 * column * T::product_pitch + group;
#pragma unroll
  for (int n = 0; n < T::tiles_y; ++n)
#pragma unroll
    for (int m = 0; m < T::tiles_x; ++m)
#pragma unroll
      for (int k = 0; k < 4; ++k)
        atomicAdd(own + (8 * n + k % 2) * T::product_pitch + 16 * m + 8 * (k / 2), sums[n][m][k]);
}

/// A window's shifts, and the sums that their scores are made of. Of shifts that lead out of the
/// frame these are 0, and so are the scores.
struct ShiftSums {
  int shifts, product_pitch;
  std::int64_t n, sum;  ///< of the window of the reference
  const u32 *products, *sums, *squares;

  /// The score up to a factor that the window's shifts share, off by less than 1e-6 of itself.
  __device__ float estimate(int shift, int x, int y) const {
    const std::int64_t product = products[y * product_pitch + x];
    const std::int64_t s = sums[shift], variance = n * squares[shift] - s * s;
    return variance > 0
               ? static_cast<float>(n * product - s * sum) * rsqrtf(static_cast<float>(variance))
               : 0;
  }
  __device__ double exact(int x, int y, const FieldSums& reference, double variance) const {
    const int shift = y * shifts + x;
    return window_score(reference, variance,
                        {reference.n, double(sums[shift]), double(squares[shift])},
                        double(products[y * product_pitch + x]));
  }
};

/// The best of a block's shifts, each with an estimate of its score in shared memory.
class BestShift {
 public:
  __device__ BestShift(const ShiftSums& all, const FieldSums& reference, const float* estimates)
      : all_(all), reference_(reference), estimates_(estimates) {}

  /// Called by all threads of the block, for all of them. \param own  the greatest of the
  /// estimates of this thread's shifts. Without any that is positive: {0, 0}
  __device__ ScoredShift find(float own) const {
    constexpr float slack = 1 - 4e-6F;  // more than two estimates are off by
    __shared__ float greatest_of[warps];
    __shared__ ScoredShift found[threads];
    __shared__ int count;
    float greatest = own;
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
      greatest = fmaxf(greatest, __shfl_xor_sync(~0u, greatest, step));
    if (threadIdx.x % 32 == 0) greatest_of[threadIdx.x / 32] = greatest;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    greatest = greatest_of[0];
#pragma unroll
    for (int i = 1; i < warps; ++i) greatest = fmaxf(greatest, greatest_of[i]);
    if (!(greatest > 0)) return {0, 0};
    if (own >= greatest * slack) found[atomicAdd(&count, 1)] = best_of_own(greatest * slack);
    __syncthreads();
    ScoredShift best = found[0];
#pragma unroll 1
    for (int i = 1; i < count; ++i)
      if (found[i].is_better(best)) best = found[i];
    return best;
  }

 private:
  __device__ ScoredShift best_of_own(float least) const {
    const double variance = reference_.n2_variance();
    ScoredShift best{unscored, 0};
#pragma unroll 1
    for (int shift = threadIdx.x; shift < all_.shifts * all_.shifts; shift += threads) {
      if (estimates_[shift] < least) continue;
      const ScoredShift other{
          all_.exact(shift % all_.shifts, shift / all_.shifts, reference_, variance), shift};
      if (other.is_better(best)) best = other;
    }
    return best;
  }

  const ShiftSums& all_;
  const FieldSums& reference_;
  const float* estimates_;
};

constexpr float no_estimate = -1e30F;

/// Estimates the scores of all shifts. Returns the greatest of this thread's.
__device__ float write_estimates(const ShiftSums& all, float* estimates) {
  float greatest = no_estimate;
  for_shifts(all.shifts, [&](int shift, int x, int y) {
    estimates[shift] = all.estimate(shift, x, y);
    greatest = fmaxf(greatest, estimates[shift]);
  });
  return greatest;
}

/// \param estimates  scratch in shared memory, one a shift
__device__ void find_vector(const stage::Displace::Problem& p, const FieldWindow& window,
                            const ShiftSums& all, const FieldSums& reference, float* estimates,
                            FieldVector& vector) {
  __shared__ double around[9];
  const int shifts = all.shifts;
  const double variance = reference.n2_variance();
  const BestShift best_shift(all, reference, estimates);
  const ScoredShift best = best_shift.find(write_estimates(all, estimates));
  if (!(best.score > 0) || !(variance > 0)) {
    if (threadIdx.x == 0) vector = vector_without(window, p.window, FieldStatus::flat);
    return;
  }
  const SearchedPlaces places(window, p.frame, p.window, p.range);
  const int best_x = best.shift % shifts, best_y = best.shift / shifts;
  // What is near the best does not count as the second.
  constexpr int side = 2 * FoundPlace::reach + 1;
  if (threadIdx.x < side * side) {
    const int x = best_x + threadIdx.x % side - FoundPlace::reach;
    const int y = best_y + threadIdx.x / side - FoundPlace::reach;
    if (x >= 0 && y >= 0 && x < shifts && y < shifts) estimates[y * shifts + x] = no_estimate;
  }
  __syncthreads();
  float greatest = no_estimate;
  for (int shift = threadIdx.x; shift < shifts * shifts; shift += threads)
    greatest = fmaxf(greatest, estimates[shift]);
  const double second = best_shift.find(greatest).score;
  if (threadIdx.x < 9) {
    const int x = best_x + threadIdx.x % 3 - 1, y = best_y + threadIdx.x / 3 - 1;
    around[threadIdx.x] = places.contains(x, y) ? all.exact(x, y, reference, variance) : 0;
  }
  __syncwarp();
  if (threadIdx.x != 0) return;
  FoundPlace found{best_x, best_y, second, {}};
#pragma unroll
  for (int i = 0; i < 9; ++i) found.scores[i] = around[i];
  vector = vector_of(p, window, places, found);
}

template <class T>
__global__ void __launch_bounds__(threads, T::steps == 1 ? 5 : 4)
    displace_tensor(stage::Displace::Problem p, SearchBuffers b, WindowSums frame_sums) {
  const Layout<T> layout(p);
  auto* memory = dynamic_shared<u32>();
  for (int index = blockIdx.x; index < p.count; index += gridDim.x) {
    __syncthreads();  // the window before has been done with
    const FieldWindow& window = b.windows[index];
    const SearchedPlaces places(window, p.frame, p.window, p.range);
    if (write_if_left_out(p, window, places, b.vectors[index])) continue;
    stage_sums(p, layout, frame_sums, places, memory);
    for (int k = threadIdx.x; k < layout.sums - layout.products; k += threads)
      memory[layout.products + k] = 0;
    stage_frame(p, layout, b, places, memory);
    const uint2 staged = stage_window<T>(p, b, window, memory + layout.window);
    unsigned own[2] = {staged.x, staged.y};
    block_sums<warps>(own);
    add_products(layout, memory, memory + layout.window, memory + layout.products);
    wait_copies<0>();
    __syncthreads();
    const FieldSums reference{double(p.window) * p.window, double(own[0]), double(own[1])};
    // The estimates take the place of the frame, which is not needed any more.
    find_vector(p, window,
                {layout.shifts, T::product_pitch, p.window * p.window, own[0],
                 memory + layout.products, memory + layout.sums, memory + layout.squares},
                reference, dynamic_shared<float>(), b.vectors[index]);
  }
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

/// Of the windows at all places of the frame.
stage::WindowSums::Problem window_sums_of(const stage::Displace::Problem& p) {
  xcorr::Problem sums;
  sums.type = ElementType::u8;
  sums.left = p.frame;
  sums.left_pitch = p.frame_pitch;
  sums.right = {p.window, p.window};
  sums.shifts = {0, 0, p.frame.width - p.window + 1, p.frame.height - p.window + 1};
  return {sums};
}

bool supports(const stage::Displace::Problem& p, const Device& device) {
  return device.compute_capability >= 75 &&
         supports_window_sums_strips(window_sums_of(p), device) &&
         with_tiling(p, false, [&](auto tiling) {
           return Layout<decltype(tiling)>(p).bytes() + search_static_bytes <=
                  max_shared_bytes(device);
         });
}

std::size_t workspace(const stage::Displace::Problem& p, const Device&) {
  return 2 * sizeof(u32) *
         static_cast<std::size_t>(window_sums_of(p).correlate.shifts.size().area());
}

Status launch(const stage::Displace::Problem& p, const Device& device,
              const stage::Displace::Buffers& b, PlanState*) {
  const stage::WindowSums::Problem sums = window_sums_of(p);
  auto* const of = static_cast<u32*>(b.workspace);
  u32* const squares = of + sums.correlate.shifts.size().area();
  if (Status s = launch_window_sums_strips(
          sums, device, {{nullptr, b.stream}, b.frame, nullptr, of, squares}, nullptr);
      !s.ok())
    return s;
  return with_tiling(p, Status{}, [&](auto tiling) {
    using T = decltype(tiling);
    return enqueue("displace_tensor", displace_tensor<T>, dim3(grid_extent(p.count)), dim3(threads),
                   Layout<T>(p).bytes(), b.stream, p,
                   SearchBuffers{b.reference, b.frame, b.mask, b.windows, b.vectors},
                   WindowSums{of, squares});
  });
}

constexpr Variant<stage::Displace> table[] = {
    {{"displace_tensor", Backend::cuda, Feature::u8, 1}, supports, launch, workspace},
};

}  // namespace

Family displace_tensor_family() { return Family(table); }

}  // namespace xcorr::cuda

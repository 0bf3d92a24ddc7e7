// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches of the windows of a grid by matrix instructions, some of a row in a block. Windows that
// overlap have strips of columns in common, as wide as the grid's spacing: the products of each
// strip are summed once, and a window's are the sums of its strips'. Products are made as in
// tensor_window.cuh, but for the depth: it has 16 columns of two rows. Then a warp has a
// window: it estimates its scores in single precision, one lane per column of shifts, and scores
// exactly what is best and what is around it; where estimates do not tell which is best, all.
#include "cuda/common/warp.cuh"
#include "cuda/fields/tensor_search.cuh"

namespace xcorr::cuda {
namespace {

using u32 = std::uint32_t;

constexpr int warps = 8, threads = 32 * warps;
constexpr int strips = 8;          ///< of a block
constexpr int most_shifts = 33;    ///< along an axis
constexpr int least_shifts = 17;   ///< with fewer, searches of single windows are as quick
constexpr int depth_columns = 16;  ///< of a strip; those beyond its own are multiplied with 0
constexpr int tiles_x = 3, tiles_y = 5, tiles = 5;  ///< as in tensor_window.cuh
static_assert(strips <= warps);
constexpr int product_pitch = 36, products_of_strip = most_shifts * product_pitch;

/// \tparam spacing_   of the grid, pixels
/// \tparam of_window_  strips of a window
template <int spacing_, int of_window_>
struct Strips {
  static constexpr int spacing = spacing_, of_window = of_window_;
  static constexpr int windows = strips + 1 - of_window;   ///< of a block
  static constexpr int words = spacing * strips / 4;       ///< of the reference's rows
  static constexpr int pitch = words + 4;                  ///< from row to row of these
  static constexpr int frame_words = words + 4 * tiles_x;  ///< of the frame's rows
  static constexpr int reference_rows = 8 * tiles + margin;
};

/// Where a block's data lie in shared memory, in words.
template <class T>
struct Layout {
  StagedRows<T::frame_words, 1> frame;
  StagedRows<T::words, 1> reference_part;
  int reference, products, end;

  __host__ __device__ explicit Layout(const stage::WindowSearch::Problem& p)
      : frame{p.window + p.shifts() - 1, strips * T::spacing + p.shifts() - 1},
        reference_part{p.window, 4 * T::words},
        reference(max_of(frame.rows, 8 * (tiles_y + tiles - 1)) * T::frame_words),
        products(reference + T::reference_rows * T::pitch),
        end(products + strips * products_of_strip) {}
  __host__ __device__ std::size_t bytes() const { return 4 * static_cast<std::size_t>(end); }
};

/// The frame's part and the reference's, the latter between rows of zeros.
template <class T>
__device__ void stage_images(const stage::WindowSearch::Problem& p, const Layout<T>& layout,
                             const SearchBuffers& b, const InterrogationWindow& corner,
                             const SearchedPlaces& places, u32* memory) {
  stage_part<threads>(b.frame, p.frame_pitch, p.frame, layout.frame, places.left, places.top,
                      memory, T::frame_words);
  u32* const rows = memory + layout.reference;
  stage_part<threads>(b.reference, p.pitch, p.frame, layout.reference_part, corner.x, corner.y,
                      rows + margin * T::pitch, T::pitch);
  for (int k = threadIdx.x; k < (T::reference_rows - p.window) * T::words; k += threads) {
    const int row = k / T::words;
    rows[(row < margin ? row : row + p.window) * T::pitch + k % T::words] = 0;
  }
}

/// The sums of products of a strip at 16 shifts dx and all dy, by a warp. As in
/// tensor_window.cuh rows g and g + 8 of A are four shifts apart; of the depth, a lane has
/// eight columns of one row. A's words begin at any byte.
template <class T>
__device__ void multiply_strip(const Layout<T>& layout, const u32* memory, int strip, int tile,
                               int shifts, u32* to) {
  const int lane = threadIdx.x % 32, group = lane / 4, row = lane / 2 % 2, half = lane % 2;
  const int first_word = strip * T::spacing / 4 + 2 * half, skew = 8 * (group % 4);
  const bool is_used = T::spacing == depth_columns || half == 0;
  const u32* left = memory + row * T::frame_words + 4 * tile + 2 * (group / 4) + first_word;
  const u32* right = memory + layout.reference + (margin - group + row) * T::pitch + first_word;
  u32 products[tiles_y][4] = {};
#pragma unroll 1
  for (int first = 0; first < 8; first += 2) {
    multiply_rows<tiles_y, tiles>(
        [&](int q, u32(&a)[4]) {
          const auto* const at = reinterpret_cast<const uint2*>(left + 8 * q * T::frame_words);
          const uint2 low = at[0], high = at[1];
          a[0] = __funnelshift_r(low.x, low.y, skew);
          a[1] = a[2] = __funnelshift_r(low.y, high.x, skew);
          a[3] = __funnelshift_r(high.x, high.y, skew);
        },
        [&](int d) {
          const uint2 b = *reinterpret_cast<const uint2*>(right + 8 * d * T::pitch);
          return is_used ? b : uint2{0, 0};
        },
        products);
    left += 2 * T::frame_words;
    right += 2 * T::pitch;
  }
  const int x = 16 * tile + 8 * (group / 4) + group % 4, y = 2 * (lane % 4);
#pragma unroll
  for (int i = 0; i < 4 * tiles_y; ++i) {
    const int at_x = x + 4 * (i % 4 / 2), at_y = y + 8 * (i / 4) + i % 2;
    if (at_x < shifts && at_y < shifts) to[at_y * product_pitch + at_x] = products[i / 4][i % 4];
  }
}

/// The sum of a strip of the reference, and of its squares, returned to each lane of a warp.
template <class T>
__device__ uint2 sum_strip(const stage::WindowSearch::Problem& p, const u32* reference, int strip) {
  constexpr int across = T::spacing / 4;
  const u32* const first = reference + margin * T::pitch + strip * across;
  uint2 own{0, 0};
  for (int k = threadIdx.x % 32; k < p.window * across; k += 32) {
    const u32 word = first[k / across * T::pitch + k % across];
    own.x = __dp4a(word, 0x01010101u, own.x);
    own.y = __dp4a(word, word, own.y);
  }
  return {warp_sum(own.x), warp_sum(own.y)};
}

/// A window of a block.
template <class T>
struct BlockWindow {
  WindowScores scores;
  const u32* products;  ///< of its first strip

  __device__ u32 product(int x, int y) const {
    const u32* const at = products + y * product_pitch + x;
    u32 sum = 0;
#pragma unroll
    for (int k = 0; k < T::of_window; ++k) sum += at[k * products_of_strip];
    return sum;
  }
  __device__ double exact(int x, int y) const { return scores.exact(product(x, y), x, y); }
};

/// Estimates of a window's scores, which its warp has in registers: of a row of shifts each lane
/// one, and of the last column one lane per row.
template <class T>
class Estimates {
 public:
  static constexpr int none = -1;    ///< no score is positive
  static constexpr int unsure = -2;  ///< estimates do not tell which of several it is

  __device__ Estimates(const BlockWindow<T>& window, const SearchedPlaces& places, int shifts)
      : window_(window), shifts_(shifts) {
    const ScaledSum* row = window.scores.frame.sums + x_of(0);
    const int pitch = window.scores.frame.pitch;
    const bool in_column = x_of(0) < shifts && places.contains_column(x_of(0));
    const int from_y = in_column ? places.from_y : most_shifts,
              until_y = min_of(places.until_y, shifts);
#pragma unroll
    for (int i = 0; i < most_shifts; ++i) {
      const bool is_inside = i >= from_y && i < until_y;
      const ScaledSum there = is_inside ? *row : ScaledSum{0, 0};
      of_[i] = window.scores.estimate(window.product(x_of(i), i), there);
      row += pitch;
    }
#pragma unroll
    for (int i = most_shifts; i < count; ++i) {
      const int x = x_of(i), y = y_of(i);
      const bool is_inside = x < shifts && y < shifts && places.contains(x, y);
      const ScaledSum there = is_inside ? window.scores.frame.sums[y * pitch + x] : ScaledSum{0, 0};
      of_[i] = window.scores.estimate(is_inside ? window.product(x, y) : 0, there);
    }
  }

  /// The best shift, or one of the following.
  __device__ int best() const {
    float greatest = no_estimate, next = no_estimate;
    int which = 0;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      next = fmaxf(next, fminf(greatest, of_[i]));
      which = of_[i] > greatest ? i : which;
      greatest = fmaxf(greatest, of_[i]);
    }
    float of_all = greatest;
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
      of_all = fmaxf(of_all, __shfl_xor_sync(~0u, of_all, step));
    if (!(of_all > 0)) return none;
    const float least = of_all * estimate_slack;
    const unsigned likely = __ballot_sync(~0u, greatest >= least);
    if ((likely & (likely - 1)) || __ballot_sync(~0u, next >= least)) return unsure;
    return __shfl_sync(~0u, shift_of(which), __ffs(static_cast<int>(likely)) - 1);
  }

  /// What is near a shift is out of the question from now on.
  __device__ void leave_out(int shift) {
    const int x = shift % shifts_, y = shift / shifts_;
#pragma unroll
    for (int i = 0; i < count; ++i)
      if (FoundPlace::is_near(x_of(i) - x, y_of(i) - y)) of_[i] = no_estimate;
  }

 private:
  static constexpr int count = most_shifts + 2;

  __device__ static int x_of(int i) {
    return i < most_shifts ? static_cast<int>(threadIdx.x) % 32 : most_shifts - 1;
  }
  __device__ static int y_of(int i) {
    return i < most_shifts ? i : static_cast<int>(threadIdx.x) % 32 + 32 * (i - most_shifts);
  }
  __device__ int shift_of(int i) const { return y_of(i) * shifts_ + x_of(i); }

  const BlockWindow<T>& window_;
  int shifts_;
  float of_[count];
};

/// The best shift by exact scores, -1 if none is positive. \param besides  what is near that shift
/// is left out, unless it is -1
template <class T>
__device__ int best_exactly(const BlockWindow<T>& window, const SearchedPlaces& places, int shifts,
                            int besides) {
  ScoredShift best{0, shifts * shifts};
#pragma unroll 1
  for (int shift = threadIdx.x % 32; shift < shifts * shifts; shift += 32) {
    const int x = shift % shifts, y = shift / shifts;
    const bool is_near =
        besides >= 0 && FoundPlace::is_near(x - besides % shifts, y - besides / shifts);
    if (is_near || !places.contains(x, y)) continue;
    const ScoredShift other{window.exact(x, y), shift};
    if (other.is_better(best)) best = other;
  }
#pragma unroll 1
  for (int step = 16; step > 0; step /= 2) {
    const ScoredShift other{__shfl_xor_sync(~0u, best.score, step),
                            __shfl_xor_sync(~0u, best.shift, step)};
    if (other.is_better(best)) best = other;
  }
  return best.score > 0 ? best.shift : -1;
}

/// A window's vector, found by its warp.
template <class T>
__device__ void find_vector(const stage::WindowSearch::Problem& p,
                            const InterrogationWindow& window, const SearchedPlaces& places,
                            const BlockWindow<T>& sums, FoundPlace& found, FieldVector& vector) {
  const int lane = threadIdx.x % 32, shifts = p.shifts();
  Estimates<T> estimates(sums, places, shifts);
  int best = estimates.best(), second = Estimates<T>::none;
  if (best >= 0) {
    estimates.leave_out(best);  // what is near the best does not count as the second
    second = estimates.best();
  }
  if (best == Estimates<T>::unsure) {
    best = best_exactly(sums, places, shifts, -1);
    second = Estimates<T>::unsure;
  }
  if (best < 0 || !(sums.scores.reference().n2_variance() > 0)) {
    if (lane == 0) vector = vector_without(window, p.window, FieldStatus::flat);
    return;
  }
  if (second == Estimates<T>::unsure) second = best_exactly(sums, places, shifts, best);
  write_found(
      p, window, places, best, second, [&](int x, int y) { return sums.exact(x, y); }, found,
      vector);
}

/// Grid: blocks of a row of windows, rows.
template <class T>
__global__ void __launch_bounds__(threads, 3)
    window_search_blocks(stage::WindowSearch::Problem p, SearchBuffers b, Band band,
                         WindowSums frame_sums) {
  __shared__ uint2 strip_sums[strips];
  __shared__ FoundPlace found[T::windows];
  const Layout<T> layout(p);
  auto* const memory = dynamic_shared<u32>();
  const int shifts = p.shifts(), warp = threadIdx.x / 32;
  const int column = blockIdx.x * T::windows;
  const int count = min_of(T::windows, p.columns - column), used = count + T::of_window - 1;
  const std::int64_t first = std::int64_t{blockIdx.y} * p.columns + column;
  const InterrogationWindow* const windows = b.windows + first;
  const auto places_of = [&](int i) {
    return SearchedPlaces(windows[i], p.frame, p.window, p.range);
  };
  const auto is_left_out = [&](int i) {
    return windows[i].status != FieldStatus::ok || places_of(i).empty();
  };
  if (const int i = threadIdx.x; i < count && is_left_out(i)) {
    const FieldStatus status = windows[i].status;
    b.vectors[first + i] = vector_without(
        windows[i], p.window, status == FieldStatus::ok ? FieldStatus::out_of_range : status);
  }
  // All windows of the grid are expected at the same displacement.
  const SearchedPlaces corner = places_of(0);
  if (!band.contains(corner)) return wait_for_previous();  // as in window_search_tensor.cu
  stage_images(p, layout, b, windows[0], corner, memory);
  __syncthreads();
  for (int task = warp; task < tiles_x * used; task += warps)
    if (const int tile = task % tiles_x, strip = task / tiles_x; 16 * tile < shifts)
      multiply_strip(layout, memory, strip, tile, shifts,
                     memory + layout.products + strip * products_of_strip);
  if (warp < used) {
    const uint2 sums = sum_strip<T>(p, memory + layout.reference, warp);
    if (threadIdx.x % 32 == 0) strip_sums[warp] = sums;
  }
  wait_for_previous();
  __syncthreads();

  if (warp >= count || is_left_out(warp)) return;
  const SearchedPlaces places = places_of(warp);
  uint2 sums{0, 0};
#pragma unroll
  for (int k = 0; k < T::of_window; ++k) {
    sums.x += strip_sums[warp + k].x;
    sums.y += strip_sums[warp + k].y;
  }
  const BlockWindow<T> window{{static_cast<u32>(p.window * p.window), sums.x, sums.y,
                               frame_sums.from(band.first(places, frame_sums.pitch))},
                              memory + layout.products + warp * products_of_strip};
  find_vector(p, windows[warp], places, window, found[warp], b.vectors[first + warp]);
}

/// Calls body(Strips) with those of the problem; `otherwise` if there are none.
template <class Result, class Body>
Result with_strips(const stage::WindowSearch::Problem& p, Result otherwise, Body body) {
  if (p.spacing == 16 && p.window == 32) return body(Strips<16, 2>{});
  if (p.spacing == 8 && p.window == 32) return body(Strips<8, 4>{});
  if (p.spacing == 8 && p.window == 16) return body(Strips<8, 2>{});
  return otherwise;
}

bool supports(const stage::WindowSearch::Problem& p, const Device& device) {
  return device.compute_capability >= 75 && supports_window_sums_strips(frame_windows(p), device) &&
         p.shifts() >= least_shifts && p.shifts() <= most_shifts &&
         with_strips(p, false, [&](auto of) {
           return Layout<decltype(of)>(p).bytes() + search_static_bytes <= max_shared_bytes(device);
         });
}

std::size_t workspace(const stage::WindowSearch::Problem& p, const Device&) {
  return Bands(p).bytes(scaled_sum_bytes);
}

Status launch(const stage::WindowSearch::Problem& p, const Device& device,
              const stage::WindowSearch::Buffers& b, PlanState*) {
  return search_in_bands(p, device, b, [&](const Band& band, const WindowSums& sums) {
    return with_strips(p, Status{}, [&](auto of) {
      using T = decltype(of);
      const dim3 grid(ceil_div(p.columns, T::windows), ceil_div(p.count, p.columns));
      return enqueue_early(device, "window_search_blocks", window_search_blocks<T>, grid,
                           dim3(threads), Layout<T>(p).bytes(), b.stream, p,
                           SearchBuffers{b.reference, b.frame, b.mask, b.windows, b.vectors}, band,
                           sums);
    });
  });
}

constexpr Variant<stage::WindowSearch> table[] = {
    {{.name = "window_search_blocks", .backend = Backend::cuda, .features = Feature::u8, .rank = 2},
     {.supports = supports, .launch = launch, .workspace = workspace}},
};

}  // namespace

Family window_search_blocks_family() { return Family(table); }

}  // namespace xcorr::cuda

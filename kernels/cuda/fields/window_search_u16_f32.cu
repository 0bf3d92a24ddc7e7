// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches of windows of u16 and f32 on the GPU: one block per window, which has the window and the
// searched part of the frame in shared memory and adds up in integers of 64 bits, or for floats in
// double precision. It has what window_search_tensor_u16 and _f32 do not take. Of floats a thread
// has several shifts below each other: a pixel that it has read serves all of them. Of u16 that
// takes no less time, and under a mask it has one shift at a time, as where there is more than a
// block may have in shared memory; then pixels are read where they are.
#include "cuda/fields/block_search.cuh"

namespace xcorr::cuda {
namespace {

constexpr int threads = 256, warps = threads / 32;

/// Shifts of a thread. There are 2 range + 1, and ranges are mostly powers of two.
constexpr int run = 9;

/// Pixels in shared memory: to make doubles of floats takes longer than to multiply them.
template <class T>
using Staged = std::conditional_t<std::is_floating_point_v<T>, double, T>;

/// Where a block's data lie in shared memory, in bytes.
struct Layout {
  int side;  ///< pixels along that of the searched part of the frame
  std::size_t window, region, mask, bytes;

  __host__ __device__ Layout(const stage::WindowSearch::Problem& p, bool staged)
      : side(p.window + p.shifts() - 1) {
    const std::size_t pixel =
        p.type == ElementType::u16 ? sizeof(Staged<std::uint16_t>) : sizeof(Staged<float>);
    const std::size_t pixels = staged ? p.window * p.window : 0;
    region = sizeof(double) * p.shifts() * p.shifts();
    // Those of four bytes come before what may have an odd number.
    window = region + (staged ? pixel * side * side : 0);
    mask = window + pixel * pixels;
    bytes = mask + (p.masked ? pixels : 0);
  }
};

/// One block's window, where it is.
template <class T>
struct Source {
  const stage::WindowSearch::Problem& p;
  const SearchBuffers& b;
  const InterrogationWindow& window;
  const SearchedPlaces& places;

  __device__ bool counts(int x, int y) const {
    return !p.masked || b.mask[std::int64_t{window.y + y} * p.frame.width + window.x + x];
  }
  /// 0 where it does not count.
  __device__ T of_window(int x, int y) const {
    const T* const row = row_of<T>(b.reference, p.pitch, window.y + y);
    return counts(x, y) ? counted_pixel(row[window.x + x]) : T{0};
  }
  /// 0 outside the frame.
  __device__ T of_region(int x, int y) const {
    const int left = places.left + x, top = places.top + y;
    if (left < 0 || top < 0 || left >= p.frame.width || top >= p.frame.height) return 0;
    return counted_pixel(row_of<T>(b.frame, p.frame_pitch, top)[left]);
  }
};

/// Of u16 a product fits into 32 bits without a sign.
template <class T>
__device__ SumOf<T> product_of(Staged<T> a, Staged<T> b) {
  using Product = std::conditional_t<std::is_floating_point_v<T>, double, std::uint32_t>;
  return static_cast<SumOf<T>>(Product(a) * Product(b));
}

/// Sums over the pixels of a window that count.
template <class T>
struct Sums {
  SumOf<T> product = 0, sum = 0, squares = 0;

  __device__ void add(Staged<T> f, Staged<T> t) {
    product += product_of<T>(f, t);
    sum += f;
    squares += product_of<T>(f, f);
  }
};

/// Those of shifts below each other, of floats without a mask.
struct RunSums {
  Sums<float> of[run];

  /// \param region  its pixel at the first shift, which has `last` rows below it
  __device__ void add(const double* region, int side, int last, const double* window_pixels,
                      int window) {
    // What the shifts past the last one would read below the region is not used.
    const auto row = [=](int y) { return region + min(y, last) * side; };
    for (int y = 0; y < window + run - 1; ++y) {
      double sum = 0, squares = 0;
      for (int x = 0; x < window; ++x) {
        const double pixel = row(y)[x];
        sum += pixel;
        squares += pixel * pixel;
      }
#pragma unroll
      for (int k = 0; k < run; ++k) {
        if (y < k || y >= window + k) continue;
        of[k].sum += sum;
        of[k].squares += squares;
      }
    }
    for (int x = 0; x < window; ++x) {
      double pixels[run];  // of the column, each where it stays until no shift needs it
#pragma unroll
      for (int k = 0; k < run - 1; ++k) pixels[k] = row(k)[x];
      for (int first = 0; first < window; first += run) {
#pragma unroll
        for (int i = 0; i < run; ++i) {
          const int y = first + i;
          if (y >= window) break;
          pixels[(i + run - 1) % run] = row(y + run - 1)[x];
          const double pixel = window_pixels[y * window + x];
#pragma unroll
          for (int k = 0; k < run; ++k) of[k].product += pixels[(i + k) % run] * pixel;
        }
      }
    }
  }
};

template <class T, bool staged>
__global__ void __launch_bounds__(threads, 2)
    window_search_u16_f32(stage::WindowSearch::Problem p, SearchBuffers b) {
  using Term = TermOf<T>;
  const Layout layout(p, staged);
  auto* scores = dynamic_shared<double>();
  auto* memory = dynamic_shared<std::uint8_t>();
  auto* const region = row_of<Staged<T>>(memory + layout.region, 0, 0);
  auto* const windows = row_of<Staged<T>>(memory + layout.window, 0, 0);
  std::uint8_t* const masks = memory + layout.mask;
  for (int index = blockIdx.x; index < p.count; index += gridDim.x) {
    __syncthreads();  // the window before has been done with
    const InterrogationWindow window = b.windows[index];
    const SearchedPlaces places(window, p.frame, p.window, p.range);
    if (write_if_left_out(p, window, places, b.vectors[index])) continue;
    const Source<T> source{p, b, window, places};
    SumOf<T> own[3] = {};  // of the window: pixels that count, their sum, that of their squares
    for (int k = threadIdx.x; k < p.window * p.window; k += threads) {
      const int x = k % p.window, y = k / p.window;
      const T pixel = source.of_window(x, y);
      const bool counts = source.counts(x, y);
      if constexpr (staged) {
        windows[k] = pixel;
        if (p.masked) masks[k] = counts;
      }
      own[0] += counts;
      own[1] += pixel;
      own[2] += SumOf<T>(pixel) * SumOf<T>(pixel);
    }
    if constexpr (staged)
      for (int k = threadIdx.x; k < layout.side * layout.side; k += threads)
        region[k] = source.of_region(k % layout.side, k / layout.side);
    block_sums<warps>(own);
    const auto take = [&](int x, int y, const Sums<T>& sums) {
      const int shift = y * p.shifts() + x;
      if (!places.contains(x, y)) {
        scores[shift] = unscored;
        return;
      }
      scores[shift] =
          kept_score(p, b, index, shift,
                     u16_f32_score<T>({Term(own[0]), Term(sums.product), Term(sums.sum),
                                       Term(sums.squares), Term(own[1]), Term(own[2])}));
    };
    constexpr bool may_run = staged && std::is_floating_point_v<T>;
    const bool in_runs = may_run && !p.masked;
    const int at_once = in_runs ? run : 1;
    for (int task = threadIdx.x; task < ceil_div(p.shifts(), at_once) * p.shifts();
         task += threads) {
      const int x = task % p.shifts(), y = task / p.shifts() * at_once;
      if constexpr (may_run) {
        if (in_runs) {
          RunSums sums;
          sums.add(region + y * layout.side + x, layout.side, layout.side - 1 - y, windows,
                   p.window);
#pragma unroll
          for (int k = 0; k < run; ++k)
            if (y + k < p.shifts()) take(x, y + k, sums.of[k]);
          continue;
        }
      }
      Sums<T> sums;
      for (int j = 0; j < p.window && places.contains(x, y); ++j)
        for (int i = 0; i < p.window; ++i) {
          if constexpr (staged) {
            const int k = j * p.window + i;
            if (!p.masked || masks[k]) sums.add(region[(y + j) * layout.side + x + i], windows[k]);
          } else if (source.counts(i, j)) {
            sums.add(source.of_region(x + i, y + j), source.of_window(i, j));
          }
        }
      take(x, y, sums);
    }
    __syncthreads();
    if (p.is_last()) write_vector<warps>(p, window, places, scores, b.vectors[index]);
  }
}

template <class T>
Status launch_as(const stage::WindowSearch::Problem& p, const Device& device,
                 const stage::WindowSearch::Buffers& b) {
  return launch_block_search<Layout>("window_search_u16_f32", window_search_u16_f32<T, true>,
                                     window_search_u16_f32<T, false>, threads, p, device, b);
}

Status launch(const stage::WindowSearch::Problem& p, const Device& device,
              const stage::WindowSearch::Buffers& b, PlanState*) {
  return p.type == ElementType::u16 ? launch_as<std::uint16_t>(p, device, b)
                                    : launch_as<float>(p, device, b);
}

constexpr Variant<stage::WindowSearch> table[] = {
    {{.name = "window_search_u16_f32",
      .backend = Backend::cuda,
      .features = {Feature::u16, Feature::f32, Feature::mask, Feature::ensemble}},
     {.supports = supports_block_search<Layout>, .launch = launch}},
};

}  // namespace

Family window_search_u16_f32_family() { return Family(table); }

}  // namespace xcorr::cuda

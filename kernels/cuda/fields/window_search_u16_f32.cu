// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches of windows of u16 and f32 on the GPU: one block per window, one thread per shift, which
// reads the window and the frame from shared memory, a pixel at a time, and adds up in integers of
// 64 bits, or for floats in double precision. Where both are more than a block may have, they are
// read where they are.
#include "cuda/fields/block_search.cuh"

namespace xcorr::cuda {
namespace {

constexpr int threads = 256, warps = threads / 32;

/// Where a block's data lie in shared memory, in bytes.
struct Layout {
  int side;  ///< pixels along that of the searched part of the frame
  std::size_t window, region, mask, bytes;

  __host__ __device__ Layout(const stage::WindowSearch::Problem& p, bool staged)
      : side(p.window + p.shifts() - 1) {
    const std::size_t pixel = p.type == ElementType::u16 ? 2 : 4;
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

/// Sums over the pixels of a window that count.
template <class T>
struct Sums {
  SumOf<T> product = 0, sum = 0, squares = 0;

  __device__ void add(T f, T t) {
    // Of u16 a product fits into 32 bits without a sign.
    using Product = std::conditional_t<std::is_floating_point_v<T>, double, std::uint32_t>;
    product += static_cast<SumOf<T>>(Product(f) * Product(t));
    sum += f;
    squares += static_cast<SumOf<T>>(Product(f) * Product(f));
  }
};

template <class T, bool staged>
__global__ void __launch_bounds__(threads, 2)
    window_search_u16_f32(stage::WindowSearch::Problem p, SearchBuffers b) {
  using Term = TermOf<T>;
  const Layout layout(p, staged);
  auto* scores = dynamic_shared<double>();
  auto* memory = dynamic_shared<std::uint8_t>();
  T* const region = row_of<T>(memory + layout.region, 0, 0);
  T* const windows = row_of<T>(memory + layout.window, 0, 0);
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
    for (int shift = threadIdx.x; shift < p.shifts() * p.shifts(); shift += threads) {
      const int x = shift % p.shifts(), y = shift / p.shifts();
      if (!places.contains(x, y)) {
        scores[shift] = unscored;
        continue;
      }
      Sums<T> sums;
      for (int j = 0; j < p.window; ++j)
        for (int i = 0; i < p.window; ++i) {
          if constexpr (staged) {
            const int k = j * p.window + i;
            if (!p.masked || masks[k]) sums.add(region[(y + j) * layout.side + x + i], windows[k]);
          } else if (source.counts(i, j)) {
            sums.add(source.of_region(x + i, y + j), source.of_window(i, j));
          }
        }
      double score = u16_f32_score<T>({Term(own[0]), Term(sums.product), Term(sums.sum),
                                       Term(sums.squares), Term(own[1]), Term(own[2])});
      if (p.pairs > 1) {
        const std::int64_t at = std::int64_t{index} * p.shifts() * p.shifts() + shift;
        score = b.next_sums[at] = p.combined(score, b.sums + at);
      }
      scores[shift] = score;
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

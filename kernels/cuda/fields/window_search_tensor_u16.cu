// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches of windows of u16 by matrix instructions, which take bytes: a pixel is 256 times its
// upper byte and its lower one, so a product of two is four products of bytes. One block per window
// (tensor_window.cuh) multiplies each half of the frame's part with both of the window, and adds
// them up in 64 bits. The sums of the frame's windows come from a kernel before. All sums are those
// that the CPU has, so the scores are, too.
#include "cuda/fields/block_search.cuh"
#include "cuda/fields/tensor_window.cuh"
#include "cuda/match/window_sums.hpp"

namespace xcorr::cuda {
namespace {

using u32 = std::uint32_t;
using u64 = unsigned long long;

/// Of the frame's windows, at all places of a band.
struct FrameSums {
  const u64 *sums, *squares;
  int pitch;  ///< from row to row

  static constexpr std::size_t of_place = 2 * sizeof(u64);
};

/// At least so many of a multiprocessor are to have registers; more than 16 not all devices take.
template <class T>
constexpr int blocks = min_of(16, (T::steps == 1 ? 15 : 9) / T::warps);

/// Where a block's data lie in shared memory, in words: a half of the frame's part, both halves of
/// the window, and the sums of products. Estimates of scores take the frame's place.
template <class T>
struct Layout {
  typename T::Frame frame;
  int copy, window, products, end;

  __host__ __device__ explicit Layout(const stage::WindowSearch::Problem& p)
      : frame{p.window + p.shifts() - 1, p.window + p.shifts() - 1},
        copy(frame.copy()),
        window(4 * copy),
        // The last copy is read past its end while other warps write their products.
        products(max_of(window + 2 * T::window_words, 3 * copy + T::read_rows * T::words)),
        end(products + 2 * p.shifts() * p.shifts()) {}
  __host__ __device__ std::size_t bytes() const { return 4 * static_cast<std::size_t>(end); }
};

/// The lower or the upper bytes of pixels.
template <int count>
__device__ void take_half(bool upper, const u32 (&pixels)[2 * count], u32 (&bytes)[count]) {
  const unsigned which = upper ? 0x7531 : 0x6420;
#pragma unroll
  for (int i = 0; i < count; ++i) bytes[i] = __byte_perm(pixels[2 * i], pixels[2 * i + 1], which);
}

/// As stage_part() of one half.
template <class T>
__device__ void stage_half(const stage::WindowSearch::Problem& p, const std::uint8_t* frame,
                           const typename T::Frame& part, const SearchedPlaces& places, bool upper,
                           u32* to) {
  const int left = places.left, top = places.top;
  const std::uint8_t* const first = frame + top * p.frame_pitch;
  const auto stage = [&](auto read) {
    stage_rows<T::threads>(part, to, T::words, [&](int row, int x, u32(&loaded)[5]) {
      u32 pixels[10];
      read(first + row * p.frame_pitch, top + row, 2 * (left + x), pixels);
      take_half(upper, pixels, loaded);
    });
  };
  if (left >= 2 && top >= 0 && left + 4 * T::words + 8 <= p.frame.width &&
      top + part.rows <= p.frame.height)
    return stage([](const std::uint8_t* row, int, int x, u32(&pixels)[10]) {
      load_words_inside(row, x, pixels);
    });
  stage([&](const std::uint8_t* row, int y, int x, u32(&pixels)[10]) {
    load_words(row, x, y >= 0 && y < p.frame.height ? 2 * p.frame.width : 0, pixels);
  });
}

/// Both halves, the lower one first.
/// \param sums  this thread's part of the window's sum and sum of squares
template <class T>
__device__ void stage_window(const stage::WindowSearch::Problem& p, const SearchBuffers& b,
                             const InterrogationWindow& window, u32* to, std::int64_t (&sums)[2]) {
  const std::uint8_t* const first = b.reference + window.y * p.pitch;
  u32 lower = 0, upper = 0, of_lower = 0, of_both = 0, of_upper = 0;
  const auto stage = [&](auto read) {
    stage_words<T, 2>(
        p, to,
        [&](int y, int x, u32(&halves)[2]) {
          u32 pixels[2], half[1];
          read(first + y * p.pitch, 2 * (window.x + x), pixels);
#pragma unroll
          for (int k = 0; k < 2; ++k) {
            take_half(k == 1, pixels, half);
            halves[k] = half[0];
          }
        },
        [&](const u32(&halves)[2]) {
          lower = __dp4a(halves[0], 0x01010101u, lower);
          upper = __dp4a(halves[1], 0x01010101u, upper);
          of_lower = __dp4a(halves[0], halves[0], of_lower);
          of_both = __dp4a(halves[0], halves[1], of_both);
          of_upper = __dp4a(halves[1], halves[1], of_upper);
        });
  };
  if (window.x >= 2 && window.x + 32 * T::steps + 8 <= p.frame.width)
    stage(
        [](const std::uint8_t* row, int x, u32(&pixels)[2]) { load_words_inside(row, x, pixels); });
  else
    stage([&](const std::uint8_t* row, int x, u32(&pixels)[2]) {
      load_words(row, x, 2 * p.frame.width, pixels);
    });
  sums[0] = (std::int64_t{upper} << 8) + lower;
  sums[1] = (std::int64_t{of_upper} << 16) + (std::int64_t{of_both} << 9) + of_lower;
}

template <class T>
__global__ void __launch_bounds__(T::threads, blocks<T>)
    window_search_tensor_u16(stage::WindowSearch::Problem p, SearchBuffers b, Band band,
                             FrameSums frame_sums) {
  __shared__ std::int64_t reference[2];  // its window's sum and sum of squares
  const Layout<T> layout(p);
  auto* const memory = dynamic_shared<u32>();
  const InterrogationWindow& window = b.windows[blockIdx.x];
  FieldVector& vector = b.vectors[blockIdx.x];
  const SearchedPlaces places(window, p.frame, p.window, p.range);
  if (write_if_left_out(p, window, places, vector)) return wait_for_previous();
  if (!band.contains(places)) return wait_for_previous();  // the next band's sums wait for this one
  const int shifts = p.shifts();
  auto* const products = reinterpret_cast<u64*>(memory + layout.products);
  std::int64_t own[2];
  stage_window<T>(p, b, window, memory + layout.window, own);
  block_sums<T::warps>(own);
  if (threadIdx.x == 0) {
    reference[0] = own[0];
    reference[1] = own[1];
  }
#pragma unroll 1
  for (int half = 0; half < 2; ++half) {
    if (half > 0) __syncthreads();  // all have multiplied by the other one
    stage_half<T>(p, b.frame, layout.frame, places, half == 1, memory);
    __syncthreads();
#pragma unroll 1
    for (int of_window = 0; of_window < 2; ++of_window) {
      u32 of_bytes[T::tiles_y][4] = {};
      multiply<T>(layout.copy, memory, memory + layout.window + of_window * T::window_words,
                  of_bytes);
      const LaneShifts<T> own_shifts;
#pragma unroll
      for (int i = 0; i < T::of_lane; ++i) {
        const int x = own_shifts.x(i), y = own_shifts.y(i);
        if (x >= shifts || y >= shifts) continue;
        u64& sum = products[y * shifts + x];
        const u64 before = half + of_window == 0 ? 0 : sum;
        sum = before + (u64{of_bytes[i / 4][i % 4]} << 8 * (half + of_window));
      }
    }
  }
  wait_for_previous();
  __syncthreads();
  using Int = std::int64_t;  // n^2 times a square has 56 bits
  const std::int64_t first = band.first(places, frame_sums.pitch);
  const auto terms_of = [&](int shift) {
    const Int at = first + Int{shift / shifts} * frame_sums.pitch + shift % shifts;
    return WindowTerms<Int>{
        Int{p.window} * p.window,    Int(products[shift]), Int(frame_sums.sums[at]),
        Int(frame_sums.squares[at]), reference[0],         reference[1]};
  };
  search_by_estimates<T::warps>(
      p, b, static_cast<int>(blockIdx.x), places, reinterpret_cast<float*>(memory),
      [&](int shift) {
        const ScoreTerms<Int> terms(terms_of(shift));
        return terms.left_variance > 0 ? static_cast<float>(terms.covariance) *
                                             rsqrtf(static_cast<float>(terms.left_variance))
                                       : 0.0F;
      },
      [&](int shift) { return score(Method::ccoeff_normed, terms_of(shift)); });
}

bool supports(const stage::WindowSearch::Problem& p, const Device& device) {
  return device.compute_capability >= 75 && supports_window_sums(frame_windows(p), device) &&
         tiling_fits<Layout>(p, device);
}

std::size_t workspace(const stage::WindowSearch::Problem& p, const Device&) {
  return Bands(p).bytes(FrameSums::of_place);
}

Status launch(const stage::WindowSearch::Problem& p, const Device& device,
              const stage::WindowSearch::Buffers& b, PlanState*) {
  const Bands bands(p);
  auto* const sums = static_cast<u64*>(b.workspace);
  auto* const squares = sums + bands.numbers();
  return search_in_bands(
      bands,
      [&](const Rect& places) {
        return launch_window_sums(frame_windows(p, places), device,
                                  {{nullptr, b.stream}, b.frame, nullptr, sums, squares});
      },
      [&](const Band& band) {
        return with_tiling(p, Status{}, [&](auto tiling) {
          using T = decltype(tiling);
          // Only the window sums are awaited: what came before has ended, since their kernel is
          // enqueued after it.
          return enqueue_early(device, "window_search_tensor_u16", window_search_tensor_u16<T>,
                               dim3(static_cast<unsigned>(p.count)), dim3(T::threads),
                               Layout<T>(p).bytes(), b.stream, p,
                               SearchBuffers{b.reference, b.frame, b.mask, b.windows, b.vectors,
                                             b.sums, b.next_sums},
                               band, FrameSums{sums, squares, bands.places.width});
        });
      });
}

constexpr Variant<stage::WindowSearch> table[] = {
    {{.name = "window_search_tensor_u16",
      .backend = Backend::cuda,
      .features = {Feature::u16, Feature::ensemble},
      .rank = 1},
     {.supports = supports, .launch = launch, .workspace = workspace}},
};

}  // namespace

Family window_search_tensor_u16_family() { return Family(table); }

}  // namespace xcorr::cuda

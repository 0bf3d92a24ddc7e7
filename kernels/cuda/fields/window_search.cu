// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches of windows on the GPU, for windows and ranges of any size: one block per window, one
// thread per shift. The window and what it may meet of the frame lie in shared memory as words, of
// which a thread takes four bytes from anywhere by a shift of two; three sums of four products each
// give a score. Where that is more than a block may have, the images are read where they are.
#include "cuda/fields/block_search.cuh"

namespace xcorr::cuda {
namespace {

constexpr int threads = 256, warps = threads / 32;

/// Where a block's data lie in shared memory, in bytes.
struct Layout {
  int window_pitch, region_pitch;  ///< words
  std::size_t window, mask, region, bytes;

  __host__ __device__ Layout(const stage::WindowSearch::Problem& p, bool staged)
      : window_pitch((p.window + 3) / 4),
        // A word more, of which a shift may take bytes.
        region_pitch((p.window + p.shifts() + 6) / 4) {
    window = sizeof(double) * p.shifts() * p.shifts();
    mask = window + (staged ? 4 * window_pitch * p.window : 0);
    region = mask + (staged && p.masked ? 4 * window_pitch * p.window : 0);
    bytes = region + (staged ? 4 * region_pitch * (p.window + p.shifts() - 1) : 0);
  }
};

/// Four bytes of a row from x on; 0 outside of it.
__device__ std::uint32_t word_of(const std::uint8_t* row, int x, int from, int until) {
  std::uint32_t word = 0;
  for (int i = 0; i < 4; ++i)
    if (x + i >= from && x + i < until) word |= std::uint32_t{row[x + i]} << 8 * i;
  return word;
}

/// One block's window.
struct Block {
  const stage::WindowSearch::Problem& p;
  const SearchBuffers& b;
  const InterrogationWindow& window;
  const SearchedPlaces& places;

  __device__ std::uint32_t mask_word(int i, int j) const {
    const std::int64_t at = std::int64_t{window.y + j} * p.frame.width + window.x;
    std::uint32_t word = 0;
    for (int k = 0; k < 4; ++k)
      if (4 * i + k < p.window && (!p.masked || b.mask[at + 4 * i + k]))
        word |= std::uint32_t{255} << 8 * k;
    return word;
  }
  __device__ std::uint32_t window_word(int i, int j) const {
    return word_of(b.reference + (window.y + j) * p.pitch + window.x, 4 * i, 0, p.window) &
           mask_word(i, j);
  }
  /// Of the searched part of the frame.
  __device__ std::uint32_t region_word(int x, int j) const {
    const int y = places.top + j;
    if (y < 0 || y >= p.frame.height) return 0;
    return word_of(b.frame + y * p.frame_pitch, places.left + x, 0, p.frame.width);
  }
};

template <bool staged>
__global__ void __launch_bounds__(threads, 2)
    window_search(stage::WindowSearch::Problem p, SearchBuffers b) {
  const Layout layout(p, staged);
  auto* scores = dynamic_shared<double>();
  auto* memory = dynamic_shared<std::uint8_t>();
  auto* windows = reinterpret_cast<std::uint32_t*>(memory + layout.window);
  auto* masks = reinterpret_cast<std::uint32_t*>(memory + layout.mask);
  auto* region = reinterpret_cast<std::uint32_t*>(memory + layout.region);
  for (int index = blockIdx.x; index < p.count; index += gridDim.x) {
    __syncthreads();  // the window before has been done with
    const InterrogationWindow window = b.windows[index];
    const SearchedPlaces places(window, p.frame, p.window, p.range);
    if (write_if_left_out(p, window, places, b.vectors[index])) continue;
    const Block block{p, b, window, places};
    unsigned own[3] = {};  // of the window: pixels that count, their sum, that of their squares
    for (int k = threadIdx.x; k < p.window * layout.window_pitch; k += threads) {
      const int j = k / layout.window_pitch, i = k % layout.window_pitch;
      const std::uint32_t word = block.window_word(i, j), counted = block.mask_word(i, j);
      if constexpr (staged) {
        windows[k] = word;
        if (p.masked) masks[k] = counted;
      }
      own[0] += __popc(counted) / 8;
      own[1] = __dp4a(word, 0x01010101u, own[1]);
      own[2] = __dp4a(word, word, own[2]);
    }
    if constexpr (staged)
      for (int k = threadIdx.x; k < (p.window + p.shifts() - 1) * layout.region_pitch; k += threads)
        region[k] = block.region_word(4 * (k % layout.region_pitch), k / layout.region_pitch);
    block_sums<warps>(own);
    const FieldSums reference{double(own[0]), double(own[1]), double(own[2])};
    const double variance = reference.n2_variance();
    for (int shift = threadIdx.x; shift < p.shifts() * p.shifts(); shift += threads) {
      const int x = shift % p.shifts(), y = shift / p.shifts();
      if (!places.contains(x, y)) {
        scores[shift] = unscored;
        continue;
      }
      unsigned product = 0, sum = 0, squares = 0;
      for (int j = 0; j < p.window; ++j) {
        const std::uint32_t* line = region + (y + j) * layout.region_pitch + x / 4;
        std::uint32_t low = staged ? line[0] : 0;
        for (int i = 0; i < layout.window_pitch; ++i) {
          std::uint32_t f, t, counted;
          if constexpr (staged) {
            const std::uint32_t high = line[i + 1];
            f = __funnelshift_r(low, high, 8 * (x % 4));
            low = high;
            t = windows[j * layout.window_pitch + i];
            counted = p.masked ? masks[j * layout.window_pitch + i]
                      : i + 1 < layout.window_pitch
                          ? ~0u
                          : ~0u >> 8 * (4 * layout.window_pitch - p.window);
          } else {
            f = block.region_word(x + 4 * i, y + j);
            t = block.window_word(i, j);
            counted = block.mask_word(i, j);
          }
          f &= counted;
          product = __dp4a(f, t, product);
          sum = __dp4a(f, 0x01010101u, sum);
          squares = __dp4a(f, f, squares);
        }
      }
      scores[shift] =
          kept_score(p, b, index, shift,
                     window_score(reference, variance, {reference.n, double(sum), double(squares)},
                                  double(product)));
    }
    __syncthreads();
    if (p.is_last()) write_vector<warps>(p, window, places, scores, b.vectors[index]);
  }
}

Status launch(const stage::WindowSearch::Problem& p, const Device& device,
              const stage::WindowSearch::Buffers& b, PlanState*) {
  return launch_block_search<Layout>("window_search", window_search<true>, window_search<false>,
                                     threads, p, device, b);
}

constexpr Variant<stage::WindowSearch> table[] = {
    {{.name = "window_search",
      .backend = Backend::cuda,
      .features = {Feature::u8, Feature::mask, Feature::ensemble}},
     {.supports = supports_block_search<Layout>, .launch = launch}},
};

}  // namespace

Family window_search_family() { return Family(table); }

}  // namespace xcorr::cuda

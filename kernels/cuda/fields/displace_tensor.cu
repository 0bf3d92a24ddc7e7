// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches of windows by matrix instructions, a block a window. For one row y of the frame the
// products with all rows of the window, at shifts (dx, dy), are a matrix A times a matrix B:
//   A[dx][i] = frame[y][i + dx], B[i][dy] = window[y - dy][i],
// of which the sum over y is what is asked. Columns i fill the instructions' depth, and rows of B
// that the window has not are left out by whole tiles. A's words begin at any byte: they are read
// from four copies of the frame that begin a byte apart. The sums of the frame's windows are made
// of sums along its rows.
#include "cuda/fields/search.cuh"
#include "cuda/tensor/mma.cuh"

namespace xcorr::cuda {
namespace {

constexpr int threads = 128, warps = threads / 32;
constexpr int tiles_x = 3, tiles_y = 5;  ///< of 16 shifts in x and of 8 in y
constexpr int most_shifts = 39, most_window = 64;

/// Where a block's data lie in shared memory, in words.
struct Layout {
  int shifts, rows, words;  ///< rows of the frame, and words of each
  int copy, steps, pitch;   ///< from copy to copy; depths of 32; from row to row of the window
  int window, products, row_sums, row_squares, end;

  __host__ __device__ explicit Layout(const stage::Displace::Problem& p)
      : shifts(p.shifts()),
        rows(p.window + shifts - 1),
        words(4 * tiles_x + 8 * ((p.window + 31) / 32)),
        copy((rows * words + 31 - 8) / 32 * 32 + 8),  // copies lie in banks of their own
        steps((p.window + 31) / 32),
        pitch(8 * steps + 4),
        window(4 * copy),
        // Seven rows of zeros before the window's and after them.
        products(window + (p.window + 14) * pitch),
        row_sums(products + shifts * shifts),
        row_squares(row_sums + rows * shifts),
        end(row_squares + rows * shifts) {}
  __host__ __device__ std::size_t bytes() const { return 4 * static_cast<std::size_t>(end); }
};

/// Eight bytes of a row of the frame from column x on; 0 outside. All that is read is inside.
__device__ void load_bytes(const std::uint8_t* row, int x, int width, std::uint32_t (&bytes)[2]) {
  const auto address = reinterpret_cast<std::uintptr_t>(row + x);
  const int skew = static_cast<int>(address % 4);
  if (x >= skew && x - skew + 12 <= width) {
    const auto* from = reinterpret_cast<const std::uint32_t*>(address - skew);
    const std::uint32_t a = from[0], b = from[1], c = from[2];
    bytes[0] = __funnelshift_r(a, b, 8 * skew);
    bytes[1] = __funnelshift_r(b, c, 8 * skew);
    return;
  }
  bytes[0] = bytes[1] = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i)
    if (x + i >= 0 && x + i < width) bytes[i / 4] |= std::uint32_t{row[x + i]} << 8 * (i % 4);
}

__device__ void stage_frame(const stage::Displace::Problem& p, const Layout& layout,
                            const SearchBuffers& b, const SearchedPlaces& places,
                            std::uint32_t* copies) {
  for (int k = threadIdx.x; k < layout.rows * layout.words; k += threads) {
    const int y = places.top + k / layout.words, x = places.left + 4 * (k % layout.words);
    std::uint32_t bytes[2] = {};
    if (y >= 0 && y < p.frame.height)
      load_bytes(b.frame + y * p.frame_pitch, x, p.frame.width, bytes);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      copies[i * layout.copy + k] = __funnelshift_r(bytes[0], bytes[1], 8 * i);
  }
}

/// The window between its rows of zeros. Returns this thread's part of its sum and sum of squares.
__device__ uint2 stage_window(const stage::Displace::Problem& p, const Layout& layout,
                              const SearchBuffers& b, const FieldWindow& window,
                              std::uint32_t* to) {
  uint2 own{0, 0};
  for (int k = threadIdx.x; k < (p.window + 14) * layout.pitch; k += threads) {
    const int y = k / layout.pitch - 7, x = 4 * (k % layout.pitch);
    std::uint32_t word = 0;
    if (y >= 0 && y < p.window)
      for (int i = 0; i < 4 && x + i < p.window; ++i)
        word |= std::uint32_t{b.reference[(window.y + y) * p.pitch + window.x + x + i]} << 8 * i;
    to[k] = word;
    own.x = __dp4a(word, 0x01010101u, own.x);
    own.y = __dp4a(word, word, own.y);
  }
  return own;
}

/// Adds the products of every fourth row of the frame, a warp's, to those of all.
__device__ void add_products(const stage::Displace::Problem& p, const Layout& layout,
                             const std::uint32_t* copies, const std::uint32_t* window,
                             std::uint32_t* products) {
  const int lane = threadIdx.x % 32, group = lane / 4, column = lane % 4;
  std::uint32_t sums[tiles_y][tiles_x][4] = {};
  const std::uint32_t* left = copies + group % 4 * layout.copy + group / 4 + column;
  for (int y = threadIdx.x / 32; y < layout.rows; y += warps) {
    for (int step = 0; step < layout.steps; ++step) {
      // Sixteen shifts further, or half the depth, is four words on; eight shifts two.
      std::uint32_t words[2 * tiles_x + 2];
#pragma unroll
      for (int i = 0; i < 2 * tiles_x + 2; ++i)
        words[i] = left[y * layout.words + 8 * step + 2 * i];
#pragma unroll
      for (int n = 0; n < tiles_y; ++n) {
        const int row = y - 8 * n;
        if (row < 0 || row > p.window + 6 || 8 * n >= layout.shifts) continue;
        const std::uint32_t* right = window + (row - group + 7) * layout.pitch + 8 * step + column;
        const std::uint32_t b0 = right[0], b1 = right[4];
#pragma unroll
        for (int m = 0; m < tiles_x; ++m) {
          if (16 * m >= layout.shifts) continue;
          const std::uint32_t a[4] = {words[2 * m], words[2 * m + 1], words[2 * m + 2],
                                      words[2 * m + 3]};
          multiply_add(sums[n][m], a, b0, b1);
        }
      }
    }
  }
#pragma unroll
  for (int n = 0; n < tiles_y; ++n)
#pragma unroll
    for (int m = 0; m < tiles_x; ++m)
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int dx = 16 * m + group + 8 * (k / 2), dy = 8 * n + 2 * column + k % 2;
        if (dx < layout.shifts && dy < layout.shifts)
          atomicAdd(products + dy * layout.shifts + dx, sums[n][m][k]);
      }
}

/// Of the frame's rows, under the window's columns at each shift.
__device__ void add_rows(const stage::Displace::Problem& p, const Layout& layout,
                         const std::uint32_t* copies, std::uint32_t* sums, std::uint32_t* squares) {
  const int whole = p.window / 4;
  const std::uint32_t rest = (1u << 8 * (p.window % 4)) - 1;
  for (int k = threadIdx.x; k < layout.rows * layout.shifts; k += threads) {
    const int y = k / layout.shifts, dx = k % layout.shifts;
    const std::uint32_t* from = copies + dx % 4 * layout.copy + y * layout.words + dx / 4;
    std::uint32_t sum = 0, square = 0;
    for (int i = 0; i < whole; ++i) {
      sum = __dp4a(from[i], 0x01010101u, sum);
      square = __dp4a(from[i], from[i], square);
    }
    const std::uint32_t last = from[whole] & rest;
    sums[k] = __dp4a(last, 0x01010101u, sum);
    squares[k] = __dp4a(last, last, square);
  }
}

/// The scores, from sums that slide down: a thread has a third of a column of shifts.
__device__ void score_columns(const stage::Displace::Problem& p, const Layout& layout,
                              const SearchedPlaces& places, const FieldSums& reference,
                              const std::uint32_t* memory, double* scores) {
  constexpr int parts = 3;
  const double variance = reference.n2_variance();
  const int each = (layout.shifts + parts - 1) / parts;
  for (int k = threadIdx.x; k < parts * layout.shifts; k += threads) {
    const int x = k % layout.shifts, first = k / layout.shifts * each;
    const std::uint32_t* sums = memory + layout.row_sums + x;
    const std::uint32_t* squares = memory + layout.row_squares + x;
    std::uint32_t sum = 0, square = 0;
    for (int j = 0; j < p.window && first + j < layout.rows; ++j) {
      sum += sums[(first + j) * layout.shifts];
      square += squares[(first + j) * layout.shifts];
    }
    for (int y = first; y < min(first + each, layout.shifts); ++y) {
      const int at = y * layout.shifts;
      scores[at + x] =
          places.contains(x, y)
              ? window_score(reference, variance, {reference.n, double(sum), double(square)},
                             double(memory[layout.products + at + x]))
              : unscored;
      if (y + 1 == layout.shifts) break;
      const int next = at + p.window * layout.shifts;
      sum += sums[next] - sums[at];
      square += squares[next] - squares[at];
    }
  }
}

__global__ void __launch_bounds__(threads)
    displace_tensor(stage::Displace::Problem p, SearchBuffers b) {
  const Layout layout(p);
  auto* memory = dynamic_shared<std::uint32_t>();
  for (int index = blockIdx.x; index < p.count; index += gridDim.x) {
    __syncthreads();  // the window before has been done with
    const FieldWindow window = b.windows[index];
    const SearchedPlaces places(window, p.frame, p.window, p.range);
    if (write_if_left_out(p, window, places, b.vectors[index])) continue;
    for (int k = threadIdx.x; k < layout.shifts * layout.shifts; k += threads)
      memory[layout.products + k] = 0;
    stage_frame(p, layout, b, places, memory);
    const uint2 staged = stage_window(p, layout, b, window, memory + layout.window);
    unsigned own[2] = {staged.x, staged.y};
    block_sums<warps>(own);
    const FieldSums reference{double(p.window) * p.window, double(own[0]), double(own[1])};
    add_products(p, layout, memory, memory + layout.window, memory + layout.products);
    add_rows(p, layout, memory, memory + layout.row_sums, memory + layout.row_squares);
    __syncthreads();
    // The frame is not needed any more: its place is that of the scores.
    auto* scores = dynamic_shared<double>();
    score_columns(p, layout, places, reference, memory, scores);
    __syncthreads();
    write_vector<warps>(p, window, places, reference.n2_variance(), scores, b.vectors[index]);
  }
}

bool supports(const stage::Displace::Problem& p, const Device& device) {
  return device.compute_capability >= 75 && p.window <= most_window && p.shifts() <= most_shifts &&
         Layout(p).bytes() + search_static_bytes <= max_shared_bytes(device);
}

Status launch(const stage::Displace::Problem& p, const Device&, const stage::Displace::Buffers& b,
              PlanState*) {
  return enqueue("displace_tensor", displace_tensor, dim3(grid_extent(p.count)), dim3(threads),
                 Layout(p).bytes(), b.stream, p,
                 SearchBuffers{b.reference, b.frame, b.mask, b.windows, b.vectors});
}

constexpr Variant<stage::Displace> table[] = {
    {{"displace_tensor", Backend::cuda, Feature::u8, 1}, supports, launch},
};

}  // namespace

Family displace_tensor_family() { return Family(table); }

}  // namespace xcorr::cuda

// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Correlation by the cross-correlation theorem (paper section 2.3): r = F^-1(F(left) conj F(right)),
// circular at a fast size that keeps what wraps around out of the wanted shifts; for 'valid' ones
// the left's own size is enough. Spectra of the rights are kept, the left's is made once for all
// rights. Wins where the right is large. Single precision: not exact; u8 lefts are centred on 128
// and, in matching, rights on their mean, which keeps the error small.
#include <algorithm>

#include "../runtime.hpp"
#include "cufft_library.hpp"
#include "launch.cuh"

namespace xcorr::cuda {
namespace {

constexpr int block_width = 32, block_height = 8, block_size = 256;
constexpr float u8_middle = 128;

/// Error of a product over eps * |left| |right| (Euclidean norms): the largest seen over the sizes
/// that the harness tries is below 1; log2 of the size, the usual bound's factor, is below 30.
constexpr float error_factor = 4;

/// The next 2^a 3^b 5^c, which cuFFT transforms fastest, that is a multiple of 8 past 64.
int fast_size(int least) {
  const int step = least > 64 ? 8 : 1;
  for (int n = ceil_div(least, step) * step;; n += step) {
    int rest = n;
    for (int factor : {2, 3, 5})
      while (rest % factor == 0) rest /= factor;
    if (rest == 1) return n;
  }
}

/// A circular size at which shifts [first, first + count) do not wrap around.
int circular_size(int left, int right, int first, int count) {
  return fast_size(std::max({left, right, first + count - 1 + right, left - first}));
}

Size transform_size(const Problem& p) {
  return {circular_size(p.left.width, p.right.width, p.shifts.x, p.shifts.width),
          circular_size(p.left.height, p.right.height, p.shifts.y, p.shifts.height)};
}

/// One matrix as floats less `offset`, zeros around; adds up its squares if asked to.
template <class In>
__global__ void __launch_bounds__(block_width* block_height)
    pad(const std::byte* in, std::int64_t pitch, Size size, Size padded, float offset,
        const double* mean, float* out, float* energy) {
  const int x = blockIdx.x * block_width + threadIdx.x;
  if (mean) offset = static_cast<float>(*mean);
  float squares = 0;
  for (int y = blockIdx.y * block_height + threadIdx.y; y < padded.height;
       y += gridDim.y * block_height) {
    if (x >= padded.width) break;
    float value = 0;
    if (x < size.width && y < size.height)
      value = static_cast<float>(reinterpret_cast<const In*>(in + y * pitch)[x]) - offset;
    out[std::int64_t{y} * padded.width + x] = value;
    squares += value * value;
  }
  if (!energy) return;
  for (int step = 16; step > 0; step /= 2) squares += __shfl_down_sync(~0u, squares, step);
  if (threadIdx.x == 0) atomicAdd(energy, squares);
}

/// The sum of one matrix's elements, by one block.
template <class In>
__global__ void __launch_bounds__(block_size)
    sum_of(const std::byte* in, std::int64_t pitch, Size size, double divisor, double* result) {
  __shared__ double partial[block_size];
  double sum = 0;
  for (int i = threadIdx.x; i < size.width * size.height; i += block_size)
    sum += reinterpret_cast<const In*>(in + i / size.width * pitch)[i % size.width];
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int step = block_size / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) partial[threadIdx.x] += partial[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) *result = partial[0] / divisor;
}

/// left * conj(right) * scale; besides, turns the left's energy into Buffers::product_error.
__global__ void __launch_bounds__(block_size)
    multiply(const cufftComplex* left, const cufftComplex* right, std::int64_t count, float scale,
             cufftComplex* out, const float* energy, float* product_error) {
  const std::int64_t i = std::int64_t{blockIdx.x} * block_size + threadIdx.x;
  if (i == 0) *product_error = error_factor * 0x1p-24f * sqrtf(*energy);
  if (i >= count) return;
  const cufftComplex a = left[i], b = right[i];
  out[i] = {(a.x * b.x + a.y * b.y) * scale, (a.y * b.x - a.x * b.y) * scale};
}

/// The wanted shifts of a circular result; `back` times the right's sum is what the left's offset
/// took away, when there is a sum.
template <class Out>
__global__ void __launch_bounds__(block_width* block_height)
    crop(const float* in, Size padded, Rect shifts, float back, const double* right_sum, Out* out) {
  const int x = blockIdx.x * block_width + threadIdx.x;
  const int y = blockIdx.y * block_height + threadIdx.y;
  if (x >= shifts.width || y >= shifts.height) return;
  int column = shifts.x + x, row = shifts.y + y;
  if (column < 0) column += padded.width;
  if (row < 0) row += padded.height;
  const float value = in[std::int64_t{row} * padded.width + column];
  Out& place = out[std::int64_t{y} * shifts.width + x];
  if constexpr (std::is_floating_point_v<Out>)
    place = value;
  else
    place = static_cast<Out>(max(0LL, llrint(value + back * *right_sum)));
}

dim3 tiles(int width, int height) {
  return dim3(ceil_div(width, block_width), grid_extent(ceil_div(height, block_height)));
}

class Fft final : public PlanState {
 public:
  static Result<std::unique_ptr<PlanState>> make(const MatchProblem& problem, const Device&);
  Status set_rights(const void* rights, Stream stream) override;
  const float* product_error() const override { return energy_.as<float>() + 1; }
  Status run(const MatchProblem& problem, const Buffers& buffers);

 private:
  Status pad_to_spectrum(const void* in, ElementType type, std::int64_t pitch, Size size,
                         float offset, const double* mean, float* energy, cufftComplex* spectrum,
                         Stream stream);
  Status crop_to(void* out, const MatchProblem& problem, int right, Stream stream) const;
  float left_offset() const { return u8() ? u8_middle : 0; }
  /// Products of the plain sums are wanted: of u8, exact but for the transform's error.
  bool plain() const { return problem_.products != ElementType::f32; }
  bool u8() const { return problem_.correlate.type == ElementType::u8; }

  MatchProblem problem_;
  Size size_;
  std::int64_t bins_ = 0;  ///< complex values of a spectrum
  CufftPlan forward_, inverse_;
  Block work_, padded_, left_, product_, rights_;
  Block energy_;  ///< sum of squares of the left, then Buffers::product_error
  Block means_;   ///< of the rights; their sums when plain()
};

Result<std::unique_ptr<PlanState>> Fft::make(const MatchProblem& problem, const Device&) {
  auto fft = std::make_unique<Fft>();
  const Problem& p = problem.correlate;
  fft->problem_ = problem;
  fft->size_ = transform_size(p);
  fft->bins_ = std::int64_t{fft->size_.width / 2 + 1} * fft->size_.height;
  for (auto [plan, type] : {std::pair{&fft->forward_, CUFFT_R2C}, {&fft->inverse_, CUFFT_C2R}}) {
    auto made = CufftPlan::make(fft->size_, type);
    if (!made.ok()) return made.status();
    *plan = std::move(made.value());
  }
  const std::size_t spectrum = fft->bins_ * sizeof(cufftComplex);
  const std::pair<Block*, std::size_t> wanted[] = {
      {&fft->work_, std::max(fft->forward_.work_bytes(), fft->inverse_.work_bytes())},
      {&fft->padded_, fft->size_.area() * sizeof(float)},
      {&fft->left_, spectrum},
      {&fft->product_, spectrum},
      {&fft->rights_, spectrum * p.rights},
      {&fft->energy_, 2 * sizeof(float)},
      {&fft->means_, p.rights * sizeof(double)},
  };
  for (auto [block, bytes] : wanted) {
    auto made = Block::make(Backend::cuda, bytes);
    if (!made.ok()) return made.status();
    *block = std::move(made.value());
  }
  for (CufftPlan* plan : {&fft->forward_, &fft->inverse_})
    if (Status s = plan->set_work_area(fft->work_.data()); !s.ok()) return s;
  return std::unique_ptr<PlanState>(std::move(fft));
}

Status Fft::pad_to_spectrum(const void* in, ElementType type, std::int64_t pitch, Size size,
                            float offset, const double* mean, float* energy,
                            cufftComplex* spectrum, Stream stream) {
  const auto kernel = type == ElementType::u8 ? pad<std::uint8_t> : pad<float>;
  kernel<<<tiles(size_.width, size_.height), dim3(block_width, block_height), 0, native(stream)>>>(
      static_cast<const std::byte*>(in), pitch, size, size_, offset, mean, padded_.as<float>(),
      energy);
  if (Status s = launched("pad"); !s.ok()) return s;
  return forward_.forward(padded_.as<float>(), spectrum, stream);
}

Status Fft::set_rights(const void* rights, Stream stream) {
  const Problem& p = problem_.correlate;
  const auto kernel = u8() ? sum_of<std::uint8_t> : sum_of<float>;
  const double divisor = plain() ? 1.0 : double(p.right.area());
  for (int r = 0; r < p.rights; ++r) {
    const auto* right = static_cast<const std::byte*>(rights) + r * p.right_stride;
    double* mean = means_.as<double>() + r;
    kernel<<<1, block_size, 0, native(stream)>>>(right, p.right_pitch, p.right, divisor, mean);
    if (Status s = launched("sum_of"); !s.ok()) return s;
    if (Status s = pad_to_spectrum(right, p.type, p.right_pitch, p.right, 0,
                                   u8() && !plain() ? mean : nullptr, nullptr,
                                   rights_.as<cufftComplex>() + r * bins_, stream);
        !s.ok())
      return s;
  }
  return {};
}

Status Fft::crop_to(void* out, const MatchProblem& problem, int right, Stream stream) const {
  const Rect shifts = problem.correlate.shifts;
  const dim3 block(block_width, block_height);
  const dim3 grid(ceil_div(shifts.width, block_width), ceil_div(shifts.height, block_height));
  const auto crop_as = [&](auto* typed_out) {
    crop<<<grid, block, 0, native(stream)>>>(padded_.as<float>(), size_, shifts, left_offset(),
                                             means_.as<double>() + right, typed_out);
  };
  switch (problem.products) {
    case ElementType::u32: crop_as(static_cast<std::uint32_t*>(out)); break;
    case ElementType::u64: crop_as(static_cast<unsigned long long*>(out)); break;
    default: crop_as(static_cast<float*>(out));
  }
  return launched("crop");
}

Status Fft::run(const MatchProblem& problem, const Buffers& b) {
  const Problem& p = problem.correlate;
  cudaStream_t stream = native(b.stream);
  auto* left = left_.as<cufftComplex>();
  auto* product = product_.as<cufftComplex>();
  float* energy = energy_.as<float>();
  if (b.new_left) {
    if (Status s = check(cudaMemsetAsync(energy, 0, sizeof(float), stream), "fft"); !s.ok())
      return s;
    if (Status s = pad_to_spectrum(b.lefts, p.type, p.left_pitch, p.left, left_offset(), nullptr, energy,
                                   left, b.stream);
        !s.ok())
      return s;
  }
  const float scale = 1.0f / static_cast<float>(size_.area());
  const std::int64_t shifts = p.shifts.size().area();
  for (int i = 0; i < b.right_count; ++i) {
    const int r = b.first_right + i;
    multiply<<<static_cast<unsigned>(ceil_div(bins_, block_size)), block_size, 0, stream>>>(
        left, rights_.as<cufftComplex>() + r * bins_, bins_, scale, product, energy, energy + 1);
    if (Status s = launched("multiply"); !s.ok()) return s;
    if (Status s = inverse_.inverse(product, padded_.as<float>(), b.stream); !s.ok()) return s;
    auto* out = static_cast<std::byte*>(b.products) + i * shifts * size_of(problem.products);
    if (Status s = crop_to(out, problem, r, b.stream); !s.ok()) return s;
  }
  return {};
}

Status launch(const MatchProblem& p, const Device&, const Buffers& b, PlanState* state) {
  return static_cast<Fft*>(state)->run(p, b);
}

/// One left; a spectrum within reach of cuFFT and of the grid.
bool supports(const MatchProblem& p, const Device&) {
  const Problem& c = p.correlate;
  return c.lefts == 1 && c.left.width <= 65536 && c.left.height <= 65536 &&
         c.right.width <= 65536 && c.right.height <= 65536 && cufft_library().ok();
}

constexpr Variant table[] = {
    {"fft", Stage::correlate, Backend::cuda, false, supports, no_workspace, launch, Fft::make},
};

}  // namespace

Family fft_family() { return table; }

}  // namespace xcorr::cuda

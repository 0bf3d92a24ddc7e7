// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Correlation by the cross-correlation theorem (paper section 2.3): r = F^-1(F(left) conj F(right)),
// circular at a fast size that keeps what wraps around out of the wanted shifts; for 'valid' ones
// the left's own size is enough. Spectra of the rights are kept, the left's is made once for all
// rights. Wins where the right is large. Single precision: not exact; lefts of u8 are taken less
// 128 and rights less their mean, which changes no product of whole windows and keeps the error
// small.
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
        const float* mean, float* out, float* energy) {
  const int x = blockIdx.x * block_width + threadIdx.x;
  if (mean) offset = *mean;
  float squares = 0;
  for (int y = blockIdx.y * block_height + threadIdx.y; y < padded.height && x < padded.width;
       y += gridDim.y * block_height) {
    float value = 0;
    if (x < size.width && y < size.height)
      value = static_cast<float>(reinterpret_cast<const In*>(in + y * pitch)[x]) - offset;
    out[std::int64_t{y} * padded.width + x] = value;
    squares += value * value;
  }
  if (!energy) return;
  __shared__ float partial[block_height];
  for (int step = 16; step > 0; step /= 2) squares += __shfl_down_sync(~0u, squares, step);
  if (threadIdx.x == 0) partial[threadIdx.y] = squares;
  __syncthreads();
  if (threadIdx.x || threadIdx.y) return;
  for (int i = 1; i < block_height; ++i) squares += partial[i];
  atomicAdd(energy, squares);
}

/// The mean of one matrix's elements, by one block.
__global__ void __launch_bounds__(block_size)
    mean_of(const std::byte* in, std::int64_t pitch, Size size, float* mean) {
  __shared__ unsigned long long partial[block_size];
  unsigned long long sum = 0;
  for (int i = threadIdx.x; i < size.width * size.height; i += block_size)
    sum += static_cast<unsigned>(in[i / size.width * pitch + i % size.width]);
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int step = block_size / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) partial[threadIdx.x] += partial[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    *mean = static_cast<float>(double(partial[0]) / (double(size.width) * size.height));
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

/// The wanted shifts of a circular result.
__global__ void __launch_bounds__(block_width* block_height)
    crop(const float* in, Size padded, Rect shifts, float* out) {
  const int x = blockIdx.x * block_width + threadIdx.x;
  const int y = blockIdx.y * block_height + threadIdx.y;
  if (x >= shifts.width || y >= shifts.height) return;
  int column = shifts.x + x, row = shifts.y + y;
  if (column < 0) column += padded.width;
  if (row < 0) row += padded.height;
  out[std::int64_t{y} * shifts.width + x] = in[std::int64_t{row} * padded.width + column];
}

class Fft final : public PlanState {
 public:
  static Result<std::unique_ptr<PlanState>> make(const MatchProblem& problem, const Device&);
  Status set_rights(const void* rights, Stream stream) override;
  const float* product_error() const override { return energy_.as<float>() + 1; }
  Status run(const Problem& problem, const Buffers& buffers);

 private:
  /// `mean`, where not null, is a device-side offset and takes the place of `offset`.
  Status pad_to_spectrum(const void* in, std::int64_t pitch, Size size, float offset,
                         const float* mean, float* energy, cufftComplex* spectrum, Stream stream);
  bool u8() const { return problem_.type == ElementType::u8; }

  Problem problem_;
  Size size_;
  std::int64_t bins_ = 0;  ///< complex values of a spectrum
  CufftPlan forward_, inverse_;
  Block work_, padded_, left_, product_, rights_;
  Block energy_;  ///< sum of squares of the left, then Buffers::product_error
  Block means_;   ///< of u8 rights
};

Result<std::unique_ptr<PlanState>> Fft::make(const MatchProblem& problem, const Device&) {
  auto fft = std::make_unique<Fft>();
  const Problem& p = problem.correlate;
  fft->problem_ = p;
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
      {&fft->means_, p.rights * sizeof(float)},
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

Status Fft::pad_to_spectrum(const void* in, std::int64_t pitch, Size size, float offset,
                            const float* mean, float* energy, cufftComplex* spectrum,
                            Stream stream) {
  const auto kernel = u8() ? pad<std::uint8_t> : pad<float>;
  // Few blocks, so that few of them meet at `energy`.
  const dim3 grid(ceil_div(size_.width, block_width),
                  std::min(16, ceil_div(size_.height, block_height)));
  kernel<<<grid, dim3(block_width, block_height), 0, native(stream)>>>(
      static_cast<const std::byte*>(in), pitch, size, size_, offset, mean, padded_.as<float>(),
      energy);
  if (Status s = launched("pad"); !s.ok()) return s;
  return forward_.forward(padded_.as<float>(), spectrum, stream);
}

Status Fft::set_rights(const void* rights, Stream stream) {
  for (int r = 0; r < problem_.rights; ++r) {
    const auto* right = static_cast<const std::byte*>(rights) + r * problem_.right_stride;
    float* mean = u8() ? means_.as<float>() + r : nullptr;
    if (mean) {
      mean_of<<<1, block_size, 0, native(stream)>>>(right, problem_.right_pitch, problem_.right,
                                                    mean);
      if (Status s = launched("mean_of"); !s.ok()) return s;
    }
    if (Status s = pad_to_spectrum(right, problem_.right_pitch, problem_.right, 0, mean, nullptr,
                                   rights_.as<cufftComplex>() + r * bins_, stream);
        !s.ok())
      return s;
  }
  return {};
}

Status Fft::run(const Problem& p, const Buffers& b) {
  cudaStream_t stream = native(b.stream);
  auto* left = left_.as<cufftComplex>();
  auto* product = product_.as<cufftComplex>();
  float* energy = energy_.as<float>();
  if (b.new_left) {
    if (Status s = check(cudaMemsetAsync(energy, 0, sizeof(float), stream), "fft"); !s.ok())
      return s;
    if (Status s = pad_to_spectrum(b.lefts, p.left_pitch, p.left, u8() ? u8_middle : 0, nullptr,
                                   energy, left, b.stream);
        !s.ok())
      return s;
  }
  const float scale = 1.0f / static_cast<float>(size_.area());
  const dim3 block(block_width, block_height);
  const dim3 grid(ceil_div(p.shifts.width, block_width), ceil_div(p.shifts.height, block_height));
  for (int i = 0; i < b.right_count; ++i) {
    const auto* right = rights_.as<cufftComplex>() + (b.first_right + i) * bins_;
    multiply<<<static_cast<unsigned>(ceil_div(bins_, block_size)), block_size, 0, stream>>>(
        left, right, bins_, scale, product, energy, energy + 1);
    if (Status s = launched("multiply"); !s.ok()) return s;
    if (Status s = inverse_.inverse(product, padded_.as<float>(), b.stream); !s.ok()) return s;
    crop<<<grid, block, 0, stream>>>(padded_.as<float>(), size_, p.shifts,
                                     static_cast<float*>(b.products) + i * p.shifts.size().area());
    if (Status s = launched("crop"); !s.ok()) return s;
  }
  return {};
}

Status launch(const MatchProblem& p, const Device&, const Buffers& b, PlanState* state) {
  return static_cast<Fft*>(state)->run(p.correlate, b);
}

/// Floating-point products of one left, of u8 only for windows wholly inside (their offsets cancel
/// there); a spectrum within reach of cuFFT and of the grid.
bool supports(const MatchProblem& p, const Device& device) {
  const Problem& c = p.correlate;
  if (c.type == ElementType::u8 && !supports_matching(p, device)) return false;
  return p.products == ElementType::f32 && c.lefts == 1 && c.left.width <= 65536 && c.left.height <= 65536 &&
         c.right.width <= 65536 && c.right.height <= 65536 && cufft_library().ok();
}

constexpr Variant table[] = {
    {"fft", Stage::correlate, Backend::cuda, false, supports, no_workspace, launch, Fft::make},
};

}  // namespace

Family fft_family() { return table; }

}  // namespace xcorr::cuda

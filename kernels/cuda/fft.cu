// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Correlation by the cross-correlation theorem (paper section 2.3): r = F^-1(F(left) conj
// F(right)), circular at a fast size that keeps what wraps around out of the wanted shifts; for
// 'valid' ones the left's own size is enough. Spectra of the rights are kept, the left's is made
// once for all rights. Wins where the right is large. Single precision: not exact; lefts of u8 are
// taken less 128 and rights less their mean, which changes no product of whole windows and keeps
// the error small.
#include <algorithm>
#include <span>

#include "../runtime.hpp"
#include "cufft_library.hpp"
#include "launch.cuh"
#include "warp.cuh"

namespace xcorr::cuda {
namespace {

constexpr int block_width = 32, block_height = 8, block_size = 256;
constexpr float u8_middle = 128;
constexpr int most_batched =
    4;  // inverse transforms at once: enough to fill the GPU, little memory

/// Error of a product over eps * |left| |right| (Euclidean norms): the largest seen over the sizes
/// that the harness tries is below 1; log2 of the size, the usual bound's factor, is below 30.
constexpr float error_factor = 4;

/// From the left's sum of squares.
__host__ __device__ float product_error_of(float energy) {
  return error_factor * 0x1p-24f * sqrtf(energy);
}

/// The next multiple of `step` that has no prime factor above 7, which cuFFT transforms fast.
int smooth_size(int least, int step) {
  for (int n = ceil_div(least, step) * step;; n += step) {
    int rest = n;
    for (int factor : {2, 3, 5, 7})
      while (rest % factor == 0) rest /= factor;
    if (rest == 1) return n;
  }
}

#include "fft_sizes.inc"

/// The next size worth padding to: on an H200 1920x1080 takes 36 us, 2048x1120 20 us. Multiples of
/// 8, which the kernels here rely on: rows are whole 16-byte words, spectra a whole number of them.
int fast_size(std::span<const int> listed, int least) {
  const auto next = std::lower_bound(listed.begin(), listed.end(), least);
  return next != listed.end() ? *next : smooth_size(least, 32);
}

/// A circular size at which shifts [first, first + count) do not wrap around.
int circular_size(int left, int right, int first, int count) {
  return std::max({left, right, first + count - 1 + right, left - first});
}

Size transform_size(const Problem& p) {
  return {fast_size(fast_widths,
                    circular_size(p.left.width, p.right.width, p.shifts.x, p.shifts.width)),
          fast_size(fast_heights,
                    circular_size(p.left.height, p.right.height, p.shifts.y, p.shifts.height))};
}

/// One matrix as floats less `offset`, zeros around, four elements a thread and row; adds up its
/// squares if asked to.
template <class In>
__global__ void __launch_bounds__(block_width* block_height)
    pad(const std::byte* in, std::int64_t pitch, Size size, Size padded, float offset,
        const float* mean, float* out, float* energy) {
  const int x = (blockIdx.x * block_width + threadIdx.x) * 4;
  if (mean) offset = *mean;
  float squares = 0;
#pragma unroll 4
  for (int y = blockIdx.y * block_height + threadIdx.y; y < padded.height;
       y += gridDim.y * block_height) {
    const In* row = reinterpret_cast<const In*>(in + y * pitch);
    const auto value = [&](int i) {
      return x + i < size.width && y < size.height ? static_cast<float>(row[x + i]) - offset : 0.0f;
    };
    const float4 v{value(0), value(1), value(2), value(3)};
    if (x < padded.width) *reinterpret_cast<float4*>(out + std::int64_t{y} * padded.width + x) = v;
    squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
  }
  if (!energy) return;
  __shared__ float partial[block_height];
  squares = warp_sum(squares);
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

/// left * conj(right) * scale of two bins at once, for `rights` rights `count` pairs of bins apart;
/// besides, turns the left's energy, where there is one, into Buffers::product_error.
__global__ void __launch_bounds__(block_size)
    multiply(const float4* left, const float4* right, std::int64_t count, int rights, float scale,
             float4* out, const float* energy, float* product_error) {
  const std::int64_t i = std::int64_t{blockIdx.x} * block_size + threadIdx.x;
  if (i == 0 && energy) *product_error = product_error_of(*energy);
  if (i >= count) return;
  float4 a = left[i];
  a = {a.x * scale, a.y * scale, a.z * scale, a.w * scale};
#pragma unroll 4
  for (int r = 0; r < rights; ++r) {
    const float4 b = right[r * count + i];
    out[r * count + i] = {a.x * b.x + a.y * b.y, a.y * b.x - a.x * b.y,  //
                          a.z * b.z + a.w * b.w, a.w * b.z - a.z * b.w};
  }
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
  const float* product_error() const override { return error_.as<float>(); }
  Status run(const Problem& problem, const Buffers& buffers);

 private:
  /// `mean`, where not null, is a device-side offset and takes the place of `offset`.
  Status pad_to_spectrum(const void* in, std::int64_t pitch, Size size, float offset,
                         const float* mean, float* energy, cufftComplex* spectrum, Stream stream);
  Status products_of(const Problem& problem, int first_right, int count, float* out, Stream stream);
  /// Of u8 less 128 the largest there can be will do.
  float* energy() const { return u8() ? nullptr : error_.as<float>() + 1; }
  bool u8() const { return problem_.type == ElementType::u8; }

  Problem problem_;
  Size size_;
  std::int64_t bins_ = 0;  ///< complex values of a spectrum, an even number
  CufftPlan forward_, inverse_;
  CufftPlan batched_inverse_;  ///< of batch_ rights, where there are that many
  int batch_ = 1;
  bool direct_ = false;  ///< the inverse writes the products where they are wanted
  Block work_, padded_, left_, product_, rights_;
  Block error_;  ///< Buffers::product_error; behind it the sum of squares of an f32 left
  Block means_;  ///< of u8 rights
};

Result<std::unique_ptr<PlanState>> Fft::make(const MatchProblem& problem, const Device&) {
  auto fft = std::make_unique<Fft>();
  const Problem& p = problem.correlate;
  const Size size = transform_size(p);
  fft->problem_ = p;
  fft->size_ = size;
  fft->bins_ = std::int64_t{size.width / 2 + 1} * size.height;
  fft->batch_ = std::min(most_batched, problem.most_rights());
  fft->direct_ = problem.products_pitch() == size.width && problem.products_stride() == size.area();
  const struct {
    CufftPlan* plan;
    cufftType type;
    int batch;
  } plans[] = {{&fft->forward_, CUFFT_R2C, 1},
               {&fft->inverse_, CUFFT_C2R, 1},
               {&fft->batched_inverse_, CUFFT_C2R, fft->batch_}};
  std::size_t work = 0;
  for (const auto& [plan, type, batch] : plans) {
    auto made = CufftPlan::make(size, type, batch);
    if (!made.ok()) return made.status();
    *plan = std::move(made.value());
    work = std::max(work, plan->work_bytes());
  }
  const std::size_t spectrum = fft->bins_ * sizeof(cufftComplex);
  const std::pair<Block*, std::size_t> wanted[] = {
      {&fft->work_, work},
      {&fft->padded_, size.area() * sizeof(float) * (fft->direct_ ? 1 : fft->batch_)},
      {&fft->left_, spectrum},
      {&fft->product_, spectrum * fft->batch_},
      {&fft->rights_, spectrum * p.rights},
      {&fft->error_, 2 * sizeof(float)},
      {&fft->means_, p.rights * sizeof(float)},
  };
  for (auto [block, bytes] : wanted) {
    auto made = Block::make(Backend::cuda, bytes);
    if (!made.ok()) return made.status();
    *block = std::move(made.value());
  }
  for (const auto& plan : plans)
    if (Status s = plan.plan->set_work_area(fft->work_.data()); !s.ok()) return s;
  const float most = product_error_of(u8_middle * u8_middle * static_cast<float>(p.left.area()));
  if (Status s =
          check(cudaMemcpy(fft->error_.data(), &most, sizeof most, cudaMemcpyHostToDevice), "fft");
      !s.ok())
    return s;
  return std::unique_ptr<PlanState>(std::move(fft));
}

Status Fft::pad_to_spectrum(const void* in, std::int64_t pitch, Size size, float offset,
                            const float* mean, float* energy, cufftComplex* spectrum,
                            Stream stream) {
  const auto kernel = u8() ? pad<std::uint8_t> : pad<float>;
  // Few blocks, so that few of them meet at `energy`.
  const dim3 grid(ceil_div(size_.width, 4 * block_width),
                  std::min(32, ceil_div(size_.height, block_height)));
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
  if (b.new_left) {
    if (energy())
      if (Status s = check(cudaMemsetAsync(energy(), 0, sizeof(float), native(b.stream)), "fft");
          !s.ok())
        return s;
    if (Status s = pad_to_spectrum(b.lefts, p.left_pitch, p.left, u8() ? u8_middle : 0, nullptr,
                                   energy(), left_.as<cufftComplex>(), b.stream);
        !s.ok())
      return s;
  }
  for (int i = 0; i < b.right_count;) {
    const int count = b.right_count - i >= batch_ ? batch_ : 1;
    const std::int64_t area = direct_ ? size_.area() : p.shifts.size().area();
    if (Status s = products_of(p, b.first_right + i, count,
                               static_cast<float*>(b.products) + i * area, b.stream);
        !s.ok())
      return s;
    i += count;
  }
  return {};
}

Status Fft::products_of(const Problem& p, int first_right, int count, float* out, Stream stream) {
  const std::int64_t pairs = bins_ / 2;
  multiply<<<static_cast<unsigned>(ceil_div(pairs, block_size)), block_size, 0, native(stream)>>>(
      left_.as<float4>(), rights_.as<float4>() + first_right * pairs, pairs, count,
      1.0f / static_cast<float>(size_.area()), product_.as<float4>(), energy(), error_.as<float>());
  if (Status s = launched("multiply"); !s.ok()) return s;
  const CufftPlan& inverse = count == batch_ ? batched_inverse_ : inverse_;
  float* whole = direct_ ? out : padded_.as<float>();
  if (Status s = inverse.inverse(product_.as<cufftComplex>(), whole, stream); !s.ok()) return s;
  if (direct_) return {};
  const dim3 block(block_width, block_height);
  const dim3 grid(ceil_div(p.shifts.width, block_width), ceil_div(p.shifts.height, block_height));
  for (int i = 0; i < count; ++i) {
    crop<<<grid, block, 0, native(stream)>>>(whole + i * size_.area(), size_, p.shifts,
                                             out + i * p.shifts.size().area());
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
  return p.products == ElementType::f32 && c.lefts == 1 && c.left.width <= 65536 &&
         c.left.height <= 65536 && c.right.width <= 65536 && c.right.height <= 65536 &&
         cufft_library().ok();
}

/// Rows and matrices as the inverse transform leaves them, so that nothing is copied.
void layout(MatchProblem& p) {
  if (p.correlate.shifts.x || p.correlate.shifts.y) return;
  const Size size = transform_size(p.correlate);
  p.product_pitch = size.width;
  p.product_stride = size.area();
}

constexpr Variant table[] = {
    {"fft", Stage::correlate, Backend::cuda, false, supports, no_workspace, launch, Fft::make,
     layout},
};

}  // namespace

Family fft_family() { return table; }

}  // namespace xcorr::cuda

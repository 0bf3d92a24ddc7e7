// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Correlation by the cross-correlation theorem (paper section 2.3): r = F^-1(F(left) conj
// F(right)), circular at a fast size that keeps wrap-around out of the requested shifts, by cuFFT.
// Spectra of the rights are kept, each left's is computed once for all its rights; inverse
// transforms run in batches that fit into the GPU's cache. Wins where the right is large. Not
// exact. When matching, 128 is subtracted from u8 lefts and the mean from rights, which changes no
// product of whole windows and keeps the error small.
#include "cuda/fft/fft_kernels.cuh"

#include "cuda/fft/fft_size.hpp"
#include "device/cufft_library.hpp"
#include "device/runtime.hpp"
#include "stages/correlate/correlate.hpp"

namespace xcorr::cuda {
namespace {

constexpr float u8_middle = 128;

/// The least number of transforms at once: enough to fill the GPU, in its cache where they are
/// small.
constexpr int least_batched = 4;
constexpr std::int64_t batch_bytes = std::int64_t{32} << 20;

/// Lefts that a thread multiplies with each right that it reads.
constexpr int left_tile = 4;

class FftState : public PlanState {
 public:
  virtual Status run(const Problem& problem, const stage::Correlate::Buffers& buffers) = 0;
};

/// Transforms of one direction, a fixed number per call.
struct Batch {
  CufftPlan plan;
  int count = 0;
};

/// The size of equal parts of at most `most` each that add up to `count`.
int balanced(int count, int most) { return ceil_div(count, ceil_div(count, most)); }

template <class T>
class Fft final : public FftState {
 public:
  static Result<std::unique_ptr<PlanState>> make(const stage::Correlate::Problem& problem);
  Status set_rights(const void* rights, Stream stream) override;
  const float* product_error() const override {
    return states_error() ? error_.as<float>() : nullptr;
  }
  Status run(const Problem& problem, const stage::Correlate::Buffers& buffers) override;

 private:
  using Complex = typename CufftTypes<T>::Complex;

  /// Outputs that are computed together: either all rights of some lefts, or some of one left.
  struct Tile {
    int first_left, lefts, first_right, rights;
    int count() const { return lefts * rights; }
  };

  void choose_batches(const stage::Correlate::Problem& problem);
  Status make_plans();
  Status allocate();
  /// `means`, where not null, are device-side offsets that replace `offset`.
  Status spectra_of(const Side& side, const Batch& batch, float offset, const float* means,
                    float* energy, Complex* out, Stream stream);
  Status multiply_tile(const Tile& tile, int first_right, Stream stream);
  Status products_of(const Problem& problem, const Tile& tile,
                     const stage::Correlate::Buffers& buffers);

  std::int64_t bins() const { return std::int64_t{size_.width / 2 + 1} * size_.height; }
  bool states_error() const { return problem_.lefts == 1 && sizeof(T) == sizeof(float); }
  /// For u8 less 128 the largest possible value is close enough.
  float* energy() const { return u8() || !states_error() ? nullptr : error_.as<float>() + 1; }
  bool u8() const { return problem_.type == ElementType::u8; }

  Problem problem_;
  Size size_;
  Batch forward_left_, forward_right_, inverse_;
  CufftPlan single_inverse_;
  int tile_lefts_ = 1, tile_rights_ = 1;  ///< the largest Tile; inverse_ has as many outputs
  bool direct_ = false;                   ///< the inverse writes straight to the output
  Block work_, padded_, lefts_, product_, rights_;
  Block error_;  ///< Buffers::product_error; after it the sum of squares of an f32 left
  Block means_;  ///< of u8 rights
};

template <class T>
Result<std::unique_ptr<PlanState>> Fft<T>::make(const stage::Correlate::Problem& problem) {
  auto fft = std::make_unique<Fft>();
  fft->problem_ = problem.correlate;
  fft->size_ = transform_size(problem.correlate);
  fft->choose_batches(problem);
  if (Status s = fft->make_plans(); !s.ok()) return s;
  if (Status s = fft->allocate(); !s.ok()) return s;
  return std::unique_ptr<PlanState>(std::move(fft));
}

template <class T>
void Fft<T>::choose_batches(const stage::Correlate::Problem& problem) {
  direct_ = problem.product_pitch == size_.width && problem.product_stride == size_.area();
  const std::int64_t bytes = size_.area() * static_cast<std::int64_t>(sizeof(T));
  const int most = static_cast<int>(std::max<std::int64_t>(least_batched, batch_bytes / bytes));
  const int rights = problem.max_rights();
  tile_rights_ = direct_ ? std::min(least_batched, rights) : balanced(rights, most);
  if (tile_rights_ == rights)
    tile_lefts_ = balanced(problem_.lefts, std::max(1, most / tile_rights_));
  inverse_.count = tile_lefts_ * tile_rights_;
  forward_left_.count = balanced(problem_.lefts, most);
  forward_right_.count = balanced(static_cast<int>(problem_.total_rights()), most);
}

template <class T>
Status Fft<T>::make_plans() {
  const struct {
    CufftPlan* plan;
    cufftType type;
    int batch;
  } plans[] = {{&forward_left_.plan, CufftTypes<T>::forward, forward_left_.count},
               {&forward_right_.plan, CufftTypes<T>::forward, forward_right_.count},
               {&inverse_.plan, CufftTypes<T>::inverse, inverse_.count},
               {&single_inverse_, CufftTypes<T>::inverse, 1}};
  std::size_t work = 0;
  for (const auto& [plan, type, batch] : plans) {
    auto made = CufftPlan::make(size_, type, batch);
    if (!made.ok()) return made.status();
    *plan = std::move(made.value());
    work = std::max(work, plan->work_bytes());
  }
  auto made = Block::make(Backend::cuda, work);
  if (!made.ok()) return made.status();
  work_ = std::move(made.value());
  for (const auto& plan : plans)
    if (Status s = plan.plan->set_work_area(work_.data()); !s.ok()) return s;
  return {};
}

template <class T>
Status Fft<T>::allocate() {
  const std::int64_t spectrum = bins() * static_cast<std::int64_t>(sizeof(Complex));
  // Transforms run in whole batches, the last of which may reach past the requested ones.
  const auto whole = [](std::int64_t count, int batch) { return ceil_div(count, batch) * batch; };
  const int padded =
      std::max({forward_left_.count, forward_right_.count, direct_ ? 1 : inverse_.count});
  const std::pair<Block*, std::int64_t> wanted[] = {
      {&padded_, size_.area() * static_cast<std::int64_t>(sizeof(T)) * padded},
      {&lefts_, spectrum * whole(problem_.lefts, forward_left_.count)},
      {&product_, spectrum * inverse_.count},
      {&rights_, spectrum * whole(problem_.total_rights(), forward_right_.count)},
      {&error_, 2 * sizeof(float)},
      {&means_, problem_.total_rights() * sizeof(float)},
  };
  for (auto [block, bytes] : wanted) {
    auto made = Block::make(Backend::cuda, bytes);
    if (!made.ok()) return made.status();
    *block = std::move(made.value());
  }
  const float most =
      product_error_of(u8_middle * u8_middle * static_cast<float>(problem_.left.area()));
  return check(cudaMemcpy(error_.data(), &most, sizeof most, cudaMemcpyHostToDevice), "fft");
}

template <class T>
Status Fft<T>::spectra_of(const Side& side, const Batch& batch, float offset, const float* means,
                          float* energy, Complex* out, Stream stream) {
  auto* const kernel = u8() ? pad<std::uint8_t, T> : pad<T, T>;
  for (int first = 0; first < side.count; first += batch.count) {
    Side part = side;
    part.data += first * side.stride;
    part.count = std::min(batch.count, side.count - first);
    // Few blocks, so that few contend for `energy`.
    const dim3 grid(ceil_div(size_.width, Word<T>::size * fft_block_width),
                    std::min(32, ceil_div(size_.height, fft_block_height)),
                    grid_extent(part.count));
    if (Status s =
            enqueue("pad", kernel, grid, dim3(fft_block_width, fft_block_height), 0, stream, part,
                    size_, offset, means ? means + first : nullptr, padded_.as<T>(), energy);
        !s.ok())
      return s;
    if (Status s = batch.plan.forward(padded_.as<T>(), out + first * bins(), stream); !s.ok())
      return s;
  }
  return {};
}

template <class T>
Status Fft<T>::set_rights(const void* rights, Stream stream) {
  const Side side{static_cast<const std::byte*>(rights), problem_.right_stride,
                  problem_.right_pitch, problem_.right, static_cast<int>(problem_.total_rights())};
  float* means = u8() ? means_.as<float>() : nullptr;
  if (means)
    if (Status s = enqueue("mean_of", mean_of, side.count, fft_block_size, 0, stream, side, means);
        !s.ok())
      return s;
  return spectra_of(side, forward_right_, 0, means, nullptr, rights_.as<Complex>(), stream);
}

template <class T>
Status Fft<T>::run(const Problem& p, const stage::Correlate::Buffers& b) {
  if (b.new_left) {
    if (energy())
      if (Status s = check(cudaMemsetAsync(energy(), 0, sizeof(float), native(b.stream)), "fft");
          !s.ok())
        return s;
    const Side side{static_cast<const std::byte*>(b.lefts), p.left_stride, p.left_pitch, p.left,
                    p.lefts};
    if (Status s = spectra_of(side, forward_left_, u8() ? u8_middle : 0, nullptr, energy(),
                              lefts_.as<Complex>(), b.stream);
        !s.ok())
      return s;
  }
  for (int left = 0; left < p.lefts; left += tile_lefts_)
    for (int right = 0; right < b.right_count;) {
      const int rest = b.right_count - right;
      // Only a full batch may write straight to its place.
      const int count = rest < tile_rights_ && direct_ ? 1 : std::min(rest, tile_rights_);
      const Tile tile{left, std::min(tile_lefts_, p.lefts - left), right, count};
      if (Status s = products_of(p, tile, b); !s.ok()) return s;
      right += count;
    }
  return {};
}

template <class T>
Status Fft<T>::multiply_tile(const Tile& tile, int first_right, Stream stream) {
  const bool own_rights = problem_.form == Form::n_to_mn;
  const SpectraBatch batch{tile.lefts, tile.rights, own_rights ? problem_.rights : 0,
                           bins() * 2 / Word<T>::size};
  const std::int64_t right =
      first_right + (own_rights ? std::int64_t{tile.first_left} * problem_.rights : 0);
  const bool tiled = !own_rights && tile.lefts >= left_tile;
  const dim3 grid(static_cast<unsigned>(ceil_div(batch.words, fft_block_size)),
                  grid_extent(ceil_div(tile.lefts, tiled ? left_tile : 1)));
  return enqueue("multiply", tiled ? multiply<T, left_tile> : multiply<T, 1>, grid, fft_block_size,
                 0, stream, lefts_.as<Word<T>>() + tile.first_left * batch.words,
                 rights_.as<Word<T>>() + right * batch.words, batch,
                 T{1} / static_cast<T>(size_.area()), product_.as<Word<T>>(), energy(),
                 error_.as<float>());
}

template <class T>
Status Fft<T>::products_of(const Problem& p, const Tile& tile, const stage::Correlate::Buffers& b) {
  if (Status s = multiply_tile(tile, b.first_right + tile.first_right, b.stream); !s.ok()) return s;
  const std::int64_t output = std::int64_t{tile.first_left} * b.right_count + tile.first_right;
  const std::int64_t area = direct_ ? size_.area() : p.shifts.size().area();
  T* out = static_cast<T*>(b.products) + output * area;
  T* whole = direct_ ? out : padded_.as<T>();
  const CufftPlan& plan =
      direct_ && tile.count() < inverse_.count ? single_inverse_ : inverse_.plan;
  if (Status s = plan.inverse(product_.as<Complex>(), whole, b.stream); !s.ok()) return s;
  if (direct_) return {};
  const dim3 grid(ceil_div(p.shifts.width, fft_block_width),
                  grid_extent(ceil_div(p.shifts.height, fft_block_height)),
                  grid_extent(tile.count()));
  return enqueue("crop", crop<T>, grid, dim3(fft_block_width, fft_block_height), 0, b.stream, whole,
                 size_, p.shifts, tile.count(), out);
}

Status launch(const stage::Correlate::Problem& p, const Device&, const stage::Correlate::Buffers& b,
              PlanState* state) {
  return static_cast<FftState*>(state)->run(p.correlate, b);
}

Result<std::unique_ptr<PlanState>> plan(const stage::Correlate::Problem& p, const Device&) {
  return p.correlate.type == ElementType::f64 ? Fft<double>::make(p) : Fft<float>::make(p);
}

/// Floating-point products, of u8 only for windows wholly inside (their offsets cancel there); a
/// spectrum within the limits of cuFFT and of the grid.
bool supports(const stage::Correlate::Problem& p, const Device&) {
  const Problem& c = p.correlate;
  if (c.type == ElementType::u8) {
    const Features asked = p.features();
    if (p.products != ElementType::f32 || asked.has(Feature::partial_overlap) ||
        asked.has(Feature::several_images))
      return false;
  }
  return c.left.width <= 65536 && c.left.height <= 65536 && c.right.width <= 65536 &&
         c.right.height <= 65536 && c.total_rights() <= 1 << 24 && cufft_library().ok();
}

/// Row and matrix spacing as the inverse transform writes them, so that nothing is copied.
void layout(stage::Correlate::Problem& p) {
  if (p.correlate.shifts.x || p.correlate.shifts.y || p.correlate.lefts > 1) return;
  const Size size = transform_size(p.correlate);
  p.product_pitch = size.width;
  p.product_stride = size.area();
}

constexpr Features features{Feature::u8,
                            Feature::f32,
                            Feature::f64,
                            Feature::wide_sums,
                            Feature::float_products,
                            Feature::pitched_output,
                            Feature::several_images,
                            Feature::partial_overlap};

constexpr Variant<stage::Correlate> table[] = {
    {{.name = "fft", .backend = Backend::cuda, .features = features, .rank = 1, .exact = false},
     {.supports = supports, .launch = launch, .plan = plan, .extra = {layout}}},
};

}  // namespace

Family fft_family() { return Family(table); }

}  // namespace xcorr::cuda

// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Correlation by the cross-correlation theorem (paper section 2.3) for matrices so small that a
// block transforms whole rows and columns in its shared memory. Unlike a library's transforms, it
// never writes or transforms padding, passes products to the inverse in registers, and writes only
// the requested shifts. Three kernels: spectra of rows; columns with the product and their inverse;
// inverse rows. Rights are paired, as one complex matrix. Beats fft for all but frames, and the
// definition from about 64x64 on.
//
// Parameters: KIB, of products between the last two kernels, so that they stay in the GPU's cache.
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "cuda/fft/fft_shared_kernels.cuh"
#include "cuda/fft/fft_size.hpp"
#include "device/runtime.hpp"
#include "stages/common/variant_name.hpp"
#include "stages/correlate/correlate.hpp"

namespace xcorr::cuda {
namespace {

/// The longest transforms; longer ones of doubles would not fit into a thread's registers.
template <class T>
constexpr int longest = sizeof(T) == 8 ? 256 : 512;

/// A length in two factors.
template <int A, int B>
struct Factors {};

template <class T, class F>
auto with_factors(int length, F f) {
  if constexpr (longest<T> == 512)
    if (length == 512) return f(Factors<32, 16>());
  switch (length) {
    case 32:
      return f(Factors<4, 8>());
    case 64:
      return f(Factors<8, 8>());
    case 128:
      return f(Factors<8, 16>());
    case 192:
      return f(Factors<12, 16>());
    default:
      return f(Factors<16, 16>());
  }
}

/// The shortest length that holds that many points; 0: none.
int length_for(int points, int longest) {
  for (int length : {32, 64, 128, 192, 256, 512})
    if (points <= length) return length <= longest ? length : 0;
  return 0;
}

/// All requested shifts fit, too, so that each has a place of its own.
Size shared_size(const Problem& p) {
  const int most = p.type == ElementType::f64 ? longest<double> : longest<float>;
  const Size least = circular_size(p);
  return {length_for(std::max(least.width, p.shifts.width), most),
          length_for(std::max(least.height, p.shifts.height), most)};
}

/// Root number k * B + b multiplies point b of transform k: e to the 2 pi i k b / (A B).
template <class T>
std::vector<Complex<T>> make_roots(int length) {
  std::vector<Complex<T>> roots(length);
  with_factors<T>(length, [&]<int A, int B>(Factors<A, B>) {
    for (int i = 0; i < length; ++i) {
      const double angle = 2 * std::numbers::pi * (i / B) * (i % B) / length;
      roots[i] = {static_cast<T>(std::cos(angle)), static_cast<T>(std::sin(angle))};
    }
  });
  return roots;
}

class SharedFftState : public PlanState {
 public:
  virtual Status run(const Problem& problem, const stage::Correlate::Buffers& buffers) = 0;
};

template <class T>
class SharedFft final : public SharedFftState {
 public:
  static Result<std::unique_ptr<PlanState>> make(const stage::Correlate::Problem& problem,
                                                 const Device& device, int kib);
  Status set_rights(const void* rights, Stream stream) override;
  const float* product_error() const override { return error_.as<float>(); }
  Status run(const Problem& problem, const stage::Correlate::Buffers& buffers) override;

 private:
  Status allocate();
  Status forward(const Pairs& pairs, const T* weights, Complex<T>* out, float* energy,
                 Stream stream);
  Status columns_of(const UnitTile& tile, Stream stream);
  Status rows_of(const UnitTile& tile, const stage::Correlate::Buffers& buffers);

  Pairs right_pairs(const void* rights) const {
    return {{static_cast<const std::byte*>(rights), problem_.right_stride, problem_.right_pitch,
             problem_.right, static_cast<int>(problem_.total_rights())},
            problem_.rights};
  }
  bool own_rights() const { return problem_.form == Form::n_to_mn; }
  T* weights() const { return problem_.rights > 1 ? weights_.as<T>() : nullptr; }
  float* energy() const { return error_.data() ? error_.as<float>() + 1 : nullptr; }

  Problem problem_;
  Size size_;
  int multiprocessors_ = 1;
  int tile_lefts_ = 1, tile_units_ = 1;
  Block roots_;  ///< of rows, then of columns
  Block lefts_, rights_, product_;
  Block weights_;  ///< of rights, where they are paired
  Block error_;    ///< when matching: Buffers::product_error, the left's sum of squares
};

template <class T>
Result<std::unique_ptr<PlanState>> SharedFft<T>::make(const stage::Correlate::Problem& problem,
                                                      const Device& device, int kib) {
  auto fft = std::make_unique<SharedFft>();
  const Problem& p = problem.correlate;
  fft->problem_ = p;
  fft->size_ = shared_size(p);
  fft->multiprocessors_ = device.multiprocessors;

  const std::int64_t unit = sizeof(Complex<T>) * std::int64_t{fft->size_.width} * p.shifts.height;
  const std::int64_t most = std::max<std::int64_t>(1, (std::int64_t{kib} << 10) / unit);
  const int units = (problem.max_rights() + 1) / 2;
  const auto part = [](std::int64_t count, std::int64_t most) {
    return static_cast<int>(ceil_div(count, ceil_div(count, std::min<std::int64_t>(most, 65535))));
  };
  fft->tile_units_ = part(units, most);
  if (fft->tile_units_ == units)
    fft->tile_lefts_ = part(p.lefts, std::max<std::int64_t>(1, most / units));

  if (Status s = fft->allocate(); !s.ok()) return s;
  if (p.lefts == 1 && p.type == ElementType::f32 &&
      !problem.features().has(Feature::partial_overlap)) {
    auto made = Block::make(Backend::cuda, 2 * sizeof(float));
    if (!made.ok()) return made.status();
    fft->error_ = std::move(made.value());
  }
  return std::unique_ptr<PlanState>(std::move(fft));
}

template <class T>
Status SharedFft<T>::allocate() {
  const std::int64_t row = sizeof(Complex<T>) * std::int64_t{size_.width};
  const Problem& p = problem_;
  const std::int64_t right_units =
      std::int64_t{right_pairs(nullptr).units()} * (own_rights() ? p.lefts : 1);
  std::vector<Complex<T>> roots = make_roots<T>(size_.width);
  for (const Complex<T>& root : make_roots<T>(size_.height)) roots.push_back(root);
  const std::pair<Block*, std::int64_t> wanted[] = {
      {&roots_, roots.size() * sizeof(Complex<T>)},
      {&lefts_, row * p.left.height * p.lefts},
      {&rights_, row * p.right.height * right_units},
      {&product_, row * p.shifts.height * tile_lefts_ * tile_units_},
      {&weights_, sizeof(T) * p.total_rights()},
  };
  for (auto [block, bytes] : wanted) {
    auto made = Block::make(Backend::cuda, bytes);
    if (!made.ok()) return made.status();
    *block = std::move(made.value());
  }
  return check(cudaMemcpy(roots_.data(), roots.data(), roots_.bytes(), cudaMemcpyHostToDevice),
               "roots of unity");
}

template <class T>
Status SharedFft<T>::forward(const Pairs& pairs, const T* weights, Complex<T>* out, float* energy,
                             Stream stream) {
  return with_factors<T>(size_.width, [&]<int A, int B>(Factors<A, B>) {
    using Shape = FftShape<T, A, B>;
    const std::int64_t units = std::int64_t{pairs.side.count / pairs.group} * pairs.units();
    const auto blocks =
        static_cast<unsigned>(ceil_div(units * pairs.side.size.height, Shape::rows));
    return enqueue("forward_rows", forward_rows<T, A, B>, blocks, Shape::row_block_size,
                   Shape::row_bytes, stream, pairs, weights, roots_.as<Complex<T>>(), out, energy);
  });
}

template <class T>
Status SharedFft<T>::set_rights(const void* rights, Stream stream) {
  const Pairs pairs = right_pairs(rights);
  if (weights())
    if (Status s =
            enqueue("weigh", weigh<T>, pairs.side.count, 1024, 0, stream, pairs.side, weights());
        !s.ok())
      return s;
  return forward(pairs, weights(), rights_.as<Complex<T>>(), nullptr, stream);
}

template <class T>
Status SharedFft<T>::run(const Problem& p, const stage::Correlate::Buffers& b) {
  if (b.new_left) {
    if (energy())
      if (Status s = check(cudaMemsetAsync(energy(), 0, sizeof(float), native(b.stream)), "fft");
          !s.ok())
        return s;
    const Side side{static_cast<const std::byte*>(b.lefts), p.left_stride, p.left_pitch, p.left,
                    p.lefts};
    if (Status s = forward({side, 1}, nullptr, lefts_.as<Complex<T>>(), energy(), b.stream);
        !s.ok())
      return s;
  }
  const int first = b.first_right / 2, end = (b.first_right + b.right_count + 1) / 2;
  for (int left = 0; left < p.lefts; left += tile_lefts_)
    for (int unit = first; unit < end; unit += tile_units_) {
      const UnitTile tile{left, std::min(tile_lefts_, p.lefts - left), unit,
                          std::min(tile_units_, end - unit)};
      if (Status s = columns_of(tile, b.stream); !s.ok()) return s;
      if (Status s = rows_of(tile, b); !s.ok()) return s;
    }
  return {};
}

/// Where shift 0 lies among the requested ones from `first` on, modulo `length`.
int origin_of(int first, int length) { return ((-first) % length + length) % length; }

template <class T>
Status SharedFft<T>::columns_of(const UnitTile& tile, Stream stream) {
  // Blocks keep the left's spectrum for several units where enough blocks remain for the GPU.
  constexpr int blocks_a_multiprocessor = 8, max_chunk = 16;
  return with_factors<T>(size_.height, [&]<int A, int B>(Factors<A, B>) {
    using Shape = FftShape<T, A, B>;
    const int strips = size_.width / Shape::columns;
    const std::int64_t jobs = std::int64_t{strips} * tile.lefts * tile.units;
    const int chunk = static_cast<int>(std::clamp<std::int64_t>(
        jobs / (blocks_a_multiprocessor * multiprocessors_), 1, max_chunk));
    const ColumnsJob job{size_.width,
                         problem_.left.height,
                         problem_.right.height,
                         own_rights() ? right_pairs(nullptr).units() : 0,
                         origin_of(problem_.shifts.y, size_.height),
                         problem_.shifts.height,
                         chunk};
    const dim3 grid(strips, ceil_div(tile.units, chunk), tile.lefts);
    return enqueue("columns", columns<T, A, B>, grid, Shape::column_block_size, Shape::column_bytes,
                   stream, job, tile, lefts_.as<Complex<T>>(), rights_.as<Complex<T>>(),
                   T{1} / static_cast<T>(size_.area()), roots_.as<Complex<T>>() + size_.width,
                   product_.as<Complex<T>>(), energy(), error_.as<float>());
  });
}

template <class T>
Status SharedFft<T>::rows_of(const UnitTile& tile, const stage::Correlate::Buffers& b) {
  return with_factors<T>(size_.width, [&]<int A, int B>(Factors<A, B>) {
    using Shape = FftShape<T, A, B>;
    const Size shifts = problem_.shifts.size();
    const std::int64_t rows = std::int64_t{tile.lefts} * tile.units * shifts.height;
    const Outputs<T> out{static_cast<T*>(b.products),
                         shifts,
                         origin_of(problem_.shifts.x, size_.width),
                         b.right_count,
                         b.first_right,
                         weights(),
                         own_rights() ? problem_.rights : 0};
    return enqueue("inverse_rows", inverse_rows<T, A, B>,
                   static_cast<unsigned>(ceil_div(rows, Shape::rows)), Shape::row_block_size,
                   Shape::row_bytes, b.stream, product_.as<Complex<T>>(), tile,
                   roots_.as<Complex<T>>(), out);
  });
}

Status launch(const stage::Correlate::Problem& p, const Device&, const stage::Correlate::Buffers& b,
              PlanState* state) {
  return static_cast<SharedFftState*>(state)->run(p.correlate, b);
}

struct Tuning {
  int batch_kib;
};

template <Tuning t>
Result<std::unique_ptr<PlanState>> plan(const stage::Correlate::Problem& p, const Device& device) {
  return p.correlate.type == ElementType::f64 ? SharedFft<double>::make(p, device, t.batch_kib)
                                              : SharedFft<float>::make(p, device, t.batch_kib);
}

/// Plain sums of floating-point matrices whose circular correlation has one of the lengths; kernels
/// count the rows of all matrices in 32 bits.
bool supports(const stage::Correlate::Problem& p, const Device&) {
  constexpr int max_matrices = 1 << 21;
  const Problem& c = p.correlate;
  return !shared_size(c).empty() && c.lefts <= max_matrices && c.total_rights() <= max_matrices;
}

/// k, KiB, or m, MiB of a batch.
template <Tuning t>
constexpr VariantName name = variant_name("fft_shared.", t.batch_kib < 1024 ? "k" : "m",
                                          t.batch_kib < 1024 ? t.batch_kib : t.batch_kib / 1024);

template <Tuning t>
constexpr Variant<stage::Correlate> variant() {
  return {
      {.name = name<t>.text,
       .backend = Backend::cuda,
       .features = {Feature::f32, Feature::f64, Feature::several_images, Feature::partial_overlap},
       .exact = false},
      {.supports = supports, .launch = launch, .plan = plan<t>}};
}

constexpr Variant<stage::Correlate> table[] = {
    variant<Tuning{.batch_kib = 64}>(),  // shows what batches gain; makes small problems take
                                         // several
    variant<Tuning{.batch_kib = 256 * 1024}>(),
    variant<Tuning{.batch_kib = 24 * 1024}>(),
};

}  // namespace

Family fft_shared_family() { return Family(table); }

}  // namespace xcorr::cuda

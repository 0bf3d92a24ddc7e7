// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Correlation by FFT, for all but small templates and few shifts: overlap-save tiles (see
// fft_tiles.hpp) in double precision; 8-bit results are rounded to integers, which is exact by
// error_bound(); 16 bits are taken by halves. `fft_single` takes half the time: it proposes places
// of 8-bit matches, which are scored again from the pixels. There 128 is taken off the frame and
// their mean off the templates, which changes no product of whole windows and keeps the error
// small. The templates' spectra are kept in the plan, each from the first launch that needs it: of
// a template's poses few may ever be searched. A tile's spectrum is shared by all templates. A tile
// is transformed by columns, two of them as one of complex numbers, transposed in blocks, and
// transformed by columns again; the inverse goes the other way, so that spectra stay transposed.
#include "cpu/common/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/correlate/fft.cpp"
#include <hwy/foreach_target.h>
#include "cpu/correlate/fft_engine-inl.hpp"

#if HWY_ONCE
#include <new>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "cpu/correlate/fft.hpp"
#include "cpu/correlate/u16_split.hpp"
#include "device/runtime.hpp"

namespace xcorr::cpu {
namespace fft {

HWY_EXPORT(make_engine);
HWY_EXPORT(make_single_engine);

template <class T>
std::unique_ptr<Engine<T>> engine_for(const Tiling& tiling) {
  if constexpr (std::is_same_v<T, float>)
    return std::unique_ptr<Engine<T>>(HWY_DYNAMIC_DISPATCH(make_single_engine)(tiling));
  else
    return std::unique_ptr<Engine<T>>(HWY_DYNAMIC_DISPATCH(make_engine)(tiling));
}

/// Of a spectrum; with fewer lanes it has fewer rows.
std::int64_t spectrum_points(const Tiling& t) {
  return std::int64_t{t.spectrum_rows(max_lanes)} * t.columns;
}

/// Scratch memory, in bytes.
template <class T>
struct Sizes {
  using Complex = std::complex<T>;

  std::size_t surface, spectrum, lines;

  explicit Sizes(const Tiling& t)
      : surface(sizeof(Complex) * (t.rows + max_lanes) * t.columns / 2),
        spectrum(sizeof(Complex) * spectrum_points(t)),
        lines(sizeof(Complex) * 2 * max_lanes * std::max(t.rows, t.columns)) {}

  /// For one tile. The spectrum is kept when several rights use it.
  std::size_t tile(bool kept) const { return surface + (kept ? spectrum : 0); }
};

/// The scratch memory with which a slot works on a tile.
template <class T>
struct Work {
  using Complex = std::complex<T>;

  Complex* surface;
  Complex* spectrum;  ///< null when it is not kept
  SlotMemory lines;
  int slot;  ///< whose lines to use; -1: groups run in parallel, each in a slot

  template <class Body>
  void each_group(int count, const Body& body) const {
    const auto call = [&](int in_slot, std::int64_t group) {
      auto* a = reinterpret_cast<Complex*>(lines.of(in_slot));
      body(static_cast<int>(group), a, a + lines.bytes_each / sizeof(Complex) / 2);
    };
    if (slot < 0) return parallel_slots(slot_count(), count, call);
    for (int group = 0; group < count; ++group) call(slot, group);
  }
};

/// T: double or float; in float the products are of centred pixels.
template <class T>
class State final : public PlanState {
  using Complex = std::complex<T>;
  using Work = fft::Work<T>;
  static constexpr bool is_centred = std::is_same_v<T, float>;

 public:
  State(const Problem& problem, Block spectra)
      : problem_(problem),
        tiling_(choose_tiling(problem)),
        engine_(engine_for<T>(tiling_)),
        lanes_(engine_->lanes()),
        spectra_(std::move(spectra)),
        is_made_(problem.total_rights()),
        error_(single_error(tiling_)) {}

  /// Memory that is not written to before it is needed.
  static Result<Block> spectra_of(const Problem& problem) {
    return Block::make(Backend::cpu, sizeof(Complex) * problem.total_rights() *
                                         spectrum_points(choose_tiling(problem)));
  }

  Status set_rights(const void* rights, Stream) override {
    rights_ = rights;
    is_made_.assign(is_made_.size(), false);
    return {};
  }
  const float* product_error() const override { return is_centred ? &error_ : nullptr; }

  void run(const stage::Correlate::Problem& problem, const stage::Correlate::Buffers& buffers) {
    const Sizes<T> sizes(tiling_);
    const bool kept = buffers.right_count > 1;
    const bool over_tiles = tiling_.runs_in_parallel(problem.correlate.lefts);
    const int workers = over_tiles ? slot_count() : 1;
    const std::size_t each = SlotMemory::rounded(sizes.tile(kept));
    const SlotMemory tiles(buffers.workspace, each);
    const SlotMemory lines(tiles.of(workers), sizes.lines);
    const Work first{reinterpret_cast<Complex*>(tiles.of(0)), nullptr, lines, -1};
    for (int left = 0; left < problem.correlate.lefts; ++left)
      for (int r = 0; r < buffers.right_count; ++r) make(first, right_at(buffers, left, r));
    const auto work_on = [&](int slot, std::int64_t index) {
      auto* surface = reinterpret_cast<Complex*>(tiles.of(std::max(slot, 0)));
      const Work work{surface, kept ? surface + sizes.surface / sizeof(Complex) : nullptr, lines,
                      slot};
      run_tile(work, problem, buffers, static_cast<int>(index / tiling_.tiles()),
               index % tiling_.tiles());
    };
    const std::int64_t count = problem.correlate.lefts * tiling_.tiles();
    if (over_tiles) return parallel_slots(workers, count, work_on);
    for (std::int64_t index = 0; index < count; ++index) work_on(-1, index);
  }

 private:
  int row_groups() const { return tiling_.spectrum_rows(lanes_) / lanes_; }
  std::int64_t group_points() const { return std::int64_t{tiling_.columns} * lanes_; }

  /// Of all rights, that of a launch's left and right.
  std::int64_t right_at(const stage::Correlate::Buffers& buffers, int left, int right) const {
    return problem_.right_of(std::int64_t{left} * problem_.rights + buffers.first_right + right);
  }
  Complex* spectrum_of(std::int64_t right) const {
    return spectra_.as<Complex>() + right * spectrum_points(tiling_);
  }

  /// The spectrum, unless it is there.
  void make(const Work& work, std::int64_t right) {
    if (is_made_[right]) return;
    const auto pixels = right_of<std::byte>(problem_, rights_, right);
    forward_columns(
        work, pixels.size.width,
        {pixels.data, pixels.pitch, pixels.size, 0, 0, is_centred ? mean_of(right) : 0});
    forward_rows(work, pixels.size.width, spectrum_of(right));
    is_made_[right] = true;
  }

  double mean_of(std::int64_t right) const {
    const auto pixels = right_of<std::uint8_t>(problem_, rights_, right);
    std::uint64_t sum = 0;
    for (int y = 0; y < pixels.size.height; ++y)
      sum = std::accumulate(pixels.row(y), pixels.row(y) + pixels.size.width, sum);
    return static_cast<double>(sum) / static_cast<double>(pixels.size.area());
  }

  /// Of the first columns, so many.
  int pairs_of_groups(int columns) const { return static_cast<int>(ceil_div(columns, 2 * lanes_)); }

  template <class Body>
  void each_pair(const Work& work, int columns, const Body& body) const {
    work.each_group(pairs_of_groups(columns),
                    [&](int pair, Complex* a, Complex*) { body(pair, a); });
  }

  void forward_columns(const Work& work, int columns, const Source& pixels) const {
    each_pair(work, columns, [&](int pair, Complex* a) {
      engine_->forward_columns(pair, problem_.type, pixels, work.surface, a);
    });
  }

  void forward_rows(const Work& work, int columns, Complex* spectrum) const {
    const int pairs = pairs_of_groups(columns);
    work.each_group(row_groups(), [&](int group, Complex* a, Complex*) {
      engine_->forward_rows(group, pairs, work.surface, spectrum + group * group_points(), a);
    });
  }

  /// Forward transform, product and inverse in one pass where no spectrum is kept, so that a group
  /// stays in the cache. It then replaces those rows of the surface that it was made from.
  void rows(const Work& work, int used_columns, int wanted_columns, const Complex* right) const {
    const int pairs = pairs_of_groups(wanted_columns);
    work.each_group(row_groups(), [&](int group, Complex* a, Complex* b) {
      const Complex* spectrum = b;
      if (work.spectrum)
        spectrum = work.spectrum + group * group_points();
      else
        engine_->forward_rows(group, pairs_of_groups(used_columns), work.surface, b, a);
      engine_->inverse_rows(group, pairs, spectrum, right + group * group_points(), work.surface,
                            a);
    });
  }

  /// First shift of a tile, in outputs.
  Rect tile(const Problem& p, std::int64_t index) const {
    const int x = static_cast<int>(index % tiling_.tiles_x) * tiling_.useful_columns;
    const int y = static_cast<int>(index / tiling_.tiles_x) * tiling_.useful_rows;
    return {x, y, std::min(tiling_.useful_columns, p.shifts.width - x),
            std::min(tiling_.useful_rows, p.shifts.height - y)};
  }

  void run_tile(const Work& work, const stage::Correlate::Problem& problem,
                const stage::Correlate::Buffers& buffers, int left_index,
                std::int64_t index) const {
    const Problem& p = problem.correlate;
    const auto left = left_of<std::byte>(p, buffers.lefts, left_index);
    const Rect t = tile(p, index);
    // What the last tile of a row has beyond its outputs' pixels meets none of them.
    const int used = std::min(tiling_.columns, t.width + p.right.width - 1);
    forward_columns(work, used,
                    {left.data, left.pitch, left.size, p.shifts.x + t.x, p.shifts.y + t.y,
                     is_centred ? u8_middle : 0});
    if (work.spectrum) forward_rows(work, used, work.spectrum);

    for (int r = 0; r < buffers.right_count; ++r) {
      rows(work, used, t.width, spectrum_of(right_at(buffers, left_index, r)));
      const std::int64_t place =
          (std::int64_t{left_index} * buffers.right_count + r) * problem.products_stride() +
          t.y * problem.products_pitch() + t.x;
      const Target target{
          static_cast<std::byte*>(buffers.products) + size_of(problem.products) * place,
          problem.products_pitch(), t.width, t.height};
      each_pair(work, t.width, [&](int pair, Complex* a) {
        engine_->inverse_columns(pair, work.surface, problem.products, target, a);
      });
    }
  }

  Problem problem_;
  Tiling tiling_;
  std::unique_ptr<Engine<T>> engine_;
  int lanes_;
  Block spectra_;
  std::vector<bool> is_made_;  ///< of each right's spectrum
  float error_;                ///< see product_error()
  const void* rights_ = nullptr;
};

template <class T>
Result<std::unique_ptr<PlanState>> plan(const stage::Correlate::Problem& problem,
                                        const Device&) try {
  auto spectra = State<T>::spectra_of(problem.correlate);
  if (!spectra.ok()) return spectra.status();
  return std::unique_ptr<PlanState>(
      std::make_unique<State<T>>(problem.correlate, std::move(spectra.value())));
} catch (const std::bad_alloc&) {
  return Status(Code::out_of_memory, "no memory for the templates' spectra");
}

template <class T>
Status launch(const stage::Correlate::Problem& problem, const Device&,
              const stage::Correlate::Buffers& buffers, PlanState* state) {
  static_cast<State<T>*>(state)->run(problem, buffers);
  return {};
}

bool supports(const stage::Correlate::Problem& problem, const Device&) {
  const Problem& p = problem.correlate;
  return p.type != ElementType::u8 || error_bound(choose_tiling(p), p) < 0.25;
}

bool supports_products(const stage::Correlate::Problem& problem, const Device&) {
  return problem.products == ElementType::f32;
}

template <class T>
std::size_t workspace(const stage::Correlate::Problem& problem, const Device&) {
  const Problem& p = problem.correlate;
  const Tiling tiling = choose_tiling(p);
  const Sizes<T> sizes(tiling);
  const std::size_t lines = SlotMemory::total(sizes.lines);
  const std::size_t tile =
      SlotMemory::rounded(sizes.tile(problem.max_rights() > 1)) + SlotMemory::line;
  return lines + tile * (tiling.runs_in_parallel(p.lefts) ? slot_count() : 1);
}

constexpr Features features{Feature::u8,
                            Feature::f32,
                            Feature::wide_sums,
                            Feature::pitched_output,
                            Feature::several_images,
                            Feature::partial_overlap};
constexpr Variant<stage::Correlate> not_u16 = {
    {.name = "fft", .backend = Backend::cpu, .features = features, .rank = 1},
    {.supports = supports,
     .launch = launch<double>,
     .workspace = workspace<double>,
     .plan = plan<double>}};

/// Its products are only ever asked for by name: the places of equal scores may not be the first.
constexpr Features proposed{Feature::u8, Feature::wide_sums, Feature::pitched_output,
                            Feature::float_products};
/// What is doubles to begin with has an error that is a share of both norms, not of each sum as a
/// Correlator promises. So it is only ever asked for by name.
constexpr Features doubles{Feature::f64, Feature::several_images, Feature::partial_overlap};

constexpr Variant<stage::Correlate> variants[] = {
    U16Split<U16Splitter, not_u16>::variant(features),
    {{.name = "fft_single",
      .backend = Backend::cpu,
      .features = proposed,
      .rank = requested_rank,
      .exact = false},
     {.supports = supports_products,
      .launch = launch<float>,
      .workspace = workspace<float>,
      .plan = plan<float>,
      .extra = {.quicker_than = "fft"}}},
    {{.name = "fft_double",
      .backend = Backend::cpu,
      .features = doubles,
      .rank = requested_rank,
      .exact = false},
     {.supports = supports,
      .launch = launch<double>,
      .workspace = workspace<double>,
      .plan = plan<double>}},
};

const Variant<stage::Correlate>& of_bytes() { return not_u16; }

double error_bound_of_ones(const Problem& p) { return error_bound(choose_tiling(p), p) / 255; }

}  // namespace fft

Family fft_family() { return Family(fft::variants); }

}  // namespace xcorr::cpu
#endif

// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Correlation by FFT, for all but small templates and few shifts: overlap-save tiles (see
// fft_tiles.hpp) in double precision; 8-bit results are rounded to integers, which is exact by
// error_bound(). The templates' spectra are kept in the plan; a tile's spectrum is shared by all
// templates. A tile is transformed by columns, transposed in blocks, and transformed by columns
// again; the inverse goes the other way, so that spectra stay transposed.
#include "cpu/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/fft.cpp"
#include <hwy/foreach_target.h>
#include "cpu/fft_engine-inl.hpp"

#if HWY_ONCE
#include <new>
#include <vector>

#include <tbb/cache_aligned_allocator.h>

namespace xcorr::cpu {
namespace fft {

HWY_EXPORT(make_engine);

/// Scratch memory, in bytes.
struct Sizes {
  std::size_t surface, spectrum, lines;

  explicit Sizes(const Tiling& t)
      : surface(sizeof(Complex) * (t.rows + max_lanes) * t.columns),
        spectrum(sizeof(Complex) * t.points()),
        lines(sizeof(Complex) * 2 * max_lanes * std::max(t.rows, t.columns)) {}

  /// For one pair of tiles. The spectrum is kept when several rights use it.
  std::size_t pair(bool kept) const { return surface + (kept ? spectrum : 0); }
};

/// With enough pairs of tiles each slot works on its own; otherwise all work on one.
bool is_parallel_over_pairs(const Tiling& t, const Problem& p) {
  return p.lefts * t.pairs() >= 2 * slot_count();
}

/// The scratch memory with which a slot works on a pair of tiles.
struct Work {
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

class State final : public PlanState {
 public:
  explicit State(const Problem& problem)
      : problem_(problem),
        tiling_(choose_tiling(problem)),
        engine_(HWY_DYNAMIC_DISPATCH(make_engine)(tiling_)),
        lanes_(engine_->lanes()),
        spectra_(problem.total_rights() * tiling_.points()) {}

  Status set_rights(const void* rights, Stream) override try {
    const Sizes sizes(tiling_);
    Array surface(sizes.surface / sizeof(Complex));
    Array lines(slot_count() * (sizes.lines + SlotMemory::line) / sizeof(Complex) +
                SlotMemory::line);
    const Work work{surface.data(), nullptr, SlotMemory(lines.data(), sizes.lines), -1};
    for (std::int64_t r = 0; r < problem_.total_rights(); ++r) {
      const auto right = right_of<std::byte>(problem_, rights, r);
      forward_columns(work, {right.data, right.pitch, right.size, 0, 0}, {});
      forward_rows(work, spectra_.data() + r * tiling_.points());
    }
    return {};
  } catch (const std::bad_alloc&) {
    return {Code::out_of_memory, "no memory to transform the templates"};
  }

  void run(const stage::Correlate::Problem& problem,
           const stage::Correlate::Buffers& buffers) const {
    const Sizes sizes(tiling_);
    const bool kept = buffers.right_count > 1;
    const bool over_pairs = is_parallel_over_pairs(tiling_, problem.correlate);
    const int workers = over_pairs ? slot_count() : 1;
    const std::size_t each = SlotMemory::rounded(sizes.pair(kept));
    const SlotMemory pairs(buffers.workspace, each);
    const SlotMemory lines(pairs.of(workers), sizes.lines);
    const auto work_on = [&](int slot, std::int64_t index) {
      auto* surface = reinterpret_cast<Complex*>(pairs.of(std::max(slot, 0)));
      const Work work{surface, kept ? surface + sizes.surface / sizeof(Complex) : nullptr, lines,
                      slot};
      run_pair(work, problem, buffers, static_cast<int>(index / tiling_.pairs()),
               index % tiling_.pairs());
    };
    const std::int64_t count = problem.correlate.lefts * tiling_.pairs();
    if (over_pairs) return parallel_slots(workers, count, work_on);
    for (std::int64_t index = 0; index < count; ++index) work_on(-1, index);
  }

 private:
  using Array = std::vector<Complex, tbb::cache_aligned_allocator<Complex>>;

  int column_groups() const { return tiling_.columns / lanes_; }
  int row_groups() const { return tiling_.rows / lanes_; }
  std::int64_t group_points() const { return std::int64_t{tiling_.columns} * lanes_; }

  void forward_columns(const Work& work, const Source& real, const Source& imag) const {
    work.each_group(column_groups(), [&](int group, Complex* a, Complex*) {
      engine_->forward_columns(group, problem_.type, real, imag, work.surface, a);
    });
  }

  void forward_rows(const Work& work, Complex* spectrum) const {
    work.each_group(row_groups(), [&](int group, Complex* a, Complex*) {
      engine_->forward_rows(group, work.surface, spectrum + group * group_points(), a);
    });
  }

  /// Forward transform, product and inverse in one pass where no spectrum is kept, so that a group
  /// stays in the cache.
  void rows(const Work& work, const Complex* right) const {
    work.each_group(row_groups(), [&](int group, Complex* a, Complex* b) {
      const Complex* spectrum = b;
      if (work.spectrum)
        spectrum = work.spectrum + group * group_points();
      else
        engine_->forward_rows(group, work.surface, b, a);
      engine_->inverse_rows(group, spectrum, right + group * group_points(), work.surface, a, b);
    });
  }

  /// First shift of a tile, in outputs.
  Rect tile(const Problem& p, std::int64_t index) const {
    const int x = static_cast<int>(index % tiling_.tiles_x) * tiling_.useful_columns;
    const int y = static_cast<int>(index / tiling_.tiles_x) * tiling_.useful_rows;
    return {x, y, std::min(tiling_.useful_columns, p.shifts.width - x),
            std::min(tiling_.useful_rows, p.shifts.height - y)};
  }

  void run_pair(const Work& work, const stage::Correlate::Problem& problem,
                const stage::Correlate::Buffers& buffers, int left_index, std::int64_t pair) const {
    const Problem& p = problem.correlate;
    const auto left = left_of<std::byte>(p, buffers.lefts, left_index);
    const std::size_t element = size_of(problem.products);
    Rect tiles[2] = {};
    Source sources[2];
    for (int part = 0; part < 2; ++part) {
      if (2 * pair + part >= tiling_.tiles()) continue;
      tiles[part] = tile(p, 2 * pair + part);
      sources[part] = {left.data, left.pitch, left.size, p.shifts.x + tiles[part].x,
                       p.shifts.y + tiles[part].y};
    }
    forward_columns(work, sources[0], sources[1]);
    if (work.spectrum) forward_rows(work, work.spectrum);

    for (int r = 0; r < buffers.right_count; ++r) {
      const std::int64_t output = std::int64_t{left_index} * p.rights + buffers.first_right + r;
      rows(work, spectra_.data() + p.right_of(output) * tiling_.points());
      const std::int64_t place =
          (std::int64_t{left_index} * buffers.right_count + r) * problem.products_stride();
      Target targets[2];
      for (int part = 0; part < 2; ++part) {
        const Rect& t = tiles[part];
        if (t.empty()) continue;
        targets[part] = {static_cast<std::byte*>(buffers.products) +
                             element * (place + t.y * problem.products_pitch() + t.x),
                         problem.products_pitch(), t.width, t.height};
      }
      const int useful = std::max(tiles[0].width, tiles[1].width);
      work.each_group(ceil_div(useful, lanes_), [&](int group, Complex* a, Complex*) {
        engine_->inverse_columns(group, work.surface, problem.products, targets[0], targets[1], a);
      });
    }
  }

  Problem problem_;
  Tiling tiling_;
  std::unique_ptr<Engine> engine_;
  int lanes_;
  Array spectra_;
};

Result<std::unique_ptr<PlanState>> plan(const stage::Correlate::Problem& problem,
                                        const Device&) try {
  return std::unique_ptr<PlanState>(std::make_unique<State>(problem.correlate));
} catch (const std::bad_alloc&) {
  return Status(Code::out_of_memory, "no memory for the templates' spectra");
}

Status launch(const stage::Correlate::Problem& problem, const Device&,
              const stage::Correlate::Buffers& buffers, PlanState* state) {
  static_cast<const State*>(state)->run(problem, buffers);
  return {};
}

bool supports(const stage::Correlate::Problem& problem, const Device&) {
  const Problem& p = problem.correlate;
  return p.type != ElementType::u8 || error_bound(choose_tiling(p), p) < 0.25;
}

std::size_t workspace(const stage::Correlate::Problem& problem, const Device&) {
  const Problem& p = problem.correlate;
  const Tiling tiling = choose_tiling(p);
  const Sizes sizes(tiling);
  const std::size_t lines = SlotMemory::total(sizes.lines);
  const std::size_t pair =
      SlotMemory::rounded(sizes.pair(problem.max_rights() > 1)) + SlotMemory::line;
  return lines + pair * (is_parallel_over_pairs(tiling, p) ? slot_count() : 1);
}

constexpr Variant<stage::Correlate> variants[] = {
    {{"fft",
      Backend::cpu,
      {Feature::u8, Feature::f32, Feature::wide_sums, Feature::pitched_output,
       Feature::several_pictures, Feature::overhang},
      1},
     supports,
     launch,
     workspace,
     plan},
};

}  // namespace fft

Family fft_family() { return Family(fft::variants); }

}  // namespace xcorr::cpu
#endif

// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches of windows of u16 and f32 on the CPU, a window a task. All is in double precision, in
// which sums of products of u16 are exact: a window has at most 2^16 pixels, so they stay below
// 2^48. Products are summed for some vectors of shifts at a time; sums over the windows of the
// frame are put together from those of columns, or under a mask summed like the products.
#include "cpu/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/displace_words.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef XCORR_CPU_DISPLACE_WORDS_JOB
#define XCORR_CPU_DISPLACE_WORDS_JOB
#include "cpu/common.hpp"
#include "cpu/displaced.hpp"

namespace xcorr::cpu::displace_words {

constexpr int most_lanes = 8, vectors = 4;
constexpr int slack = most_lanes * vectors;  ///< how far vectors may read or write past a row

/// Scratch memory of one slot, in doubles.
struct Scratch {
  int window, shifts;
  int pitch;    ///< of the searched part of the frame
  int columns;  ///< from row to row of shifts
  std::size_t taps, counts, column_sums, column_squares, scores, end;

  explicit Scratch(const stage::Displace::Problem& p)
      : window(p.window),
        shifts(p.shifts()),
        pitch(p.window + p.shifts() + slack),
        columns(p.shifts() + slack) {
    const auto area = static_cast<std::size_t>(window * window);
    taps = static_cast<std::size_t>((window + shifts - 1) * pitch);
    counts = taps + area;
    column_sums = counts + area;
    column_squares = column_sums + pitch;
    scores = column_squares + pitch;
    end = scores + static_cast<std::size_t>(shifts * columns);
  }
  std::size_t bytes() const { return end * sizeof(double); }
};

/// Over the window of the reference; where not all of its pixels count, it is `masked`.
struct Sums {
  double n = 0, sum = 0, squares = 0;
  bool masked = false;
};

struct Job {
  const stage::Displace::Problem* problem;
  const SearchedPlaces* places;
  double* memory;
  Sums reference;
};

}  // namespace xcorr::cpu::displace_words
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::displace_words::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<double, most_lanes>;
using V = hn::Vec<D>;

/// For some vectors of shifts the sums of the frame's pixels times weights, which change within the
/// window. \param values  gives a vector of them from a place of the frame
template <class Values>
HWY_INLINE void add_up(const Scratch& s, const double* from, const double* weights, Values values,
                       double* to) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V sums[vectors];
  for (V& sum : sums) sum = hn::Zero(d);
  for (int j = 0; j < s.window; ++j, from += s.pitch)
    for (int i = 0; i < s.window; ++i) {
      const V weight = hn::Set(d, *weights++);
      for (int k = 0; k < vectors; ++k)
        sums[k] = hn::MulAdd(weight, values(from + i + k * lanes), sums[k]);
    }
  for (int k = 0; k < vectors; ++k) hn::StoreU(sums[k], d, to + k * lanes);
}

/// Sums of columns of the frame as high as the window.
HWY_INLINE void add_columns(const Scratch& s, const double* HWY_RESTRICT from,
                            double* HWY_RESTRICT sums, double* HWY_RESTRICT squares) {
  std::fill_n(sums, s.pitch, 0.0);
  std::fill_n(squares, s.pitch, 0.0);
  for (int j = 0; j < s.window; ++j, from += s.pitch)
    for (int x = 0; x < s.pitch; ++x) {
      sums[x] += from[x];
      squares[x] += from[x] * from[x];
    }
}

/// The sums of as many columns as the window is wide.
HWY_INLINE void join_columns(const Scratch& s, const double* columns, double* to) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  for (int k = 0; k < vectors; ++k) {
    V sum = hn::Zero(d);
    for (int i = 0; i < s.window; ++i) sum = hn::Add(sum, hn::LoadU(d, columns + i + k * lanes));
    hn::StoreU(sum, d, to + k * lanes);
  }
}

template <class T>
HWY_INLINE void search_as(const Job& job) {
  const D d;
  const Scratch s(*job.problem);
  const int block = vectors * static_cast<int>(hn::Lanes(d));
  const SearchedPlaces& places = *job.places;
  double* const memory = job.memory;
  const auto pixel = [&](const double* at) HWY_ATTR { return hn::LoadU(d, at); };
  const auto square = [&](const double* at)
                          HWY_ATTR { return hn::Mul(hn::LoadU(d, at), hn::LoadU(d, at)); };
  const auto whole = [](double sum) { return TermOf<T>(static_cast<SumOf<T>>(sum)); };
  double product[slack], sum[slack], squares[slack];
  for (int y = places.from_y; y < places.until_y; ++y) {
    const double* const row = memory + y * s.pitch;
    if (!job.reference.masked)
      add_columns(s, row, memory + s.column_sums, memory + s.column_squares);
    for (int x = 0; x < s.shifts; x += block) {
      add_up(s, row + x, memory + s.taps, pixel, product);
      if (job.reference.masked) {
        add_up(s, row + x, memory + s.counts, pixel, sum);
        add_up(s, row + x, memory + s.counts, square, squares);
      } else {
        join_columns(s, memory + s.column_sums + x, sum);
        join_columns(s, memory + s.column_squares + x, squares);
      }
      for (int k = std::max(0, places.from_x - x); k < std::min(block, places.until_x - x); ++k)
        memory[s.scores + static_cast<std::size_t>(y * s.columns + x + k)] = word_score<T>(
            {whole(job.reference.n), whole(product[k]), whole(sum[k]), whole(squares[k]),
             whole(job.reference.sum), whole(job.reference.squares)});
    }
  }
}

HWY_FLATTEN void search(const Job& job) {
  job.problem->type == ElementType::u16 ? search_as<std::uint16_t>(job) : search_as<float>(job);
}

}  // namespace xcorr::cpu::displace_words::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace displace_words {

HWY_EXPORT(search);

/// The window's pixels, 0 where they do not count.
template <class T>
Sums fill_window(const stage::Displace::Problem& p, const stage::Displace::Buffers& b,
                 const FieldWindow& window, double* taps, double* counts) {
  Sums sums;
  for (int j = 0; j < p.window; ++j) {
    const T* const row = row_of<T>(b.reference, p.pitch, window.y + j) + window.x;
    const std::int64_t at = std::int64_t{window.y + j} * p.frame.width + window.x;
    for (int i = 0; i < p.window; ++i) {
      const double counted = !p.masked || b.mask[at + i] ? 1 : 0;
      const double value = counted > 0 ? double(counted_pixel(row[i])) : 0;
      *taps++ = value;
      *counts++ = counted;
      sums.n += counted;
      sums.sum += value;
      sums.squares += value * value;
    }
  }
  sums.masked = sums.n < double(p.window) * p.window;
  return sums;
}

/// What may be met of the frame; 0 outside of it.
template <class T>
void fill_region(const stage::Displace::Problem& p, const stage::Displace::Buffers& b,
                 const SearchedPlaces& places, const Scratch& s, double* to) {
  std::fill_n(to, s.taps, 0.0);
  const int from_x = places.from_x, until_x = places.until_x - 1 + p.window;
  for (int y = places.from_y; y < places.until_y - 1 + p.window; ++y) {
    const T* const row = row_of<T>(b.frame, p.frame_pitch, places.top + y);
    for (int x = from_x; x < until_x; ++x)
      to[y * s.pitch + x] = double(counted_pixel(row[places.left + x]));
  }
}

/// The i-th window's.
template <class T>
FieldVector measure(const stage::Displace::Problem& p, const stage::Displace::Buffers& b,
                    std::int64_t i, double* memory) {
  const Scratch s(p);
  const auto score = [&](const FieldWindow& window, const SearchedPlaces& places) {
    const Sums reference = fill_window<T>(p, b, window, memory + s.taps, memory + s.counts);
    const auto whole = [](double sum) { return TermOf<T>(static_cast<SumOf<T>>(sum)); };
    if (!has_variance<T>(whole(reference.n), whole(reference.sum), whole(reference.squares)))
      return false;
    fill_region<T>(p, b, places, s, memory);
    HWY_DYNAMIC_DISPATCH(search)({&p, &places, memory, reference});
    return true;
  };
  return measured(p, b, i, memory + s.scores, s.columns, score);
}

std::size_t workspace(const stage::Displace::Problem& p, const Device&) {
  return SlotMemory::total(Scratch(p).bytes());
}

Status launch(const stage::Displace::Problem& p, const Device&, const stage::Displace::Buffers& b,
              PlanState*) {
  const SlotMemory memory(b.workspace, Scratch(p).bytes());
  const auto run = p.type == ElementType::u16 ? measure<std::uint16_t> : measure<float>;
  parallel_slots(slot_count(), p.count, [&](int slot, std::int64_t i) {
    const FieldVector vector = run(p, b, i, reinterpret_cast<double*>(memory.of(slot)));
    if (p.is_last()) b.vectors[i] = vector;
  });
  return {};
}

constexpr Variant<stage::Displace> table[] = {
    {{"displace_words",
      Backend::cpu,
      {Feature::u16, Feature::f32, Feature::mask, Feature::ensemble}},
     supports_all,
     launch,
     workspace},
};

}  // namespace displace_words

Family displace_words_family() { return Family(displace_words::table); }

}  // namespace xcorr::cpu
#endif

// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Spectra, filters and their responses, on vectors of channels, once for each of Highway's targets.
#if defined(XCORR_CPU_TRACKER_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef XCORR_CPU_TRACKER_INL
#undef XCORR_CPU_TRACKER_INL
#else
#define XCORR_CPU_TRACKER_INL
#endif

#include <array>
#include <numbers>
#include <numeric>

#include "cpu/correlate/fft_lanes-inl.hpp"
#include "stages/tracker/filter_response.hpp"

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::tracker::HWY_NAMESPACE {
using namespace xcorr::tracker;

using Lanes = cpu::fft::HWY_NAMESPACE::LanesOf<float>;
using Complex = std::complex<Lanes>;
using Scalar = std::complex<float>;
template <class T>
using Fft = cpu::fft::HWY_NAMESPACE::kissfft<T>;

constexpr int lanes = cpu::fft::HWY_NAMESPACE::lanes_of<float>;
/// Two channels share a complex transform, one as the real part, the other as the imaginary part.
constexpr int pairs = channels / 2;
static_assert(group % lanes == 0);
constexpr int pair_vectors = pairs / lanes, vectors = 2 * pair_vectors;

struct Transforms {
  Fft<Lanes> forward{grid, false}, inverse{grid, true};
  Fft<float> inverse_scalar{grid, true};
};

inline const Transforms& transforms() {
  static const Transforms all;
  return all;
}

/// [vector of pairs][y][x]
using Image = std::vector<Complex>;

/// A vector of channels at a frequency of a spectrum.
HWY_INLINE Complex load(const float* spectrum, int frequency, int vector) {
  const float* from = spectrum + real_place_of(frequency, vector * lanes);
  const Lanes::D d;
  return {Lanes(hwy::HWY_NAMESPACE::LoadU(d, from)),
          Lanes(hwy::HWY_NAMESPACE::LoadU(d, from + to_imaginary))};
}

HWY_INLINE void store(const Complex& value, float* spectrum, int frequency, int vector) {
  float* to = spectrum + real_place_of(frequency, vector * lanes);
  std::copy_n(value.real().v, lanes, to);
  std::copy_n(value.imag().v, lanes, to + to_imaginary);
}

HWY_INLINE float sum(const Lanes& vector) {
  float total = 0;
  for (float lane : vector.v) total += lane;
  return total;
}

/// What a thread needs on the way, kept: to allocate it costs as much as a transform.
struct Scratch {
  Image image = Image(pair_vectors * cells);
  std::vector<Complex> columns = std::vector<Complex>(vectors * half * grid);
  std::vector<Complex> row = std::vector<Complex>(grid), column = row;
};

inline Scratch& scratch() {
  static thread_local Scratch of_thread;
  return of_thread;
}

HWY_INLINE void take(const float* values, float scale, Image& image) {
  const Lanes factor(scale);
  const Lanes::D d;
  for (int g = 0; g < pair_vectors; ++g)
    for (int i = 0; i < cells; ++i) {
      const auto channels_from = [&](int first) {
        return Lanes(hwy::HWY_NAMESPACE::LoadU(d, values + place_of(i, first))) * factor;
      };
      image[g * cells + i] = {channels_from(g * lanes), channels_from(g * lanes + pairs)};
    }
}

HWY_INLINE void forward(const Image& image, float* spectrum) {
  const Fft<Lanes>& fft = transforms().forward;
  const Lanes one_half(0.5f);
  auto& [_, columns, row, column] = scratch();
  for (int g = 0; g < pair_vectors; ++g)
    for (int y = 0; y < grid; ++y) {
      fft.transform(&image[g * cells + y * grid], row.data());
      for (int k = 0; k < half; ++k) {  // the two parts' spectra
        const Complex a = row[k], b = row[(grid - k) % grid];
        columns[(g * half + k) * grid + y] = {(a.real() + b.real()) * one_half,
                                              (a.imag() - b.imag()) * one_half};
        columns[((pair_vectors + g) * half + k) * grid + y] = {(a.imag() + b.imag()) * one_half,
                                                               (b.real() - a.real()) * one_half};
      }
    }
  for (int k = 0; k < half; ++k)
    for (int g = 0; g < vectors; ++g) {
      fft.transform(&columns[(g * half + k) * grid], column.data());
      for (int j = 0; j < grid; ++j) store(column[j], spectrum, k * grid + j, g);
    }
}

/// Times the number of cells, as KissFFT leaves it.
HWY_INLINE void inverse(const float* spectrum, Image& image) {
  const Fft<Lanes>& fft = transforms().inverse;
  auto& [_, columns, row, column] = scratch();
  for (int k = 0; k < half; ++k)
    for (int g = 0; g < vectors; ++g) {
      for (int j = 0; j < grid; ++j) column[j] = load(spectrum, k * grid + j, g);
      fft.transform(column.data(), &columns[(g * half + k) * grid]);
    }
  for (int g = 0; g < pair_vectors; ++g)
    for (int y = 0; y < grid; ++y) {
      for (int k = 0; k < half; ++k) {
        const Complex a = columns[(g * half + k) * grid + y];
        const Complex b = columns[((pair_vectors + g) * half + k) * grid + y];
        row[k] = {a.real() - b.imag(), a.imag() + b.real()};
        if (k > 0 && 2 * k < grid) row[grid - k] = {a.real() + b.imag(), b.real() - a.imag()};
      }
      fft.transform(row.data(), &image[g * cells + y * grid]);
    }
}

inline void make_spectrum(const float* values, const double* energies, float* spectrum) {
  take(values, scale_of(std::accumulate(energies, energies + energy_parts, 0.0)), scratch().image);
  forward(scratch().image, spectrum);
}

// ---- learning -------------------------------------------------------------------------------

/// All channels at a frequency.
using Column = std::array<Complex, vectors>;

HWY_INLINE Column column_of(const float* spectrum, int frequency) {
  Column column;
  for (int g = 0; g < vectors; ++g) column[g] = load(spectrum, frequency, g);
  return column;
}

/// a* b, in all lanes.
HWY_INLINE Complex product(const Column& a, const Column& b) {
  Lanes real(0.0f), imag(0.0f);
  for (int g = 0; g < vectors; ++g) {
    const Complex part = cpu::fft::HWY_NAMESPACE::times_conjugate(b[g], a[g]);
    real += part.real();
    imag += part.imag();
  }
  return {Lanes(sum(real)), Lanes(sum(imag))};
}

/// At each frequency f of (sum of w x x* / n + pull) f = sum of w x y / n + pulled, by the formula
/// of Sherman and Morrison for one sample after the other: with A the matrix up to x, and u = A^-1
/// x, that of b is  A^-1 b - u (u* b) / (n / w + x* u)  with x. \param pulled  adds to a right side
template <class Pulled>
HWY_INLINE void solve(const TrainingSample& training_sample, const FilterShape& shape,
                      const float* samples, float pull, float* filter, const Pulled& pulled) {
  std::array<Column, samples_kept> u;
  std::array<float, samples_kept> shares;
  for (int i = 0; i < frequencies; ++i) {
    const float wanted = shape.wanted_at(i) / cells;
    const auto solved = [&](const Column& right, int count) {
      Column left;
      for (int g = 0; g < vectors; ++g) left[g] = right[g] * Lanes(1 / pull);
      for (int k = 0; k < count; ++k) {
        const Complex along = product(u[k], right) * Lanes(shares[k]);
        for (int g = 0; g < vectors; ++g) left[g] = left[g] - u[k][g] * along;
      }
      return left;
    };
    Column right;
    right.fill({Lanes(0.0f), Lanes(0.0f)});
    for (int k = 0; k < training_sample.count; ++k) {
      const Column x = column_of(samples + std::int64_t{k} * spectrum_floats, i);
      const float weight = training_sample.weights[k];
      for (int g = 0; g < vectors; ++g) right[g] += x[g] * Lanes(wanted * weight);
      u[k] = solved(x, k);
      shares[k] = 1 / (cells / weight + product(x, u[k]).real().v[0]);
    }
    for (int g = 0; g < vectors; ++g) pulled(right[g], i, g);
    const Column f = solved(right, training_sample.count);
    for (int g = 0; g < vectors; ++g) store(f[g], filter, i, g);
  }
}

/// What of a filter lies on the target.
HWY_INLINE void crop(const FilterShape& shape, const float* filter, float* cropped) {
  Image& image = scratch().image;
  inverse(filter, image);
  for (int g = 0; g < pair_vectors; ++g)
    for (int i = 0; i < cells; ++i)
      image[g * cells + i] *= Lanes(shape.on_target(i % grid, i / grid) ? 1.0f / cells : 0.0f);
  forward(image, cropped);
}

/// Takes up what is seen among the samples.
inline void remember(const float* seen, const TrainingSample& training_sample, const float* samples,
                     float* next_samples) {
  const auto take_up = [&](int k) {
    for (int i = 0; i < spectrum_floats; ++i) {
      const auto at = [=](int slot) { return std::int64_t{slot} * spectrum_floats + i; };
      next_samples[at(k)] =
          training_sample.next(k, seen[i], [&](int slot) { return samples[at(slot)]; });
    }
  };
  // In place, what is merged reads the slot before the sample goes there.
  if (training_sample.merged >= 0) take_up(training_sample.merged);
  if (training_sample.slot >= 0) take_up(training_sample.slot);
  for (int k = 0; samples != next_samples && k < training_sample.count; ++k) take_up(k);
}

/// \param known, filter  the whole one, then what of it lies on the target
inline void filter_update(const float* seen, const TrainingSample& training_sample,
                          const FilterShape& shape, const float* samples, float* next_samples,
                          const float* known, float* filter) {
  remember(seen, training_sample, samples, next_samples);
  const bool knows = training_sample.count > 1;
  const float* const known_on_target = known + spectrum_floats;
  float* const on_target = filter + spectrum_floats;
  solve(training_sample, shape, next_samples, first_pull, filter, [&](Complex& b, int i, int g) {
    if (knows) b += load(known_on_target, i, g) * Lanes(first_pull);
  });
  crop(shape, filter, on_target);
  // By how much the first solution did not yield counts on, as in ADMM.
  solve(training_sample, shape, next_samples, second_pull, filter, [&](Complex& b, int i, int g) {
    const Complex pulled = load(on_target, i, g);
    b += pulled * Lanes(second_pull) - (load(filter, i, g) - pulled) * Lanes(first_pull);
  });
  crop(shape, filter, on_target);
}

// ---- responses --------------------------------------------------------------------------------

inline Slope slope_at(const std::vector<Scalar>& spectrum, double x, double y) {
  constexpr double turn = 2 * std::numbers::pi / grid;
  Slope slope;
  std::array<std::complex<double>, grid> down;
  for (int j = 0; j < grid; ++j)
    down[j] = std::polar(1.0, turn * (j > grid / 2 ? j - grid : j) * y);
  for (int k = 0; k < half; ++k) {
    const double wx = turn * k;
    const std::complex<double> across = std::polar(k == 0 || 2 * k == grid ? 1.0 : 2.0, wx * x);
    for (int j = 0; j < grid; ++j) {
      const double wy = turn * (j > grid / 2 ? j - grid : j);
      const std::complex<double> term =
          std::complex<double>(spectrum[k * grid + j]) * across * down[j];
      slope.add(term.real(), term.imag(), wx, wy);
    }
  }
  return slope;
}

/// What a filter responds at every shift.
struct Surface {
  std::vector<Scalar> spectrum = std::vector<Scalar>(frequencies);
  std::vector<float> values = std::vector<float>(cells);
  int best;

  HWY_INLINE Surface(const float* filter, const float* seen) {
    for (int i = 0; i < frequencies; ++i) {
      Lanes real(0.0f), imag(0.0f);
      for (int g = 0; g < vectors; ++g) {
        const Complex product =
            cpu::fft::HWY_NAMESPACE::times_conjugate(load(seen, i, g), load(filter, i, g));
        real += product.real();
        imag += product.imag();
      }
      spectrum[i] = {sum(real), sum(imag)};
    }
    const Fft<float>& fft = transforms().inverse_scalar;
    std::vector<Scalar> columns(frequencies), row(grid), out(grid);
    for (int k = 0; k < half; ++k) fft.transform(&spectrum[k * grid], &columns[k * grid]);
    for (int y = 0; y < grid; ++y) {
      for (int k = 0; k < half; ++k) {
        row[k] = columns[k * grid + y];
        if (k > 0 && 2 * k < grid) row[grid - k] = std::conj(row[k]);
      }
      fft.transform(row.data(), out.data());
      for (int x = 0; x < grid; ++x) values[y * grid + x] = out[x].real() / cells;
    }
    best = static_cast<int>(std::ranges::max_element(values) - values.begin());
  }

  double top() const { return values[best]; }
  /// The best one together with what is added to it.
  int best_with(const float* prior) const {
    int most = 0;
    for (int i = 1; i < cells; ++i)
      if (values[i] + prior[i] > values[most] + prior[most]) most = i;
    return most;
  }

  /// The best within a cell of one.
  double near(int cell) const {
    float most = values[cell];
    for (int y = -1; y <= 1; ++y)
      for (int x = -1; x <= 1; ++x)
        most = std::max(most, values[beside(cell / grid, y) * grid + beside(cell % grid, x)]);
    return most;
  }
};

inline double psr(const FilterShape& shape, const Surface& surface, int best) {
  const TargetReach target(shape);
  double sum = 0, squares = 0;
  for (int y = 0; y < grid; ++y)
    for (int x = 0; x < grid; ++x) {
      if (target.has(x, y, best)) continue;
      const double value = surface.values[y * grid + x];
      sum += value;
      squares += value * value;
    }
  const int count = cells - target.count();
  if (count == 0) return 0;
  const double mean = sum / count, variance = squares / count - mean * mean;
  return variance > 0 ? (surface.near(best) - mean) / std::sqrt(variance) : 0;
}

inline ResponsePeak filter_response(const float* values, const double* energies,
                                    const FilterShape& shape, const float* filter,
                                    const float* prior) {
  static thread_local std::vector<float> spectrum(spectrum_floats);
  float* const seen = spectrum.data();
  make_spectrum(values, energies, seen);
  const Surface all(filter, seen), target(filter + spectrum_floats, seen);
  // The surroundings may stay as they are while the target is gone, or jumps away.
  const bool jumped = target.top() > most_elsewhere * target.near(all.best);
  const Surface& chosen = jumped ? target : all;
  const int best = prior ? chosen.best_with(prior) : chosen.best;
  double x = best % grid, y = best / grid;
  climb(x, y, [&](double at_x, double at_y) { return slope_at(chosen.spectrum, at_x, at_y); });
  return {from_middle(x), from_middle(y), target.near(best), psr(shape, target, best)};
}

}  // namespace xcorr::cpu::tracker::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The Filter of filter.hpp on vectors of channels, once for each of Highway's targets.
//
// With x the transform of the channels at a frequency (a vector over channels), y that of the
// answer which is wanted (a Gaussian in the middle), and f the filter's, the answer is f* x.
// Training solves, at each frequency by the formula of Sherman and Morrison,
//   |f* x - y|^2 / n + pull |f - g|^2  ->  min
// twice: with g = 0, and then with g = what of that first solution lies on the target. So what
// the filter answers to is drawn onto the target, and the surroundings remain as what it must not
// answer to. (These are the first steps of the ADMM of Galoogahi et al., Learning Background-Aware
// Correlation Filters, 2017; more of them cost time and gain nothing.) x is a running mean over
// what was learnt.
//
// The surroundings help to find a target, but not to tell whether it is there: where the camera
// stands still they answer alone. So sharpness is that of the part of the filter on the target.
#if defined(XCORR_MATCH_TRACKER_FILTER_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef XCORR_MATCH_TRACKER_FILTER_INL
#undef XCORR_MATCH_TRACKER_FILTER_INL
#else
#define XCORR_MATCH_TRACKER_FILTER_INL
#endif

#include <algorithm>
#include <array>
#include <numbers>

#include "cpu/fft_lanes-inl.hpp"
#include "match/tracker/channels.hpp"
#include "match/tracker/filter.hpp"

HWY_BEFORE_NAMESPACE();
namespace xcorr::tracker::HWY_NAMESPACE {

using Lanes = cpu::fft::HWY_NAMESPACE::LanesOf<float>;
using Complex = std::complex<Lanes>;
using Scalar = std::complex<float>;
template <class T>
using Fft = cpu::fft::HWY_NAMESPACE::kissfft<T>;

constexpr int lanes = cpu::fft::HWY_NAMESPACE::lanes_of<float>;
constexpr int half = grid / 2 + 1;  ///< columns of a spectrum; the others are their conjugates
constexpr int frequencies = half * grid;
constexpr int cells = grid * grid;
/// Two channels share a complex transform, one as the real part, the other as the imaginary part.
constexpr int pairs = channels / 2;
constexpr int pair_groups = pairs / lanes, groups = 2 * pair_groups;

constexpr double rate = 0.02;                      ///< of the running mean
constexpr float first_pull = 1, second_pull = 10;  ///< see above
/// What lies on the target decides alone where it is if it answers this many times as high there.
constexpr double most_elsewhere = 2;
constexpr double answer_width = 1 / 16.0;  ///< standard deviation, of the target's size

struct Transforms {
  Fft<Lanes> forward{grid, false}, inverse{grid, true};
  Fft<float> inverse_scalar{grid, true};
};

inline const Transforms& transforms() {
  static const Transforms all;
  return all;
}

/// [group of pairs][y][x]
using Picture = std::vector<Complex>;
/// [group of channels][column][row]
using Spectrum = std::vector<Complex>;

HWY_INLINE float sum(const Lanes& vector) {
  float total = 0;
  for (float lane : vector.v) total += lane;
  return total;
}

/// What a thread needs on the way, kept: to allocate it costs as much as a transform.
struct Scratch {
  Picture picture = Picture(pair_groups * cells);
  Spectrum spectrum = Spectrum(groups * frequencies), columns = spectrum;
  std::vector<Complex> row = std::vector<Complex>(grid);
};

inline Scratch& scratch() {
  static thread_local Scratch of_thread;
  return of_thread;
}

HWY_INLINE void take(std::span<const float> values, Picture& picture) {
  for (int g = 0; g < pair_groups; ++g)
    for (int i = 0; i < cells; ++i) {
      Lanes real, imag;
      std::copy_n(&values[i * channels + g * lanes], lanes, real.v);
      std::copy_n(&values[i * channels + pairs + g * lanes], lanes, imag.v);
      picture[g * cells + i] = {real, imag};
    }
}

HWY_INLINE void forward(const Picture& picture, Spectrum& spectrum) {
  const Fft<Lanes>& fft = transforms().forward;
  const Lanes one_half(0.5f);
  Spectrum& columns = scratch().columns;
  std::vector<Complex>& row = scratch().row;
  for (int g = 0; g < pair_groups; ++g)
    for (int y = 0; y < grid; ++y) {
      fft.transform(&picture[g * cells + y * grid], row.data());
      for (int k = 0; k < half; ++k) {  // the two parts' spectra
        const Complex a = row[k], b = row[(grid - k) % grid];
        columns[(g * half + k) * grid + y] = {(a.real() + b.real()) * one_half,
                                              (a.imag() - b.imag()) * one_half};
        columns[((pair_groups + g) * half + k) * grid + y] = {(a.imag() + b.imag()) * one_half,
                                                              (b.real() - a.real()) * one_half};
      }
    }
  for (int i = 0; i < groups * half; ++i) fft.transform(&columns[i * grid], &spectrum[i * grid]);
}

/// Times the number of cells, as KissFFT leaves it.
HWY_INLINE void inverse(const Spectrum& spectrum, Picture& picture) {
  const Fft<Lanes>& fft = transforms().inverse;
  Spectrum& columns = scratch().columns;
  std::vector<Complex>& row = scratch().row;
  for (int i = 0; i < groups * half; ++i) fft.transform(&spectrum[i * grid], &columns[i * grid]);
  for (int g = 0; g < pair_groups; ++g)
    for (int y = 0; y < grid; ++y) {
      for (int k = 0; k < half; ++k) {
        const Complex a = columns[(g * half + k) * grid + y];
        const Complex b = columns[((pair_groups + g) * half + k) * grid + y];
        row[k] = {a.real() - b.imag(), a.imag() + b.real()};
        if (k > 0 && 2 * k < grid) row[grid - k] = {a.real() + b.imag(), b.real() - a.imag()};
      }
      fft.transform(row.data(), &picture[g * cells + y * grid]);
    }
}

/// The steepest way up from a cell of the answer to its top between the cells: Newton's method on
/// the trigonometric polynomial that its spectrum is. Returns false, with nothing changed, if the
/// top is not within a cell.
inline bool climb(const std::vector<Scalar>& spectrum, double& x, double& y) {
  constexpr double turn = 2 * std::numbers::pi / grid;
  double at_x = x, at_y = y;
  for (int step = 0; step < 4; ++step) {
    double gx = 0, gy = 0, hxx = 0, hxy = 0, hyy = 0;
    std::array<std::complex<double>, grid> down;
    for (int j = 0; j < grid; ++j)
      down[j] = std::polar(1.0, turn * (j > grid / 2 ? j - grid : j) * at_y);
    for (int k = 0; k < half; ++k) {
      const double wx = turn * k;
      const std::complex<double> across =
          std::polar(k == 0 || 2 * k == grid ? 1.0 : 2.0, wx * at_x);
      for (int j = 0; j < grid; ++j) {
        const double wy = turn * (j > grid / 2 ? j - grid : j);
        const std::complex<double> term =
            std::complex<double>(spectrum[k * grid + j]) * across * down[j];
        gx -= wx * term.imag();
        gy -= wy * term.imag();
        hxx -= wx * wx * term.real();
        hxy -= wx * wy * term.real();
        hyy -= wy * wy * term.real();
      }
    }
    const double determinant = hxx * hyy - hxy * hxy;
    if (!(determinant > 0 && hxx < 0)) return false;
    at_x -= (hyy * gx - hxy * gy) / determinant;
    at_y -= (hxx * gy - hxy * gx) / determinant;
    if (std::abs(at_x - x) > 1 || std::abs(at_y - y) > 1) return false;
  }
  x = at_x;
  y = at_y;
  return true;
}

/// From a row or column to another, around the window's edge if that is shorter.
inline int apart(int a, int b) { return std::min(std::abs(a - b), grid - std::abs(a - b)); }

/// What a filter answers at every shift.
struct Surface {
  std::vector<Scalar> spectrum = std::vector<Scalar>(frequencies);
  std::vector<float> values = std::vector<float>(cells);
  int best;

  HWY_INLINE Surface(const Spectrum& filter, const Spectrum& seen) {
    for (int i = 0; i < frequencies; ++i) {
      Lanes real(0.0f), imag(0.0f);
      for (int g = 0; g < groups; ++g) {
        const Complex product = cpu::fft::HWY_NAMESPACE::times_conjugate(
            seen[g * frequencies + i], filter[g * frequencies + i]);
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

  /// The best within a cell of one.
  double near(int cell) const {
    float most = values[cell];
    for (int y = -1; y <= 1; ++y)
      for (int x = -1; x <= 1; ++x)
        most = std::max(
            most, values[(cell / grid + y + grid) % grid * grid + (cell % grid + x + grid) % grid]);
    return most;
  }
};

class LanesFilter final : public Filter {
 public:
  LanesFilter(double width, double height)
      : beside_(std::max(2, static_cast<int>(width / 2))),
        above_(std::max(2, static_cast<int>(height / 2))) {
    const double deviation = std::sqrt(width * height) * answer_width;
    // The Gaussian's transform, which is real: that of one direction times that of the other.
    std::array<double, grid> one;
    for (int k = 0; k < grid; ++k) {
      one[k] = 0;
      for (int i = 0; i < grid; ++i) {
        const int from = std::min(i, grid - i);
        one[k] += std::exp(-from * from / (2 * deviation * deviation)) *
                  std::cos(2 * std::numbers::pi * i * k / grid);
      }
    }
    for (int k = 0; k < half; ++k)
      for (int j = 0; j < grid; ++j) wanted_.push_back(static_cast<float>(one[k] * one[j]));
    constexpr double middle = (grid - 1) / 2.0;
    const auto within = [](int i, double extent) {
      return std::abs(i - middle) <= std::max(extent, 1.0) / 2 + 0.01;
    };
    for (int y = 0; y < grid; ++y)
      for (int x = 0; x < grid; ++x) on_target_.push_back(within(x, width) && within(y, height));
  }

  void train(std::span<const float> values) override {
    Picture& picture = scratch().picture;
    Spectrum& pulled = scratch().spectrum;
    take(values, picture);
    forward(picture, pulled);
    if (mean_.empty()) {
      mean_ = filter_ = pulled;
    } else {
      const Lanes weight(static_cast<float>(rate));
      for (std::size_t i = 0; i < mean_.size(); ++i) mean_[i] += (pulled[i] - mean_[i]) * weight;
    }
    solve(nullptr, first_pull);
    crop(filter_, pulled);
    // By how much the first solution did not yield counts on, as in ADMM.
    for (std::size_t i = 0; i < pulled.size(); ++i)
      pulled[i] = pulled[i] * Lanes(second_pull) - (filter_[i] - pulled[i]) * Lanes(first_pull);
    solve(&pulled, second_pull);
    target_.resize(filter_.size());
    crop(filter_, target_);
  }

  Answer locate(std::span<const float> values) const override {
    Spectrum& seen = scratch().spectrum;
    take(values, scratch().picture);
    forward(scratch().picture, seen);
    const Surface all(filter_, seen), target(target_, seen);
    // The surroundings may stay as they are while the target is gone, or jumps away.
    const bool jumped = target.top() > most_elsewhere * target.near(all.best);
    const Surface& chosen = jumped ? target : all;
    const int best = chosen.best;
    double x = best % grid, y = best / grid;
    climb(chosen.spectrum, x, y);
    const auto from_middle = [](double at) { return at > grid / 2 ? at - grid : at; };
    return {from_middle(x), from_middle(y), target.near(best), sharpness(target, best)};
  }

 private:
  /// `pull` times |f - g|^2, with pull * g given; null: 0.
  void solve(const Spectrum* pulled, float pull) {
    for (int i = 0; i < frequencies; ++i) {
      const Lanes wanted(wanted_[i] / cells);
      Lanes real(0), imag(0), energy(0);
      for (int g = 0; g < groups; ++g) {
        const Complex x = mean_[g * frequencies + i];
        Complex b = x * wanted;
        if (pulled) b += (*pulled)[g * frequencies + i];
        const Complex product = cpu::fft::HWY_NAMESPACE::times_conjugate(b, x);
        real += product.real();
        imag += product.imag();
        energy += x.real() * x.real() + x.imag() * x.imag();
        filter_[g * frequencies + i] = b;
      }
      const float share = 1 / (cells * pull + sum(energy));
      const Complex along{Lanes(sum(real) * share), Lanes(sum(imag) * share)};
      for (int g = 0; g < groups; ++g) {
        Complex& f = filter_[g * frequencies + i];
        f = (f - mean_[g * frequencies + i] * along) * Lanes(1 / pull);
      }
    }
  }

  /// What of a filter lies on the target.
  void crop(const Spectrum& filter, Spectrum& cropped) const {
    Picture& picture = scratch().picture;
    inverse(filter, picture);
    for (int g = 0; g < pair_groups; ++g)
      for (int i = 0; i < cells; ++i)
        picture[g * cells + i] *= Lanes(on_target_[i] ? 1.0f / cells : 0.0f);
    forward(picture, cropped);
  }

  double sharpness(const Surface& surface, int best) const {
    double sum = 0, squares = 0;
    int count = 0;
    for (int y = 0; y < grid; ++y)
      for (int x = 0; x < grid; ++x) {
        if (apart(x, best % grid) <= beside_ && apart(y, best / grid) <= above_) continue;
        const double value = surface.values[y * grid + x];
        sum += value;
        squares += value * value;
        ++count;
      }
    if (count == 0) return 0;
    const double mean = sum / count, variance = squares / count - mean * mean;
    return variance > 0 ? (surface.near(best) - mean) / std::sqrt(variance) : 0;
  }

  int beside_, above_;  ///< cells from a peak that are still the target's
  std::vector<float> wanted_;
  std::vector<bool> on_target_;
  Spectrum mean_, filter_;
  Spectrum target_;  ///< what of the filter lies on the target
};

std::unique_ptr<Filter> make_filter(double width, double height) {
  return std::make_unique<LanesFilter>(width, height);
}

}  // namespace xcorr::tracker::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

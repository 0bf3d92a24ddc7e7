// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The oracle of filters that learn, in double precision: transforms by sums over all cells, filters
// by elimination, tops by as many steps as they take.
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <numeric>
#include <vector>

#include "stages/tracker/filter_response.hpp"

namespace xcorr::cpu {
namespace {

using namespace xcorr::tracker;
using Complex = std::complex<double>;

// ---- transforms -----------------------------------------------------------------------------

/// e to the 2 pi i n / 40.
Complex root(int n) { return std::polar(1.0, 2 * std::numbers::pi * (n % grid) / grid); }

/// Of one channel: row by row, as it is in a spectrum.
std::vector<Complex> transformed(const std::vector<double>& image) {
  std::vector<Complex> rows(half * grid), spectrum(frequencies);
  for (int k = 0; k < half; ++k)
    for (int y = 0; y < grid; ++y)
      for (int x = 0; x < grid; ++x)
        rows[k * grid + y] += image[y * grid + x] * std::conj(root(k * x));
  for (int k = 0; k < half; ++k)
    for (int j = 0; j < grid; ++j)
      for (int y = 0; y < grid; ++y)
        spectrum[k * grid + j] += rows[k * grid + y] * std::conj(root(j * y));
  return spectrum;
}

/// How many columns of a whole spectrum one of the half stands for.
int columns_of(int k) { return k == 0 || 2 * k == grid ? 1 : 2; }

std::vector<double> transformed_back(const std::vector<Complex>& spectrum) {
  std::vector<Complex> rows(half * grid);
  std::vector<double> image(cells);
  for (int k = 0; k < half; ++k)
    for (int y = 0; y < grid; ++y)
      for (int j = 0; j < grid; ++j) rows[k * grid + y] += spectrum[k * grid + j] * root(j * y);
  for (int y = 0; y < grid; ++y)
    for (int x = 0; x < grid; ++x)
      for (int k = 0; k < half; ++k)
        image[y * grid + x] += columns_of(k) * (rows[k * grid + y] * root(k * x)).real() / cells;
  return image;
}

/// Of a spectrum, at a frequency.
Complex read(const float* spectrum, int frequency, int channel) {
  const float* parts = spectrum + real_place_of(frequency, channel);
  return {parts[0], parts[to_imaginary]};
}
void write(Complex value, float* spectrum, int frequency, int channel) {
  float* parts = spectrum + real_place_of(frequency, channel);
  parts[0] = static_cast<float>(value.real());
  parts[to_imaginary] = static_cast<float>(value.imag());
}

/// That of a window.
void transform(const float* values, const double* energies, float* spectrum) {
  const double sum = std::accumulate(energies, energies + energy_parts, 0.0);
  const double scale = sum > 1e-4 ? std::sqrt(cells * channels / sum) : 0;
  for (int c = 0; c < channels; ++c) {
    std::vector<double> image;
    for (int i = 0; i < cells; ++i) image.push_back(scale * values[place_of(i, c)]);
    const std::vector<Complex> frequencies_of = transformed(image);
    for (int i = 0; i < frequencies; ++i) write(frequencies_of[i], spectrum, i, c);
  }
}

Status spectra(const stage::FeatureFft::Problem& p, const Device&,
               const stage::FeatureFft::Buffers& b, PlanState*) {
  for (std::int64_t window = 0; window < p.windows; ++window)
    if (b.looks[window].side != 0)
      transform(b.channels + window * cells * channels, b.energies + window * energy_parts,
                b.spectra + window * spectrum_floats);
  return {};
}

// ---- filters --------------------------------------------------------------------------------

using Vector = std::vector<Complex>;

/// Of a filter, at a frequency: the samples with their weights.
using Weighted = std::vector<std::pair<double, Vector>>;

/// f of (sum of w x x* / n + pull) f = b, by elimination.
Vector solved(const Weighted& samples, Vector b, double pull) {
  std::vector<Vector> rows(channels, Vector(channels));
  for (int i = 0; i < channels; ++i)
    for (int j = 0; j < channels; ++j) {
      if (i == j) rows[i][j] = pull;
      for (const auto& [weight, x] : samples)
        rows[i][j] += x[i] * std::conj(x[j]) * (weight / cells);
    }
  for (int i = 0; i < channels; ++i)
    for (int below = i + 1; below < channels; ++below) {
      const Complex factor = rows[below][i] / rows[i][i];
      for (int j = i; j < channels; ++j) rows[below][j] -= factor * rows[i][j];
      b[below] -= factor * b[i];
    }
  for (int i = channels - 1; i >= 0; --i) {
    for (int j = i + 1; j < channels; ++j) b[i] -= rows[i][j] * b[j];
    b[i] /= rows[i][i];
  }
  return b;
}

/// [channel][frequency]
using Filter = std::vector<Vector>;

Filter cropped(const Filter& filter, const FilterShape& shape) {
  Filter on_target;
  for (const Vector& spectrum : filter) {
    std::vector<double> image = transformed_back(spectrum);
    for (int i = 0; i < cells; ++i)
      if (!shape.on_target(i % grid, i / grid)) image[i] = 0;
    on_target.push_back(transformed(image));
  }
  return on_target;
}

/// Of each filter that is taught, what it has learnt from now on.
void remember(const TrainingSample& t, const float* seen, const float* samples, float* next) {
  for (int i = 0; i < spectrum_floats; ++i) {
    const auto at = [&](int slot) { return std::int64_t{slot} * spectrum_floats + i; };
    for (int slot = 0; slot < t.count; ++slot)
      if (slot != t.slot) next[at(slot)] = samples[at(slot)];
    if (t.merged >= 0) {
      const double merged = samples[at(t.merged)];
      const double other = t.slot < 0 ? seen[i] : samples[at(t.slot)];
      next[at(t.merged)] = static_cast<float>((1 - t.share) * merged + t.share * other);
    }
    if (t.slot >= 0) next[at(t.slot)] = seen[i];
  }
}

Status filter_update(const stage::FilterUpdate::Problem& p, const Device&,
                     const stage::FilterUpdate::Buffers& b, PlanState*) {
  for (std::int64_t i = 0; i < p.training_samples; ++i) {
    const TrainingSample& t = b.training_samples[i];
    const FilterShape& shape = b.shapes[t.filter];
    const std::int64_t first = std::int64_t{t.filter} * spectrum_floats;
    float* const next_samples = b.next_samples + samples_kept * first;
    remember(t, b.seen + i * spectrum_floats, b.samples + samples_kept * first, next_samples);
    const float* known = b.known + 2 * first + spectrum_floats;
    Filter whole(channels, Vector(frequencies)), on_target;
    for (const bool second : {false, true}) {
      for (int frequency = 0; frequency < frequencies; ++frequency) {
        const double pull = second ? 10 : 1;
        Weighted samples;
        Vector right(channels);
        for (int slot = 0; slot < t.count; ++slot) {
          auto& [weight, x] = samples.emplace_back(t.weights[slot], Vector());
          for (int c = 0; c < channels; ++c) {
            x.push_back(read(next_samples + std::int64_t{slot} * spectrum_floats, frequency, c));
            right[c] += weight * x[c] *
                        (shape.wanted[frequency / grid] * shape.wanted[frequency % grid] / cells);
          }
        }
        for (int c = 0; c < channels; ++c)
          if (second) {
            const Complex kept = on_target[c][frequency];
            right[c] += pull * kept - (whole[c][frequency] - kept);
          } else if (t.count > 1) {
            right[c] += read(known, frequency, c);
          }
        const Vector f = solved(samples, right, pull);
        for (int c = 0; c < channels; ++c) whole[c][frequency] = f[c];
      }
      on_target = cropped(whole, shape);
    }
    for (int c = 0; c < channels; ++c)
      for (int frequency = 0; frequency < frequencies; ++frequency) {
        write(whole[c][frequency], b.filters + 2 * first, frequency, c);
        write(on_target[c][frequency], b.filters + 2 * first + spectrum_floats, frequency, c);
      }
  }
  return {};
}

// ---- responses --------------------------------------------------------------------------------

Vector response_of(const float* seen, const float* filter) {
  Vector spectrum(frequencies);
  for (int i = 0; i < frequencies; ++i)
    for (int c = 0; c < channels; ++c)
      spectrum[i] += read(seen, i, c) * std::conj(read(filter, i, c));
  return spectrum;
}

/// The best within a cell of one.
double near(const std::vector<double>& surface, int place) {
  double most = -std::numeric_limits<double>::infinity();
  for (int i = 0; i < cells; ++i)
    if (apart(i % grid, place % grid) <= 1 && apart(i / grid, place / grid) <= 1)
      most = std::max(most, surface[i]);
  return most;
}

/// Where the surface's slope is zero, by Newton's method from (x, y); (x, y) if that is not within
/// a cell.
void climb(const Vector& spectrum, double& x, double& y) {
  constexpr double turn = 2 * std::numbers::pi / grid;
  double at_x = x, at_y = y;
  for (int step = 0; step < 20; ++step) {
    double gx = 0, gy = 0, hxx = 0, hxy = 0, hyy = 0;
    for (int i = 0; i < frequencies; ++i) {
      const int k = i / grid, j = i % grid > grid / 2 ? i % grid - grid : i % grid;
      const Complex wave =
          double(columns_of(k)) * spectrum[i] * std::polar(1.0, turn * (k * at_x + j * at_y));
      gx -= k * turn * wave.imag();
      gy -= j * turn * wave.imag();
      hxx -= k * k * turn * turn * wave.real();
      hxy -= k * j * turn * turn * wave.real();
      hyy -= j * j * turn * turn * wave.real();
    }
    const double determinant = hxx * hyy - hxy * hxy;
    if (determinant <= 0 || hxx >= 0) return;
    at_x -= (hyy * gx - hxy * gy) / determinant;
    at_y -= (hxx * gy - hxy * gx) / determinant;
    if (std::abs(at_x - x) > 1 || std::abs(at_y - y) > 1) return;
  }
  x = at_x;
  y = at_y;
}

Status filter_response(const stage::FilterResponse::Problem& p, const Device&,
                       const stage::FilterResponse::Buffers& b, PlanState*) {
  for (std::int64_t window = 0; window < p.windows; ++window) {
    const Look& look = b.looks[window];
    if (look.side == 0) continue;
    const float* filter = b.filters + std::int64_t{2} * look.filter * spectrum_floats;
    std::vector<float> seen(spectrum_floats);
    transform(b.channels + window * cells * channels, b.energies + window * energy_parts,
              seen.data());
    const Vector all = response_of(seen.data(), filter),
                 target = response_of(seen.data(), filter + spectrum_floats);
    const auto surface = transformed_back(all), on_target = transformed_back(target);
    const auto best_of = [](const std::vector<double>& values) {
      return static_cast<int>(std::ranges::max_element(values) - values.begin());
    };
    const bool jumped = std::ranges::max(on_target) > 2 * near(on_target, best_of(surface));
    auto with_prior = jumped ? on_target : surface;
    for (int i = 0; p.priors > 0 && i < cells; ++i)
      with_prior[i] += b.priors[window % p.priors * cells + i];
    const int best = best_of(with_prior);
    double x = best % grid, y = best / grid;
    climb(jumped ? target : all, x, y);
    const FilterShape& shape = b.shapes[look.filter];
    const auto reach = [](double extent) { return std::max(2.0, std::floor(extent / 2)); };
    std::vector<double> around;
    for (int i = 0; i < cells; ++i)
      if (apart(i % grid, best % grid) > reach(shape.width) ||
          apart(i / grid, best / grid) > reach(shape.height))
        around.push_back(on_target[i]);
    double mean = 0, variance = 0;
    for (const double value : around) mean += value / static_cast<double>(around.size());
    for (const double value : around)
      variance += (value - mean) * (value - mean) / static_cast<double>(around.size());
    const double top = near(on_target, best);
    b.response_peaks[window] = {x > grid / 2 ? x - grid : x, y > grid / 2 ? y - grid : y, top,
                                variance > 0 ? (top - mean) / std::sqrt(variance) : 0};
  }
  return {};
}

template <class Stage>
constexpr Variant<Stage> oracle(Feature feature, decltype(VariantFunctions<Stage>::launch) launch) {
  return {{.name = "reference", .backend = Backend::cpu, .features = feature}, {.launch = launch}};
}

constexpr Variant<stage::FeatureFft> feature_fft_table[] = {
    oracle<stage::FeatureFft>(Feature::f32, spectra)};
constexpr Variant<stage::FilterUpdate> filter_update_table[] = {
    oracle<stage::FilterUpdate>(Feature::f32, filter_update)};
constexpr Variant<stage::FilterResponse> filter_response_table[] = {
    oracle<stage::FilterResponse>(Feature::f32, filter_response)};

}  // namespace

Family reference_tracker_family() {
  return Family(feature_fft_table, filter_update_table, filter_response_table);
}

}  // namespace xcorr::cpu

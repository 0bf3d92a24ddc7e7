// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tracking/filters/filter_store.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "select/select.hpp"

namespace xcorr {
namespace {

constexpr std::size_t spectrum_bytes = tracker::spectrum_floats * sizeof(float);
constexpr std::size_t filter_bytes = 2 * spectrum_bytes;
constexpr std::size_t samples_bytes = tracker::samples_kept * spectrum_bytes;
constexpr std::size_t prior_bytes = tracker::cells * sizeof(float);

/// Of a filter: its shape, what it has learnt from, itself, itself as it was first, histograms.
constexpr std::size_t parts_bytes[] = {sizeof(tracker::FilterShape), samples_bytes, filter_bytes,
                                       filter_bytes, sizeof(tracker::ColorHistograms)};

/// There is room for at most so many more filters than were asked for.
constexpr int most_spare = 64;

/// A block of that size with what is in another one.
Result<Block> enlarged(const Device& device, const Block& block, std::size_t bytes) {
  auto larger = Block::make(device.backend, bytes);
  if (!larger.ok() || block.bytes() == 0) return larger;
  const Copy copy = bytes_copy(larger.value().data(), block.data(), block.bytes());
  if (Status s = runtime(device.backend).copy(copy, Memory::device, Memory::device, {}); !s.ok())
    return s;
  return larger;
}

}  // namespace

Result<FilterStore> FilterStore::make(const Device& device) {
  FilterStore store;
  store.device_ = device;
  if (Status s = choose_into(store.spectra_of_, {}, device); !s.ok()) return s;
  if (Status s = choose_into(store.filter_update_, {}, device); !s.ok()) return s;
  if (Status s = choose_into(store.filter_response_, {}, device); !s.ok()) return s;
  if (Status s = choose_into(store.histogram_update_, {}, device); !s.ok()) return s;
  if (Status s = choose_into(store.histogram_prior_, {}, device); !s.ok()) return s;
  return store;
}

Status FilterStore::provide_teaching(int windows) {
  return spectra_.provide(device_.backend, static_cast<std::size_t>(windows) * spectrum_bytes);
}

Status FilterStore::provide_asking(int windows) {
  if (Status s = priors_.provide(device_.backend, static_cast<std::size_t>(windows) * prior_bytes);
      !s.ok())
    return s;
  return workspace_.provide(device_.backend,
                            filter_response_->workspace_bytes({windows, count_}, device_));
}

std::size_t FilterStore::bytes_of_one() {
  return std::accumulate(std::begin(parts_bytes), std::end(parts_bytes), std::size_t{0});
}

std::size_t FilterStore::bytes() const {
  std::size_t bytes = 0;
  for (const Block* const block :
       {&shapes_, &samples_, &filters_, &kept_, &histograms_, &spectra_, &priors_, &workspace_})
    bytes += block->bytes();
  return bytes;
}

Status FilterStore::provide(int asked) {
  if (asked <= count_) return {};
  const int count = std::max(asked, count_ + std::min(count_, most_spare));
  Block larger[std::size(parts_bytes)];
  Block* const blocks[] = {&shapes_, &samples_, &filters_, &kept_, &histograms_};
  static_assert(std::size(blocks) == std::size(parts_bytes));
  for (std::size_t i = 0; i < std::size(blocks); ++i) {
    auto made = enlarged(device_, *blocks[i], static_cast<std::size_t>(count) * parts_bytes[i]);
    if (!made.ok()) return made.status();
    larger[i] = std::move(made.value());
  }
  // Copies out of the smaller ones may still be under way.
  if (Status s = runtime(device_.backend).wait({}); !s.ok()) return s;
  for (std::size_t i = 0; i < std::size(blocks); ++i) *blocks[i] = std::move(larger[i]);
  count_ = count;
  return {};
}

Status FilterStore::set(int number, const tracker::FilterShape& shape) {
  const auto copy_to = [&](auto* to, const auto& from) {
    return runtime(device_.backend)
        .copy(bytes_copy(to, &from, sizeof from), Memory::host, Memory::device, {});
  };
  constexpr std::int32_t never = 0;
  if (Status s = copy_to(&histograms_.as<tracker::ColorHistograms>()[number].times, never); !s.ok())
    return s;
  return copy_to(shapes_.as<tracker::FilterShape>() + number, shape);
}

Status FilterStore::teach(const SeenWindows& seen, const tracker::TrainingSample* training_samples,
                          Stream stream) {
  float* const spectra = spectra_.as<float>();
  if (Status s = spectra_of_->launch(
          {seen.count}, device_,
          {{nullptr, stream}, seen.looks, seen.channels, seen.energies, spectra}, nullptr);
      !s.ok())
    return s;
  return filter_update_->launch({seen.count, count_}, device_,
                                {{nullptr, stream},
                                 spectra,
                                 training_samples,
                                 shapes_.as<tracker::FilterShape>(),
                                 samples_.as<float>(),
                                 samples_.as<float>(),
                                 filters_.as<float>(),
                                 filters_.as<float>()},
                                nullptr);
}

Status FilterStore::keep(int number, Stream stream) {
  const std::ptrdiff_t begin = std::ptrdiff_t{number} * 2 * tracker::spectrum_floats;
  const Copy copy =
      bytes_copy(kept_.as<float>() + begin, filters_.as<float>() + begin, filter_bytes);
  return runtime(device_.backend).copy(copy, Memory::device, Memory::device, stream);
}

Status FilterStore::ask(const SeenWindows& seen, int priors, tracker::ResponsePeak* response_peaks,
                        Stream stream) {
  return ask(filters_, seen, priors, response_peaks, stream);
}

Status FilterStore::ask_kept(const SeenWindows& seen, tracker::ResponsePeak* response_peaks,
                             Stream stream) {
  return ask(kept_, seen, 0, response_peaks, stream);
}

stage::ColorWindowBuffers FilterStore::color_windows(const SeenFrame& frame,
                                                     const tracker::Look* looks,
                                                     const tracker::Cropping* croppings,
                                                     Stream stream) const {
  const auto& planes = frame.planes;
  return {{nullptr, stream},
          planes[0],
          planes[1],
          planes[2],
          looks,
          croppings,
          shapes_.as<tracker::FilterShape>()};
}

Status FilterStore::compare_colors(const SeenFrame& frame, const tracker::Look* looks,
                                   const tracker::Cropping* croppings, int windows, bool teaches,
                                   double* likeness, Stream stream) {
  auto* const histograms = histograms_.as<tracker::ColorHistograms>();
  return histogram_update_->launch(
      {{windows, count_, frame.window.frame, frame.window.colors}, teaches}, device_,
      {color_windows(frame, looks, croppings, stream), histograms, teaches ? histograms : nullptr,
       likeness},
      nullptr);
}

Status FilterStore::find_colors(const SeenFrame& frame, const tracker::Look* looks,
                                const tracker::Cropping* croppings, int windows, Stream stream) {
  return show_colors(frame, looks, croppings, windows, priors_.as<float>(), stream);
}

Status FilterStore::show_colors(const SeenFrame& frame, const tracker::Look* looks,
                                const tracker::Cropping* croppings, int windows, float* priors,
                                Stream stream) const {
  return histogram_prior_->launch({windows, count_, frame.window.frame, frame.window.colors},
                                  device_,
                                  {color_windows(frame, looks, croppings, stream),
                                   histograms_.as<tracker::ColorHistograms>(), priors},
                                  nullptr);
}

Status FilterStore::ask(const Block& filters, const SeenWindows& seen, int priors,
                        tracker::ResponsePeak* response_peaks, Stream stream) {
  return filter_response_->launch({seen.count, count_, priors}, device_,
                                  {{workspace_.data(), stream},
                                   seen.looks,
                                   seen.channels,
                                   seen.energies,
                                   shapes_.as<tracker::FilterShape>(),
                                   filters.as<float>(),
                                   priors_.as<float>(),
                                   response_peaks},
                                  nullptr);
}

}  // namespace xcorr

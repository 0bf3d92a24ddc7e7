// SPDX-License-Identifier: LGPL-2.1-or-later
#include "timing.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "device/runtime.hpp"

namespace checkcorr {

using xcorr::Result;
using xcorr::Status;
using Clock = std::chrono::steady_clock;

namespace {

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

Timing summarise(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double share) {
    return samples[std::size_t(share * double(samples.size() - 1) + 0.5)];
  };
  const double low = at(0.25), high = at(0.75), reach = 1.5 * (high - low);
  std::erase_if(samples, [=](double s) { return s < low - reach || s > high + reach; });
  const double sum = std::accumulate(samples.begin(), samples.end(), 0.0);
  return {at(0.5), samples.front(), sum / double(samples.size()), samples.size()};
}

Result<Timing> time(xcorr::Backend backend, double least_seconds, double best,
                    const std::function<Status()>& work) {
  constexpr double batch_seconds = 0.002, hopeless = 10, longest_load = 0.2;
  auto timer = xcorr::Timer::make(backend);
  if (!timer.ok()) return timer.status();
  const auto time_batch = [&](int launches) -> Result<double> {
    const auto seconds = timer.value().time([&] {
      for (int i = 0; i < launches; ++i)
        if (Status s = work(); !s.ok()) return s;
      return Status();
    });
    return seconds.ok() ? Result<double>(seconds.value() / launches) : seconds;
  };
  const double too_long = std::max(hopeless * best, least_seconds);
  double warm = 0;  // the first time pays for loading the kernel
  for (int i = 0; i < 2 && warm < std::max(too_long, longest_load); ++i) {
    const auto first = time_batch(1);
    if (!first.ok()) return first.status();
    warm = first.value();
  }
  if (warm > too_long) return summarise({warm});

  const int launches = int(std::clamp(std::ceil(batch_seconds / warm), 1.0, 1e4));
  const std::size_t least_samples = warm > hopeless * best ? 1 : 5;
  std::vector<double> samples;
  const auto start = Clock::now();
  do {
    const auto sample = time_batch(launches);
    if (!sample.ok()) return sample.status();
    samples.push_back(sample.value());
  } while (samples.size() < least_samples || seconds_since(start) < least_seconds);
  return summarise(std::move(samples));
}

}  // namespace checkcorr

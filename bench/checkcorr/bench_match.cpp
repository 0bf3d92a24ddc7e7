// SPDX-License-Identifier: LGPL-2.1-or-later
#include "bench_match.hpp"

#include <chrono>

#include <xcorr/match.hpp>

#include "device/runtime.hpp"

namespace checkcorr {

using xcorr::Block;
using xcorr::MatrixView;
using xcorr::Memory;
using xcorr::Result;
using xcorr::Status;
using Clock = std::chrono::steady_clock;

namespace {

std::vector<MatrixView> templates_of(const Problem& p, const Values& values) {
  std::vector<MatrixView> views;
  for (int i = 0; i < p.rights; ++i)
    views.push_back({view<std::byte>(values, "templates").data() + i * p.right_stride, p.type,
                     p.right, p.right_pitch, Memory::host});
  return views;
}

Result<Block> on_device(const xcorr::Device& device, std::span<const std::byte> bytes) {
  auto block = Block::make(device.backend, bytes.size());
  if (!block.ok()) return block.status();
  const auto& runtime = xcorr::runtime(device.backend);
  const auto copy = xcorr::bytes_copy(block.value().data(), bytes.data(), bytes.size());
  if (Status s = runtime.copy(copy, Memory::host, Memory::device, {}); !s.ok()) return s;
  if (Status s = runtime.wait({}); !s.ok()) return s;
  return block;
}

}  // namespace

Result<Timing> time_match(const std::string& kernel, const xcorr::Device& device,
                          const MatchProblem& problem, const Values& values, double least_seconds,
                          double best) {
  constexpr std::size_t least_samples = 20;
  constexpr double hopeless = 10;
  const Problem& p = problem.correlate;
  auto matcher = xcorr::Matcher::create(device);
  if (!matcher.ok()) return matcher.status();
  xcorr::MatchSettings settings;
  settings.kernel = kernel;
  if (Status s = matcher.value().set_templates(templates_of(p, values)); !s.ok()) return s;
  if (Status s = matcher.value().prepare(p.type, p.left, settings); !s.ok()) return s;
  auto frame = on_device(device, view<std::byte>(values, "lefts"));
  if (!frame.ok()) return frame.status();
  const MatrixView pixels{frame.value().data(), p.type, p.left, p.left_pitch, Memory::device};

  std::vector<xcorr::Peak> peaks;
  const auto once = [&]() -> Result<double> {
    const auto start = Clock::now();
    if (Status s = matcher.value().enqueue(pixels); !s.ok()) return s;
    if (Status s = matcher.value().collect(peaks); !s.ok()) return s;
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  double warm = 0;  // the first time pays for loading kernels
  for (int i = 0; i < 2; ++i) {
    const auto seconds = once();
    if (!seconds.ok()) return seconds.status();
    warm = seconds.value();
  }
  if (warm > std::max(hopeless * best, least_seconds)) return summarise({warm});
  std::vector<double> samples;
  for (double spent = 0; samples.size() < least_samples || spent < least_seconds;
       spent += samples.back()) {
    const auto seconds = once();
    if (!seconds.ok()) return seconds.status();
    samples.push_back(seconds.value());
  }
  return summarise(std::move(samples));
}

}  // namespace checkcorr

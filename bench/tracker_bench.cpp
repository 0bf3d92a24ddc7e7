// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Times filters that learn: a frame in the device's memory to where its targets are on the host, at
// three sizes and looked at twice where that is needed, and what it costs to teach them. One CSV
// line a number of targets on standard output; it fails if a target is not found where it is.
//
//   tracker_bench [--backend=cpu|cuda] [--turns] [--seconds=S]
//
// With --turns at two angles more. The frame is 1920x1080 random bytes, targets are 64x64, each
// looked for 6 pixels beside its place. `locate_ms` and `train_ms` are medians; `again_ms` is that
// of targets that are away, which are looked for twice; `processor_ms` is what `locate_ms` takes of
// all cores of the host together.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <xcorr/tracker.hpp>

#include "match_images.hpp"
#include "median_time.hpp"

namespace {

using namespace xcorr;

constexpr Size frame_size{1920, 1080};
constexpr int side = 64;

void bench(const Device& device, const TrackerSettings& settings, double seconds, int count) {
  const UploadedFrame frame = upload(device, random_image(frame_size));
  std::vector<TargetBox> targets, beside, away;
  for (int i = 0; i < count; ++i) {
    const double x = 150.0 + (401 * i) % (frame_size.width - 364);
    const double y = 150.0 + (173 * i) % (frame_size.height - 364);
    const auto number = static_cast<std::uint64_t>(i);
    targets.push_back({number, {x, y, side, side}});
    beside.push_back({number, {x + 6, y - 5, side, side}});
    away.push_back({number, {x + 2 * side, y + 2 * side, side, side}});
  }
  Tracker tracker = require(Tracker::create(device, settings));
  const double train_ms =
      median_time(seconds, [&] { require(tracker.train(frame.view, targets)); });
  std::vector<FilterDetection> filter_detections;
  const double again_ms =
      median_time(seconds, [&] { require(tracker.locate(frame.view, away, filter_detections)); });
  const TurnTimes locate = median_times(
      seconds, [&] { require(tracker.locate(frame.view, beside, filter_detections)); });
  for (int i = 0; i < count; ++i) {
    const Box &found = filter_detections[i].box, &right = targets[i].box;
    const double x = found.x + found.width / 2 - right.x - side / 2.0;
    const double y = found.y + found.height / 2 - right.y - side / 2.0;
    if (std::hypot(x, y) > 2)
      fail({Code::invalid_argument, "target " + std::to_string(i) + " of " + std::to_string(count) +
                                        " is found " + std::to_string(std::hypot(x, y)) +
                                        " pixels off"});
  }
  std::printf("%s,%s,%d,%.4f,%.4f,%.4f,%.3f\n", name_of(device.backend), device.name.c_str(), count,
              locate.clock, again_ms, train_ms, locate.processors);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  Backend backend = Backend::cuda;
  TrackerSettings settings;
  double seconds = 0.5;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--backend=cpu")
      backend = Backend::cpu;
    else if (arg == "--backend=cuda")
      backend = Backend::cuda;
    else if (arg == "--turns")
      settings.turns = true;
    else if (arg.starts_with("--seconds="))
      seconds = std::stod(arg.substr(10));
    else
      fail({Code::invalid_argument, "unknown argument " + arg});
  }
  const Device device = require(open_device(backend));
  require(make_current(device));
  std::puts("backend,device,targets,locate_ms,again_ms,train_ms,processor_ms");
  for (const int count : {1, 4, 16, 64}) bench(device, settings, seconds, count);
}

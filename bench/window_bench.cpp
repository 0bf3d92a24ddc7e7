// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Times the search of many windows of a frame in the device's memory, as a tracker does: frame to
// peaks on the host, by a WindowMatcher and by a Matcher a window. One CSV line a case on standard
// output; it fails if they find something else.
//
//   window_bench [--backend=cpu|cuda] [--seconds=S] [--host] [--max-peaks=N] [--windows=N]
//                [--frame=PGM [--poses]]
//
// The frame is 1920x1080 random bytes or the image, windows are 192x192 with a target of 64x64 in
// the middle, all of them different or with copies of one; up to --windows of them. --host: the
// frame is in the host's memory, pinned. --poses: each target is searched within 15 degrees and
// 10 % of its last pose, as tracks do while it turns and grows; an image, since of random bytes no
// level above full size shows anything.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include <xcorr/window_matcher.hpp>

#include "match_images.hpp"
#include "median_time.hpp"

namespace {

using namespace xcorr;

constexpr Size frame_size{1920, 1080};
constexpr int side = 64, window_side = 192, margin = (window_side - side) / 2;

struct Options {
  Backend backend = Backend::cuda;
  double seconds = 0.5;
  Memory memory = Memory::device;
  int max_peaks = 8, windows = 64;
  std::string frame;
  bool poses = false;
};

/// Gray levels.
double deviation(const Image& image, const Rect& part) {
  double sum = 0, squares = 0;
  for (int y = part.y; y < part.y + part.height; ++y)
    for (int x = part.x; x < part.x + part.width; ++x) {
      const double pixel = image.pixels[std::size_t(y) * image.size.width + x];
      sum += pixel;
      squares += pixel * pixel;
    }
  const auto n = static_cast<double>(part.size().area());
  return std::sqrt(std::max(0.0, squares / n - sum * sum / n / n));
}

/// The middles of windows, where the image shows something.
std::vector<Rect> targets_in(const Image& image, int count) {
  constexpr double least_deviation = 20;
  std::vector<Rect> targets;
  for (int i = 0; std::ssize(targets) < count; ++i) {
    const Rect place{margin + (5 + 401 * i) % (frame_size.width - window_side),
                     margin + (11 + 173 * i) % (frame_size.height - window_side), side, side};
    if (deviation(image, place) >= least_deviation) targets.push_back(place);
    if (i > 100 * count) fail({Code::invalid_argument, "the image shows too little"});
  }
  return targets;
}

/// What a track that may turn by 15 degrees and grow by 10 % a frame searches.
PoseRange near_upright() {
  PoseRange poses;
  poses.angle_extent = 360;
  poses.scale_max = 1.1 * 1.15;  // with room, so that a matcher is seldom prepared anew
  poses.scale_min = 1 / poses.scale_max;
  poses.vicinity = PoseVicinity{0, 15, 1, 0.1};
  return poses;
}

MatrixView part_of(const Image& image, const Rect& part) {
  MatrixView view = image.view();
  view.data = image.pixels.data() + part.y * view.pitch + part.x;
  view.size = part.size();
  return view;
}

/// The first target is copied to the places of the others.
void make_same(Image& image, std::span<const Rect> targets) {
  const auto row = [&](const Rect& part, int y) {
    return image.pixels.begin() + (part.y + y) * frame_size.width + part.x;
  };
  for (const Rect& target : targets.subspan(1))
    for (int y = 0; y < side; ++y) std::copy_n(row(targets[0], y), side, row(target, y));
}

void bench(const Device& device, const Options& options, int count, bool same) {
  Image image = options.frame.empty() ? random_image(frame_size) : require(read_pgm(options.frame));
  if (image.size != frame_size)
    fail({Code::invalid_argument, options.frame + " is not of 1920x1080 pixels"});
  const std::vector<Rect> targets = targets_in(image, count);
  if (same) make_same(image, targets);
  const UploadedFrame frame = upload(device, image, options.memory);
  std::vector<MatrixView> templates;
  for (int i = 0; i < (same ? 1 : count); ++i) templates.push_back(part_of(image, targets[i]));
  MatchSettings settings;
  settings.max_peaks = options.max_peaks;
  settings.threshold = 0.2;
  const PoseRange poses = options.poses ? near_upright() : PoseRange();
  settings.poses = poses;

  std::vector<SearchWindow> windows;
  std::vector<Matcher> matchers;
  for (int i = 0; i < count; ++i) {
    const auto index = static_cast<std::uint32_t>(same ? 0 : i);
    const auto [x, y, width, height] = targets[i];
    windows.push_back({index, {x - margin, y - margin, window_side, window_side}, poses});
    settings.search_region = windows.back().region;
    matchers.push_back(require(Matcher::create(device)));
    require(matchers.back().set_templates({&templates[index], 1}));
    require(matchers.back().prepare(ElementType::u8, frame_size, settings));
  }
  std::vector<std::vector<Peak>> alone(windows.size()), together;
  const double alone_ms = median_time(options.seconds, [&] {
    for (Matcher& matcher : matchers) require(matcher.enqueue(frame.view));
    for (std::size_t i = 0; i < matchers.size(); ++i) require(matchers[i].collect(alone[i]));
  });

  WindowMatcher matcher = require(WindowMatcher::create(device));
  require(matcher.set_templates(templates));
  require(matcher.prepare(ElementType::u8, frame_size, settings));
  const double together_ms = median_time(options.seconds, [&] {
    require(matcher.enqueue(frame.view, windows));
    require(matcher.collect(together));
  });

  std::size_t peaks = 0;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    peaks += together[i].size();
    const bool equal = std::ranges::equal(together[i], alone[i], [](const Peak& a, const Peak& b) {
      return a.x == b.x && a.y == b.y && a.score == b.score;
    });
    if (!equal)
      fail({Code::invalid_argument, "other peaks in window " + std::to_string(i) + " of " +
                                        std::to_string(windows.size())});
  }
  std::printf("%s,%s,%s,%s,%d,%zu,%.4f,%.4f,%zu,%s,%s\n", name_of(device.backend),
              device.name.c_str(), matcher.kernel().c_str(),
              options.memory == Memory::device ? "device" : "host", count, templates.size(),
              together_ms, alone_ms, peaks,
              options.frame.empty() ? "random bytes"
                                    : options.frame.substr(options.frame.rfind('/') + 1).c_str(),
              options.poses ? "15 degrees and 10 %" : "upright");
  std::fflush(stdout);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--backend=cpu")
      options.backend = Backend::cpu;
    else if (arg == "--backend=cuda")
      options.backend = Backend::cuda;
    else if (arg.starts_with("--seconds="))
      options.seconds = std::stod(arg.substr(10));
    else if (arg.starts_with("--max-peaks="))
      options.max_peaks = std::stoi(arg.substr(12));
    else if (arg.starts_with("--windows="))
      options.windows = std::stoi(arg.substr(10));
    else if (arg.starts_with("--frame="))
      options.frame = arg.substr(8);
    else if (arg == "--poses")
      options.poses = true;
    else if (arg == "--host")
      options.memory = Memory::host;
    else
      fail({Code::invalid_argument, "unknown argument " + arg});
  }
  if (options.backend == Backend::cpu) options.memory = Memory::host;
  if (options.poses && options.frame.empty())
    fail({Code::invalid_argument, "--poses needs --frame"});
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const Device device = require(open_device(options.backend));
  require(make_current(device));
  std::puts(
      "backend,device,kernel,memory,windows,templates,together_ms,alone_ms,peaks,content,poses");
  for (const bool same : {false, true})
    for (const int count : {1, 4, 16, 64})
      if (count <= options.windows) bench(device, options, count, same);
}

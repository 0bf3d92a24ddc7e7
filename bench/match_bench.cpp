// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Times whole matches, frame in the device's memory to peaks on the host: the figures that a user
// of the library sees. One CSV line a case on standard output.
//
//   match_bench [--backend=cpu|cuda] [--kernel=NAME]... [--seconds=S] [--filter=GLOB]
//
// GLOB picks cases, which are called FRAME/SIDE/COUNT, such as 1920x1080/64/32.
//
// latency_ms: enqueue() to the end of collect(), one frame at a time, median. stream_ms: time a
// frame when many are enqueued before one collect(), which hides what launches cost the host.
#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include <xcorr/match.hpp>

#include "require.hpp"
#include "runtime.hpp"

namespace {

using namespace xcorr;
using Clock = std::chrono::steady_clock;

struct Options {
  Backend backend = Backend::cuda;
  std::vector<std::string> kernels;
  double seconds = 0.3;
  std::string filter = "*";
};

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Random bytes: as hard as any picture, and every template is found.
std::vector<std::uint8_t> random_bytes(std::size_t count) {
  std::mt19937 random(1);
  std::vector<std::uint8_t> bytes(count);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

struct Frame {
  Block block;
  MatrixView view;
};

Frame upload(const Device& device, const std::vector<std::uint8_t>& pixels, Size size) {
  Frame frame{require(Block::make(device.backend, pixels.size())), {}};
  const Runtime& r = runtime(device.backend);
  require(r.copy(bytes_copy(frame.block.data(), pixels.data(), pixels.size()), Memory::host,
                 Memory::device, {}));
  require(r.wait({}));
  frame.view = {frame.block.data(), ElementType::u8, size, size.width, Memory::device};
  return frame;
}

/// Windows of the frame, spread over it.
std::vector<MatrixView> cut(const std::vector<std::uint8_t>& pixels, Size frame, int side,
                            int count) {
  std::vector<MatrixView> views;
  for (int i = 0; i < count; ++i) {
    const int x = (37 + i * 211) % (frame.width - side), y = (23 + i * 97) % (frame.height - side);
    views.push_back({pixels.data() + std::ptrdiff_t{y} * frame.width + x,
                     ElementType::u8,
                     {side, side},
                     frame.width});
  }
  return views;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

/// Times `frames` frames a turn until the time is up; milliseconds a frame.
template <class Turn>
double timed(double seconds, int frames, Turn turn) {
  turn();  // warm-up
  std::vector<double> times;
  const auto begin = Clock::now();
  do {
    const auto start = Clock::now();
    turn();
    times.push_back(ms_since(start) / frames);
  } while (ms_since(begin) < seconds * 1000);
  return median(times);
}

void bench(const Device& device, const Options& options, const std::string& kernel, Size size,
           int side, int count) {
  const auto pixels = random_bytes(static_cast<std::size_t>(size.area()));
  const Frame frame = upload(device, pixels, size);
  Matcher matcher = require(Matcher::create(device));
  require(matcher.set_templates(cut(pixels, size, side, count)));
  MatchSettings settings;
  settings.kernel = kernel;
  if (const Status s = matcher.prepare(ElementType::u8, size, settings); !s.ok()) {
    std::fprintf(stderr, "match_bench: %s %dx%d: %s\n", kernel.c_str(), side, side,
                 s.message().c_str());
    return;
  }
  std::vector<Peak> peaks;
  const auto match = [&] {
    require(matcher.enqueue(frame.view));
    require(matcher.collect(peaks));
  };
  const double latency = timed(options.seconds, 1, match);
  constexpr int many = 20;
  const double stream = timed(options.seconds, many, [&] {
    for (int i = 0; i < many; ++i) require(matcher.enqueue(frame.view));
    require(matcher.collect(peaks));
  });
  std::printf("%s,%s,%s,%d,%d,%d,%d,%.4f,%.4f,%zu\n", name_of(device.backend), device.name.c_str(),
              matcher.kernel().c_str(), size.width, size.height, side, count, latency, stream,
              peaks.size());
  std::fflush(stdout);
}

std::string name_of(Size size, int side, int count) {
  return std::to_string(size.width) + "x" + std::to_string(size.height) + "/" +
         std::to_string(side) + "/" + std::to_string(count);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--backend=cpu")
      options.backend = Backend::cpu;
    else if (arg == "--backend=cuda")
      options.backend = Backend::cuda;
    else if (arg.starts_with("--kernel="))
      options.kernels.push_back(arg.substr(9));
    else if (arg.starts_with("--filter="))
      options.filter = arg.substr(9);
    else if (arg.starts_with("--seconds="))
      options.seconds = std::stod(arg.substr(10));
    else
      fail({Code::invalid_argument, "unknown argument " + arg});
  }
  if (options.kernels.empty()) options.kernels = {"auto"};
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const Device device = require(open_device(options.backend));
  require(make_current(device));
  std::puts("backend,device,kernel,width,height,side,templates,latency_ms,stream_ms,peaks");
  for (const std::string& kernel : options.kernels)
    for (const Size size : {Size{640, 480}, Size{1920, 1080}, Size{3840, 2160}})
      for (const int side : {16, 32, 64, 128})
        for (const int count : {1, 32})
          if (fnmatch(options.filter.c_str(), name_of(size, side, count).c_str(), 0) == 0)
            bench(device, options, kernel, size, side, count);
}

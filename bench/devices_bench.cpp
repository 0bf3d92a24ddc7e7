// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What several GPUs of one host gain over the first of them, in one run, as CSV on standard output.
//
//   devices_bench --devices=0,1[,...] [--backend=cpu|cuda] [--frame=PGM | --size=WxH]
//                 [--streams=8,16] [--templates=256] [--side=64] [--kernel=NAME] [--seconds=S]
//
// streams: threads, each with a template of its own and two frames in flight, dealt out to the
// devices. bank: one MultiMatcher with that many templates, one frame at a time (latency) and with
// two in flight. Frames are in the memory of the stream's device, of the bank's first one, or
// pinned in the host's. Templates are cut from the frame, a photograph (--frame) or random bytes.
// `ratio`: how many times faster all devices are than the first one. On the CPU, where devices are
// all the same, this tests the program.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <xcorr/multi_matcher.hpp>

#include "match_images.hpp"

namespace {

using namespace xcorr;
using Clock = std::chrono::steady_clock;

struct Options {
  Backend backend = Backend::cuda;
  std::vector<int> devices;
  Image image;
  std::string content = "random bytes";
  std::vector<int> streams = {8, 16};
  int templates = 256, side = 64;
  std::string kernel = "auto";
  double seconds = 1;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Matchers of the same bank, each with a frame in flight.
class Lane {
 public:
  Lane(const Options& options, const std::vector<Device>& devices, Memory memory,
       std::span<const MatrixView> templates, int in_flight)
      : frame_(upload(devices.front(), options.image, memory)) {
    MatchSettings settings;
    settings.kernel = options.kernel;
    for (int i = 0; i < in_flight; ++i) {
      matchers_.push_back(require(MultiMatcher::create(devices)));
      require(matchers_.back().set_templates(templates));
      require(matchers_.back().prepare(ElementType::u8, options.image.size, settings));
      require(matchers_.back().enqueue(frame_.view));
    }
  }

  /// The oldest frame's peaks; another frame takes its place.
  const std::vector<Peak>& next() {
    MultiMatcher& matcher = matchers_[turn_++ % matchers_.size()];
    require(matcher.collect(peaks_));
    require(matcher.enqueue(frame_.view));
    return peaks_;
  }
  ~Lane() {
    for (MultiMatcher& matcher : matchers_) require(matcher.collect(peaks_));
  }

 private:
  UploadedFrame frame_;
  std::vector<MultiMatcher> matchers_;
  std::size_t turn_ = 0;
  std::vector<Peak> peaks_;
};

/// Of all streams together.
double frames_per_second(const Options& options, const std::vector<Device>& devices, Memory memory,
                         int streams) {
  const auto templates = cut(options.image, {options.side}, streams);
  std::atomic<int> ready = 0;
  std::atomic<bool> begun = false, ended = false;
  std::atomic<std::int64_t> frames = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < streams; ++i)
    threads.emplace_back([&, i] {
      const Device& device = devices[i % devices.size()];
      require(make_current(device));
      Lane lane(options, {device}, memory, {&templates[i], 1}, 2);
      for (int n = 0; n < 20; ++n) lane.next();  // to warm up
      ++ready;
      begun.wait(false);
      std::int64_t done = 0;
      for (; !ended; ++done) lane.next();
      frames += done;
    });
  while (ready < streams) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto start = Clock::now();
  begun = true;
  begun.notify_all();
  std::this_thread::sleep_for(std::chrono::duration<double>(options.seconds));
  ended = true;
  const double seconds = seconds_since(start);
  threads.clear();  // the last frames are few
  return static_cast<double>(frames) / seconds;
}

/// Of one bank; `found`: what it finds.
double bank_frames_per_second(const Options& options, const std::vector<Device>& devices,
                              Memory memory, int in_flight, std::vector<Peak>& found) {
  require(make_current(devices.front()));
  Lane lane(options, devices, memory, cut(options.image, {options.side}, options.templates),
            in_flight);
  for (int n = 0; n < 3; ++n) found = lane.next();
  const auto start = Clock::now();
  int frames = 0;
  for (; seconds_since(start) < options.seconds || frames == 0; ++frames) lane.next();
  return frames / seconds_since(start);
}

bool same(const std::vector<Peak>& a, const std::vector<Peak>& b) {
  return std::ranges::equal(a, b, [](const Peak& p, const Peak& q) {
    return p.template_index == q.template_index && p.x == q.x && p.y == q.y && p.score == q.score;
  });
}

void print(const Options& options, const char* what, int count, Memory memory, double one,
           double all) {
  std::printf("%s,%d,%d,%dx%d,%s,%s,%zu,%.1f,%.1f,%.3f\n", what, count, options.side,
              options.image.size.width, options.image.size.height, options.content.c_str(),
              memory == Memory::device ? "device" : "pinned", options.devices.size(), one, all,
              all / one);
  std::fflush(stdout);
}

void bench(const Options& options, const std::vector<Device>& devices, Memory memory) {
  const std::vector<Device> first = {devices.front()};
  for (const int streams : options.streams) {
    const double one = frames_per_second(options, first, memory, streams);
    const double all = frames_per_second(options, devices, memory, streams);
    print(options, "streams", streams, memory, one, all);
  }
  for (const int in_flight : {1, 2}) {
    std::vector<Peak> of_one, of_all;
    const double one = bank_frames_per_second(options, first, memory, in_flight, of_one);
    const double all = bank_frames_per_second(options, devices, memory, in_flight, of_all);
    if (of_one.empty() || !same(of_one, of_all))
      fail({Code::device_error, "one device and all find different peaks"});
    print(options, in_flight == 1 ? "bank, one frame at a time" : "bank, two frames in flight",
          options.templates, memory, one, all);
  }
}

std::vector<int> numbers_of(const std::string& text, char between) {
  std::vector<int> numbers;
  std::size_t at = 0;
  while (at <= text.size()) {
    std::size_t length = 0;
    numbers.push_back(std::stoi(text.substr(at), &length));
    at += length;
    if (at < text.size() && text[at] != between)
      fail({Code::invalid_argument, "not numbers: " + text});
    ++at;
  }
  return numbers;
}

Options parse(int argc, char** argv) {
  Options options;
  Size size{1920, 1080};
  std::string frame;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i],
                      value = arg.substr(std::min(arg.find('='), arg.size() - 1) + 1);
    if (arg == "--backend=cpu")
      options.backend = Backend::cpu;
    else if (arg == "--backend=cuda")
      options.backend = Backend::cuda;
    else if (arg.starts_with("--devices="))
      options.devices = numbers_of(value, ',');
    else if (arg.starts_with("--streams="))
      options.streams = numbers_of(value, ',');
    else if (arg.starts_with("--templates="))
      options.templates = std::stoi(value);
    else if (arg.starts_with("--side="))
      options.side = std::stoi(value);
    else if (arg.starts_with("--kernel="))
      options.kernel = value;
    else if (arg.starts_with("--seconds="))
      options.seconds = std::stod(value);
    else if (arg.starts_with("--frame="))
      frame = value;
    else if (arg.starts_with("--size=")) {
      const auto sides = numbers_of(value, 'x');
      if (sides.size() != 2) fail({Code::invalid_argument, "not a size: " + value});
      size = {sides[0], sides[1]};
    } else
      fail({Code::invalid_argument, "unknown argument " + arg});
  }
  if (options.devices.empty()) fail({Code::invalid_argument, "--devices is missing"});
  options.image = frame.empty() ? random_image(size) : require(read_pgm(frame));
  if (!frame.empty()) options.content = frame;
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  std::vector<Device> devices;
  for (const int ordinal : options.devices)
    devices.push_back(require(open_device(options.backend, ordinal)));
  std::printf("# %zu times %s\n", devices.size(), devices.front().name.c_str());
  std::puts("what,count,side,frame,content,memory,devices,one_fps,all_fps,ratio");
  for (const Memory memory : {Memory::device, Memory::host}) bench(options, devices, memory);
}

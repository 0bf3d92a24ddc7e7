// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Times whole matches, frame in the device's memory to peaks on the host: the figures that a user
// of the library sees. One CSV line a case on standard output.
//
//   match_bench [--backend=cpu|cuda] [--kernel=NAME]... [--seconds=S] [--filter=GLOB]
//               [--frame=PGM [--template=PGM...]] [--mask=none|disc|soft] [--peaks=FILE]
//               [--angles=START,EXTENT] [--scales=MIN,MAX] [--levels=N] [--exhaustive]
//               [--max-peaks=N] [--threshold=SCORE] [--bits=N] [--matchers=N]
//               [--match-on=luma|color|edges|color-edges] [--pixels=gray|rgb|nv12]
//               [--confirm=GRAYLEVELS] [--mixed=N]
//
// GLOB picks cases, which are called FRAME/SIDE/COUNT, such as 1920x1080/64/32. They are made of
// random bytes, of several sizes, or of the image --frame, such as a photograph (matches.py goes
// through several); templates are cut from it. With --template the images in the files are the
// only case; its `side` is the first template's width. --mask=disc: what counts of a template is
// the inscribed ellipse; soft: with weights. --peaks writes what the last case found, as CSV.
// --bits, 9 to 16: pixels of so many bits in words of 16, the bytes with random bits below them.
// --angles (degrees),
// --scales, --levels and --exhaustive search poses, see PoseRange. --pixels: how those of frames
// lie; a photograph in colour is a PPM. --mixed: in place of those cases N templates of 32 to 96
// pixels in a frame of 1920x1080; `side` is the first one's.
//
// latency_ms: enqueue() to the end of collect(), one frame at a time, median. stream_ms: time a
// frame when many are enqueued before one collect(), which hides what launches cost the host; with
// --matchers they are dealt out to so many, as the element's async-depth does. processor_ms: what
// latency_ms takes of all cores of the host together; on the CPU other programs, which that waits
// for, hardly count in it.
#include <fnmatch.h>

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <xcorr/match.hpp>

#include "match_images.hpp"
#include "median_time.hpp"

namespace {

using namespace xcorr;

enum class MaskShape { none, disc, soft };
constexpr const char* mask_shapes[] = {"none", "disc", "soft"};

struct Options {
  Backend backend = Backend::cuda;
  std::vector<std::string> kernels;
  double seconds = 0.3;
  std::string filter = "*";
  MaskShape mask = MaskShape::none;
  PoseRange poses;
  int max_peaks = 1;
  double threshold = MatchSettings().threshold;
  int bits = 8, matchers = 1, mixed = 0;
  MatchOn match_on = MatchOn::luma;
  double confirm_threshold = 0;
  Pixels pixels = Pixels::gray;
  std::string frame;
  std::vector<std::string> templates;
  std::string peaks;
};

/// The inscribed ellipse of each template, also with weights that fall in the outer half.
std::vector<Image> masks_of(std::span<const MatrixView> templates, bool soft) {
  std::vector<Image> masks;
  for (const MatrixView& t : templates) {
    const auto [width, height] = t.size;
    Image mask{{width, height}, {}, ElementType::u8};
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        const double u = (2 * x + 1.0) / width - 1, v = (2 * y + 1.0) / height - 1;
        const double inside = 1 - u * u - v * v;
        mask.pixels.push_back(soft ? static_cast<std::uint8_t>(std::clamp(510 * inside, 0.0, 255.0))
                                   : inside >= 0);
      }
    masks.push_back(std::move(mask));
  }
  return masks;
}

void write_peaks(const std::string& path, const std::vector<Peak>& peaks) {
  std::ofstream file(path);
  file.precision(17);
  file << "template,x,y,width,height,score,center_x,center_y,angle,scale\n";
  for (const Peak& p : peaks)
    file << p.template_index << ',' << p.x << ',' << p.y << ',' << p.width << ',' << p.height << ','
         << p.score << ',' << p.pose.center_x << ',' << p.pose.center_y << ',' << p.pose.angle
         << ',' << p.pose.scale << '\n';
  if (!file.flush()) fail({Code::invalid_argument, "cannot write " + path});
}

void bench(const Device& device, const Options& options, const std::string& kernel,
           const Image& image, std::span<const MatrixView> templates) {
  const Size size = image.size;
  const int side = templates.front().size.width;
  const UploadedFrame frame = upload(device, image);
  std::vector<Image> shapes;
  std::vector<MatrixView> masks;
  const bool soft = options.mask == MaskShape::soft;
  if (options.mask != MaskShape::none) shapes = masks_of(templates, soft);
  for (const Image& mask : shapes) masks.push_back(mask.view());
  MatchSettings settings;
  settings.budget = {0, 0};  // what it costs is measured
  settings.kernel = kernel;
  settings.poses = options.poses;
  settings.max_peaks = options.max_peaks;
  settings.threshold = options.threshold;
  settings.match_on = options.match_on;
  settings.confirm_threshold = options.confirm_threshold;
  settings.weights = soft;
  std::vector<Matcher> matchers;
  for (int i = 0; i < options.matchers; ++i) {
    matchers.push_back(require(Matcher::create(device)));
    require(matchers.back().set_templates(templates, masks));
    if (const Status s = matchers.back().prepare(image.type, size, settings); !s.ok()) {
      std::fprintf(stderr, "match_bench: %s %dx%d: %s\n", kernel.c_str(), side, side,
                   s.message().c_str());
      return;
    }
  }
  std::vector<Peak> peaks;
  const auto match = [&] {
    require(matchers.front().enqueue(frame.view));
    require(matchers.front().collect(peaks));
  };
  const TurnTimes one = median_times(options.seconds, match);
  // A CPU is done with a frame when enqueue() returns.
  const int turns = device.backend == Backend::cpu ? 1 : 20;
  const auto match_many = [&] {
    for (int i = 0; i < turns; ++i)
      for (Matcher& matcher : matchers) require(matcher.enqueue(frame.view));
    for (Matcher& matcher : matchers) require(matcher.collect(peaks));
  };
  const double stream = median_time(options.seconds, match_many) / turns / options.matchers;
  constexpr const char* compared[] = {"luma", "color", "edges", "color-edges"};
  constexpr const char* layouts[] = {"gray", "rgb", "nv12"};
  std::printf("%s,%s,%s,%d,%d,%d,%zu,%.4f,%.4f,%zu,%s,%s,%s,%s,%.3f\n", name_of(device.backend),
              device.name.c_str(), matchers.front().kernel().c_str(), size.width, size.height, side,
              templates.size(), one.clock, stream, peaks.size(),
              options.frame.empty() ? "random bytes" : options.frame.c_str(),
              mask_shapes[int(options.mask)], compared[int(options.match_on)],
              layouts[int(image.layout)], one.processors);
  std::fflush(stdout);
  if (!options.peaks.empty()) write_peaks(options.peaks, peaks);
}

/// The image of a file, as pixels that are asked for.
Image image_of(const std::string& path, const Options& options) {
  const Image image = require(read_pgm(path));
  return options.pixels == Pixels::nv12 ? to_nv12(image) : deepened(image, options.bits);
}

void bench_files(const Device& device, const Options& options, const std::string& kernel) {
  std::vector<Image> images;
  std::vector<MatrixView> views;
  for (const std::string& path : options.templates) {
    images.push_back(image_of(path, options));
    views.push_back(images.back().view());
  }
  bench(device, options, kernel, image_of(options.frame, options), views);
}

std::string name_of(Size size, int side, int count) {
  return std::to_string(size.width) + "x" + std::to_string(size.height) + "/" +
         std::to_string(side) + "/" + std::to_string(count);
}

/// Two numbers with a comma between them.
std::pair<double, double> pair_of(const std::string& text) {
  std::size_t end = 0;
  const double first = std::stod(text, &end);
  if (end >= text.size() || text[end] != ',')
    fail({Code::invalid_argument, "not two numbers: " + text});
  return {first, std::stod(text.substr(end + 1))};
}

/// The value of an enumeration by its name, among all in order.
template <class T>
T one_of(const std::string& text, std::initializer_list<const char*> names) {
  const auto* const found = std::ranges::find(names, text);
  if (found == names.end()) fail({Code::invalid_argument, "unknown: " + text});
  return static_cast<T>(found - names.begin());
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
    else if (arg.starts_with("--frame="))
      options.frame = arg.substr(8);
    else if (arg.starts_with("--template="))
      options.templates.push_back(arg.substr(11));
    else if (arg.starts_with("--mask="))
      options.mask = one_of<MaskShape>(arg.substr(7), {"none", "disc", "soft"});
    else if (arg.starts_with("--angles="))
      std::tie(options.poses.angle_start, options.poses.angle_extent) = pair_of(arg.substr(9));
    else if (arg.starts_with("--scales="))
      std::tie(options.poses.scale_min, options.poses.scale_max) = pair_of(arg.substr(9));
    else if (arg.starts_with("--levels="))
      options.poses.pyramid_levels = std::stoi(arg.substr(9));
    else if (arg == "--exhaustive")
      options.poses.exhaustive = true;
    else if (arg.starts_with("--threshold="))
      options.threshold = std::stod(arg.substr(12));
    else if (arg.starts_with("--bits="))
      options.bits = std::clamp(std::stoi(arg.substr(7)), 8, 16);
    else if (arg.starts_with("--match-on="))
      options.match_on = one_of<MatchOn>(arg.substr(11), {"luma", "color", "edges", "color-edges"});
    else if (arg.starts_with("--confirm="))
      options.confirm_threshold = std::stod(arg.substr(10));
    else if (arg.starts_with("--pixels="))
      options.pixels = one_of<Pixels>(arg.substr(9), {"gray", "rgb", "nv12"});
    else if (arg.starts_with("--matchers="))
      options.matchers = std::max(1, std::stoi(arg.substr(11)));
    else if (arg.starts_with("--max-peaks="))
      options.max_peaks = std::stoi(arg.substr(12));
    else if (arg.starts_with("--mixed="))
      options.mixed = std::stoi(arg.substr(8));
    else if (arg.starts_with("--peaks="))
      options.peaks = arg.substr(8);
    else if (arg.starts_with("--seconds="))
      options.seconds = std::stod(arg.substr(10));
    else
      fail({Code::invalid_argument, "unknown argument " + arg});
  }
  if (options.kernels.empty()) options.kernels = {"auto"};
  if (options.frame.empty() && !options.templates.empty())
    fail({Code::invalid_argument, "--template needs --frame"});
  return options;
}

/// Templates that are cut from the image.
void bench_image(const Device& device, const Options& options, const std::string& kernel,
                 const Image& image) {
  if (options.mixed > 0)
    return bench(device, options, kernel, image, cut(image, {32, 48, 64, 80, 96}, options.mixed));
  for (const int side : {16, 32, 64, 128})
    for (const int count : {1, 32})
      if (fnmatch(options.filter.c_str(), name_of(image.size, side, count).c_str(), 0) == 0)
        bench(device, options, kernel, image, cut(image, {side}, count));
}

void bench_random(const Device& device, const Options& options, const std::string& kernel) {
  constexpr Size hd{1920, 1080};
  for (const Size size : {Size{192, 192}, Size{640, 480}, hd, Size{3840, 2160}})
    if (options.mixed == 0 || size == hd)
      bench_image(device, options, kernel,
                  deepened(random_image(size, options.pixels), options.bits));
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const Device device = require(open_device(options.backend));
  require(make_current(device));
  std::puts(
      "backend,device,kernel,width,height,side,templates,latency_ms,stream_ms,peaks,content,mask,"
      "match_on,pixels,processor_ms");
  for (const std::string& kernel : options.kernels)
    if (options.frame.empty())
      bench_random(device, options, kernel);
    else if (options.templates.empty())
      bench_image(device, options, kernel, image_of(options.frame, options));
    else
      bench_files(device, options, kernel);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The library by its public interface: any settings, sizes and layouts. What it accepts, all
// kernels answer alike, and the answers are inside the searched region.
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include <xcorr/match.hpp>

#include "bytes.hpp"

namespace {

using namespace xcorr;

/// Pixels in memory of exactly the size that the view needs.
struct Image {
  std::unique_ptr<std::uint8_t[]> pixels;
  MatrixView view;
};

Image take_image(Bytes& bytes, int max_extent) {
  const Size size{bytes.mostly_between(1, max_extent), bytes.mostly_between(1, max_extent)};
  const int padding = bytes.between(0, 3);
  // What is out of range must be refused before it is read, except that it cannot be known to be
  // too large.
  const bool real = !size.empty() && size.width <= max_extent && size.height <= max_extent;
  Image image;
  image.view = {nullptr, ElementType::u8, size, real ? size.width + padding : size.width};
  if (!real) image.view.size = {std::min(size.width, 0), std::min(size.height, 0)};
  const std::size_t count =
      real ? static_cast<std::size_t>(image.view.pitch) * size.height - padding : 1;
  image.pixels = std::make_unique<std::uint8_t[]>(count);
  const unsigned seed = bytes.number<std::uint8_t>(), flat = bytes.between(0, 7);
  for (std::size_t i = 0; i < count; ++i)
    image.pixels[i] =
        static_cast<std::uint8_t>(flat == 0 ? seed : (i * 2654435761u + i * i * seed) >> 11);
  image.view.data = image.pixels.get();
  return image;
}

PoseRange take_poses(Bytes& bytes) {
  const auto number = [&bytes](int least, int most, double unit) {
    return bytes.between(0, 7) ? unit * bytes.between(least, most) : bytes.number<double>();
  };
  PoseRange poses;
  poses.angle_start = number(-360, 360, 1);
  poses.angle_extent = number(0, 360, 1);
  if (bytes.flag()) poses.angle_step = number(5, 90, 1);
  poses.scale_min = number(5, 15, 0.1);
  poses.scale_max = number(5, 15, 0.1);
  if (bytes.flag()) poses.scale_step = number(1, 10, 0.1);
  poses.pyramid_levels = bytes.mostly_between(-1, 2);
  poses.exhaustive = bytes.flag();
  poses.max_overlap = number(0, 100, 0.01);
  if (bytes.flag())
    poses.vicinity = {number(-180, 180, 1), number(0, 90, 1), number(5, 15, 0.1),
                      number(0, 10, 0.1)};
  return poses;
}

MatchSettings take_settings(Bytes& bytes) {
  MatchSettings settings;
  settings.method = static_cast<Method>(bytes.between(0, 6));
  settings.threshold =
      bytes.between(0, 7) ? bytes.between(-100, 100) / 100.0 : bytes.number<double>();
  settings.max_peaks = bytes.mostly_between(1, 6);
  settings.min_peak_distance = bytes.mostly_between(0, 8);
  settings.subpixel = static_cast<Subpixel>(bytes.between(0, 3));
  if (bytes.flag()) settings.subpixel_threshold = bytes.number<double>();
  if (bytes.flag())
    settings.search_region = {bytes.mostly_between(-5, 20), bytes.mostly_between(-5, 20),
                              bytes.mostly_between(0, 60), bytes.mostly_between(0, 60)};
  if (bytes.flag())
    settings.prefilter_sigma = bytes.flag() ? bytes.between(0, 30) / 10.0 : bytes.number<double>();
  if (bytes.flag()) settings.poses = take_poses(bytes);
  if (bytes.flag()) settings.polarity = static_cast<Polarity>(bytes.between(0, 3));
  if (bytes.flag())
    settings.min_contrast = bytes.flag() ? bytes.between(0, 80) : bytes.number<double>();
  return settings;
}

bool same(const std::vector<Peak>& a, const std::vector<Peak>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Peak& p, const Peak& q) {
    return p.template_index == q.template_index && p.x == q.x && p.y == q.y && p.score == q.score &&
           p.inverted == q.inverted;
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  static const Device device = open_device(Backend::cpu).value();
  const Image frame = take_image(bytes, 64);
  std::vector<Image> templates;
  for (int left = bytes.between(0, 3); left > 0; --left) templates.push_back(take_image(bytes, 24));
  std::vector<MatrixView> views;
  for (const Image& image : templates) views.push_back(image.view);
  MatchSettings settings = take_settings(bytes);
  const std::string other = bytes.text();

  std::optional<std::vector<Peak>> first;
  for (const std::string& kernel :
       {std::string("auto"), std::string("direct"), std::string("fft"), other}) {
    settings.kernel = kernel;
    auto matcher = Matcher::create(device);
    require(matcher.ok(), "there is a CPU");
    if (!matcher.value().set_templates(views).ok()) return 0;
    if (!matcher.value().prepare(ElementType::u8, frame.view.size, settings).ok()) continue;
    if (!matcher.value().enqueue(frame.view).ok()) continue;
    std::vector<Peak> peaks;
    require(matcher.value().collect(peaks).ok(), "what is enqueued is found");
    const Rect region = searched_region(frame.view.size, settings.search_region);
    for (const Peak& peak : peaks) {
      require(std::isfinite(peak.score) && peak.template_index < views.size(), "a peak is sound");
      require(peak.x > region.x - 1 && peak.y > region.y - 1 &&
                  peak.x + peak.width < region.x + region.width + 1 &&
                  peak.y + peak.height < region.y + region.height + 1,
              "a peak is inside the region");
    }
    if (!first) first = peaks;
    require(same(*first, peaks), "all kernels find the same");
  }
  return 0;
}

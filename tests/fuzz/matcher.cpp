// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The library by its public interface: any settings, sizes and layouts, templates with masks of any
// shape, thin and checkered ones. What it accepts, all kernels answer alike, and the answers are
// inside the searched region, or stick out of it as far as they may.
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
  const unsigned seed = bytes.number<std::uint8_t>(), fill = bytes.between(0, 7);
  const std::size_t pitch = real ? static_cast<std::size_t>(image.view.pitch) : 1;
  for (std::size_t i = 0; i < count; ++i) {
    const bool odd = (i / pitch + i % pitch) & 1;
    image.pixels[i] =
        static_cast<std::uint8_t>(fill == 0   ? seed
                                  : fill == 1 ? odd * seed
                                              : (i * 2654435761u + i * i * seed) >> 11);
  }
  image.view.data = image.pixels.get();
  return image;
}

/// Of a template; without pixels where all count.
Image take_mask(Bytes& bytes, Size size) {
  Image mask;
  const int kind = bytes.between(0, 6);
  if (kind == 0 || size.empty()) return mask;
  const int first = bytes.between(0, 24), second = bytes.between(0, 24);
  mask.pixels = std::make_unique<std::uint8_t[]>(static_cast<std::size_t>(size.area()));
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      const bool counts = kind == 1   ? (x + y) & 1
                          : kind == 2 ? x >= first && y >= second
                          : kind == 3 ? x < first && y < second
                          : kind == 4 ? x == first || y == second
                                      : (x * 7 + y * first) % (second + 1) == 0;
      mask.pixels[static_cast<std::size_t>(y) * size.width + x] =
          kind == 6 ? static_cast<std::uint8_t>(first * x + second * y)
          : counts  ? 255
                    : 0;
    }
  mask.view = {mask.pixels.get(), ElementType::u8, size, size.width};
  return mask;
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
  if (bytes.flag())
    settings.overhang = bytes.between(0, 7) ? bytes.between(0, 10) / 20.0 : bytes.number<double>();
  if (bytes.flag()) settings.polarity = static_cast<Polarity>(bytes.between(0, 3));
  if (bytes.flag())
    settings.min_contrast = bytes.flag() ? bytes.between(0, 80) : bytes.number<double>();
  settings.weights = bytes.flag();
  if (bytes.flag())
    settings.confirm_threshold = bytes.flag() ? bytes.between(0, 80) : bytes.number<double>();
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
  std::vector<Image> masks;
  std::vector<MatrixView> mask_views;
  if (bytes.flag())
    for (const MatrixView& view : views) masks.push_back(take_mask(bytes, view.size));
  for (const Image& mask : masks) mask_views.push_back(mask.view);
  const std::string other = bytes.text();

  std::optional<std::vector<Peak>> first;
  for (const std::string& kernel :
       {std::string("auto"), std::string("direct"), std::string("fft"), other}) {
    settings.kernel = kernel;
    auto matcher = Matcher::create(device);
    require(matcher.ok(), "there is a CPU");
    if (!matcher.value().set_templates(views, mask_views).ok()) return 0;
    if (!matcher.value().prepare(ElementType::u8, frame.view.size, settings).ok()) continue;
    if (!matcher.value().enqueue(frame.view).ok()) continue;
    std::vector<Peak> peaks;
    require(matcher.value().collect(peaks).ok(), "what is enqueued is found");
    const Rect region = searched_region(frame.view.size, settings.search_region);
    for (const Peak& peak : peaks) {
      require(std::isfinite(peak.score) && peak.template_index < views.size(), "a peak is sound");
      // Of poses the tips of corners do not count; of what may stick out its middle need not be in.
      const bool sticks_out = settings.overhang > 0 || !masks.empty();
      const double border = settings.poses.any() ? 3 : 1;
      const double across = border + (sticks_out ? peak.width : 0),
                   down = border + (sticks_out ? peak.height : 0);
      require(peak.x > region.x - across && peak.y > region.y - down &&
                  peak.x + peak.width < region.x + region.width + across &&
                  peak.y + peak.height < region.y + region.height + down,
              "a peak is inside the region");
    }
    if (!first) first = peaks;
    require(same(*first, peaks), "all kernels find the same");
  }
  return 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The oracle of the stages that make images at poses, in plain loops: bit for bit as their headers
// define them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "oracle/oracle.hpp"
#include "oracle/pyramids.hpp"
#include "oracle/reference_types.hpp"
#include "stages/match/score.hpp"
#include "stages/poses/pyramid_down.hpp"
#include "stages/poses/warp_template.hpp"

namespace xcorr::cpu {
namespace {

template <class T>
void pyramid_down_plane(const stage::PyramidDown::Problem& p, const std::byte* pixels,
                        std::byte* halved) {
  for (int y = 0; y < p.half.height; ++y)
    for (int x = 0; x < p.half.width; ++x) {
      double sum = 0;
      for (int i = 0; i < 4; ++i)
        sum += row_of<T>(
            pixels, p.pitch,
            std::clamp(
                2 * y + i / 2 - p.before, 0,
                p.image.height - 1))[std::clamp(2 * x + i % 2 - p.before, 0, p.image.width - 1)];
      const double mean = std::is_floating_point_v<T> ? sum / 4 : std::floor((sum + 2) / 4);
      row_of<T>(halved, p.half_pitch, y)[x] = static_cast<T>(mean);
    }
}

template <class T>
void pyramid_down_as(const stage::PyramidDown::Problem& p, const stage::PyramidDown::Buffers& b) {
  for (int plane = 0; plane < p.planes; ++plane)
    pyramid_down_plane<T>(p, static_cast<const std::byte*>(b.pixels) + plane * p.plane,
                          static_cast<std::byte*>(b.halved) + plane * p.half_plane);
}

Status pyramid_down(const stage::PyramidDown::Problem& p, const Device&,
                    const stage::PyramidDown::Buffers& b, PlanState*) {
  return for_type(pyramid_down_as<std::uint8_t>, pyramid_down_as<std::uint16_t>,
                  pyramid_down_as<float>, p, b);
}

template <class T>
void build_pyramid_as(const stage::BuildPyramid::Problem& p,
                      const stage::BuildPyramid::Buffers& b) {
  std::vector<T> pixels;
  for (int y = 0; y < p.pyramid.size.height; ++y) {
    const T* const row = row_of<T>(b.pixels, p.pitch, y);
    pixels.insert(pixels.end(), row, row + p.pyramid.size.width);
  }
  const auto mean = [](double a, double b, double c, double d) {
    const double sum = (a + b) + (c + d);
    return static_cast<T>(std::is_floating_point_v<T> ? sum / 4 : std::floor((sum + 2) / 4));
  };
  std::ranges::copy(oracle::pyramid_of(p.pyramid, pixels, mean), static_cast<T*>(b.pyramid));
}

Status build_pyramid(const stage::BuildPyramid::Problem& p, const Device&,
                     const stage::BuildPyramid::Buffers& b, PlanState*) {
  return for_type(build_pyramid_as<std::uint8_t>, build_pyramid_as<std::uint16_t>,
                  build_pyramid_as<float>, p, b);
}

// ---- warp_template
// -----------------------------------------------------------------------------------

/// Rounded down, also below 0.
std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0); }

/// A coordinate in a level of the template in 128ths of a pixel, rounded to the nearest, from twice
/// the samples between a place and the image's centre. `length`: the template's; `shift`: of the
/// image's centre.
std::int64_t place_in(int length, int level, std::int64_t shift, std::int64_t by_x, std::int64_t x,
                      std::int64_t by_y, std::int64_t y) {
  const std::int64_t from_centre = by_x * x + by_y * y + shift, unit = std::int64_t{1} << 24;
  const std::int64_t twice_centre = floor_div(length * unit, std::int64_t{1} << level) - unit;
  return floor_div(2 * from_centre + twice_centre + (1 << 17), 1 << 18);
}

/// Cubic convolution's kernel at the pixel, in 2048ths; `pixel` is -1 to 2.
int cubic_weight(int pixel, std::int64_t fraction) {
  if (pixel == 0)
    return 2048 - cubic_weight(-1, fraction) - cubic_weight(1, fraction) -
           cubic_weight(2, fraction);
  // Keys' polynomials with a = -1/2, of the distance in 128ths.
  const std::int64_t d = std::abs(pixel * 128 - fraction), one = 128;
  const std::int64_t twice =
      d <= one ? 3 * d * d * d - 5 * d * d * one + 2 * one * one * one
               : -d * d * d + 5 * d * d * one - 8 * d * one * one + 4 * one * one * one;
  return static_cast<int>(floor_div(twice + 1024, 2048));
}

/// Pixels, and sums of weighed ones: integers of those that are. Of others sums round, so that
/// their order matters: rows first.
template <class T>
using WideOf = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;

template <class T>
struct Sample {
  bool counts = true;
  WideOf<T> value = 0;  ///< 256 times
};

/// The nearest integer, if it is to be one.
template <class T>
WideOf<T> divided(WideOf<T> sum, std::int64_t unit) {
  if constexpr (std::is_floating_point_v<T>)
    return sum / unit;
  else
    return floor_div(sum + unit / 2, unit);
}

template <class T>
Sample<T> sample(const stage::WarpTemplate::Problem& p, const stage::WarpTemplate::Buffers& b,
                 int level, std::int64_t u, std::int64_t v) {
  const auto [width, height] = p.pyramid.size_of(level);
  const std::int64_t first = p.pyramid.first_of(level), pitch = p.pyramid.pitch_of(level);
  const std::int64_t left = floor_div(u, 128), top = floor_div(v, 128);
  Sample<T> made;
  for (int j = -1; j <= 2; ++j) {
    WideOf<T> in_row = 0;
    for (int i = -1; i <= 2; ++i) {
      const std::int64_t x = left + i, y = top + j;
      const bool mixed = i >= 0 && j >= 0 && i <= (u % 128 != 0) && j <= (v % 128 != 0);
      const bool inside = x >= 0 && y >= 0 && x < width && y < height;
      if (mixed && (!inside || (p.masking && !b.mask[first + y * pitch + x]))) made.counts = false;
      const WideOf<T> pixel = static_cast<const T*>(
          b.pixels)[first + std::clamp<std::int64_t>(y, 0, height - 1) * pitch +
                    std::clamp<std::int64_t>(x, 0, width - 1)];
      in_row += pixel * cubic_weight(i, u - 128 * left);
    }
    made.value += in_row * cubic_weight(j, v - 128 * top);
  }
  made.value = divided<T>(made.value, 1 << 14);
  return made;
}

template <class T>
void warp_template_as(const stage::WarpTemplate::Problem& p,
                      const stage::WarpTemplate::Buffers& b) {
  T* const images = static_cast<T*>(b.images);
  std::fill_n(images, p.count * p.most.area(), T{0});
  std::fill_n(b.masks, p.count * p.most.area(), std::uint8_t{0});
  for (int i = 0; i < p.count; ++i) {
    const WarpMap& m = b.maps[i];
    const int samples = 1 << m.log2_samples;
    std::int64_t counted = 0;
    TermOf<T> sum = 0, squares = 0;
    for (int y = 0; y < m.height; ++y)
      for (int x = 0; x < m.width; ++x) {
        Sample<T> mean;
        for (int k = 0; k < samples * samples; ++k) {
          const std::int64_t across = 2 * (x * samples + k % samples) + 1 - m.width * samples;
          const std::int64_t down = 2 * (y * samples + k / samples) + 1 - m.height * samples;
          const Size size = p.pyramid.size;
          const Sample<T> one = sample<T>(
              p, b, m.level,
              place_in(size.width, m.level, p.shift_u, m.u_by_x, across, m.u_by_y, down),
              place_in(size.height, m.level, p.shift_v, m.v_by_x, across, m.v_by_y, down));
          mean.counts = mean.counts && one.counts;
          mean.value += one.value;
        }
        if (!mean.counts) continue;
        WideOf<T> value = divided<T>(mean.value, std::int64_t{256} * samples * samples);
        if constexpr (!std::is_floating_point_v<T>)
          value = std::clamp<std::int64_t>(value, 0, std::numeric_limits<T>::max());
        const std::int64_t at = i * p.most.area() + std::int64_t{y} * p.most.width + x;
        images[at] = static_cast<T>(value);
        b.masks[at] = 1;
        ++counted;
        sum += static_cast<TermOf<T>>(images[at]);
        squares += static_cast<TermOf<T>>(images[at]) * images[at];
      }
    b.sums[i] = {{double(sum), double(squares), double(counted * squares - sum * sum)},
                 double(counted)};
  }
}

using Plane = std::vector<std::uint8_t>;

/// Whether all of a mask within an edge's reach of a pixel counts.
bool counts_round(const Plane& mask, Size size, int x, int y) {
  for (int j = -edge_radius; j <= edge_radius; ++j)
    for (int i = -edge_radius; i <= edge_radius; ++i)
      if (!mask[std::int64_t{y + j} * size.width + x + i]) return false;
  return true;
}

/// The planes of the edges of an image: those of it at full size, halved.
std::vector<Plane> edges_of_image(const TemplatePyramid& pyramid, const Masking& masking,
                                  const std::uint8_t* pixels, const std::uint8_t* mask,
                                  const WarpMap& map, const WarpEdges& edges) {
  const WarpMap whole = edges.at_full_size(map);
  const Size size{whole.width, whole.height};
  Plane picture(edges.sources * size.area()), counts(size.area()), counted;
  WarpedTemplateSums unused{};
  for (int i = 0; i < edges.sources; ++i)
    warp_template_as<std::uint8_t>({pyramid, masking, size, 1}, {{},
                                                                 pixels + i * pyramid.area(),
                                                                 mask,
                                                                 &whole,
                                                                 &picture[i * size.area()],
                                                                 counts.data(),
                                                                 &unused});
  const Rect inner{edge_radius, edge_radius, size.width - 2 * edge_radius,
                   size.height - 2 * edge_radius};
  for (int y = inner.y; y < inner.y + inner.height; ++y)
    for (int x = inner.x; x < inner.x + inner.width; ++x)
      counted.push_back(counts_round(counts, size, x, y));
  Size left = inner.size();
  Plane made(edge_planes * left.area());
  const stage::Edges::Problem making{size,          inner,       size.width,
                                     edges.sources, size.area(), left.width,
                                     left.area(),   edges.rule,  true};
  oracle::variant_for<stage::Edges>(making).value()->launch(
      making, Device(), {{}, picture.data(), counted.data(), made.data()}, nullptr);
  std::vector<Plane> planes;
  for (int i = 0; i < edge_planes; ++i)
    planes.emplace_back(made.begin() + i * left.area(), made.begin() + (i + 1) * left.area());
  for (int level = 0; level < edges.level; ++level) {
    const Size half = half_of(left);
    for (Plane& plane : planes) {
      Plane halved(half.area());
      pyramid_down_as<std::uint8_t>({left, half, left.width, half.width},
                                    {{}, plane.data(), halved.data()});
      plane = std::move(halved);
    }
    left = half;
  }
  return planes;
}

WarpedTemplateSums sums_of(const Plane& plane) {
  const auto n = std::ssize(plane);
  std::int64_t sum = 0, squares = 0;
  for (const std::int64_t value : plane) {
    sum += value;
    squares += value * value;
  }
  return {{double(sum), double(squares), double(n * squares - sum * sum)}, double(n)};
}

void warp_edges(const stage::WarpTemplate::Problem& p, const stage::WarpTemplate::Buffers& b) {
  auto* const images = static_cast<std::uint8_t*>(b.images);
  std::fill_n(b.masks, p.count * p.most.area(), std::uint8_t{0});
  for (int i = 0; i < p.count; ++i) {
    const auto [width, height] = std::pair(b.maps[i].width, b.maps[i].height);
    const std::vector<Plane> planes =
        edges_of_image(p.pyramid, p.masking, static_cast<const std::uint8_t*>(b.pixels), b.mask,
                       b.maps[i], p.edges);
    for (int plane = 0; plane < edge_planes; ++plane) {
      std::uint8_t* const to = images + plane * p.edges.plane + i * p.most.area();
      std::fill_n(to, p.most.area(), std::uint8_t{no_edge});
      for (int y = 0; y < height; ++y)
        std::copy_n(&planes[plane][std::int64_t{y} * width], width,
                    to + std::int64_t{y} * p.most.width);
    }
    for (int y = 0; y < height; ++y)
      std::fill_n(b.masks + i * p.most.area() + std::int64_t{y} * p.most.width, width, 1);
    b.sums[i] = sums_of(planes[0]);
  }
}

Status warp_template(const stage::WarpTemplate::Problem& p, const Device&,
                     const stage::WarpTemplate::Buffers& b, PlanState*) {
  if (p.edges.made) {
    warp_edges(p, b);
    return {};
  }
  return for_type(warp_template_as<std::uint8_t>, warp_template_as<std::uint16_t>,
                  warp_template_as<float>, p, b);
}

// ---------------------------------------------------------------------------------------------

constexpr Features any = Features(Feature::u8, Feature::u16, Feature::f32, Feature::planes);
constexpr Variant<stage::PyramidDown> pyramid_down_table[] = {
    {{.name = "reference", .backend = Backend::cpu, .features = any}, {.launch = pyramid_down}},
};
constexpr Variant<stage::BuildPyramid> build_pyramid_table[] = {
    {{.name = "reference", .backend = Backend::cpu, .features = any}, {.launch = build_pyramid}},
};
constexpr Variant<stage::WarpTemplate> warp_template_table[] = {
    {{.name = "reference", .backend = Backend::cpu, .features = any.with(Feature::mask)},
     {.launch = warp_template}},
};
}  // namespace

Family reference_poses_family() {
  return Family(pyramid_down_table, build_pyramid_table, warp_template_table);
}

}  // namespace xcorr::cpu

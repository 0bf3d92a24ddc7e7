// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Edges of warped templates on the CPU: the template is warped at full size, its edges are made,
// and their planes are halved as those of frames are.
#include <algorithm>
#include <vector>

#include "cpu/image/edges.hpp"
#include "cpu/poses/warped.hpp"
#include "stages/poses/pyramid_down.hpp"

namespace xcorr::cpu {
namespace {

/// Of a mask the pixels round which all count, as far as an edge reaches: without that rim.
std::vector<std::uint8_t> inset(const std::vector<std::uint8_t>& mask, Size size) {
  constexpr int across = 2 * edge_radius + 1;
  const Size inner{size.width - across + 1, size.height - across + 1};
  std::vector<std::uint8_t> rows(std::size_t(inner.width) * size.height);
  for (int y = 0; y < size.height; ++y) {
    const std::uint8_t* const from = mask.data() + std::int64_t{y} * size.width;
    std::uint8_t* const to = rows.data() + std::int64_t{y} * inner.width;
    std::copy_n(from, inner.width, to);
    for (int k = 1; k < across; ++k)
      for (int x = 0; x < inner.width; ++x) to[x] &= from[x + k];
  }
  std::vector<std::uint8_t> made(inner.area(), 1);
  for (int y = 0; y < inner.height; ++y) {
    std::uint8_t* const to = made.data() + std::int64_t{y} * inner.width;
    for (int k = 0; k < across; ++k) {
      const std::uint8_t* const from = rows.data() + std::int64_t{y + k} * inner.width;
      for (int x = 0; x < inner.width; ++x) to[x] &= from[x];
    }
  }
  return made;
}

std::vector<std::uint8_t> halved(const std::vector<std::uint8_t>& plane, Size size) {
  const Size half = half_of(size);
  std::vector<std::uint8_t> made(half.area());
  for (int y = 0; y < half.height; ++y) {
    const std::uint8_t* const upper = plane.data() + std::int64_t{2 * y} * size.width;
    for (int x = 0; x < half.width; ++x)
      made[std::int64_t{y} * half.width + x] = pyramid_down_pixel(upper, upper + size.width, x);
  }
  return made;
}

}  // namespace

std::array<WarpedTemplateSums, edge_planes> warped_edges(const TemplatePyramid& pyramid,
                                                         const std::uint8_t* pixels,
                                                         const std::uint8_t* mask,
                                                         const WarpMap& map, const WarpEdges& edges,
                                                         std::int64_t pitch, std::uint8_t* image) {
  const WarpMap whole = edges.at_full_size(map);
  const Size size{whole.width, whole.height};
  std::vector<std::uint8_t> picture(edges.sources * size.area()), counted(size.area());
  for (int i = 0; i < edges.sources; ++i)
    warped(WarpedTemplate(pyramid, pixels + i * pyramid.area(), mask, whole.level), whole,
           size.width, picture.data() + i * size.area(), counted.data());

  stage::Edges::Problem problem;
  problem.size = size;
  problem.pitch = size.width;
  problem.planes = edges.sources;
  problem.plane = size.area();
  problem.region = {edge_radius, edge_radius, size.width - 2 * edge_radius,
                    size.height - 2 * edge_radius};
  problem.edge_pitch = problem.region.width;
  problem.edge_plane = problem.region.size().area();
  problem.rule = edges.rule;
  problem.masked = true;
  const std::vector<std::uint8_t> counts = inset(counted, size);
  std::vector<std::uint8_t> planes(edge_planes * problem.edge_plane);
  std::vector<std::byte> scratch(edge_scratch_bytes(problem.region.width));
  make_edge_rows(problem, {{}, picture.data(), counts.data(), planes.data()}, scratch.data(), 0,
                 problem.region.height);

  std::array<WarpedTemplateSums, edge_planes> sums;
  for (int i = 0; i < edge_planes; ++i) {
    const auto first = planes.begin() + i * problem.edge_plane;
    std::vector<std::uint8_t> plane(first, first + problem.edge_plane);
    Size left = problem.region.size();
    for (int level = 0; level < edges.level; ++level, left = half_of(left))
      plane = halved(plane, left);
    std::int64_t sum = 0, squares = 0;
    for (const std::uint8_t value : plane) {
      sum += value;
      squares += value * value;
    }
    for (int y = 0; y < map.height; ++y)
      std::copy_n(plane.begin() + std::int64_t{y} * map.width, map.width,
                  image + i * edges.plane + y * pitch);
    sums[i] = warped_sums<std::uint8_t>(left.area(), sum, squares);
  }
  return sums;
}

}  // namespace xcorr::cpu

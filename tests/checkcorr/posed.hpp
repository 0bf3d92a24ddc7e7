// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A case's first template at some poses: what the tests of the stages of poses have in common.
#pragma once

#include <vector>

#include "match/poses/grid.hpp"
#include "oracle/pyramids.hpp"
#include "stage_test.hpp"
#include "stages/common/rows.hpp"

namespace checkcorr {

/// Cases that are small enough to turn, and tried once.
inline bool is_posed(const Case& c) {
  return !c.filter && is_matching(c) && c.right.area() <= 4500;
}

/// Of none, one or two halvings.
inline xcorr::TemplatePyramid template_pyramid(const Case& c) {
  const int shorter = std::min(c.right.width, c.right.height);
  return {c.right, shorter >= 8 ? 2 : shorter >= 3 ? 1 : 0};
}

/// Of many sizes, all round or, which has ends, half of that. `disc`: what counts is one.
inline xcorr::PoseGrid pose_grid(const Case& c, bool disc, bool all_round) {
  xcorr::PoseRange range;
  range.angle_extent = all_round ? 360 : 180;
  range.scale_min = 0.7;
  range.scale_max = 1.3;
  const int diameter = c.right.width % 2 == 0 ? 0 : (c.right.width + c.right.height) / 2;
  return {range, c.right, disc, diameter, 2, template_pyramid(c).halvings};
}
/// One or the other.
inline xcorr::PoseGrid pose_grid(const Case& c) {
  return pose_grid(c, c.mask == Mask::disc, c.left.height % 2 == 0);
}

/// Half of the cases have a ridge, round a point inside the template or outside.
inline xcorr::PoseSteps steps_with_ridge(const Case& c, const xcorr::PoseGrid& grid) {
  xcorr::PoseSteps steps = grid.steps();
  if ((c.left.width + c.right.height) / 4 % 2 == 0)
    steps.ridge = {2 + c.right.width % 4, 100 * c.right.width, -70 * c.right.height};
  return steps;
}

/// Upright, turned, scaled and halved ones.
inline std::vector<xcorr::WarpMap> warp_template_maps(const Case& c) {
  const xcorr::PoseGrid upright({}, c.right, false, 0, 2, template_pyramid(c).halvings),
      grid = pose_grid(c, false, true), round = pose_grid(c, true, true);
  std::vector<xcorr::WarpMap> maps{upright.map(0, {}), upright.map(1, {})};
  for (int level = 0; level <= 2; ++level)
    for (int i = 1; i <= 3; ++i)
      maps.push_back((i == 2 ? round : grid)
                         .map(level, {(i * grid.angles(level) / 5 + i) % grid.angles(level),
                                      i % grid.scales(level)}));
  return maps;
}

/// Of a case of two planes, what makes edges of its template, whose planes are then not compared.
inline xcorr::WarpEdges warp_edges(const Case& c, int level) {
  if (c.planes != xcorr::edge_planes) return {};
  const int contrast = c.right.height % 3 * 4 * xcorr::edge_unit;
  return {true,
          {std::max(1, contrast * contrast), c.left.height % 2 == 1, c.right.width % 2 == 1},
          level,
          0,
          c.right.area() < 1000 ? xcorr::color_planes : 1};
}

/// Of which edges of a level are made.
inline xcorr::PoseGrid edges_grid(const Case& c, int level) {
  xcorr::PoseRange range;
  range.angle_extent = 360;
  range.scale_min = 0.7;
  range.scale_max = 1.3;
  return {range, c.right, false, 0, level, template_pyramid(c).halvings};
}
/// Of edges of a level, maybe one at which a pixel is more than a block makes at once.
inline std::vector<xcorr::WarpMap> warp_edges_maps(const Case& c, int level) {
  const xcorr::PoseGrid grid = edges_grid(c, level);
  std::vector<xcorr::WarpMap> maps;
  for (int i = 0; i < 4; ++i)
    maps.push_back(grid.map(level, {i * grid.angles(level) / 5, i % grid.scales(level)}));
  return maps;
}
inline int level_of_edges(const Case& c) {
  constexpr int levels[] = {0, 1, 3, 5, 6, 7, 2};
  return levels[c.left.width % std::size(levels)];
}

/// Those of the case's problem.
inline std::vector<xcorr::WarpMap> maps_of(const Case& c) {
  return c.planes == xcorr::edge_planes ? warp_edges_maps(c, level_of_edges(c))
                                        : warp_template_maps(c);
}

/// The problem of the stage warp_template.
inline xcorr::stage::WarpTemplate::Problem warp_template_problem(const Scenario& scenario) {
  const std::vector<xcorr::WarpMap> maps = maps_of(scenario.test);
  xcorr::Size most;
  for (const xcorr::WarpMap& map : maps)
    most = {std::max(most.width, map.width), std::max(most.height, map.height)};
  xcorr::WarpEdges edges = warp_edges(scenario.test, level_of_edges(scenario.test));
  edges.plane = std::ssize(maps) * most.area();
  const bool shifted = !edges.made && scenario.test.left.width % 2 == 1;
  return {template_pyramid(scenario.test),
          scenario.problem.masking,
          most,
          static_cast<int>(maps.size()),
          shifted ? 5 << 21 : 0,
          shifted ? -3 << 20 : 0,
          scenario.test.type,
          edges};
}

template <class T>
void set(Values& values, const char* name, const std::vector<T>& records) {
  const auto* bytes = reinterpret_cast<const std::byte*>(records.data());
  values[name].assign(bytes, bytes + records.size() * sizeof(T));
}

inline void set_tables(Scenario& scenario, const xcorr::PoseGrid& grid) {
  set(scenario.values, "angles", grid.angle_table());
  set(scenario.values, "inverse_scales", grid.inverse_scales());
}
/// The tables of the case's grid, which is returned.
inline xcorr::PoseGrid set_pose_tables(Scenario& scenario) {
  xcorr::PoseGrid grid = pose_grid(scenario.test);
  set_tables(scenario, grid);
  return grid;
}

/// The pixels of the first template, dense and unmasked; of one of its planes.
template <class T>
std::vector<T> first_template(const Scenario& scenario, int plane = 0) {
  const Problem& p = scenario.problem.correlate;
  const auto* rows = scenario.values.at("unmasked").data() + plane * p.rights * p.right_stride;
  std::vector<T> pixels;
  for (int y = 0; y < p.right.height; ++y)
    for (int x = 0; x < p.right.width; ++x)
      pixels.push_back(xcorr::row_of<T>(rows, p.right_pitch, y)[x]);
  return pixels;
}

/// What pixels of floating point may differ by: a few roundings of the largest one.
template <class T>
double rounding_of(std::span<const T> pixels) {
  if (!std::is_floating_point_v<T>) return 0;
  double largest = 0;
  for (const T pixel : pixels) largest = std::max(largest, std::abs(double(pixel)));
  return 4e-7 * largest;
}

/// The pyramids of the first template, of so many planes, of which there may be fewer, and its
/// mask; what their pixels are does not matter.
inline void set_pyramids(Scenario& scenario, int planes = 1) {
  const auto pyramid = template_pyramid(scenario.test);
  with_pixels(scenario.test.type, [&]<class T>() {
    std::vector<T> all;
    for (int plane = 0; plane < planes; ++plane) {
      const auto one = xcorr::oracle::pyramid_of(
          pyramid, first_template<T>(scenario, plane % scenario.test.planes),
          [](T a, T b, T, T d) { return static_cast<T>(a / 4 + b / 4 + d / 2); });
      all.insert(all.end(), one.begin(), one.end());
    }
    set(scenario.values, "pyramid", all);
  });
  if (!scenario.problem.masking) return;
  const auto mask = view<std::uint8_t>(scenario.values, "mask");
  set(scenario.values, "mask_pyramid",
      xcorr::oracle::pyramid_of(pyramid, std::vector<std::uint8_t>(mask.begin(), mask.end()),
                                [](int a, int b, int, int d) { return std::uint8_t(a & b & d); }));
}

inline void set_warp_template_inputs(Scenario& scenario) {
  set_pyramids(scenario, warp_edges(scenario.test, 0).sources);
  set(scenario.values, "maps", maps_of(scenario.test));
}

/// The frame is the first left, of so many planes.
inline void set_frame(Scenario& scenario, int planes = 1) {
  const Problem& p = scenario.problem.correlate;
  const auto& lefts = scenario.values["lefts"];
  const auto bytes = (planes - 1) * p.left_plane + (p.left.height - 1) * p.left_pitch +
                     p.left.width * static_cast<std::int64_t>(size_of(scenario.test.type));
  scenario.values["frame"].assign(lefts.begin(), lefts.begin() + bytes);
}

}  // namespace checkcorr

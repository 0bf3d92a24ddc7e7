// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage edges: bytes, bit for bit. A case's first left is the image, with its planes, of which
// its shifts or all is wanted; what else a problem may ask for changes with the sizes.
#include "stages/image/edges.hpp"
#include "stage_test.hpp"

namespace checkcorr {
namespace {

class EdgesTest final : public StageTest<xcorr::stage::Edges> {
  bool concerns(const Case& c) const override {
    return !c.filter && c.type == ElementType::u8 && is_matching(c);
  }
  bool takes(const Case& c, const Trial& trial) const override {
    return concerns(c) && !trial.method && !trial.centred;
  }
  Problem problem(const Scenario& scenario) const override {
    const Case& c = scenario.test;
    const xcorr::Problem& correlate = scenario.problem.correlate;
    Problem p{c.left,
              {0, 0, c.left.width, c.left.height},
              correlate.left_pitch,
              c.planes,
              correlate.left_plane};
    if (c.right.width % 3) p.region = correlate.shifts;
    p.edge_pitch = p.region.width + c.pad;
    p.edge_plane = p.edge_pitch * (p.region.height + (c.pad ? 1 : 0));
    const int contrast = c.right.height % 4 * 8 * xcorr::edge_unit;
    p.rule = {std::max(1, contrast * contrast), c.left.height % 2 == 1, c.right.height % 2 == 1};
    p.masked = c.left.width % 3 == 1;
    return p;
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    const Problem p = problem(scenario);
    const auto& lefts = scenario.values["lefts"];
    scenario.values["edge_image"].assign(
        lefts.begin(),
        lefts.begin() + (p.planes - 1) * p.plane + (p.size.height - 1) * p.pitch + p.size.width);
    auto& mask = scenario.values["edge_mask"];
    mask.clear();
    for (std::int64_t i = 0; p.masked && i < p.region.size().area(); ++i)
      mask.push_back(std::byte{i % 7 != 3});
    return {};
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const Problem p = problem(t.scenario);
    const auto expected = view<std::uint8_t>(t.scenario.values, "edges"),
               actual = view<std::uint8_t>(got, "edges");
    for (int i = 0; i < xcorr::edge_planes; ++i)
      comparison.image("edges", p.region.size(), p.edge_pitch, expected.subspan(i * p.edge_plane),
                       actual.subspan(i * p.edge_plane));
  }
} const edges_test;

}  // namespace
}  // namespace checkcorr

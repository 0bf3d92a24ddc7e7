// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage feature_maps: histograms within 1e-4, but of one in a hundred, where a gradient is as
// near to one direction as to the next, to rounding; what is learned within 1e-4 on a CPU, and as
// precisely as halves are on a GPU, which computes with these.
#include <numeric>
#include <span>

#include "tracked.hpp"

namespace checkcorr {
namespace {

class FeatureMapsTest final : public StageTest<xcorr::stage::FeatureMaps> {
  bool concerns(const Case& c) const override { return is_tracked(c); }
  Problem problem(const Scenario& scenario) const override {
    return feature_maps_problem(scenario);
  }
  xcorr::Status prepare(Scenario& scenario) const override { return make_spectra(scenario); }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const auto right = view<float>(t.scenario.values, "channels"),
               made = view<float>(got, "channels");
    const auto energies = view<double>(t.scenario.values, "energies"),
               made_energies = view<double>(got, "energies");
    const std::size_t each = right.size() / tracked_windows;
    const double of_learned = t.variant.backend == xcorr::Backend::cpu ? 1e-4 : 2e-3;
    for (const int window : looked_at) {
      std::size_t off = 0;
      for (int cell = 0; cell < xcorr::tracker::cells; ++cell)
        for (int channel = 0; channel < xcorr::tracker::channels; ++channel) {
          const std::size_t i = window * each + xcorr::tracker::place_of(cell, channel);
          const auto place = [&] { return "channels[" + std::to_string(i) + ']'; };
          const bool learned = channel >= xcorr::tracker::directions;
          comparison.value(place, right[i], made[i], learned ? of_learned : 0.2);
          off += !learned && std::abs(right[i] - made[i]) > 1e-4;
        }
      comparison.value([] { return "how many channels are off"; }, 0.0, static_cast<double>(off),
                       static_cast<double>(each) / 100);
      constexpr int parts = xcorr::tracker::energy_parts;
      const auto sum_of = [&](std::span<const double> all) {
        const auto of_window = all.subspan(window * parts, parts);
        return std::accumulate(of_window.begin(), of_window.end(), 0.0);
      };
      const double energy = sum_of(energies);
      comparison.value([&] { return "the energy of window " + std::to_string(window); }, energy,
                       sum_of(made_energies), 0.005 * energy + 1e-6);
      double squares = 0;
      for (const float value : made.subspan(window * each, each)) squares += double{value} * value;
      comparison.value([] { return "the energy of what was made"; }, squares, sum_of(made_energies),
                       1e-5 * squares);
    }
  }
} const feature_maps_test;

}  // namespace
}  // namespace checkcorr

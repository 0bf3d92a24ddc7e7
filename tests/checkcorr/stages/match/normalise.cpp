// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage normalise: scores of given products and sums.
#include "scores_test.hpp"

namespace checkcorr {
namespace {

class NormaliseTest final : public ScoresTest<xcorr::stage::Normalise> {
  bool takes(const Case& c, const Trial& trial) const override {
    // Centred products of u16, of masked bytes and of planes of bytes do not exist, nor an error of
    // those of several planes.
    const bool centred = trial.centred && c.type != ElementType::u16 &&
                         !(trial.with_error && c.planes > 1) &&
                         (c.type != ElementType::u8 || (c.mask == Mask::none && c.planes == 1));
    return concerns(c) && trial.method && (centred || is_usual(c, trial));
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    if (auto s = scenario.make_products(); !s.ok()) return s;
    return scenario.make_window_sums();
  }
} const normalise_test;

}  // namespace
}  // namespace checkcorr

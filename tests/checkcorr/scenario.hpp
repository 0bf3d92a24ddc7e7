// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A case in one of the forms its products can take, with the results of the stages, computed on
// demand: the inputs of each stage, and its expected outputs.
#pragma once

#include <set>
#include <string_view>

#include "oracle/oracle.hpp"
#include "select/select.hpp"
#include "session.hpp"

namespace checkcorr {

/// Who computes them: the oracle, or for benchmarks the variants that "auto" chooses on the CPU.
enum class Maker : std::uint8_t { oracle, fastest };

class Scenario {
 public:
  /// `centred`: as in matching with floating-point products, see
  /// stage::Correlate::Buffers::rights.
  Scenario(const Case& c, std::uint64_t seed, bool centred, Maker maker = Maker::oracle);
  Scenario(const Scenario&) = delete;

  /// The scores and what follows are of this method, and of products with an error that matters.
  void set_method(xcorr::Method method, bool with_error);

  /// Runs a stage on the CPU, unless it has already run.
  template <class Stage>
  xcorr::Status make(const typename Stage::Problem& stage_problem) {
    if (made_.contains(Stage::name)) return {};
    made_.insert(Stage::name);
    return run<Stage>(stage_problem, values, values);
  }

  // The stages of a match, with all that comes before.
  xcorr::Status make_products();
  xcorr::Status make_window_sums();
  xcorr::Status make_scores();
  xcorr::Status make_contrast_filtered();
  xcorr::Status make_overhang_scores();
  xcorr::Status make_candidates();
  xcorr::Status make_peaks();

  /// Products of absolute values, for bounds of rounding errors.
  xcorr::Result<const Values*> magnitudes();

  /// Sums of the window of that place.
  double window_sum_at(std::size_t place) const;
  double window_square_at(std::size_t place) const;

  const Case& test;
  MatchProblem problem;          ///< for a case of matching or correlation
  xcorr::FilterWeights weights;  ///< for a case of the filter
  Values values;
  Values other;  ///< inputs of an earlier frame and bank

 private:
  template <class Stage>
  xcorr::Status run(const typename Stage::Problem& stage_problem, const Values& inputs,
                    Values& results) const;
  /// An error that matters to some windows and not to others: those with less than half the
  /// contrast of the one in the middle.
  void set_error();
  /// That of the case, where the method knows it.
  void set_polarity();

  Maker maker_;
  std::set<std::string_view> made_;
  bool with_error_ = false;
  Values magnitudes_;
};

template <class Stage>
xcorr::Status Scenario::run(const typename Stage::Problem& stage_problem, const Values& inputs,
                            Values& results) const {
  const xcorr::Device cpu;
  const auto variant = maker_ == Maker::oracle ? xcorr::oracle::variant_for<Stage>(stage_problem)
                                               : xcorr::select_variant<Stage>(stage_problem, cpu);
  if (!variant.ok()) return variant.status();
  auto session =
      Session<Stage>::make(*variant.value(), cpu, stage_problem, stage_problem, inputs, 0);
  if (!session.ok()) return session.status();
  if (auto s = session.value().set_rights(); !s.ok()) return s;
  if (auto s = session.value().poison(); !s.ok()) return s;
  if (auto s = session.value().launch(0, problem.correlate.rights); !s.ok()) return s;
  auto wrong = session.value().read(results);
  if (!wrong.ok()) return wrong.status();
  if (!wrong.value().empty()) return {xcorr::Code::device_error, "the oracle " + wrong.value()};
  return {};
}

}  // namespace checkcorr

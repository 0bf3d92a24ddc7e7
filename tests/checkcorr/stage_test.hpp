// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a stage's test file (stages/NAME.cpp) defines for its stage, and how it is applied to every
// variant. Such a file defines a class derived from StageTest<Stage> and one object of it, which
// enters itself in the list: nothing else names it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comparison.hpp"
#include "job.hpp"
#include "scenario.hpp"

namespace checkcorr {

/// How a case is tried: in which form, and with which method.
struct Trial {
  bool centred = false;  ///< see Scenario
  std::optional<xcorr::Method> method;
  bool with_error = false;  ///< see Scenario::set_method()
};

/// Whether it is in the form that matches use unless an FFT computes their products: plain sums of
/// u8, centred ones of f32.
inline bool is_usual(const Case& c, const Trial& trial) {
  return trial.centred == !is_integral(c.type) && !trial.with_error;
}

/// What a comparison knows besides the outputs.
struct Truth {
  Scenario& scenario;
  const xcorr::VariantInfo& variant;
  float product_error = 0;  ///< the variant's own estimate; 0: none
};

class AnyStageTest {
 public:
  AnyStageTest() { list().push_back(this); }
  virtual ~AnyStageTest() = default;
  AnyStageTest(const AnyStageTest&) = delete;

  /// Those of all stages.
  static std::vector<const AnyStageTest*>& list();
  /// That of a stage; null where no file of tests is built for it.
  static const AnyStageTest* find(const char* stage);
  static const AnyStageTest& of(const char* stage) { return *find(stage); }

  virtual const char* stage() const = 0;
  /// Whether the stage applies to the case: to those of matches, unless a test says otherwise.
  virtual bool concerns(const Case& c) const { return !c.filter && is_matching(c); }
  /// Whether it knows masks of weights; cases with these are for such stages alone.
  virtual bool weighs() const { return false; }
  bool knows_mask_of(const Case& c) const { return c.mask != Mask::weights || weighs(); }
  /// Whether it applies to the trial: to one of each case, unless a test says otherwise.
  virtual bool takes(const Case& c, const Trial& trial) const {
    return concerns(c) && !trial.method && !trial.centred;
  }
  /// The suffix of an id after the case for the trial, such as "/ccoeff-normed".
  virtual std::string suffix(const Trial& trial) const;
  /// Whether the variant can do the scenario's problem.
  virtual bool able(const xcorr::VariantInfo& variant, const xcorr::Device& device,
                    const Scenario& scenario) const = 0;
  /// Runs the variant and returns what is wrong, or an empty string. `worst` is raised to the
  /// largest error as a share of its bound.
  virtual std::string run(const xcorr::VariantInfo& variant, const xcorr::Device& device,
                          Scenario& scenario, double& worst) const = 0;
  /// Makes the inputs of the stage.
  virtual xcorr::Status prepare(Scenario& scenario) const = 0;
  /// The variant on such inputs, to be timed.
  virtual xcorr::Result<std::unique_ptr<Job>> make_job(const xcorr::VariantInfo& variant,
                                                       const xcorr::Device& device,
                                                       const Scenario& scenario,
                                                       Bed& bed) const = 0;
};

template <class StageType>
class StageTest : public AnyStageTest {
 public:
  using Stage = StageType;
  using Problem = typename Stage::Problem;
  using Variant = xcorr::Variant<Stage>;

  virtual Problem problem(const Scenario& scenario) const = 0;
  /// Makes the inputs and the expected outputs, by the oracle.
  virtual xcorr::Status make_truth(Scenario& scenario) const {
    if (auto s = prepare(scenario); !s.ok()) return s;
    return scenario.make<Stage>(problem(scenario));
  }
  virtual void compare(Comparison& comparison, const Truth& truth, const Values& got) const = 0;

  /// Whether another frame and bank are run first, which must leave no trace.
  virtual bool keeps_something() const { return false; }
  /// Another form of the problem that the variant is tried with, or nothing: other rows, or less
  /// that is wanted.
  virtual std::optional<Problem> other_layout(const Variant&, const Scenario&, Problem) const {
    return std::nullopt;
  }
  /// Inputs in the problem's layout from dense ones; outputs the other way.
  virtual void lay_out_inputs(const Problem&, Values&) const {}
  virtual void make_outputs_dense(const Problem&, Values&) const {}
  /// Whether a variant may change an input of the problem.
  virtual bool may_change(const Problem&, const std::string& /*name*/) const { return false; }
  /// The problem as a plan gets it.
  virtual Problem planned(const Problem& p) const { return p; }
  /// Whether a launch may begin at the second right.
  virtual bool can_run_in_parts(const Variant&, const Problem&) const { return true; }

  const char* stage() const final { return Stage::name; }

  bool able(const xcorr::VariantInfo& variant, const xcorr::Device& device,
            const Scenario& scenario) const final {
    return typed(variant).able(problem(scenario), device);
  }

  std::string run(const xcorr::VariantInfo& info, const xcorr::Device& device, Scenario& scenario,
                  double& worst) const final {
    const Variant& variant = typed(info);
    if (auto s = make_truth(scenario); !s.ok()) return s.message();
    const Problem p = problem(scenario);
    if (std::string wrong = run_laid_out(variant, device, scenario, p, worst); !wrong.empty())
      return wrong;
    const std::optional<Problem> other = other_layout(variant, scenario, p);
    if (!other || !variant.able(*other, device)) return {};
    std::string wrong = run_laid_out(variant, device, scenario, *other, worst);
    return wrong.empty() ? wrong : "in its other form: " + wrong;
  }

  xcorr::Result<std::unique_ptr<Job>> make_job(const xcorr::VariantInfo& variant,
                                               const xcorr::Device& device,
                                               const Scenario& scenario, Bed& bed) const final {
    return StageJob<Stage>::make(typed(variant), device, problem(scenario),
                                 scenario.problem.correlate.rights, bed);
  }

 protected:
  /// The number of the case's rights, where launches may do only some.
  static int rights_of(const Scenario& scenario) {
    const xcorr::Problem& p = scenario.problem.correlate;
    return takes_parts<Stage> && p.form == xcorr::Form::one_to_many ? p.rights : 1;
  }

 private:
  static const Variant& typed(const xcorr::VariantInfo& variant) {
    return static_cast<const Variant&>(variant);
  }

  std::string run_laid_out(const Variant& variant, const xcorr::Device& device, Scenario& scenario,
                           const Problem& p, double& worst) const {
    Values inputs = scenario.values;
    lay_out_inputs(p, inputs);
    auto made =
        Session<Stage>::make(variant, device, p, planned(p), inputs, scenario.test.misalign);
    if (!made.ok()) return "set-up: " + made.status().message();
    Session<Stage>& session = made.value();
    const int rights = scenario.problem.correlate.rights;
    if (auto s = warm_up(session, scenario, inputs, rights); !s.ok())
      return "first run: " + s.message();
    const Truth truth{scenario, variant};
    if (std::string wrong = judge(session, {{0, rights}}, truth, p, worst); !wrong.empty())
      return wrong;
    if (rights_of(scenario) == 1 || !can_run_in_parts(variant, p)) return {};
    std::string wrong = judge(session, {{0, 1}, {1, rights - 1}}, truth, p, worst);
    return wrong.empty() ? wrong : "in two parts: " + wrong;
  }

  xcorr::Status warm_up(Session<Stage>& session, Scenario& scenario, const Values& inputs,
                        int rights) const {
    if (keeps_something()) {
      Values other = inputs;
      for (const auto& [name, bytes] : scenario.other) other[name] = bytes;
      if (auto s = session.replace(other); !s.ok()) return s;
      if (auto s = session.set_rights(); !s.ok()) return s;
      if (auto s = session.launch(0, rights); !s.ok()) return s;
      if (auto s = session.wait(); !s.ok()) return s;
      if (auto s = session.replace(inputs); !s.ok()) return s;
    }
    return session.set_rights();
  }

  struct Part {
    int first, count;
  };

  std::string judge(Session<Stage>& session, const std::vector<Part>& parts, Truth truth,
                    const Problem& p, double& worst) const {
    if (auto s = session.poison(); !s.ok()) return s.message();
    for (const Part& part : parts)
      if (auto s = session.launch(part.first, part.count); !s.ok()) return "launch: " + s.message();
    if (auto s = session.wait(); !s.ok()) return "wait: " + s.message();
    Values outputs;
    auto wrong =
        session.read(outputs, [&](const std::string& name) { return may_change(p, name); });
    if (!wrong.ok()) return "read: " + wrong.status().message();
    if (!wrong.value().empty()) return wrong.value();
    make_outputs_dense(p, outputs);
    const auto error = session.product_error();
    if (!error.ok()) return "product_error: " + error.status().message();
    truth.product_error = error.value();
    Comparison comparison(truth.scenario.problem.correlate.shifts.size());
    compare(comparison, truth, outputs);
    worst = std::max(worst, comparison.worst());
    return comparison.mismatch();
  }
};

}  // namespace checkcorr

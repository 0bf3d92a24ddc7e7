// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Runs a case through the stages with the reference, and every other variant of each stage on the
// same inputs, so that a stage is judged by itself.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <random>

#include "checkcorr.hpp"
#include "stage_test.hpp"

namespace checkcorr {
namespace {

/// The id of the check that runs: a sanitizer may abort the program during it.
std::string in_progress;

void name_what_aborts(int signal) {
  std::fprintf(stderr, "FAIL %s\n     aborted\n", in_progress.c_str());
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

double products_of(const Case& c) {
  const Problem p = problem_of(c);
  return static_cast<double>(p.outputs() * p.shifts.size().area() * p.right.area());
}

/// Whether --max-products and --sample keep a check: for a large case by chance, which depends on
/// the seed.
bool is_affordable(const Options& options, const Case& c, const std::string& id) {
  const double most = products_of(c);
  if (most <= static_cast<double>(options.max_products)) return true;
  if (!options.sample) return false;
  std::uint64_t hash = options.seed + 0xcbf29ce484222325;  // FNV-1a
  for (const char letter : id) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return std::mt19937_64(hash)() % static_cast<std::uint64_t>(most) < options.sample;
}

/// Every form that a case may be tried in. Methods come last, so that results without one are
/// reused.
std::vector<Trial> all_trials() {
  std::vector<Trial> trials = {{false, {}, false}, {true, {}, false}};
  for (const auto& method : xcorr::methods()) {
    trials.push_back({true, method.method, true});
    trials.push_back({true, method.method, false});
    trials.push_back({false, method.method, false});
  }
  // Which are not to be set.
  trials.push_back({true, xcorr::Method::cosine_distance, false});
  trials.push_back({false, xcorr::Method::cosine_distance, false});
  trials.push_back({false, xcorr::Method::orientation, false});
  return trials;
}

/// Pictures of two planes are edges, which have a method of their own. No place of bytes is chosen
/// by cosine_distance, see chosen_by().
bool is_method_of(const Case& c, xcorr::Method method) {
  if (method == xcorr::Method::cosine_distance && c.type == ElementType::u8) return false;
  return (method == xcorr::Method::orientation) == (c.planes == xcorr::edge_planes);
}

class Checker {
 public:
  Checker(const Options& options, const Devices& devices, std::vector<Tally>& tallies)
      : options_(options), devices_(devices), tallies_(tallies) {}

  /// A backend at a time: what one stage has made may have the name of what a later one sets, so
  /// their order counts.
  void check(const Case& c) {
    for (const auto& [backend, device] : devices_)
      if (device.ok() && is_wanted(backend)) check(c, backend, device.value());
  }

  /// Of variants that no affordable case has reached, the smallest that does.
  void reach_others() {
    reaching_ = true;
    std::vector<Case> smallest_first(cases().begin(), cases().end());
    std::ranges::stable_sort(smallest_first, {}, products_of);
    for (const Case& c : smallest_first)
      if (!std::ranges::all_of(tallies_, is_reached)) check(c);
  }

 private:
  static bool is_reached(const Tally& tally) { return tally.passed + tally.failed > 0; }

  bool is_wanted(xcorr::Backend backend) const {
    return std::ranges::any_of(tallies_,
                               [&](const Tally& t) { return t.variant->backend == backend; });
  }

  void check(const Case& c, xcorr::Backend backend, const xcorr::Device& device) {
    Scenario plain(c, options_.seed, false);
    std::optional<Scenario> centred;
    for (const Trial& trial : all_trials()) {
      if (trial.method && !is_method_of(c, *trial.method)) continue;
      // In this order the stages of a match share the reference's results.
      for (Tally& tally : tallies_) {
        if (tally.variant->backend != backend) continue;
        const AnyStageTest& test = AnyStageTest::of(tally.stage);
        if (!test.knows_mask_of(c) || !test.takes(c, trial)) continue;
        if (trial.centred && !centred) centred.emplace(c, options_.seed, true);
        Scenario& scenario = trial.centred ? *centred : plain;
        if (trial.method) scenario.set_method(*trial.method, trial.with_error);
        try_variant(test, device, scenario, trial, tally);
      }
    }
  }

  void try_variant(const AnyStageTest& test, const xcorr::Device& device, Scenario& scenario,
                   const Trial& trial, Tally& tally) {
    const xcorr::VariantInfo& variant = *tally.variant;
    const std::string id = id_of(tally, scenario.test) + test.suffix(trial);
    if (!matches(options_, id) || (reaching_ && is_reached(tally))) return;
    if (!test.able(variant, device, scenario)) return;
    if (!reaching_ && !is_affordable(options_, scenario.test, id)) return;
    in_progress = id;
    const std::string wrong = test.run(variant, device, scenario, tally.worst);
    ++(wrong.empty() ? tally.passed : tally.failed);
    if (!wrong.empty()) report(id, wrong);
  }

  void report(const std::string& id, const std::string& wrong) {
    std::fprintf(stderr,
                 "FAIL %s seed %llu\n     %s\n     repro: checkcorr --seed=%llu --filter='%s'\n",
                 id.c_str(), static_cast<unsigned long long>(options_.seed), wrong.c_str(),
                 static_cast<unsigned long long>(options_.seed), id.c_str());
  }

  const Options& options_;
  const Devices& devices_;
  std::vector<Tally>& tallies_;
  bool reaching_ = false;
};

}  // namespace

void check_all(const Options& options, const Devices& devices, std::vector<Tally>& tallies) {
  Checker checker(options, devices, tallies);
  std::signal(SIGABRT, name_what_aborts);
  for (const Case& c : cases()) checker.check(c);
  if (options.coverage) checker.reach_others();
  std::signal(SIGABRT, SIG_DFL);
}

}  // namespace checkcorr

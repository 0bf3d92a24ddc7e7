// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/tune_race.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace xcorr {
namespace {

/// Products per second of the slowest variant on the slowest machine.
constexpr double slowest_rate(Backend backend) { return backend == Backend::cpu ? 1e9 : 2e10; }
/// The cost of making a plan per template pixel, in products: a transform.
constexpr double making_products = 100;

constexpr int least_runs = 3;
constexpr double enough_seconds = 0.01;  ///< total of runs
/// The first candidate runs longer: an idle GPU has to raise its clocks.
constexpr double enough_seconds_first = 0.05;

/// A first run may load code, which takes up to this long, and touch new memory, which makes it a
/// few times as long.
constexpr double max_loading_seconds = 0.01, max_first_ratio = 4;
constexpr double clearly_slower = 1.3;
/// The variation between runs of the same kernel: a smaller gain is no reason to leave the better
/// guess.
constexpr double noise = 0.97;

double seconds_since(TuneClock::time_point start) {
  return std::chrono::duration<double>(TuneClock::now() - start).count();
}

double seconds_until(TuneClock::time_point deadline) { return -seconds_since(deadline); }

/// A number of the templates and a part of the shifts.
struct Part {
  int templates;
  Size shifts;

  bool operator==(const Part&) const = default;
  double work() const { return templates * double(shifts.area()); }
};

/// A rectangle of at most `count` shifts, but at least one.
Size part_of(Size shifts, double count) {
  const double width = std::clamp(count, 1.0, double(shifts.width));
  const double height = std::clamp(count / shifts.width, 1.0, double(shifts.height));
  return {static_cast<int>(width), static_cast<int>(height)};
}

/// The most seconds that a variant needs, per template.
struct Cost {
  double making;  ///< of the plan
  double shift;   ///< per shift of a run

  /// The part that can be planned and run twice in that time, or nothing. At least two templates,
  /// if there are as many: some variants support only several.
  std::optional<Part> affordable(const Part& all, double seconds) const {
    const double templates = seconds / (making + 2 * shift * double(all.shifts.area()));
    const int least = std::min(all.templates, 2);
    if (templates >= least)
      return Part{static_cast<int>(std::min<double>(templates, all.templates)), all.shifts};
    const double shifts = (seconds / least - making) / (2 * shift);
    if (shifts < 1) return std::nullopt;
    return Part{least, part_of(all.shifts, shifts)};
  }
};

/// The most that a variant may need that has never run.
Cost cost_at_worst(const Problem& problem, Backend backend) {
  const double shift = double(problem.right.area()) / slowest_rate(backend);
  return {making_products * shift, shift};
}

/// A candidate's plan for a part of the problem.
class Trial {
 public:
  static Result<Trial> make(const Race& race, const MatchKernel& kernel, const Part& part) {
    const auto start = TuneClock::now();
    const TuneTask& task = race.task;
    MatchSettings settings = task.settings;
    settings.kernel = kernel->name;
    const Size right = race.problem.correlate.right;
    const Rect all = searched_region(task.frame, settings.search_region);
    settings.search_region = {all.x, all.y, right.width + part.shifts.width - 1,
                              right.height + part.shifts.height - 1};
    const std::vector<BankTemplate> bank(task.bank.begin(), task.bank.begin() + part.templates);
    auto plan = MatchPlan::make(task.device, bank, task.type, task.frame, settings, task.stream, {},
                                Memory::host, false, {}, upright_overhang(settings));
    if (!plan.ok()) return plan.status();
    return Trial(race, std::move(plan.value()), seconds_since(start));
  }

  double seconds_to_make() const { return making_; }

  /// Seconds from a frame in the device's memory to its peaks.
  Result<double> run() {
    const auto start = TuneClock::now();
    if (Status s = plan_.enqueue(race_->frame, race_->task.stream); !s.ok()) return s;
    if (Status s = runtime(race_->task.device.backend).wait(race_->task.stream); !s.ok()) return s;
    return seconds_since(start);
  }

 private:
  Trial(const Race& race, MatchPlan plan, double making)
      : race_(&race), plan_(std::move(plan)), making_(making) {}

  const Race* race_;
  MatchPlan plan_;
  double making_;
};

/// Whether further runs of a candidate could still make it the best.
bool is_hopeless(double least, int runs, double best) {
  return runs == 1 ? least > max_first_ratio * best + max_loading_seconds
                   : least > clearly_slower * best;
}

/// The shortest of several runs; `best` is that of the best candidate so far, or infinite.
std::optional<double> least_of_runs(Trial& trial, double best, TuneClock::time_point deadline) {
  const double enough = std::isinf(best) ? enough_seconds_first : enough_seconds;
  double least = std::numeric_limits<double>::infinity(), spent = 0;
  for (int runs = 0; runs < least_runs || spent < enough; ++runs) {
    if (runs && (is_hopeless(least, runs, best) || seconds_until(deadline) < least)) break;
    const auto time = trial.run();
    if (!time.ok()) return std::nullopt;
    least = std::min(least, time.value());
    spent += time.value();
  }
  return least;
}

/// Runs the candidate on as much of the problem as certainly fits into half of the time, then on
/// more, until it is the whole problem. Nothing if that takes too long or fails.
std::optional<double> seconds_of(const Race& race, const MatchKernel& kernel, double best,
                                 TuneClock::time_point deadline) {
  const Problem& problem = race.problem.correlate;
  const Part all{problem.rights, problem.shifts.size()};
  Cost cost = cost_at_worst(problem, race.task.device.backend);
  double tried = 0;
  while (true) {
    const auto part = cost.affordable(all, seconds_until(deadline) / 2);
    // Growing more slowly, it would not reach the whole problem in time.
    if (!part || (*part != all && part->work() < 2 * tried)) return std::nullopt;
    auto trial = Trial::make(race, kernel, *part);
    if (!trial.ok()) return std::nullopt;
    if (*part == all) return least_of_runs(trial.value(), best, deadline);
    const auto time = trial.value().run();
    if (!time.ok()) return std::nullopt;
    tried = part->work();
    cost = {trial.value().seconds_to_make() / part->templates, time.value() / tried};
  }
}

}  // namespace

Winner winner_of(const Race& race, TuneClock::time_point deadline) {
  Winner winner{race.candidates.front()};
  double best = std::numeric_limits<double>::infinity();
  for (const MatchKernel& candidate : race.candidates) {
    if (seconds_until(deadline) <= 0) break;
    const auto seconds = seconds_of(race, candidate, best, deadline);
    if (!seconds) continue;
    ++winner.measured;
    if (*seconds >= noise * best) continue;
    best = *seconds;
    winner.kernel = candidate;
    winner.seconds = *seconds;
  }
  return winner;
}

}  // namespace xcorr

// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tune_race.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace xcorr {
namespace {

/// Products a second that the slowest variant does on the slowest machine: what a variant is
/// expected to need before it ever ran.
constexpr double slowest_rate(Backend backend) { return backend == Backend::cpu ? 1e9 : 2e10; }

constexpr int least_runs = 3;
constexpr double enough_seconds = 0.01;  ///< of runs
/// The first candidate runs longer: a GPU at rest has to raise its clocks.
constexpr double enough_seconds_first = 0.05;

/// A first run may load code and touch new memory, which takes this and a few times as long.
constexpr double most_loading_seconds = 0.01, most_first_ratio = 4;
constexpr double clearly_slower = 1.3;
/// What two runs of the same kernel may differ by: less is no reason to leave the better guess.
constexpr double noise = 0.97;

double seconds_since(TuneClock::time_point start) {
  return std::chrono::duration<double>(TuneClock::now() - start).count();
}

double seconds_until(TuneClock::time_point deadline) { return -seconds_since(deadline); }

/// A rectangle of at most that many shifts, which is at least one.
Size part_of(Size shifts, double count) {
  const double width = std::clamp(count, 1.0, double(shifts.width));
  const double height = std::clamp(count / shifts.width, 1.0, double(shifts.height));
  return {static_cast<int>(width), static_cast<int>(height)};
}

/// A candidate's plan for a part of the shifts.
class Trial {
 public:
  static Result<Trial> make(const Race& race, const Variant& variant, Size shifts) {
    const auto start = TuneClock::now();
    const TuneTask& task = race.task;
    MatchSettings settings = task.settings;
    settings.kernel = variant.name;
    const Size right = race.problem.correlate.right;
    const Rect all = searched_region(task.frame, settings.search_region);
    settings.search_region = {all.x, all.y, right.width + shifts.width - 1,
                              right.height + shifts.height - 1};
    auto plan =
        MatchPlan::make(task.device, task.bank, task.type, task.frame, settings, task.stream);
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
  return runs == 1 ? least > most_first_ratio * best + most_loading_seconds
                   : least > clearly_slower * best;
}

/// The least of several runs; `best` is the best candidate's so far, or infinite.
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

/// Runs the candidate on as many shifts as half of the time is sure to suffice for, making of the
/// plan and two runs counted, then on more, until it is all of them. Nothing when they are too many
/// or it fails.
std::optional<double> seconds_of(const Race& race, const Variant& variant, double best,
                                 TuneClock::time_point deadline) {
  const Problem& problem = race.problem.correlate;
  const Size all = problem.shifts.size();
  double making = 0, tried = 0.5;
  double seconds_a_shift =
      double(problem.right.area()) * problem.rights / slowest_rate(race.task.device.backend);
  while (true) {
    const double spare = seconds_until(deadline) / 2 - making;
    const double affordable = spare / (2 * seconds_a_shift);
    // Growing more slowly it would not arrive.
    if (affordable < double(all.area()) && affordable < 2 * tried) return std::nullopt;
    const Size part = part_of(all, affordable);
    auto trial = Trial::make(race, variant, part);
    if (!trial.ok()) return std::nullopt;
    if (part == all) return least_of_runs(trial.value(), best, deadline);
    const auto time = trial.value().run();
    if (!time.ok()) return std::nullopt;
    tried = double(part.area());
    seconds_a_shift = time.value() / tried;
    making = trial.value().seconds_to_make();
  }
}

}  // namespace

Winner winner_of(const Race& race, TuneClock::time_point deadline) {
  Winner winner{race.candidates.front()};
  double best = std::numeric_limits<double>::infinity();
  for (const Variant* candidate : race.candidates) {
    if (seconds_until(deadline) <= 0) break;
    const auto seconds = seconds_of(race, *candidate, best, deadline);
    if (!seconds) continue;
    ++winner.measured;
    if (*seconds >= noise * best) continue;
    best = *seconds;
    winner.variant = candidate;
    winner.seconds = *seconds;
  }
  return winner;
}

}  // namespace xcorr

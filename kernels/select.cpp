// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The choice of a variant. Where several can do a correlation, the table of measured winners
// decides: the row nearest to the problem in log size. The table is generated from benchmark
// results by bench/select_table.py.
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "registry.hpp"

namespace xcorr {
namespace {

struct Measured {
  Backend backend;
  ElementType type;
  std::int64_t right_pixels, shifts;
  const char* variant;
};

constexpr Measured table[] = {
#include "select_table.inc"
};

double distance(const Measured& row, const Problem& problem) {
  const double right = std::log2(double(row.right_pixels) / double(problem.right.area()));
  const double shifts = std::log2(double(row.shifts) / double(problem.shifts.size().area()));
  return right * right + shifts * shifts;
}

/// The nearest measured problem's winner that can do this one, or null.
const Variant* measured_choice(const MatchProblem& problem, const Device& device) {
  const Variant* best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const Measured& row : table) {
    if (row.backend != device.backend || row.type != problem.correlate.type) continue;
    const double d = distance(row, problem.correlate);
    if (d >= least) continue;
    const Variant* variant = find_variant(Stage::correlate, row.backend, row.variant);
    if (!variant || !variant->supports(problem, device)) continue;
    least = d;
    best = variant;
  }
  return best;
}

/// The last one listed that can: families stand in the order of preference, references first.
const Variant* last_able(Stage stage, const MatchProblem& problem, const Device& device) {
  const Variant* best = nullptr;
  for (const Variant* variant : all_variants())
    if (variant->stage == stage && variant->backend == device.backend &&
        variant->supports(problem, device))
      best = variant;
  return best;
}

Result<const Variant*> by_name(Stage stage, const MatchProblem& problem, const Device& device,
                               std::string_view name) {
  const Variant* variant = find_variant(stage, device.backend, name);
  const std::string what = std::string(name_of(stage)) + " kernel '" + std::string(name) + "'";
  if (!variant) {
    std::string known;
    for (const Variant* v : all_variants())
      if (v->stage == stage && v->backend == device.backend)
        known += std::string(known.empty() ? "" : ", ") + v->name;
    return Status(Code::unsupported, "no " + what + " on the " + name_of(device.backend) +
                                         " backend; there are: " + known);
  }
  if (!variant->supports(problem, device))
    return Status(Code::unsupported, what + " cannot do this problem");
  return variant;
}

}  // namespace

Result<const Variant*> select_variant(Stage stage, const MatchProblem& problem,
                                      const Device& device, std::string_view name) {
  if (stage == Stage::correlate && name == "auto")
    if (const char* wish = std::getenv("XCORR_KERNEL"); wish && *wish) name = wish;
  if (name != "auto" && !name.empty()) return by_name(stage, problem, device, name);

  const Variant* best = stage == Stage::correlate ? measured_choice(problem, device) : nullptr;
  if (!best) best = last_able(stage, problem, device);
  if (!best)
    return Status(Code::unsupported, std::string("no ") + name_of(stage) + " kernel of the " +
                                         name_of(device.backend) + " backend can do this problem");
  return best;
}

}  // namespace xcorr

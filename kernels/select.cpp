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

std::string quoted(Stage stage, std::string_view name) {
  return std::string(name_of(stage)) + " kernel '" + std::string(name) + "'";
}

/// The nearest measured problem's winner that is able to, or null.
template <class Able>
const Variant* measured_choice(const MatchProblem& problem, const Device& device, Able able) {
  const Variant* best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const Measured& row : table) {
    if (row.backend != device.backend || row.type != problem.correlate.type) continue;
    const double d = distance(row, problem.correlate);
    if (d >= least) continue;
    const Variant* variant = find_variant(Stage::correlate, row.backend, row.variant);
    if (!variant || !able(*variant)) continue;
    least = d;
    best = variant;
  }
  return best;
}

/// The last one listed that is able to: references come first.
template <class Able>
const Variant* last_able(Stage stage, const Device& device, Able able) {
  const Variant* best = nullptr;
  for (const Variant* variant : all_variants())
    if (variant->stage == stage && variant->backend == device.backend && able(*variant))
      best = variant;
  return best;
}

template <class Able>
Result<const Variant*> select(Stage stage, const MatchProblem& problem, const Device& device,
                              std::string_view name, Able able) {
  auto wish = wished_variant(stage, device, name);
  if (!wish.ok()) return wish;
  if (const Variant* variant = wish.value()) {
    if (able(*variant)) return variant;
    return Status(Code::unsupported, quoted(stage, variant->name) + " cannot do this problem");
  }

  const Variant* best =
      stage == Stage::correlate ? measured_choice(problem, device, able) : nullptr;
  if (!best) best = last_able(stage, device, able);
  if (!best)
    return Status(Code::unsupported, std::string("no ") + name_of(stage) + " kernel of the " +
                                         name_of(device.backend) + " backend can do this problem");
  return best;
}

}  // namespace

Result<const Variant*> wished_variant(Stage stage, const Device& device, std::string_view name) {
  if (stage == Stage::correlate && name == "auto")
    if (const char* wish = std::getenv("XCORR_KERNEL"); wish && *wish) name = wish;
  if (name == "auto" || name.empty()) return nullptr;
  if (const Variant* variant = find_variant(stage, device.backend, name)) return variant;
  std::string known;
  for (const Variant* v : all_variants())
    if (v->stage == stage && v->backend == device.backend)
      known += std::string(known.empty() ? "" : ", ") + v->name;
  return Status(Code::unsupported, "no " + quoted(stage, name) + " on the " +
                                       name_of(device.backend) + " backend; there are: " + known);
}

Result<const Variant*> select_variant(Stage stage, const MatchProblem& problem,
                                      const Device& device, std::string_view name) {
  return select(stage, problem, device, name,
                [&](const Variant& variant) { return variant.supports(problem, device); });
}

Result<const Variant*> select_correlation(MatchProblem& problem, const Device& device,
                                          std::string_view name) {
  const auto able_as = [&](const Variant& variant, ElementType products) {
    MatchProblem as = problem;
    as.products = products;
    return variant.supports(as, device);
  };
  const ElementType plain = problem.correlate.output_type();
  auto chosen = select(Stage::correlate, problem, device, name, [&](const Variant& variant) {
    return able_as(variant, plain) || able_as(variant, ElementType::f32);
  });
  if (chosen.ok()) problem.products = able_as(*chosen.value(), plain) ? plain : ElementType::f32;
  return chosen;
}

}  // namespace xcorr

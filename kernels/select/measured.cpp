// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which variants were fast for similar problems. The table says how much slower than the best each
// variant was for each measured problem. A new problem uses the nearest measured ones, by the
// logarithms of sizes and counts; the variant with the least slowdown there, weighted by nearness,
// comes first. So between two sizes a variant wins that is good at both. Both tables are generated
// by bench/select_table.py.
#include "select/measured.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

namespace xcorr {
namespace {

// ---- tables ---------------------------------------------------------------------------------

/// A problem that was measured, and where its slowdowns are.
struct Measured {
  bool match;  ///< whole matches, by variants of the search and the correlate stages
  Backend backend;
  ElementType type;
  Form form;
  std::int64_t right_pixels, shifts;
  int lefts, rights;
  double share;  ///< of the right that overlaps the left, on average over the shifts
  int first, count;
};

struct Slowdown {
  int variant;  ///< index of `variants`
  int percent;  ///< of a doubling of the best time: 100 log2(time / best)
};

/// The winners by the paper's section 5.5.
struct Guideline {
  Form form;
  int lefts, rights, side;
  const char* variant;
};

#include "select/select_table.inc"

/// For a variant that is not listed: it could not do the problem.
constexpr int slowdown_unlisted = 1000;

/// The weight of a slowdown. Beyond a factor of four it hardly grows, only enough to keep the
/// order: how slow a hopeless variant is at one neighbour says nothing about the others.
double penalty(int percent) { return std::min(percent, 200) + 1e-3 * percent; }

// ---- nearness -------------------------------------------------------------------------------

/// The coordinates of a problem for the selector.
struct Place {
  Form form;
  double side, shifts, lefts, rights, share;  ///< logarithms to base 2; side: of the right
};

/// The simplest form that describes the same pairs, such as one_to_one for one left and one right.
constexpr Form plain_form(Form form, int lefts, int rights) {
  if (lefts > 1) return form;
  return rights > 1 ? Form::one_to_many : Form::one_to_one;
}

Place place_of(Form form, double right_pixels, double shifts, int lefts, int rights, double share) {
  return {plain_form(form, lefts, rights),
          std::log2(right_pixels) / 2,
          std::log2(shifts) / 2,
          std::log2(lefts),
          std::log2(rights),
          std::log2(share)};
}

/// Along one axis.
double overlap_share(int left, int right, int first, int count) {
  std::int64_t sum = 0;
  for (int d = first; d < first + count; ++d)
    sum += std::max(0, std::min(left - d, right) - std::max(0, -d));
  // Shifts without overlap are not free, either.
  return std::max(1.0, double(sum)) / (double(count) * right);
}

Place place_of(const Problem& p) {
  const double share = overlap_share(p.left.width, p.right.width, p.shifts.x, p.shifts.width) *
                       overlap_share(p.left.height, p.right.height, p.shifts.y, p.shifts.height);
  return place_of(p.form, double(p.right.area()), double(p.shifts.size().area()), p.lefts, p.rights,
                  share);
}

double square(double x) { return x * x; }

double distance(const Place& a, const Place& b) {
  constexpr double other_form = 16;
  return 4 * square(a.side - b.side) + 4 * square(a.shifts - b.shifts) + square(a.lefts - b.lefts) +
         square(a.rights - b.rights) + square(a.share - b.share) +
         (a.form == b.form ? 0 : other_form);
}

struct Neighbour {
  const Measured* problem = nullptr;
  double distance = std::numeric_limits<double>::infinity();
};

/// Which problems of bytes tensor cores are able to do goes by how many times 32 columns the right
/// fills: such a variant that is not listed for one of other columns may be able to do this one.
bool fills_as_many(const Problem& p, const Measured& m) {
  const auto filled = [](double columns) { return std::ceil(columns / 32); };
  return m.backend != Backend::cuda || m.type != ElementType::u8 ||
         filled(p.right.width) == filled(std::sqrt(double(m.right_pixels)));
}

bool is_of_tensor_cores(int variant) {
  return std::string_view(variants[variant]).starts_with("tensor_");
}

/// The measured problems nearest to this one, nearest first.
std::array<Neighbour, 4> neighbours_of(const Problem& problem, Backend backend, bool match,
                                       bool any_form) {
  std::array<Neighbour, 4> nearest;
  const Place wanted = place_of(problem);
  // A variant makes products of u16 from four times as many of u8, so the order is the same.
  const ElementType type = problem.type == ElementType::u16 ? ElementType::u8 : problem.type;
  for (const Measured& m : measured) {
    if (m.match != match || m.backend != backend || m.type != type) continue;
    const Place have =
        place_of(m.form, double(m.right_pixels), double(m.shifts), m.lefts, m.rights, m.share);
    if (!any_form && have.form != wanted.form) continue;
    Neighbour next{&m, distance(have, wanted)};
    for (Neighbour& place : nearest)
      if (next.distance < place.distance) std::swap(next, place);
  }
  return nearest;
}

}  // namespace

bool covers_whole_output(const Problem& problem) {
  return place_of(problem).share < std::log2(0.75);
}

std::vector<const char*> measured_names(const Problem& problem, Backend backend, bool match,
                                        bool any_form, const IsAble& is_able) {
  struct Sum {
    int variant = 0;
    double weight = 0, slowdown = 0;  ///< over the problems that list the variant
    double unlisted = 0;              ///< the weight of those that would, were it able
    std::optional<bool> able;         ///< unknown until a problem lists it
  };
  std::vector<Sum> sums(std::size(variants));
  double all = 0, of_as_many = 0;
  for (const Neighbour& near : neighbours_of(problem, backend, match, any_form)) {
    if (!near.problem) break;
    const std::span listed(slowdowns + near.problem->first, std::size_t(near.problem->count));
    int best = slowdown_unlisted;  // of what is able to do this problem
    for (const Slowdown& slowdown : listed) {
      Sum& sum = sums[std::size_t(slowdown.variant)];
      sum.variant = slowdown.variant;
      if (!sum.able) sum.able = is_able(variants[slowdown.variant]);
      if (*sum.able) best = std::min(best, slowdown.percent);
    }
    const double weight = 1 / (square(near.distance) + 1e-4);
    const bool as_many = fills_as_many(problem, *near.problem);
    all += weight;
    if (as_many) of_as_many += weight;
    for (const Slowdown& slowdown : listed) {
      Sum& sum = sums[std::size_t(slowdown.variant)];
      sum.weight += weight;
      sum.slowdown += weight * penalty(slowdown.percent - best);
      if (as_many || !is_of_tensor_cores(slowdown.variant)) sum.unlisted -= weight;
    }
  }
  std::erase_if(sums, [](const Sum& sum) { return !sum.able.value_or(false); });
  for (Sum& sum : sums) {
    sum.unlisted += is_of_tensor_cores(sum.variant) ? of_as_many : all;
    sum.slowdown =
        (sum.slowdown + sum.unlisted * penalty(slowdown_unlisted)) / (sum.weight + sum.unlisted);
  }
  std::stable_sort(sums.begin(), sums.end(),
                   [](const Sum& a, const Sum& b) { return a.slowdown < b.slowdown; });
  std::vector<const char*> names;
  for (const Sum& sum : sums) names.push_back(variants[sum.variant]);
  return names;
}

std::vector<const char*> guideline_names(const Problem& problem) {
  const double side = std::log2(double(problem.right.area())) / 2;
  // A left with its own rights is like one of one-to-many.
  const int lefts = problem.form == Form::n_to_mn ? 1 : problem.lefts;
  const Form form = plain_form(problem.form, lefts, problem.rights);
  std::vector<std::pair<double, const char*>> lines;
  for (const Guideline& line : guidelines)
    if (line.form == form)
      lines.emplace_back(square(std::log2(double(line.lefts) / lefts)) +
                             square(std::log2(double(line.rights) / problem.rights)) +
                             4 * square(std::log2(line.side) - side),
                         line.variant);
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<const char*> names;
  for (const auto& line : lines) names.push_back(line.second);
  return names;
}

}  // namespace xcorr

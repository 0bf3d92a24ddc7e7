// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The test problems of both tables, and what a row of them means.
#include "cases.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace checkcorr {
namespace {

constexpr int max_width = 130;

/// The tables, and rights of bytes of every width: words, steps and bands begin and end anywhere.
class AllCases {
 public:
  AllCases() {
    for (const auto table : {correlate_cases(), match_cases()})
      cases_.insert(cases_.end(), table.begin(), table.end());
    for (int width = 1; width <= max_width; ++width) {
      names_[width] = "width-" + std::to_string(width);
      cases_.push_back({.name = names_[width].c_str(),
                        .left = {width + 4, 4},
                        .right = {width, 2},
                        .form = Form::n_to_m});
    }
  }
  AllCases(const AllCases&) = delete;
  std::span<const Case> cases() const { return cases_; }

 private:
  std::array<std::string, max_width + 1> names_;
  std::vector<Case> cases_;
};

}  // namespace

std::span<const Case> cases() {
  static const AllCases all;
  return all.cases();
}

xcorr::Problem problem_of(const Case& c) {
  const Rect shifts = c.shifts == Shifts::valid  ? xcorr::valid_shifts(c.left, c.right)
                      : c.shifts == Shifts::full ? xcorr::full_shifts(c.left, c.right)
                                                 : c.rectangle;
  xcorr::Problem p =
      xcorr::dense_problem(c.type, c.form, c.left, c.right, c.lefts, c.rights, shifts);
  p.own_lefts = c.own_lefts;
  const auto pad = static_cast<std::int64_t>(xcorr::size_of(c.type)) * c.pad;
  p.left_pitch += pad;
  p.right_pitch += pad;
  p.left_stride = p.left_pitch * (c.left.height + (c.pad ? 1 : 0));
  p.right_stride = p.right_pitch * (c.right.height + (c.pad ? 1 : 0));
  p.planes = c.planes;
  if (c.planes > 1) p.left_plane = p.total_lefts() * p.left_stride;
  return p;
}

std::int64_t products_of(const xcorr::Problem& p) {
  const auto along = [](int left, int right, int first, int count) {
    std::int64_t sum = 0;
    for (int d = first; d < first + count; ++d)
      sum += std::max(0, std::min(left - d, right) - std::max(0, -d));
    return sum;
  };
  return p.outputs() * along(p.left.width, p.right.width, p.shifts.x, p.shifts.width) *
         along(p.left.height, p.right.height, p.shifts.y, p.shifts.height);
}

bool is_matching(const Case& c) {
  const Rect s = problem_of(c).shifts;
  return (c.type == ElementType::u8 || c.type == ElementType::u16 || c.type == ElementType::f32) &&
         c.lefts == 1 && c.form != Form::n_to_m && c.form != Form::n_to_mn && s.x >= 0 &&
         s.y >= 0 && s.x + s.width + c.right.width - 1 <= c.left.width &&
         s.y + s.height + c.right.height - 1 <= c.left.height;
}

}  // namespace checkcorr

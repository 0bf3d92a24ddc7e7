// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Norms of a case's matrices, and the layout of products, for the stages' tests.
#pragma once

#include <algorithm>
#include <cmath>

#include "stage_test.hpp"

namespace checkcorr {

template <class T>
void compare_exactly(Comparison& comparison, const char* name, const Values& expected,
                     const Values& got) {
  const auto a = view<T>(expected, name), b = view<T>(got, name);
  for (std::size_t i = 0; i < a.size(); ++i) comparison.element(name, i, a[i], b[i], 0);
}

/// The square root of the sum of squares of a matrix, with `centred` of it less its mean.
template <class T>
double norm_of(const Values& values, const std::string& name, Size size, std::int64_t pitch,
               std::int64_t offset, bool centred) {
  const std::byte* data = values.at(name).data() + offset;
  const double n = static_cast<double>(size.area());
  double sum = 0, squares = 0;
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      const double v = reinterpret_cast<const T*>(data + y * pitch)[x];
      sum += v;
      squares += v * v;
    }
  return std::sqrt(std::max(0.0, centred ? squares - sum * sum / n : squares));
}

inline double left_norm(const Truth& t, std::int64_t index) {
  const Problem& p = t.scenario.problem.correlate;
  return with_pixels(p.type, [&]<class T>() {
    return norm_of<T>(t.scenario.values, "lefts", p.left, p.left_pitch, index * p.left_stride,
                      false);
  });
}

/// The layout of the products of a correlation.
inline Rows rows_of(const xcorr::stage::Correlate::Problem& p) {
  const auto element = static_cast<std::int64_t>(size_of(p.products));
  const xcorr::Rect shifts = p.correlate.shifts;
  return {shifts.width * element, shifts.height, p.correlate.planes * p.correlate.outputs(),
          p.products_pitch() * element, p.products_stride() * element};
}

/// Tests of stages that read products: also with these farther apart than they need be.
template <class Base>
class WithProductsApart : public Base {
 protected:
  using Problem = typename Base::Problem;
  using Variant = typename Base::Variant;

  std::optional<Problem> other_layout(const Variant&, const Scenario&, Problem p) const override {
    p.product_pitch = p.correlate.shifts.width + 5;
    p.product_stride = p.product_pitch * p.correlate.shifts.height + 3;
    return p;
  }
  void lay_out_inputs(const Problem& p, Values& values) const override {
    values["products"] = spread(rows_of(p), values["products"]);
  }
};

}  // namespace checkcorr

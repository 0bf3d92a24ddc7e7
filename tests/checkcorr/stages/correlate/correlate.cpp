// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage correlate. Integers are compared bit for bit; floating point with bounds that follow
// from the arithmetic:
//   exact, f32:      16 eps sum |l r| + eps64 ||left|| ||right||; 1e-6 of small integers
//   exact, f64:      16 eps sum |l r|; none of small integers
//   not exact:       PlanState::product_error ||right||; where that is null, as of an FFT:
//                    8 eps ||left|| ||right||
#include <cfloat>
#include <cmath>
#include <limits>
#include <type_traits>

#include "norms.hpp"
#include "stage_test.hpp"

namespace checkcorr {
namespace {

/// Of the right as it is multiplied.
double right_norm(const Truth& t, std::int64_t index) {
  const Problem& p = t.scenario.problem.correlate;
  const bool centred = p.type == ElementType::u8 && t.scenario.problem.products == ElementType::f32;
  return with_pixels(p.type, [&]<class T>() {
    return norm_of<T>(t.scenario.values, "rights", p.right, p.right_pitch, index * p.right_stride,
                      centred);
  });
}

/// Fills of integers so small that float32 is exact in any order: less than half a unit off
/// is the right integer, and a direct kernel gives nothing in between.
bool is_integral(Fill fill) { return fill == Fill::integers || fill == Fill::binary; }

/// Bound of element `i` of output `output`, of products of type T.
template <class T>
class ProductBound {
 public:
  ProductBound(const Truth& t, const Values& magnitudes) : exact_(t.variant.exact), t_(t) {
    const Problem& p = t.scenario.problem.correlate;
    for (std::int64_t output = 0; output < p.outputs(); ++output) {
      const double right = right_norm(t, p.right_of(output));
      norms_.push_back(left_norm(t, output / p.rights) * right);
      stated_.push_back(t.product_error * right);
    }
    if (exact_ && p.type == t.scenario.problem.products)
      magnitudes_ = view<T>(magnitudes, "products");
  }

  double of(std::int64_t output, std::size_t i) const {
    if constexpr (std::is_integral_v<T>) return 0;
    const auto o = static_cast<std::size_t>(output);
    if (!exact_) return t_.product_error > 0 ? stated_[o] : 8 * eps * norms_[o];
    if (magnitudes_.empty()) return eps * norms_[o];
    const bool f32 = std::is_same_v<T, float>;  // whose sums a CPU takes as doubles, some by FFT
    if (is_integral(t_.scenario.test.fill)) return f32 ? 1e-6 : 0;
    return 16 * eps * static_cast<double>(magnitudes_[i]) + (f32 ? DBL_EPSILON * norms_[o] : 0);
  }

 private:
  static constexpr double eps = std::numeric_limits<T>::epsilon();

  bool exact_;
  const Truth& t_;
  std::vector<double> norms_, stated_;  ///< of each output
  std::span<const T> magnitudes_;
};

template <class T>
void compare_products(Comparison& comparison, const Truth& t, const Values& magnitudes,
                      const Values& got) {
  const auto expected = view<T>(t.scenario.values, "products"), actual = view<T>(got, "products");
  const auto area = static_cast<std::size_t>(t.scenario.problem.correlate.shifts.size().area());
  const ProductBound<T> bound(t, magnitudes);
  for (std::size_t i = 0; i < expected.size(); ++i)
    comparison.element("products", i, expected[i], actual[i],
                       bound.of(static_cast<std::int64_t>(i / area), i));
}

class CorrelateTest final : public StageTest<xcorr::stage::Correlate> {
  bool concerns(const Case& c) const override { return !c.filter; }
  bool takes(const Case& c, const Trial& trial) const override {
    const bool as_in_matches = c.type == ElementType::u8 && is_matching(c);
    return concerns(c) && !trial.method && (!trial.centred || as_in_matches);
  }
  std::string suffix(const Trial& trial) const override { return trial.centred ? "/centred" : ""; }
  Problem problem(const Scenario& scenario) const override { return scenario.problem.surfaces(); }
  xcorr::Status prepare(Scenario&) const override { return {}; }
  xcorr::Status make_truth(Scenario& scenario) const override { return scenario.make_products(); }
  bool keeps_something() const override { return true; }

  std::optional<Problem> other_layout(const Variant& variant, const Scenario& scenario,
                                      Problem p) const override {
    if (!variant.extra.layout || !is_matching(scenario.test)) return std::nullopt;
    variant.extra.layout(p);
    return p;
  }
  void make_outputs_dense(const Problem& p, Values& values) const override {
    values["products"] = dense(rows_of(p), values["products"]);
  }
  /// A matcher learns a frame's pitch only with the frame.
  Problem planned(const Problem& p) const override {
    Problem told = p;
    if (p.correlate.lefts == 1)
      told.correlate.left_pitch =
          p.correlate.left.width * static_cast<std::int64_t>(size_of(p.correlate.type));
    return told;
  }
  /// In a variant's own layout the second part's products must be as aligned as the first one's.
  bool can_run_in_parts(const Variant& variant, const Problem& p) const override {
    const auto stride = p.products_stride() * static_cast<std::int64_t>(size_of(p.products));
    return !variant.extra.layout || !p.product_pitch || stride % 16 == 0;
  }

  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    static const Values none;
    const Values* magnitudes = &none;
    if (t.scenario.problem.products == t.scenario.problem.correlate.type) {
      const auto made = t.scenario.magnitudes();
      if (made.ok()) magnitudes = made.value();
    }
    switch (t.scenario.problem.products) {
      case ElementType::u32:
        return compare_products<std::uint32_t>(comparison, t, *magnitudes, got);
      case ElementType::u64:
        return compare_products<std::uint64_t>(comparison, t, *magnitudes, got);
      case ElementType::i64:
        return compare_products<std::int64_t>(comparison, t, *magnitudes, got);
      case ElementType::f64:
        return compare_products<double>(comparison, t, *magnitudes, got);
      default:
        return compare_products<float>(comparison, t, *magnitudes, got);
    }
  }
} const correlate_test;

}  // namespace
}  // namespace checkcorr

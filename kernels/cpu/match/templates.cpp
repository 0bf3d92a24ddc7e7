// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is computed from templates when they are new or were blended with a part of a frame: their
// sums and, for floating point, their pixels less the mean. Templates are few and small compared
// with frames, so one thread is enough.
#include "stages/match/templates.hpp"
#include "cpu/common/common.hpp"
#include "stages/match/score.hpp"

namespace xcorr::cpu {
namespace {

/// Templates of one size: their pixels that count, and where their operands go.
template <class T, class Operand = T>
class Templates {
  static constexpr std::int64_t wider = sizeof(Operand) / sizeof(T);

 public:
  Templates(const stage::TemplateSums::Problem& p, const stage::TemplateSums::Buffers& b, int index)
      : p_(p), b_(b), at_(index * p.stride), n_(double(p.masking.pixels(p.size))) {}

  /// Calls f(pixel, its operand, how often it counts), row by row; operands exist where
  /// has_operands().
  template <class F>
  void for_pixels(F f) const {
    for (int y = 0; y < p_.size.height; ++y) {
      const std::int64_t at = at_ + y * p_.pitch;
      const T* row = reinterpret_cast<const T*>(static_cast<const std::byte*>(b_.templates) + at);
      auto* to = p_.has_operands()
                     ? reinterpret_cast<Operand*>(static_cast<std::byte*>(b_.operands) + wider * at)
                     : nullptr;
      const std::uint8_t* mask = b_.mask ? b_.mask + std::int64_t{y} * p_.size.width : nullptr;
      for (int x = 0; x < p_.size.width; ++x) f(row[x], to ? to + x : nullptr, mask ? mask[x] : 1);
    }
  }
  double n() const { return n_; }

 private:
  const stage::TemplateSums::Problem& p_;
  const stage::TemplateSums::Buffers& b_;
  std::int64_t at_;
  double n_;
};

/// Pixels of integers.
template <class T, class Operand>
TemplateSums sums_of(const Templates<T, Operand>& pixels) {
  std::int64_t sum = 0, squares = 0;
  pixels.for_pixels([&](T pixel, Operand* operand, int times) {
    const std::int64_t v = std::int64_t{times} * pixel;
    sum += v;
    squares += v * pixel;
    if (operand) *operand = static_cast<Operand>(v);
  });
  return {double(sum), double(squares),
          double(n2_covariance<TermOf<Operand>>(static_cast<std::int64_t>(pixels.n()), squares, sum,
                                                sum))};
}

template <>
TemplateSums sums_of(const Templates<float>& pixels) {
  TemplateSums sums;
  pixels.for_pixels([&](float pixel, float*, int times) {
    const double v = times ? pixel : 0;
    sums.sum += v;
    sums.squares += v * v;
  });
  const double mean = sums.sum / pixels.n();
  pixels.for_pixels([&](float pixel, float* operand, int times) {
    const double v = times ? pixel - mean : 0;
    sums.n2_variance += v * v;
    *operand = static_cast<float>(v);
  });
  sums.n2_variance *= pixels.n();
  return sums;
}

Status template_sums(const stage::TemplateSums::Problem& p, const Device&,
                     const stage::TemplateSums::Buffers& b, PlanState*) {
  using u8 = std::uint8_t;
  using u16 = std::uint16_t;
  for (int r = b.first_right; r < b.first_right + b.right_count; ++r)
    b.template_sums[r] = p.masking.weighted           ? sums_of(Templates<u8, u16>(p, b, r))
                         : p.type == ElementType::u8  ? sums_of(Templates<u8>(p, b, r))
                         : p.type == ElementType::u16 ? sums_of(Templates<u16>(p, b, r))
                                                      : sums_of(Templates<float>(p, b, r));
  return {};
}

bool supports(const stage::TemplateSums::Problem& p, const Device&) {
  return p.masking.allows(p.type);
}

constexpr Variant<stage::TemplateSums> table[] = {
    {{.name = "template_sums",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::mask, Feature::weights}},
     {.supports = supports, .launch = template_sums}},
};

}  // namespace

Family templates_family() { return Family(table); }

}  // namespace xcorr::cpu

// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Correlations of 16-bit pixels by a variant for bytes. With each pixel 256 times its high half
// plus its low half, a sum of products is
//   65536 sum(high high) + 256 (sum(high low) + sum(low high)) + sum(low low):
// four correlations of bytes, which are two launches of the variant, one for each half of the left,
// with the halves of the rights as rights of their own.
#pragma once

#include <algorithm>

#include "stages/common/host_device.hpp"
#include "stages/correlate/correlate.hpp"

namespace xcorr {

/// The halves of 16-bit images: of each its high bytes, then its low ones.
struct U16SplitLayout {
  Size size;

  constexpr std::int64_t pitch() const { return (size.width + 15) / 16 * 16; }
  constexpr std::int64_t stride() const { return pitch() * size.height; }
  constexpr std::int64_t bytes(std::int64_t images) const { return 2 * stride() * images; }
};

/// Images to be taken apart.
struct Images16 {
  const void* data;
  Size size;
  std::int64_t pitch, stride, count;  ///< bytes; from image to image
};

/// Sums of products of halves, to be put together: of each half of the left and each right those
/// with its high half, then those with its low half, dense.
struct U16SplitProducts {
  const void* data;
  ElementType type;  ///< u32 or u64
  Size size;
  std::int64_t left_stride;  ///< elements, from the left's high half's to its low half's
  int rights;

  XCORR_HD std::int64_t area() const { return std::int64_t{size.width} * size.height; }
};

/// The sum of products of the right `r` at element `at` of its output.
template <class T>
XCORR_HD inline unsigned long long whole_product(const U16SplitProducts& halves, int r,
                                                 std::int64_t at) {
  const T* high = static_cast<const T*>(halves.data) + 2 * r * halves.area() + at;
  const T* low = high + halves.left_stride;
  using u64 = unsigned long long;
  return (u64{high[0]} << 16) + ((u64{high[halves.area()]} + low[0]) << 8) + low[halves.area()];
}

/// Makes of a variant for bytes one that takes u16, too. Backend has
///   Memory                                          made of a number of bytes: data()
///   allocate(bytes) -> Result<Memory>
///   split(Images16, planes, Stream) -> Status     into a U16SplitLayout
///   combine(U16SplitProducts, pitch, stride, out, Stream) -> Status
template <class Backend, const Variant<stage::Correlate>& of_bytes>
class U16Split {
  using Stage = stage::Correlate;
  using Problem = Stage::Problem;
  using Memory = typename Backend::Memory;

 public:
  static constexpr Variant<Stage> variant(Features features) {
    return {{.name = of_bytes.name,
             .backend = of_bytes.backend,
             .features = features | Features(Feature::u16),
             .rank = of_bytes.rank,
             .exact = of_bytes.exact},
            {.supports = supports, .launch = launch, .workspace = workspace, .plan = plan}};
  }

 private:
  class State final : public PlanState {
   public:
    State(const xcorr::Problem& problem, Memory planes, std::unique_ptr<PlanState> state)
        : problem_(problem), planes_(std::move(planes)), state_(std::move(state)) {}

    Status set_rights(const void* rights, Stream stream) override {
      const Images16 images{rights, problem_.right, problem_.right_pitch, problem_.right_stride,
                            problem_.rights};
      if (Status s = Backend::split(images, planes_.data(), stream); !s.ok()) return s;
      return state_ ? state_->set_rights(planes_.data(), stream) : Status();
    }
    const void* planes() const { return planes_.data(); }
    PlanState* state() const { return state_.get(); }

   private:
    xcorr::Problem problem_;
    Memory planes_;
    std::unique_ptr<PlanState> state_;
  };

  /// Sums of so many rights at a time are kept: enough to fill a GPU.
  static int rights_at_a_time(const Problem& p) {
    constexpr std::int64_t budget = std::int64_t{64} << 20;
    return static_cast<int>(
        std::clamp<std::int64_t>(budget / surfaces_bytes(p, 1), 1, p.max_rights()));
  }
  static std::int64_t surfaces_bytes(const Problem& p, int rights) {
    const auto element = static_cast<std::int64_t>(size_of(bytes_of(p.correlate).output_type()));
    return 4 * element * rights * p.correlate.shifts.size().area();
  }

  static xcorr::Problem bytes_of(const xcorr::Problem& p) {
    const U16SplitLayout left{p.left}, right{p.right};
    return {ElementType::u8, Form::one_to_many, p.left,       p.right,       1,
            2 * p.rights,    p.shifts,          left.pitch(), right.pitch(), left.stride(),
            right.stride()};
  }
  static Problem bytes_of(const Problem& p) {
    const xcorr::Problem c = bytes_of(p.correlate);
    return {{c, 2 * rights_at_a_time(p)}, c.output_type()};
  }

  static bool supports(const Problem& p, const Device& device) {
    if (p.correlate.type != ElementType::u16) return of_bytes.supports(p, device);
    return p.correlate.lefts == 1 && !p.correlate.own_lefts &&
           p.correlate.right.area() <= max_u16_pixels && of_bytes.able(bytes_of(p), device);
  }

  /// Where the parts of the workspace begin: the halves of the left, sums, and of_bytes's own.
  struct Parts {
    std::size_t sums, own, end;
    Parts(const Problem& p, const Device& device) {
      const auto aligned = [](std::int64_t bytes) {
        return (static_cast<std::size_t>(bytes) + 255) / 256 * 256;
      };
      sums = aligned(U16SplitLayout{p.correlate.left}.bytes(1));
      own = sums + aligned(surfaces_bytes(p, rights_at_a_time(p)));
      end = own + of_bytes.workspace_bytes(bytes_of(p), device);
    }
  };

  static std::size_t workspace(const Problem& p, const Device& device) {
    if (p.correlate.type != ElementType::u16) return of_bytes.workspace_bytes(p, device);
    return Parts(p, device).end;
  }

  static Result<std::unique_ptr<PlanState>> plan(const Problem& p, const Device& device) {
    if (p.correlate.type != ElementType::u16) return of_bytes.make_plan(p, device);
    auto planes = Backend::allocate(
        static_cast<std::size_t>(U16SplitLayout{p.correlate.right}.bytes(p.correlate.rights)));
    if (!planes.ok()) return planes.status();
    auto state = of_bytes.make_plan(bytes_of(p), device);
    if (!state.ok()) return state.status();
    return std::unique_ptr<PlanState>(
        new State(p.correlate, std::move(planes.value()), std::move(state.value())));
  }

  static Status launch(const Problem& p, const Device& device, const Stage::Buffers& b,
                       PlanState* plan_state) {
    if (p.correlate.type != ElementType::u16) return of_bytes.launch(p, device, b, plan_state);
    const auto& state = static_cast<const State&>(*plan_state);
    const Problem bytes = bytes_of(p);
    const U16SplitLayout left{p.correlate.left};
    const Parts parts(p, device);
    auto* const planes = static_cast<std::byte*>(b.workspace);
    const Images16 image{b.lefts, left.size, p.correlate.left_pitch, 0, 1};
    if (Status s = Backend::split(image, planes, b.stream); !s.ok()) return s;

    const Size area = p.correlate.shifts.size();
    const int most = rights_at_a_time(p);
    Stage::Buffers halves;
    halves.workspace = planes + parts.own;
    halves.stream = b.stream;
    halves.rights = state.planes();
    for (int first = 0; first < b.right_count; first += most) {
      const int count = std::min(most, b.right_count - first);
      halves.first_right = 2 * (b.first_right + first);
      halves.right_count = 2 * count;
      const U16SplitProducts sums{planes + parts.sums, bytes.products, area,
                                  2 * count * area.area(), count};
      for (int half = 0; half < 2; ++half) {
        halves.lefts = planes + half * left.stride();
        halves.products = planes + parts.sums +
                          half * sums.left_stride * static_cast<std::int64_t>(size_of(sums.type));
        if (Status s = of_bytes.launch(bytes, device, halves, state.state()); !s.ok()) return s;
      }
      auto* out = static_cast<unsigned long long*>(b.products) + first * p.products_stride();
      if (Status s = Backend::combine(sums, p.products_pitch(), p.products_stride(), out, b.stream);
          !s.ok())
        return s;
    }
    return {};
  }
};

}  // namespace xcorr

// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What all stages have in common. A stage is a struct (stages/NAME.hpp) with
//   name       as in the ids of checkcorr and the results of benchmarks
//   Problem    what to compute: a small plain struct, passed by value to kernels
//   Buffers    where everything lies: a Launch and pointers to inputs (const) and outputs
//   arguments  calls visit(name, member of Buffers, Extent) for each: what checkcorr iterates
//   Extra      operations that only its variants have (optional ones: null), if there are any
// Problem::features() says what a problem requires beyond the plain case. A variant lists the
// features that it supports and refuses all others, so a new feature is never silently ignored.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include <xcorr/correlate.hpp>
#include <xcorr/device.hpp>
#include <xcorr/types.hpp>

#include "stages/common/pace.hpp"

namespace xcorr {

// ---- features -------------------------------------------------------------------------------

enum class Feature : std::uint8_t {
  u8,  ///< pixels of that type
  u16,
  i32,
  f32,
  f64,
  wide_sums,        ///< sums over a window that need 64 bits
  float_products,   ///< approximate products of u8, in f32
  pitched_output,   ///< surfaces with gaps between rows or between surfaces
  several_images,   ///< n-to-mn, n-to-m
  partial_overlap,  ///< shifts at which the right is not wholly inside the left
  several_peaks,    ///< of a template
  mask,             ///< not all pixels of a template count
  contrast,         ///< windows are asked for a contrast of some sign or amount
  own_lefts,        ///< each right has a left of its own
  ensemble,         ///< scores are averaged over pairs of images
  planes,           ///< a picture has several, see Problem::planes
  subsampled,       ///< a pixel is made from fewer
  overhang,         ///< windows may stick out of the frame
  weights,          ///< pixels of a template count by weights
};
inline constexpr int feature_count = 19;

/// A set of features.
class Features {
 public:
  constexpr Features() = default;
  template <class... F>
  constexpr Features(Feature first, F... others) : bits_((bit(first) | ... | bit(others))) {}

  constexpr Features operator|(Features other) const { return Features(bits_ | other.bits_); }
  /// This set plus, if `asked`, the feature.
  constexpr Features with(Feature feature, bool asked = true) const {
    return asked ? *this | Features(feature) : *this;
  }
  constexpr bool has(Feature feature) const { return bits_ & bit(feature); }
  constexpr bool contains(Features others) const { return (others.bits_ & ~bits_) == 0; }

 private:
  constexpr explicit Features(std::uint32_t bits) : bits_(bits) {}
  static constexpr std::uint32_t bit(Feature feature) {
    return std::uint32_t{1} << static_cast<int>(feature);
  }
  std::uint32_t bits_ = 0;
};

/// Whether it is a type of integers.
constexpr bool is_integral(ElementType type) {
  return type != ElementType::f32 && type != ElementType::f64;
}

/// The feature for an element type of pixels. No variant supports that of a type that no stage
/// takes.
constexpr Features feature_of(ElementType type) {
  switch (type) {
    case ElementType::u8:
      return Feature::u8;
    case ElementType::u16:
      return Feature::u16;
    case ElementType::i32:
      return Feature::i32;
    case ElementType::f32:
      return Feature::f32;
    case ElementType::f64:
      return Feature::f64;
    default:
      return Feature(feature_count);
  }
}

// ---- arguments ------------------------------------------------------------------------------

/// What a pointer of Buffers points to.
struct Extent {
  std::int64_t bytes = 0;
  /// The element size of pixels and surfaces, which need only be aligned to it; 0: aligned as an
  /// allocation.
  std::size_t element = 0;
  /// If the pointer is that of a launch's first right: bytes from one right to the next. 0: it is
  /// that of right 0.
  std::int64_t right_stride = 0;
};

/// `count` matrices; from the first element of the first one to the last one's last.
constexpr Extent matrices(ElementType type, Size size, std::int64_t pitch, std::int64_t stride,
                          std::int64_t count) {
  const auto element = static_cast<std::int64_t>(size_of(type));
  return {(count - 1) * stride + (size.height - 1) * pitch + size.width * element, size_of(type)};
}

/// `count` contiguous elements.
constexpr Extent elements(ElementType type, std::int64_t count) {
  return {count * static_cast<std::int64_t>(size_of(type)), size_of(type)};
}

template <class T>
constexpr Extent records(std::int64_t count) {
  return {count * static_cast<std::int64_t>(sizeof(T))};
}

// ---- variants -------------------------------------------------------------------------------

/// What every launch is given besides its inputs and outputs.
struct Launch {
  void* workspace = nullptr;  ///< of Variant::workspace_bytes()
  Stream stream;
};

/// A launch may do only some of the problem's rights: [first_right, first_right + right_count).
struct LaunchOfRights : Launch {
  int first_right = 0, right_count = 1;
};

/// What a variant keeps between calls for one problem: transform plans, spectra.
class PlanState {
 public:
  virtual ~PlanState() = default;
  /// Called when the rights changed; may allocate and wait.
  virtual Status set_rights(const void* rights, Stream stream) = 0;
  /// See stage::Normalise::Buffers::product_error; null where the products are exact.
  virtual const float* product_error() const { return nullptr; }
};

/// What is known of a variant apart from its stage.
struct VariantInfo {
  const char* name;
  Backend backend;
  Features features = {};  ///< that it supports
  int rank = 0;            ///< among able variants without measurements the highest is chosen
  bool exact = true;       ///< same result as the reference, bit for bit, for u8
};

/// Chosen only when requested by name or when nothing else is able.
inline constexpr int requested_rank = -1;

/// For a variant that can do all problems whose features it supports.
template <class Problem>
bool supports_all(const Problem&, const Device&) {
  return true;
}

/// Stage::Extra, if there is one.
struct NoExtra {};
template <class Stage, class = void>
struct ExtraOf {
  using Type = NoExtra;
};
template <class Stage>
struct ExtraOf<Stage, std::void_t<typename Stage::Extra>> {
  using Type = typename Stage::Extra;
};

/// What a variant does.
template <class Stage>
struct VariantFunctions {
  using Problem = typename Stage::Problem;
  using Buffers = typename Stage::Buffers;

  /// Whether it can do a problem whose features it supports. Call able() instead.
  bool (*supports)(const Problem&, const Device&) = supports_all<Problem>;
  /// Enqueues; neither allocates nor waits. `state` is what `plan` made. Variant has a launch()
  /// of its own, which calls it.
  Status (*launch)(const Problem&, const Device&, const Buffers&, PlanState* state);
  std::size_t (*workspace)(const Problem&, const Device&) = nullptr;  ///< null: none
  /// Null when nothing is kept between calls.
  Result<std::unique_ptr<PlanState>> (*plan)(const Problem&, const Device&) = nullptr;
  typename ExtraOf<Stage>::Type extra = {};
  /// Whether its rank and what was measured hold for a problem: where not, it is chosen only when
  /// requested or when nothing else is able. Null: for all.
  bool (*is_preferred)(const Problem&, const Device&) = nullptr;
};

/// One way to compute a stage: {{.name = ..., .backend = ...}, {.launch = ...}}.
template <class Stage>
struct Variant : VariantInfo, VariantFunctions<Stage> {
  using typename VariantFunctions<Stage>::Problem;
  using typename VariantFunctions<Stage>::Buffers;

  bool able(const Problem& problem, const Device& device) const {
    return able(problem, problem.features(), device);
  }
  /// Enqueues, unless the thread's work is to stop. What is stopped leaves its outputs undefined.
  Status launch(const Problem& problem, const Device& device, const Buffers& buffers,
                PlanState* state) const {
    if (Status s = check_stop(); !s.ok()) return s;
    if (Status s = VariantFunctions<Stage>::launch(problem, device, buffers, state); !s.ok())
      return s;
    if (Status s = keep_pace(backend, buffers.stream); !s.ok()) return s;
    return check_stop();
  }
  /// The same for a problem that requires these features.
  bool able(const Problem& problem, Features asked, const Device& device) const {
    return features.contains(asked) && this->supports(problem, device);
  }
  std::size_t workspace_bytes(const Problem& problem, const Device& device) const {
    return this->workspace ? this->workspace(problem, device) : 0;
  }
  Result<std::unique_ptr<PlanState>> make_plan(const Problem& problem, const Device& device) const {
    return this->plan ? this->plan(problem, device) : std::unique_ptr<PlanState>();
  }
};

/// A family's tables of variants, of one stage or of several; the registry joins them.
class Family {
 public:
  struct Entry {
    const char* stage;
    const VariantInfo* variant;  ///< a Variant of that stage
  };

  template <class... Tables>
  explicit Family(const Tables&... tables) {
    (add(std::span(tables)), ...);
  }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  template <class Stage, std::size_t count>
  void add(std::span<const Variant<Stage>, count> table) {
    for (const Variant<Stage>& variant : table) entries_.push_back({Stage::name, &variant});
  }
  std::vector<Entry> entries_;
};

}  // namespace xcorr

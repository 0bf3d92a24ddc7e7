// SPDX-License-Identifier: LGPL-2.1-or-later
//
// One way to compute one stage, as data: the registry lists them, the selector picks one, the
// harness checks and times each. Every stage works on the same two structs: MatchProblem says what
// to compute, Buffers where everything lies.
#pragma once

#include <memory>
#include <span>

#include <xcorr/correlate.hpp>
#include <xcorr/filter.hpp>
#include <xcorr/methods.hpp>
#include <xcorr/types.hpp>

namespace xcorr {

enum class Stage : std::uint8_t {
  filter,       ///< lefts -> filtered: before a match, when it is asked for
  correlate,    ///< lefts, rights -> products
  window_sums,  ///< lefts -> sums, squares of every window: once for all rights
  normalise,    ///< products, window sums, right sums -> scores
  peaks,        ///< scores -> candidates, best first
  refine,       ///< lefts, templates, window sums, candidates -> peaks: exact scores, sub-pixel
                ///< places
  search,       ///< lefts, rights, window sums -> candidates: the same as by correlate,
                ///< normalise and peaks, in one, without surfaces; see Variant::refines
  right_sums,   ///< templates -> right sums and, of f32 templates, rights: when they are new
  blend,        ///< lefts, averages -> averages, blended: a template takes up a part of a frame
};

constexpr const char* name_of(Stage stage) {
  constexpr const char* names[] = {"filter", "correlate", "window_sums", "normalise", "peaks",
                                   "refine", "search",    "right_sums",  "blend"};
  return names[static_cast<std::uint8_t>(stage)];
}

/// Sums over all pixels of a right (u8: exact integers below 2^53; f32: sums of doubles).
struct RightSums {
  double sum = 0, squares = 0;  ///< sum t, sum t^2
  /// n sum t^2 - (sum t)^2; for u8 an integer below 2^63, rounded once.
  double deviation = 0;
};

struct Candidate {
  float score;
  std::int32_t x, y;  ///< element of the output, not shift
};

struct RefinedPeak {
  double score;
  double dx, dy;      ///< subpixel_offset(), in [-1, 1]; 0 without subpixel or across a border
  std::int32_t x, y;  ///< element of the output
};

/// The filter stage's weights, as its variants use them.
struct FilterWeights {
  AxisWeights across, down;  ///< u8: multiples of 2^-fraction_bits
  /// u8: the most for which sums of weights and pixels, in units of 2^(-2 fraction_bits), and a
  /// half added to them, fit 32 bits with a sign.
  int fraction_bits = 0;
  ElementType sums = ElementType::f32;  ///< see FilterProblem::sums
};

/// A correlate problem of one left and many rights, and how its scores are made and picked.
/// The stages after correlate need a one_to_one or one_to_many problem over valid shifts.
struct MatchProblem {
  Problem correlate;
  /// What the correlate stage writes. Problem::output_type(): the plain sums of its operands. f32
  /// though the input is u8 (variants that are not exact): sum f (t - mean t), approximately.
  ElementType products = correlate.output_type();
  int batch = 0;  ///< most rights of one launch, see Buffers::right_count; 0: all
  Method method = Method::ccoeff_normed;
  int max_peaks = 1;
  int distance_x = 1, distance_y = 1;  ///< min_peak_distance, resolved: at least 1
  double threshold = 0;                ///< see MatchSettings and score_limit()
  bool subpixel = true;
  /// The filter stage's. Its lefts are those of `correlate`, whose shifts are the part of them that
  /// is wanted, and `filtered` lies as products do, next for the next left.
  const FilterWeights* filter = nullptr;
  /// The blend stage's, see blended_average(): what it takes up is the left's window under the
  /// first shift.
  float weight = 0;

  /// How `products` lie: elements from row to row, and from one right's to the next. 0: dense.
  std::int64_t product_pitch = 0, product_stride = 0;

  constexpr int most_rights() const { return batch ? batch : correlate.rights; }
  constexpr std::int64_t products_pitch() const {
    return product_pitch ? product_pitch : correlate.shifts.width;
  }
  constexpr std::int64_t products_stride() const {
    return product_stride ? product_stride : correlate.shifts.size().area();
  }
};

/// Device-side memory of a launch (host memory on the CPU). A stage reads and writes the ones its
/// line in Stage names. Surfaces, one of shifts.size() for each right, are dense but for products
/// where MatchProblem says so.
struct Buffers {
  const void* lefts = nullptr;
  /// What correlate multiplies with: u8 templates as they are; f32 templates less their mean when
  /// matching, so that a common offset of both sides costs no digits.
  const void* rights = nullptr;
  const void* templates = nullptr;  ///< the templates as they are, laid out like the rights
  RightSums* right_sums = nullptr;
  void* centred = nullptr;   ///< f32: the templates less their mean, laid out like the rights
  void* filtered = nullptr;  ///< of the lefts' type
  void* products = nullptr;  ///< Problem::output_type()
  /// Sums over the left's window under each shift: for u8 uint32, and squares of
  /// Problem::output_type(), which holds them as it does products; double for f32.
  void* window_sums = nullptr;
  void* window_squares = nullptr;
  /// Estimated error of `products` as a share of the right's norm sqrt(sum (t - mean t)^2): a
  /// device-side float, or null where it does not matter.
  const float* product_error = nullptr;
  float* scores = nullptr;
  /// Of the blend stage, dense: the running averages before and after, which may be the same, and
  /// these as pixels of the templates' type.
  const float* averages = nullptr;
  float* next_averages = nullptr;
  void* blended = nullptr;
  Candidate* candidates = nullptr;       ///< rights * max_peaks
  std::uint32_t* counts = nullptr;       ///< candidates of each right
  RefinedPeak* peaks = nullptr;          ///< rights * max_peaks; may be in pinned host memory
  std::uint32_t* peak_counts = nullptr;  ///< peaks of each right; as above
  void* workspace = nullptr;
  Stream stream;

  /// A launch may do only some of the plan's rights: [first_right, first_right + right_count). All
  /// pointers above are still those of right 0 except products and scores, which are those of
  /// first_right.
  int first_right = 0, right_count = 1;
  /// The left is not that of the last launch.
  bool new_left = true;
};

/// What a variant keeps between calls for one problem: transform plans, spectra.
class PlanState {
 public:
  virtual ~PlanState() = default;
  /// The rights changed; may allocate and wait.
  virtual Status set_rights(const void* rights, Stream stream) = 0;
  /// See Buffers::product_error.
  virtual const float* product_error() const { return nullptr; }
};

struct Variant {
  const char* name;
  Stage stage;
  Backend backend;
  bool exact;  ///< same result as the reference, bit for bit, for u8
  /// The only place where eligibility lives.
  bool (*supports)(const MatchProblem&, const Device&);
  std::size_t (*workspace)(const MatchProblem&, const Device&);
  /// Enqueues; neither allocates nor waits. `state` is what `plan` made.
  Status (*launch)(const MatchProblem&, const Device&, const Buffers&, PlanState* state);
  /// Null when nothing outlives a call.
  Result<std::unique_ptr<PlanState>> (*plan)(const MatchProblem&, const Device&) = nullptr;
  /// Sets the layout of products that costs the variant least; they must then begin on a 16-byte
  /// boundary. Null: dense.
  void (*layout)(MatchProblem&) = nullptr;
  /// Of the search stage: it does what refine does, too, and writes peaks. Null: never.
  bool (*refines)(const MatchProblem&) = nullptr;
};

/// Each family's table; the registry joins them.
using Family = std::span<const Variant>;

}  // namespace xcorr

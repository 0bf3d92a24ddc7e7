// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stages that find candidates in the top level of a search for poses, where each image has
// few pixels and there are many images: what counts is the best of them all, not each one's
// peaks.
//   coarse_search:    products, window sums -> of each image, the best place of each cell of the
//   frame select_candidates: these of all images -> candidates
#pragma once

#include <bit>
#include <cmath>
#include <type_traits>

#include "stages/match/contrast.hpp"
#include "stages/match/normalise.hpp"
#include "stages/poses/prune_candidates.hpp"

namespace xcorr {

/// Squares of the frame, by which the places of an image are told apart: by where its centre lies.
struct CoarseCells {
  static constexpr int side = 4, places = side * side;

  std::int32_t columns = 0, rows = 0;

  constexpr CoarseCells() = default;
  explicit constexpr CoarseCells(Size frame)
      : columns((frame.width + side - 1) / side), rows((frame.height + side - 1) / side) {}
  XCORR_HD constexpr std::int64_t count() const { return std::int64_t{columns} * rows; }

  /// Along one axis: the i-th shift, of `side`, of an image so long in a cell. Maybe outside.
  XCORR_HD static int shift(int cell, int i, int length) {
    return side * cell + i - (length - 1) / 2;
  }
};

/// What a place of an image is worth, ordered: the higher similarity, then the first image, cell
/// and place in it, has the larger key. 0: no place.
using CoarseKey = std::uint64_t;

XCORR_HD inline CoarseKey coarse_key(float similarity, std::uint32_t place) {
  const auto bits = std::bit_cast<std::uint32_t>(similarity + 0.0f);  // -0 becomes +0
  const std::uint32_t ordered = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return CoarseKey{ordered} << 32 | static_cast<std::uint32_t>(~place);
}
XCORR_HD inline float similarity_of(CoarseKey key) {
  const auto ordered = static_cast<std::uint32_t>(key >> 32);
  return std::bit_cast<float>(ordered & 0x80000000u ? ordered & ~0x80000000u : ~ordered);
}
/// In the order of keys: images, then the cells of each, then the places of each cell.
XCORR_HD inline std::uint32_t place_of(CoarseKey key) { return ~static_cast<std::uint32_t>(key); }

/// The sums of a window or an image of so many planes.
template <int planes>
struct CoarseSums {
  double sums[planes] = {};  ///< of each plane
  double squares = 0;        ///< of all

  XCORR_HD static CoarseSums of_right(const Problem& p, const TemplateSums* of, int right) {
    CoarseSums made;
    for (int plane = 0; plane < planes; ++plane) {
      const TemplateSums& one = of[std::int64_t{plane} * p.rights + right];
      made.sums[plane] = one.sum;
      made.squares += one.squares;
    }
    return made;
  }
  /// Of n pixels: sum over the planes of n sum f^2 - (sum f)^2.
  XCORR_HD double variance(double n) const {
    double squared = 0;
    for (const double sum : sums) squared += sum * sum;
    return n * squares - squared;
  }
};

/// How close windows are to an image by a normed method or on edges, in single precision: from
/// integers that doubles hold, by the same operations everywhere, so that backends agree to the
/// last bit. What is found by it is scored exactly one level further down. On edges it is no share
/// of the template but the cosine between its vectors and the window's: a window full of edges has
/// many that agree by chance, more than a part has of which half is hidden.
/// \tparam planes  two are edges
template <int planes>
class CoarseScore {
 public:
  static constexpr bool on_edges = planes == edge_planes;

  /// \param right_norm  norm() of the image
  XCORR_HD CoarseScore(Method method, Polarity polarity, std::int64_t pixels,
                       const CoarseSums<planes>& right, float right_norm)
      : method_(method),
        polarity_(polarity),
        n_(static_cast<double>(pixels)),
        right_(right),
        norm_(right_norm) {}

  /// Of a window or an image; 0 without energy.
  XCORR_HD static float norm(Method method, double n, const CoarseSums<planes>& of) {
    double energy = of.squares;
    if constexpr (on_edges) {
      energy += planes * (no_edge * no_edge * n);
      for (const double sum : of.sums) energy -= 2 * no_edge * sum;
    } else if (method == Method::ccoeff_normed) {
      energy = of.variance(n);
    }
    return energy > 0 ? 1.0f / sqrtf(static_cast<float>(energy)) : 0.0f;
  }
  /// On edges: the products of what the bytes stand for, from those of the bytes.
  XCORR_HD float signed_product(double product, const CoarseSums<planes>& window) const {
    double less = 0;
    for (int plane = 0; plane < planes; ++plane) less += window.sums[plane] + right_.sums[plane];
    return static_cast<float>(product - no_edge * less + planes * (no_edge * no_edge * n_));
  }
  /// On edges.
  XCORR_HD float similarity(float signed_product, float window_norm) const {
    return oriented(polarity_, signed_product * window_norm * norm_);
  }
  /// Of the others. \param product  summed over the planes
  XCORR_HD float similarity(double product, const CoarseSums<planes>& window,
                            float window_norm) const {
    if (method_ == Method::sqdiff_normed) {
      const double difference = window.squares - 2 * product + right_.squares;
      const float share = static_cast<float>(difference) * window_norm;
      // Explicit: whether compilers fuse these differs.
      return window_norm > 0 && norm_ > 0 ? fmaf(-share, norm_, 1.0f) : 0.0f;
    }
    double value = product;
    if (method_ == Method::ccoeff_normed) {
      value *= n_;
      for (int plane = 0; plane < planes; ++plane) value -= right_.sums[plane] * window.sums[plane];
    }
    return oriented(polarity_, static_cast<float>(value) * window_norm * norm_);
  }

 private:
  Method method_;
  Polarity polarity_;
  double n_;
  CoarseSums<planes> right_;
  float norm_;
};

/// Calls f with the number of planes as a constant, of a picture that has as many as one of luma,
/// of edges or of colour.
template <class F>
auto with_coarse_planes(int planes, F f) {
  if (planes == edge_planes) return f(std::integral_constant<int, edge_planes>());
  if (planes == color_planes) return f(std::integral_constant<int, color_planes>());
  return f(std::integral_constant<int, 1>());
}

namespace stage {

struct CoarseSearch {
  static constexpr const char* name = "coarse_search";

  /// The correlation whose products these are, one left over valid shifts.
  struct Problem : Correlate::Problem {
    Method method = Method::ccoeff_normed;  ///< a normed one, or that of edges
    Masking masking = {};
    Polarity polarity = Polarity::same;
    int first_image = 0;  ///< of all that are searched coarsely: the place of right 0

    constexpr std::int64_t pixels() const { return masking.pixels(correlate.right); }
    constexpr Features features() const {
      return Correlate::Problem::features()
          .with(Feature::mask, bool(masking))
          .with(Feature::contrast, polarity != Polarity::same);
    }
    constexpr CoarseCells cells() const { return CoarseCells(correlate.left); }
    /// So many pixels of all planes at most: their sums' products are below 2^53.
    static constexpr std::int64_t most_pixels = 1 << 18;
    /// Whether the method is one of such planes, and sums and places are small enough for what is
    /// made of them.
    constexpr bool is_countable() const {
      const std::int64_t images = first_image + correlate.rights;
      return can_be_scored(Normalise::Problem{*this, method, masking}) &&
             correlate.planes * pixels() <= most_pixels &&
             images * cells().count() * CoarseCells::places < 0xffffffffLL;
    }
  };

  struct Buffers : LaunchOfRights {
    const void* products = nullptr;
    const void* window_sums = nullptr;
    const void* window_squares = nullptr;
    const xcorr::TemplateSums* template_sums = nullptr;
    CoarseKey* best = nullptr;  ///< of each cell, row by row, one right after the other
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("products", &Buffers::products, p.products_extent());
    visit("window_sums", &Buffers::window_sums, window_sums_of(p.correlate));
    visit("window_squares", &Buffers::window_squares, window_squares_of(p.correlate));
    visit("template_sums", &Buffers::template_sums, template_sums_of(p.correlate));
    visit("best", &Buffers::best, records<CoarseKey>(p.correlate.rights * p.cells().count()));
  }
};

struct SelectCandidates {
  static constexpr const char* name = "select_candidates";

  struct Problem {
    Size frame;  ///< of the top level
    int images = 1;
    PoseSteps steps = {};
    int level = 1;  ///< the top, above full size
    PoseChoice choice = {};

    constexpr Features features() const { return Feature::u8; }
    constexpr CoarseCells cells() const { return CoarseCells(frame); }
    constexpr std::int64_t keys() const { return images * cells().count(); }
  };

  struct Buffers : Launch {
    const CoarseKey* best = nullptr;                     ///< see CoarseSearch
    const std::uint8_t* searched = nullptr;              ///< of each image: 0 if it has no keys
    const CollectCandidates::Source* sources = nullptr;  ///< of each image
    /// choice.most, of the level below. Chosen as PoseChoice says by ranked() keys, of equals the
    /// one with the larger key first. A score is its similarity here.
    PoseCandidate* candidates = nullptr;
    std::int32_t* candidate_count = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("best", &Buffers::best, records<CoarseKey>(p.keys()));
    visit("searched", &Buffers::searched, elements(ElementType::u8, p.images));
    visit("sources", &Buffers::sources, records<CollectCandidates::Source>(p.images));
    visit("candidates", &Buffers::candidates, records<PoseCandidate>(p.choice.most));
    visit("candidate_count", &Buffers::candidate_count, records<std::int32_t>(1));
  }

  /// A key with the bonus of its image; 0 of none.
  XCORR_HD static CoarseKey ranked(CoarseKey key, const CollectCandidates::Source& source) {
    return key ? coarse_key(similarity_of(key) + source.bonus, place_of(key)) : 0;
  }

  /// \param key  ranked
  XCORR_HD static PoseCandidate candidate_of(CoarseKey key, const CoarseCells& cells,
                                             const CollectCandidates::Source* sources) {
    const std::uint32_t place = place_of(key);
    const auto count = static_cast<std::uint32_t>(cells.count());
    const std::uint32_t cell = place / CoarseCells::places % count,
                        within = place % CoarseCells::places;
    const CollectCandidates::Source& source = sources[place / CoarseCells::places / count];
    const int column = static_cast<int>(cell % cells.columns),
              row = static_cast<int>(cell / cells.columns);
    const int x = CoarseCells::shift(column, within % CoarseCells::side, source.width),
              y = CoarseCells::shift(row, within / CoarseCells::side, source.height);
    const double similarity = similarity_of(key);
    return {similarity, similarity, source.twice_x(x), source.twice_y(y), source.pose};
  }
};

}  // namespace stage
}  // namespace xcorr

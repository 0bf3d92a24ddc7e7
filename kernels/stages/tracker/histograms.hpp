// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A target's colours and those around it, as histograms (Bertinetto et al., Staple: Complementary
// Learners for Real-Time Tracking, 2016): how likely a pixel of a colour is one of the target. They
// know nothing of where colours are, so what deforms or turns looks the same to them, other than to
// a filter; and they err elsewhere.
//
// The stage histogram_update: windows with a target in their middle -> its histograms, and how
// alike what it sees and the first ones are. The stage histogram_prior: search windows, histograms
// -> what these add to the responses of filters.
#pragma once

#include "stages/tracker/filter_response.hpp"

namespace xcorr {
namespace tracker {

/// Colours in bins by luma and chroma, finer where chroma is low, as in most of a picture: levels
/// of luma, and of either chroma; a bin for each of all three. Gray pictures use the first bins,
/// one for each of their levels.
constexpr int luma_levels = 16, chroma_levels = 15, gray_levels = 32;
constexpr int color_bins = luma_levels * chroma_levels * chroma_levels;

/// A chroma's level, by how far it is from gray: -128 to 127.
XCORR_HD constexpr int chroma_level(int chroma) {
  const int far = chroma < 0 ? -chroma : chroma;
  const int level = far < 3 ? 0 : far < 27 ? 1 + (far - 3) / 6 : far < 59 ? 5 + (far - 27) / 16 : 7;
  return chroma < 0 ? 7 - level : 7 + level;
}

/// What the histograms of a target are at a time.
struct ColorHistograms {
  /// Shares of the pixels that have a colour, on the target and around it: running means.
  float target[color_bins], around[color_bins];
  float posterior[color_bins];  ///< of the target, by colour
  float first[color_bins];      ///< the target's, as it was learnt first
  double inside, outside;       ///< means of the posterior on the target and around it
  std::int32_t times;           ///< how often it was taught; 0: all else means nothing

  /// 0 to 1: how well colours tell the target from what is around it.
  XCORR_HD double separation() const {
    constexpr double full = 0.4;  // a difference from which they do so as well as may be
    const double share = (inside - outside) / full;
    return share < 0 ? 0 : share > 1 ? 1 : share;
  }
  XCORR_HD float rate() const {
    constexpr float of_means = 0.04f;
    return times == 0 ? 1 : of_means;
  }
  /// What of its first histogram there is after a window with that share.
  XCORR_HD float first_after(int bin, float target_seen) const {
    return times == 0 ? target_seen : first[bin];
  }
  /// Takes the means of the posterior in a window, after `known`.
  XCORR_HD void take_means(const ColorHistograms& known, double inside_seen, double outside_seen) {
    const double rate = known.rate();
    const double before = known.times == 0 ? 0 : known.inside,
                 before_outside = known.times == 0 ? 0 : known.outside;
    inside = before + rate * (inside_seen - before);
    outside = before_outside + rate * (outside_seen - before_outside);
    times = known.times + 1;
  }
};

/// What keeps the posterior of a colour low that is hardly seen at all.
constexpr float least_share = 1e-3f;
/// What the likelihood counts beside the response of the filter, which is 1 at most.
constexpr double weight_of_colors = 0.4;

/// A bin, after what a window has shown: shares of the pixels with that colour.
struct BinUpdate {
  float target, around, posterior;

  XCORR_HD BinUpdate(const ColorHistograms& known, int bin, float target_seen, float around_seen) {
    const float rate = known.rate();
    const float before = known.times == 0 ? 0 : known.target[bin];
    const float before_around = known.times == 0 ? 0 : known.around[bin];
    target = before + rate * (target_seen - before);
    around = before_around + rate * (around_seen - before_around);
    posterior = target / (target + around + least_share);
  }
};

/// Which pixels of a window are on its target, and which are around it.
class TargetRegions {
 public:
  XCORR_HD explicit TargetRegions(const FilterShape& shape)
      : half_width_(shape.width * cell / 2), half_height_(shape.height * cell / 2) {
    beyond_ = (half_width_ + half_height_) / 2;
    left_ = first(half_width_ + beyond_), top_ = first(half_height_ + beyond_);
  }

  /// A part of the window with all of these pixels.
  XCORR_HD Rect both() const {
    return {left_, top_, window_size - 2 * left_, window_size - 2 * top_};
  }

  XCORR_HD bool on_target(int x, int y) const {
    constexpr double inner_share = 0.8;  // of the box in each direction
    return away(x) <= half_width_ * inner_share && away(y) <= half_height_ * inner_share;
  }
  /// As far beyond its sides as the mean of half of these.
  XCORR_HD bool around(int x, int y) const {
    return (away(x) > half_width_ || away(y) > half_height_) && away(x) <= half_width_ + beyond_ &&
           away(y) <= half_height_ + beyond_;
  }

 private:
  static constexpr double middle = (window_size - 1) / 2.0;
  XCORR_HD static double away(int i) { return std::abs(i - middle); }
  XCORR_HD static int first(double reach) {
    return reach < middle ? static_cast<int>(std::floor(middle - reach)) : 0;
  }

  double half_width_, half_height_, beyond_;
  int left_, top_;
};

/// A box of a target's size in cells, for each shift of a window.
struct ShiftedBox {
  int left, top, right, bottom;  ///< cells of the window; the last two are the first ones beyond

  XCORR_HD static int whole(double length) {
    const int cells_of = static_cast<int>(std::floor(length + 0.5));
    return cells_of > 1 ? cells_of : 1;
  }
  XCORR_HD ShiftedBox(const FilterShape& shape, int shift_x, int shift_y) {
    left = begin(shift_x, shape.width), top = begin(shift_y, shape.height);
    right = within(left + whole(shape.width)), bottom = within(top + whole(shape.height));
    left = within(left), top = within(top);
  }

 private:
  XCORR_HD static int begin(int shift, double extent) {
    return static_cast<int>(std::floor(grid / 2.0 + from_middle(shift) - extent / 2 + 0.5));
  }
  XCORR_HD static int within(int at) { return at < 0 ? 0 : at < grid ? at : grid; }
};

/// Sums over the upper left parts of a window's cells: [row][column], with those of no cells.
struct Integral {
  static constexpr int pitch = grid + 1;
  double of[pitch * pitch];

  XCORR_HD double& at(int x, int y) { return of[y * pitch + x]; }
  XCORR_HD double sum(const ShiftedBox& box) const {
    const auto upto = [&](int x, int y) { return of[y * pitch + x]; };
    return upto(box.right, box.bottom) - upto(box.left, box.bottom) - upto(box.right, box.top) +
           upto(box.left, box.top);
  }
};

/// What a likelihood summed over a box is multiplied with.
XCORR_HD inline double weight_of_sum(const ColorHistograms& known, const FilterShape& shape) {
  return weight_of_colors * known.separation() /
         (ShiftedBox::whole(shape.width) * ShiftedBox::whole(shape.height));
}

}  // namespace tracker

namespace stage {

/// Windows of a frame in colour, for histograms.
struct ColorWindows {
  int windows = 1, filters = 1;
  Size frame;  ///< places outside are read at its edge
  tracker::ColorLayout colors = {};

  constexpr Features features() const { return Feature::u8; }

  /// The bin of a pixel. \param planes  their first pixels
  XCORR_HD int bin_at(const std::uint8_t* const (&planes)[color_planes],
                      const tracker::PixelPlace& place) const {
    using namespace tracker;
    const auto [luma, blue, red] = colors.at(frame, planes, place.x, place.y);
    if (colors.colors == Colors::none) return luma * gray_levels / 256;
    return (luma * luma_levels / 256 * chroma_levels + chroma_level(blue)) * chroma_levels +
           chroma_level(red);
  }
  /// The mean posterior of the four pixels that stand for a cell.
  XCORR_HD float likelihood(const std::uint8_t* const (&planes)[color_planes],
                            const tracker::Cropping& window, const float* posterior, int x,
                            int y) const {
    float sum = 0;
    for (int k = 0; k < 4; ++k) sum += posterior[bin_at(planes, window.nearest_in_cell(x, y, k))];
    return sum / 4;
  }
};

struct ColorWindowBuffers : Launch {
  /// As of the stage feature_maps.
  const std::uint8_t *plane_0 = nullptr, *plane_1 = nullptr, *plane_2 = nullptr;
  const tracker::Look* looks = nullptr;
  const tracker::Cropping* croppings = nullptr;
  const tracker::FilterShape* shapes = nullptr;  ///< of the filters, whose numbers histograms have

  template <class Buffers, class Visit>
  static void arguments(const ColorWindows& p, Visit visit) {
    visit("plane_0", &Buffers::plane_0, Extent{p.colors.bytes_of(0, p.frame), 1});
    visit("plane_1", &Buffers::plane_1, Extent{p.colors.bytes_of(1, p.frame), 1});
    visit("plane_2", &Buffers::plane_2, Extent{p.colors.bytes_of(2, p.frame), 1});
    visit("looks", &Buffers::looks, records<tracker::Look>(p.windows));
    visit("croppings", &Buffers::croppings, records<tracker::Cropping>(p.windows));
    visit("shapes", &Buffers::shapes, records<tracker::FilterShape>(p.filters));
  }
};

struct HistogramUpdate {
  static constexpr const char* name = "histogram_update";

  struct Problem : ColorWindows {
    /// Then no two windows are of one filter. False: there are no `histograms`, and what is around
    /// the targets does not matter.
    bool learns = true;
  };

  struct Buffers : ColorWindowBuffers {
    const tracker::ColorHistograms* known = nullptr;
    tracker::ColorHistograms* histograms = nullptr;  ///< may be the same memory
    /// Of the windows: the Bhattacharyya coefficient of the target's histogram there and the first
    /// one, 0 to 1.
    double* likeness = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    ColorWindowBuffers::arguments<Buffers>(p, visit);
    visit("known", &Buffers::known, records<tracker::ColorHistograms>(p.filters));
    visit("histograms", &Buffers::histograms,
          records<tracker::ColorHistograms>(p.learns ? p.filters : 0));
    visit("likeness", &Buffers::likeness, records<double>(p.windows));
  }
};

struct HistogramPrior {
  static constexpr const char* name = "histogram_prior";
  using Problem = ColorWindows;

  struct Buffers : ColorWindowBuffers {
    const tracker::ColorHistograms* histograms = nullptr;
    /// [window][shift]: how likely the target's box is there, the less the more its colours are
    /// around it, too.
    float* color_priors = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    ColorWindowBuffers::arguments<Buffers>(p, visit);
    visit("histograms", &Buffers::histograms, records<tracker::ColorHistograms>(p.filters));
    visit("color_priors", &Buffers::color_priors,
          records<float>(std::int64_t{p.windows} * tracker::cells));
  }
};

}  // namespace stage
}  // namespace xcorr

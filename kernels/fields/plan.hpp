// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The way from two images to a field: one search per pass, coarse to fine, each from what the one
// before found and validated, or in images that were deformed by it; then, where asked for, least
// squares, which are validated, too, and repeated from the neighbours' median where they are not
// believed, with order 2 everywhere. All of it is enqueued at once.
#pragma once

#include <span>
#include <vector>

#include "device/runtime.hpp"
#include "stages/fields/deform.hpp"
#include "stages/fields/fit.hpp"
#include "stages/fields/predict.hpp"
#include "stages/fields/smooth_field.hpp"
#include "stages/fields/validate.hpp"
#include "stages/fields/window_search.hpp"

namespace xcorr {

/// An image where kernels read it.
struct FieldImage {
  const std::uint8_t* pixels;  ///< their rows' bytes
  std::int64_t pitch;          ///< bytes
};

/// Which of an ensemble's pairs.
struct FieldPairNumber {
  int pair = 0, pairs = 1;
};

class FieldPlan {
 public:
  /// The settings must be right, see check_field(). `mask`: dense, of the image's size, or empty.
  /// `places`: empty for a grid.
  static Result<FieldPlan> make(const Device& device, Size image, const FieldSettings& settings,
                                const std::vector<std::uint8_t>& mask,
                                std::span<const FieldPlace> places, Stream stream);

  /// Enqueues a field; its vectors come to vectors().
  Status enqueue(const FieldImage& reference, const FieldImage& frame, Stream stream);

  /// Before each ensemble; nothing may be enqueued. Only the first call has something to do.
  Status prepare_ensemble();
  /// Enqueues a pass's search in one of the pairs. For each pass in turn all pairs come,
  /// in their order; vectors() come with the last. Without least squares.
  Status enqueue_pair(int pass, const FieldImage& reference, const FieldImage& frame,
                      FieldPairNumber number, Stream stream);

  bool fits() const { return fits_; }          ///< by least squares
  double seconds() const { return seconds_; }  ///< an estimate of how long a field takes
  int passes() const { return static_cast<int>(passes_.size()); }
  const FieldGrid& grid() const { return passes_.back().grid; }
  /// In host memory, once the stream has done what is enqueued.
  std::span<FieldVector> vectors() const {
    return {results_.as<FieldVector>(), static_cast<std::size_t>(grid().count.area())};
  }

 private:
  struct Pass {
    FieldGrid grid;
    stage::WindowSearch::Problem problem;
    const Variant<stage::WindowSearch>* window_search;
    const Variant<stage::WindowSearch>* window_search_ensemble = nullptr;
    double seconds = 0;  ///< an estimate of how long its search takes
    Block nodes;         ///< a FieldStatus for each window; later passes of a grid
    Block windows;       ///< of a list, and of the first pass of a grid
  };

  /// Coefficients of an image, and the image that is searched in passes after the first, which
  /// has a margin.
  struct Deformed {
    Block coefficients, pixels;
  };

  std::int64_t pixel_bytes() const { return static_cast<std::int64_t>(size_of(settings_.type)); }
  Status allocate();
  Status choose_stages();
  double seconds_of(const Pass& pass) const;
  double seconds_of_fit() const;
  Status add_pass(int window, const std::vector<InterrogationWindow>& windows,
                  const FieldGrid& grid, Stream stream);
  template <class Record>
  Status upload(Block& block, const std::vector<Record>& from, Stream stream);
  /// Once for a pair: the splines, and of a reference that is not deformed a copy with a margin.
  Status prepare(const FieldImage& reference, const FieldImage& frame, Stream stream);
  Status surround(const FieldImage& reference, Stream stream);
  /// By a share of what was found on a grid.
  Status deform(const Deformed& image, const FieldGrid& by, float share, Stream stream);
  /// The windows of a pass.
  Status begin_pass(int number, Stream stream);
  template <class Problem, class LaunchFrom>
  Status in_launches(Problem& problem, int row, double seconds, LaunchFrom launch);
  /// Of the images, or of them deformed; prepare() comes before.
  Status search(int number, const FieldImage& reference, const FieldImage& frame, Stream stream,
                FieldPairNumber pair = {});
  /// Copies the results.
  Status finish(const FieldVector* vectors, Stream stream);
  /// And smooths them where that is asked for.
  Status validate(const FieldGrid& grid, Stream stream);
  Status smooth(const FieldGrid& grid, const FieldVector* from, Stream stream);
  /// What windows are for.
  enum class Use { search, deformed_search, fit, bent_fit };
  /// The windows of a pass, from the vectors of a grid or a list.
  Status predict(const FieldGrid& from, const Pass& to, Use use, Stream stream);
  Status fit(const FieldImage& reference, bool again, Stream stream);
  FieldVector* measured() const { return measured_.as<FieldVector>(); }
  FieldVector* validated() const { return validated_.as<FieldVector>(); }
  FieldVector* smoothed() const { return smoothed_.as<FieldVector>(); }
  /// What is believed after validate().
  FieldVector* believed() const { return weight_ > 0 ? smoothed() : validated(); }
  /// The same smoothed, by which images are deformed.
  FieldVector* deformed_by() const { return deformed_by_.as<FieldVector>(); }

  Device device_;
  const Runtime* runtime_ = nullptr;
  Size image_;
  FieldSettings settings_;
  FieldPlausibility limits_;
  bool masked_ = false, explicit_places_ = false;
  bool fits_ = false;
  bool deforms_ = false, deforms_both_ = false;  ///< in passes after the first
  std::vector<Pass> passes_;
  double seconds_ = 0, fit_seconds_ = 0;
  const Variant<stage::Validate>* validate_ = nullptr;
  const Variant<stage::SmoothField>* smooth_ = nullptr;
  float weight_ = 0;  ///< of neighbours where the field is smoothed; 0: it is not
  const Variant<stage::Predict>* predict_ = nullptr;
  stage::Spline::Problem spline_problem_;
  stage::Fit::Problem fit_problem_;
  stage::Deform::Problem deform_problem_;
  const Variant<stage::Spline>* spline_ = nullptr;
  const Variant<stage::Deform>* deform_ = nullptr;
  const Variant<stage::Fit>* fit_ = nullptr;
  Block mask_, neighbours_, windows_, bends_, deformed_mask_, sums_, measured_, validated_,
      smoothed_, deformed_by_, workspace_;
  Deformed reference_, frame_;
  Block results_;
};

/// The grid of a pass; `window` pixels along a side.
FieldGrid field_grid(Size image, int window, int spacing);

/// How many windows a launch takes of so many that take that long: what a GPU has begun cannot be
/// stopped, so it takes no more at once than fill it for a moment. Whole rows, of so many windows.
int windows_of_launch(int windows, int row, double seconds);

/// Where a window begins along an axis whose centre is to be at a place.
int field_corner(float center, int window);

}  // namespace xcorr

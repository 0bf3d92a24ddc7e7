// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The way from two pictures to a field: a search a pass, coarse to fine, each from what the one
// before found and validated; then, where asked for, least squares, which are validated, too, and
// repeated from the neighbours' median where they are not believed, with order 2 everywhere. All of
// it is enqueued at once.
#pragma once

#include <span>
#include <vector>

#include "device/runtime.hpp"
#include "stages/displace.hpp"
#include "stages/fit.hpp"
#include "stages/predict.hpp"
#include "stages/smooth_field.hpp"
#include "stages/validate.hpp"

namespace xcorr {

/// A picture where kernels read it.
struct FieldPicture {
  const std::uint8_t* pixels;
  std::int64_t pitch;  ///< bytes
};

class FieldPlan {
 public:
  /// The settings must be right, see check_field(). `mask`: dense, of the picture's size, or empty.
  /// `places`: empty for a grid.
  static Result<FieldPlan> make(const Device& device, Size picture, const FieldSettings& settings,
                                const std::vector<std::uint8_t>& mask,
                                std::span<const FieldPlace> places, Stream stream);

  /// Enqueues a field; its vectors come to vectors().
  Status enqueue(const FieldPicture& reference, const FieldPicture& frame, Stream stream);

  const FieldGrid& grid() const { return passes_.back().grid; }
  /// In host memory, once the stream has done what is enqueued.
  const FieldVector* vectors() const { return results_.as<FieldVector>(); }

 private:
  struct Pass {
    FieldGrid grid;
    stage::Displace::Problem problem;
    const Variant<stage::Displace>* displace;
    Block nodes;    ///< a FieldStatus for each window; later passes of a grid
    Block windows;  ///< of a list, and of the first pass of a grid
  };

  Status allocate();
  Status add_pass(int window, const std::vector<FieldWindow>& windows, const FieldGrid& grid,
                  Stream stream);
  template <class Record>
  Status upload(Block& block, const std::vector<Record>& from, Stream stream);
  Status search(const Pass& pass, const FieldPicture& reference, const FieldPicture& frame,
                Stream stream);
  /// And smooths them where that is asked for.
  Status validate(const FieldGrid& grid, Stream stream);
  Status smooth(const FieldGrid& grid, const FieldVector* from, Stream stream);
  /// The windows of a pass, from the vectors of a grid or a list.
  Status predict(const FieldGrid& from, const Pass& to, bool bent, Stream stream);
  Status fit(const FieldPicture& reference, bool again, Stream stream);
  FieldVector* measured() const { return measured_.as<FieldVector>(); }
  FieldVector* validated() const { return validated_.as<FieldVector>(); }
  FieldVector* smoothed() const { return smoothed_.as<FieldVector>(); }
  /// What is believed after validate().
  FieldVector* believed() const { return smooth_ ? smoothed() : validated(); }

  Device device_;
  const Runtime* runtime_ = nullptr;
  Size picture_;
  FieldSettings settings_;
  FieldPlausibility limits_;
  bool masked_ = false, listed_ = false;
  std::vector<Pass> passes_;
  const Variant<stage::Validate>* validate_ = nullptr;
  const Variant<stage::SmoothField>* smooth_ = nullptr;  ///< null: nothing is smoothed
  const Variant<stage::Predict>* predict_ = nullptr;
  stage::Spline::Problem spline_problem_;
  stage::Fit::Problem fit_problem_;
  const Variant<stage::Spline>* spline_ = nullptr;
  const Variant<stage::Fit>* fit_ = nullptr;
  Block mask_, links_, windows_, bends_, measured_, validated_, smoothed_, coefficients_,
      workspace_;
  Block results_;
};

/// The grid of a pass; `window` pixels along a side.
FieldGrid field_grid(Size picture, int window, int spacing);

/// Where a window begins along an axis whose centre is to be at a place.
int field_corner(float center, int window);

}  // namespace xcorr

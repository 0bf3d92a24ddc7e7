// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage deform: an image, as the coefficients of the B-spline through it, and the vectors of a
// grid -> the image as it would be if its parts had not moved: each pixel is looked up a share of
// the displacement away, which is bilinear between the grid's nodes. What is left to be found of
// the motion is small and nearly the same within a window (Scarano 2002). A margin around
// the image lets windows at its edges be found outwards, too.
#pragma once

#include "stages/fields/predict.hpp"
#include "stages/fields/spline.hpp"

namespace xcorr {

/// Where the deformed image's pixel for (column, row) is looked up, inside the image: outside
/// of it, the nearest place that is not.
struct DeformedPlace {
  int x, y;    ///< the pixel before
  float t, s;  ///< past it, 0 to 1

  XCORR_HD DeformedPlace(const FieldOnGrid& field, float share, Size size, int column, int row) {
    const FieldPlace moved =
        field.displacement(static_cast<float>(column), static_cast<float>(row));
    t = inside(static_cast<float>(column) + share * moved.x, size.width);
    s = inside(static_cast<float>(row) + share * moved.y, size.height);
    x = static_cast<int>(t);
    y = static_cast<int>(s);
    t -= static_cast<float>(x);
    s -= static_cast<float>(y);
  }

 private:
  XCORR_HD static float inside(float place, int length) {
    return FieldOnGrid::clamped(place, length);
  }
};

/// The nearest step of gray; floats stay what they are.
template <class T>
XCORR_HD T gray_of(float value) {
  if constexpr (std::is_floating_point_v<T>) return value;
  constexpr float most = sizeof(T) == 1 ? 255.F : 65535.F;
  return static_cast<T>(value < 0 ? 0.F : value > most ? most : value + 0.5F);
}

namespace stage {

struct Deform {
  static constexpr const char* name = "deform";

  struct Problem {
    Size size;
    int margin = 0;          ///< pixels around the deformed image
    std::int64_t pitch = 0;  ///< bytes, of the deformed image
    int degree = 5;          ///< of the spline: 3 or 5
    FieldGrid grid;          ///< of the vectors
    float share = 1;         ///< of their displacements
    ElementType type = ElementType::u8;

    constexpr Features features() const { return feature_of(type); }
    /// Of the deformed image.
    XCORR_HD constexpr Size deformed_size() const {
      return {size.width + 2 * margin, size.height + 2 * margin};
    }
  };

  struct Buffers : Launch {
    const float* coefficients = nullptr;  ///< dense
    const FieldVector* vectors = nullptr;
    std::uint8_t* deformed = nullptr;  ///< its rows' bytes
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("coefficients", &Buffers::coefficients, elements(ElementType::f32, p.size.area()));
    visit("vectors", &Buffers::vectors, records<FieldVector>(p.grid.count.area()));
    visit("deformed", &Buffers::deformed, matrices(p.type, p.deformed_size(), p.pitch, 0, 1));
  }
};

}  // namespace stage
}  // namespace xcorr

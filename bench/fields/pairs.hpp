// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pairs of images whose displacements are known exactly: particles as in particle image
// velocimetry, speckles as in digital image correlation. Nothing is interpolated: both images of
// a pair are drawn from the same places.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <xcorr/types.hpp>

namespace fields {

struct Point {
  double x, y;
};

/// The displacement at a place.
using Motion = std::function<Point(Point)>;

Motion uniform(double dx, double dy);
/// Vortices in rows, of that diameter and greatest speed, on a mean flow.
Motion vortices(double speed, double diameter);
/// Stretched, compressed and sheared about the centre.
Motion stretch(Point center);

struct GrayImage {
  xcorr::Size size;
  std::vector<std::uint8_t> pixels;  ///< dense

  xcorr::MatrixView view() const {
    return {pixels.data(), xcorr::ElementType::u8, size, size.width};
  }
};

struct Pair {
  GrayImage first, second;
  /// The displacement of what the first shows at a place.
  std::function<Point(Point)> truth;
};

struct Particles {
  double diameter = 2.5;  ///< pixels, to exp(-2) of the peak
  double lost = 0;        ///< the share that is in one image only
  double per_pixel = 0.02;
  double noise = 3;  ///< its deviation, in steps of gray
};
/// A particle at a place of the motion is half the way before it in the first image and half the
/// way after it in the second.
Pair particles(xcorr::Size size, const Motion& motion, const Particles& looks, unsigned seed);

struct Speckles {
  double contrast = 28;  ///< deviation, in steps of gray
  double sigma = 1.6;    ///< of the blobs
  double per_pixel = 0.05;
  double noise = 2;
};
/// The motion is that of the first image's places.
Pair speckles(xcorr::Size size, const Motion& motion, const Speckles& looks, unsigned seed);

}  // namespace fields

// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Collects what differs between a variant's outputs and the reference's: the first difference in
// words, how many more there are, and the largest error that was still within its bound.
#pragma once

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <span>
#include <sstream>
#include <string>

#include <xcorr/types.hpp>

namespace checkcorr {

class Comparison {
 public:
  /// `surface`: the size of whole surfaces.
  explicit Comparison(xcorr::Size surface) : surface_(surface) {}

  /// `place` names the value when it is wrong. A NaN is never within a bound.
  template <class T, class Place>
  void value(Place place, T expected, T got, double bound) {
    if (expected == got) return;
    const double error = std::abs(static_cast<double>(got) - static_cast<double>(expected));
    if (error <= bound) {
      worst_ = std::max(worst_, error / bound);
      return;
    }
    if (++count_ > 1) return;
    std::ostringstream text;
    text << std::setprecision(17) << place() << ": expected " << +expected << ", got " << +got
         << ", bound " << std::setprecision(3) << bound;
    first_ = text.str();
  }

  /// Element `index` of whole surfaces.
  template <class T>
  void element(const char* name, std::size_t index, T expected, T got, double bound) {
    const auto place = [&] {
      const auto area = static_cast<std::size_t>(surface_.area());
      const auto width = static_cast<std::size_t>(surface_.width);
      std::ostringstream text;
      text << name << '[' << index << "] (output " << index / area << ", x " << index % area % width
           << ", y " << index % area / width << ')';
      return text.str();
    };
    value(place, expected, got, bound);
  }

  /// Rows of bytes `pitch` apart, exactly.
  void image(const char* name, xcorr::Size size, std::int64_t pitch,
             std::span<const std::uint8_t> expected, std::span<const std::uint8_t> got) {
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        const auto at = static_cast<std::size_t>(y * pitch + x);
        const auto place = [=] {
          return std::string(name) + " (x " + std::to_string(x) + ", y " + std::to_string(y) + ")";
        };
        value(place, expected[at], got[at], 0);
      }
  }

  /// The first one: index, expected, got, bound; how many more. Empty: none.
  std::string mismatch() const {
    return first_ + (count_ > 1 ? ", and " + std::to_string(count_ - 1) + " more" : "");
  }
  /// The largest error as a share of its bound.
  double worst() const { return worst_; }

 private:
  const xcorr::Size surface_;
  std::int64_t count_ = 0;
  std::string first_;
  double worst_ = 0;
};

}  // namespace checkcorr

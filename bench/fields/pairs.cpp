// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fields/pairs.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

namespace fields {
namespace {

constexpr double pi = std::numbers::pi;

/// The same numbers with every standard library.
class Random {
 public:
  explicit Random(unsigned seed) : bits_(seed) {}

  double uniform(double from, double to) {
    return from + (to - from) * (static_cast<double>(bits_() >> 11) + 0.5) / 9007199254740992.0;
  }
  double normal() {
    return std::sqrt(-2 * std::log(uniform(0, 1))) * std::cos(2 * pi * uniform(0, 1));
  }

 private:
  std::mt19937_64 bits_;
};

struct Canvas {
  xcorr::Size size;
  std::vector<double> values;

  Canvas(xcorr::Size s, double value) : size(s), values(s.area(), value) {}
  double& at(int x, int y) { return values[std::size_t(y) * size.width + x]; }

  GrayImage image(double noise, Random& random) const {
    GrayImage made{size, {}};
    for (const double value : values)
      made.pixels.push_back(static_cast<std::uint8_t>(
          std::clamp(std::rint(value + noise * random.normal()), 0.0, 255.0)));
    return made;
  }

  /// A Gaussian spot, integrated over each pixel.
  void add_spot(Point at_place, double peak, double sigma) {
    const double reach = 4 * sigma + 1, scale = 1 / (std::sqrt(2.0) * sigma);
    const auto part = [=](double from) {
      return std::erf((from + 0.5) * scale) - std::erf((from - 0.5) * scale);
    };
    const auto first = [=](double place) { return std::max(0, int(std::floor(place - reach))); };
    const auto last = [=](double place, int length) {
      return std::min(length - 1, int(std::ceil(place + reach)));
    };
    for (int y = first(at_place.y); y <= last(at_place.y, size.height); ++y)
      for (int x = first(at_place.x); x <= last(at_place.x, size.width); ++x)
        at(x, y) += peak * pi * sigma * sigma / 2 * part(x - at_place.x) * part(y - at_place.y);
  }
};

/// Where `moved(place)` is the given point; moved must be near the identity.
template <class Moved>
Point inverse(const Moved& moved, Point to) {
  Point place = to;
  for (int i = 0; i < 30; ++i) {
    const Point there = moved(place);
    place = {place.x + to.x - there.x, place.y + to.y - there.y};
  }
  return place;
}

/// Blobs in cells, for sums of those nearby.
class Texture {
 public:
  Texture(xcorr::Size size, const Speckles& looks, Random& random)
      : sigma_(looks.sigma),
        across_(static_cast<int>((size.width + 2 * margin) / cell) + 1),
        down_(static_cast<int>((size.height + 2 * margin) / cell) + 1),
        cells_(std::size_t(across_) * down_) {
    const double area = (size.width + 2 * margin) * (size.height + 2 * margin);
    for (int i = 0; i < looks.per_pixel * area; ++i) {
      const Point place{random.uniform(0, size.width + 2 * margin),
                        random.uniform(0, size.height + 2 * margin)};
      const double sign = random.uniform(0, 1) < 0.5 ? -1 : 1;
      cells_[std::size_t(place.y / cell) * across_ + std::size_t(place.x / cell)].push_back(
          {place, sign});
    }
  }

  double at(Point place) const {
    const double x = place.x + margin, y = place.y + margin, limit = 16 * sigma_ * sigma_;
    const int reach = static_cast<int>(std::ceil(4 * sigma_ / cell));
    const int column = static_cast<int>(x / cell), row = static_cast<int>(y / cell);
    double sum = 0;
    for (int j = std::max(0, row - reach); j <= std::min(down_ - 1, row + reach); ++j)
      for (int i = std::max(0, column - reach); i <= std::min(across_ - 1, column + reach); ++i)
        for (const Blob& blob : cells_[std::size_t(j) * across_ + i]) {
          const double d =
              (x - blob.place.x) * (x - blob.place.x) + (y - blob.place.y) * (y - blob.place.y);
          if (d < limit) sum += blob.sign * std::exp(-d / (2 * sigma_ * sigma_));
        }
    return sum;
  }

 private:
  static constexpr double cell = 4, margin = 64;
  struct Blob {
    Point place;
    double sign;
  };
  double sigma_;
  int across_, down_;
  std::vector<std::vector<Blob>> cells_;
};

}  // namespace

Motion uniform(double dx, double dy) {
  return [=](Point) { return Point{dx, dy}; };
}

Motion vortices(double speed, double diameter) {
  const double k = pi / diameter;
  return [=](Point p) {
    return Point{3 + speed * std::sin(k * p.x) * std::cos(k * p.y),
                 -2 - speed * std::cos(k * p.x) * std::sin(k * p.y)};
  };
}

Motion stretch(Point center) {
  return [=](Point p) {
    const double x = p.x - center.x, y = p.y - center.y;
    return Point{1.37 + 0.01 * x + 0.004 * y, -0.81 + 0.004 * x - 0.003 * y};
  };
}

Pair particles(xcorr::Size size, const Motion& motion, const Particles& looks, unsigned seed) {
  Random random(seed);
  constexpr double margin = 48, background = 12, peak = 180;
  Canvas first(size, background), second(size, background);
  const auto anywhere = [&] {
    return Point{random.uniform(-margin, size.width + margin),
                 random.uniform(-margin, size.height + margin)};
  };
  const double area = (size.width + 2 * margin) * (size.height + 2 * margin);
  for (int i = 0; i < looks.per_pixel * area; ++i) {
    const Point place = anywhere(), way = motion(place);
    const double depth = random.uniform(-1.2, 1.2);  // in the sheet of light
    const double bright = peak * std::exp(-depth * depth);
    Point after{place.x + way.x / 2, place.y + way.y / 2};
    if (random.uniform(0, 1) < looks.lost) after = anywhere();
    first.add_spot({place.x - way.x / 2, place.y - way.y / 2}, bright, looks.diameter / 4);
    second.add_spot(after, bright, looks.diameter / 4);
  }
  Pair pair{first.image(looks.noise, random), second.image(looks.noise, random), {}};
  pair.truth = [motion](Point seen) {
    const auto half_before = [&](Point p) {
      const Point way = motion(p);
      return Point{p.x - way.x / 2, p.y - way.y / 2};
    };
    return motion(inverse(half_before, seen));
  };
  return pair;
}

Pair speckles(xcorr::Size size, const Motion& motion, const Speckles& looks, unsigned seed) {
  Random random(seed);
  const Texture texture(size, looks, random);
  const double scale = looks.contrast / std::sqrt(looks.per_pixel * pi * looks.sigma * looks.sigma);
  const auto draw = [&](const auto& from) {
    Canvas canvas(size, 128);
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        double sum = 0;
        for (int i = 0; i < 9; ++i)
          sum += texture.at(from(Point{x + (i % 3 - 1) / 3.0, y + (i / 3 - 1) / 3.0}));
        canvas.at(x, y) += scale * sum / 9;
      }
    return canvas.image(looks.noise, random);
  };
  const auto moved = [&](Point p) {
    const Point way = motion(p);
    return Point{p.x + way.x, p.y + way.y};
  };
  GrayImage first = draw([](Point p) { return p; });
  GrayImage second = draw([&](Point p) { return inverse(moved, p); });
  return {std::move(first), std::move(second), motion};
}

}  // namespace fields

// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Surfaces are random numbers of fixed seeds: values on grids that are interpolated and added up,
// or rectangles and discs in random places. Sprites are sampled bilinearly.
#include "drawing.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace bench {
namespace {

constexpr double pi = std::numbers::pi;
constexpr double noise_sigma = 2;  // grey levels

std::uint32_t hash(std::uint32_t seed, int x, int y) {
  std::uint32_t bits = (seed * 0x27d4eb2fu) ^ (static_cast<std::uint32_t>(x) * 0x9e3779b1u) ^
                       (static_cast<std::uint32_t>(y) * 0x85ebca6bu);
  bits = (bits ^ (bits >> 15)) * 0x2c1b3c6du;
  bits = (bits ^ (bits >> 12)) * 0x297a2d39u;
  return bits ^ (bits >> 15);
}

/// A fixed pseudo-random value in 0..1.
double random_at(std::uint32_t seed, int x, int y) {
  return (hash(seed, x, y) >> 8) / static_cast<double>(1 << 24);
}

std::uint8_t grey(double value) {
  return static_cast<std::uint8_t>(std::clamp(value + 0.5, 0.0, 255.0));
}

/// Values on a grid of points `step` pixels apart, interpolated smoothly.
double cloud(std::uint32_t seed, int step, int x, int y) {
  const auto smooth = [](double t) { return t * t * (3 - 2 * t); };
  const int left = x / step, top = y / step;
  const double tx = smooth(static_cast<double>(x % step) / step);
  const double ty = smooth(static_cast<double>(y % step) / step);
  const auto row = [&](int at) {
    return std::lerp(random_at(seed, left, at), random_at(seed, left + 1, at), tx);
  };
  return std::lerp(row(top), row(top + 1), ty);
}

/// Noise of several sizes, the widest strongest.
Grey clouds(int width, int height, std::uint32_t seed) {
  Grey image(width, height);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      double sum = 0, strength = 1, total = 0;
      for (int step = 32; step >= 2; step /= 2, strength *= 0.8) {
        sum += strength * cloud(seed + static_cast<std::uint32_t>(step), step, x, y);
        total += strength;
      }
      image.at(x, y) = grey(128 + (sum / total - 0.5) * 500);
    }
  return image;
}

/// Rectangles and discs, one over the other until they hide what was there first.
Grey pieces(int width, int height, std::uint32_t seed) {
  Grey image(width, height);
  const int count = width * height / 40;
  for (int i = 0; i < count; ++i) {
    const auto random = [&](int what) { return random_at(seed, i, what); };
    const double x = random(0) * width, y = random(1) * height, value = 30 + 200 * random(2);
    const double half_width = 3 + 9 * random(3), half_height = 3 + 9 * random(4);
    const bool disc = random(5) < 0.5;
    for (int row = std::max(0, static_cast<int>(y - half_height));
         row < std::min<double>(height, y + half_height); ++row)
      for (int column = std::max(0, static_cast<int>(x - half_width));
           column < std::min<double>(width, x + half_width); ++column)
        if (!disc || std::hypot((column - x) / half_width, (row - y) / half_height) < 1)
          image.at(column, row) = grey(value);
  }
  return image;
}

struct Canvas {
  std::vector<float> values;
  std::vector<int> owners;  ///< which target is seen at a pixel; -1: none
};

bool in_ellipse(int x, int y, const Grey& texture) {
  return std::hypot((2 * x + 1.0) / texture.width - 1, (2 * y + 1.0) / texture.height - 1) <= 1;
}

/// Bilinear. At its edge it covers a pixel partly.
void paint(const Scene& scene, const Sprite& sprite, int owner, Canvas& canvas) {
  const Grey& texture = *sprite.texture;
  const double reach = std::hypot(texture.width, texture.height) / 2 * sprite.scale + 1;
  const double cosine = std::cos(sprite.turn) / sprite.scale;
  const double sine = std::sin(sprite.turn) / sprite.scale;
  const auto first = [&](double centre) { return std::max(0, static_cast<int>(centre - reach)); };
  for (int y = first(sprite.y); y < std::min<double>(scene.height, sprite.y + reach); ++y)
    for (int x = first(sprite.x); x < std::min<double>(scene.width, sprite.x + reach); ++x) {
      const double dx = x + 0.5 - sprite.x, dy = y + 0.5 - sprite.y;
      const double u = cosine * dx + sine * dy + texture.width / 2.0 - 0.5;
      const double v = cosine * dy - sine * dx + texture.height / 2.0 - 0.5;
      const int left = static_cast<int>(std::floor(u)), top = static_cast<int>(std::floor(v));
      double covered = 0, sum = 0;
      for (int corner = 0; corner < 4; ++corner) {
        const int column = left + (corner & 1), row = top + (corner >> 1);
        if (column < 0 || row < 0 || column >= texture.width || row >= texture.height) continue;
        if (sprite.round && !in_ellipse(column, row, texture)) continue;
        const double weight = (1 - std::abs(u - column)) * (1 - std::abs(v - row));
        sum += weight * texture.at(column, row);
        covered += weight;
      }
      const std::size_t at = static_cast<std::size_t>(y) * scene.width + x;
      float& value = canvas.values[at];
      value = static_cast<float>(sum + (1 - covered) * value);
      if (covered > 0.5) canvas.owners[at] = owner;
    }
}

/// Both passes of a Gaussian; beyond the edge the last pixel goes on.
void blur(std::vector<float>& values, int width, int height, double sigma) {
  const int reach = static_cast<int>(std::ceil(3 * sigma));
  std::vector<float> weights;
  float total = 0;
  for (int i = -reach; i <= reach; ++i) {
    weights.push_back(static_cast<float>(std::exp(-i * i / (2 * sigma * sigma))));
    total += weights.back();
  }
  const auto pass = [&](int length, int count, int step, int next) {
    std::vector<float> line(static_cast<std::size_t>(length));
    for (int i = 0; i < count; ++i) {
      const std::size_t start = static_cast<std::size_t>(i) * next;
      for (int at = 0; at < length; ++at) {
        float sum = 0;
        for (int k = -reach; k <= reach; ++k)
          sum += weights[static_cast<std::size_t>(k + reach)] *
                 values[start + static_cast<std::size_t>(std::clamp(at + k, 0, length - 1)) * step];
        line[static_cast<std::size_t>(at)] = sum / total;
      }
      for (int at = 0; at < length; ++at)
        values[start + static_cast<std::size_t>(at) * step] = line[static_cast<std::size_t>(at)];
    }
  };
  pass(width, height, 1, width);
  pass(height, width, width, 1);
}

/// Roughly Gaussian: the sum of the bytes of a hash.
double noise(int number, int x, int y) {
  const std::uint32_t bits = hash(0x5eed + static_cast<std::uint32_t>(number), x, y);
  const auto byte = [&](int shift) { return static_cast<int>(bits >> shift & 0xff); };
  return noise_sigma / 147.8 * (byte(0) + byte(8) + byte(16) + byte(24) - 510);
}

}  // namespace

Grey texture(Look look, int width, int height, std::uint32_t seed) {
  return look == Look::clouds ? clouds(width, height, seed) : pieces(width, height, seed);
}

Grey alike(const Grey& other, double part, Look look, std::uint32_t seed) {
  Grey image = texture(look, other.width, other.height, seed);
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = grey(std::lerp(image.pixels[i], other.pixels[i], part));
  return image;
}

MadeFrame draw(const Scene& scene, int number) {
  const std::size_t size = static_cast<std::size_t>(scene.width) * scene.height;
  Canvas canvas{std::vector<float>(size), std::vector<int>(size, -1)};
  for (int y = 0; y < scene.height; ++y)
    for (int x = 0; x < scene.width; ++x)
      canvas.values[static_cast<std::size_t>(y) * scene.width + x] =
          scene.background->at((x + scene.pan_x) % scene.background->width,
                               (y + scene.pan_y) % scene.background->height);
  for (const Sprite& sprite : scene.behind) paint(scene, sprite, -1, canvas);
  for (std::size_t i = 0; i < scene.targets.size(); ++i)
    paint(scene, scene.targets[i], static_cast<int>(i), canvas);
  for (const Sprite& sprite : scene.others) paint(scene, sprite, -1, canvas);
  if (scene.blur > 0) blur(canvas.values, scene.width, scene.height, scene.blur);

  MadeFrame frame{Grey(scene.width, scene.height), {}};
  for (int y = 0; y < scene.height; ++y)
    for (int x = 0; x < scene.width; ++x)
      frame.image.at(x, y) =
          grey(scene.gain * canvas.values[static_cast<std::size_t>(y) * scene.width + x] +
               scene.offset + noise(number, x, y));
  std::vector<int> seen(scene.targets.size());
  for (const int owner : canvas.owners)
    if (owner >= 0) ++seen[static_cast<std::size_t>(owner)];
  for (std::size_t i = 0; i < scene.targets.size(); ++i) {
    const Sprite& sprite = scene.targets[i];
    const double width = sprite.texture->width * sprite.scale;
    const double height = sprite.texture->height * sprite.scale;
    frame.truth.emplace_back();
    if (seen[i] >= width * height / 2 * (sprite.round ? pi / 4 : 1))
      frame.truth.back() = {sprite.x - width / 2, sprite.y - height / 2, width, height};
  }
  return frame;
}

}  // namespace bench

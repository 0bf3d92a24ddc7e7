// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What happens in a sequence is drawn by lot from its seed, once; a frame is a function of its
// number then.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numbers>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "drawing.hpp"

namespace bench {
namespace {

constexpr double pi = std::numbers::pi;
constexpr int width = least_photograph_width, height = least_photograph_height;
constexpr int frames = 120, frames_away = frames / 3;

/// A part of a photograph has at least this standard deviation, grey levels: others show nothing.
constexpr double least_texture = 20;

class Lot {
 public:
  explicit Lot(std::uint32_t seed) : engine_(seed) {}
  double between(double least, double most) { return std::lerp(least, most, unit()); }
  int up_to(int most) { return std::min(most, static_cast<int>(unit() * (most + 1))); }
  bool happens(double share) { return unit() < share; }

 private:
  double unit() { return engine_() / 4294967296.0; }
  std::mt19937 engine_;
};

Grey part_of(const Grey& photograph, int x, int y, int w, int h) {
  Grey part(w, h);
  for (int row = 0; row < h; ++row)
    std::copy_n(&photograph.pixels[static_cast<std::size_t>(y + row) * photograph.width + x], w,
                &part.pixels[static_cast<std::size_t>(row) * w]);
  return part;
}

double deviation(const Grey& image) {
  double sum = 0, squares = 0;
  for (const double value : image.pixels) {
    sum += value;
    squares += value * value;
  }
  const auto count = static_cast<double>(image.pixels.size());
  return std::sqrt(std::max(0.0, squares / count - sum * sum / count / count));
}

Grey textured_part(const Grey& photograph, int w, int h, Lot& lot) {
  Grey part(w, h);
  for (int tries = 0; tries < 100; ++tries) {
    part = part_of(photograph, lot.up_to(photograph.width - w), lot.up_to(photograph.height - h), w,
                   h);
    if (deviation(part) >= least_texture) break;
  }
  return part;
}

/// To and fro between two ends.
double swing(double at, double least, double most) {
  const double range = most - least, way = std::fmod(std::abs(at - least), 2 * range);
  return least + (way < range ? way : 2 * range - way);
}

/// A path that turns gently, and jumps once if asked to.
struct Path {
  double x, y, speed_x, speed_y, wave, period;
  int jumps_at;
  double jump_x, jump_y;

  explicit Path(Lot& lot)
      : x(lot.between(60, width - 60)),
        y(lot.between(60, height - 60)),
        speed_x(lot.between(-4, 4)),
        speed_y(lot.between(-3, 3)),
        wave(lot.between(0, 15)),
        period(lot.between(15, 60)),
        jumps_at(lot.happens(0.3) ? 20 + lot.up_to(frames - 40) : frames),
        jump_x(lot.between(-50, 50)),
        jump_y(lot.between(-50, 50)) {}

  void place(Sprite& sprite, int t) const {
    const double jumped = t >= jumps_at, phase = 2 * pi * t / period;
    const double beside = sprite.texture->width / 2.0, above = sprite.texture->height / 2.0;
    sprite.x =
        swing(x + speed_x * t + wave * std::sin(phase) + jumped * jump_x, beside, width - beside);
    sprite.y =
        swing(y + speed_y * t + wave * std::cos(phase) + jumped * jump_y, above, height - above);
  }
};

/// Of a texture that bends like a flag: sampled where waves of that many pixels move it.
Grey bent(const Grey& texture, double pixels, double phase) {
  Grey result(texture.width, texture.height);
  for (int y = 0; y < texture.height; ++y)
    for (int x = 0; x < texture.width; ++x) {
      const double along = 2 * pi * y / texture.height + phase;
      const double across = 2 * pi * x / texture.width - phase;
      const auto column = std::lround(x + pixels * std::sin(along));
      const auto row = std::lround(y + pixels * std::sin(across));
      result.at(x, y) = texture.at(static_cast<int>(std::clamp<long>(column, 0, texture.width - 1)),
                                   static_cast<int>(std::clamp<long>(row, 0, texture.height - 1)));
    }
  return result;
}

const char* name_of(Trial trial) {
  constexpr const char* names[] = {"passed", "small", "stays", "leans"};
  return names[static_cast<int>(trial)];
}

constexpr int small_side = 10, stands = frames / 3;

/// From one side of the frame to the other in about half of the sequence.
struct Passer {
  Grey looks;
  double x, y, speed;

  Passer(const Grey& photograph, Lot& lot)
      : looks(textured_part(photograph, 20 + lot.up_to(20), 60 + lot.up_to(40), lot)),
        x(-looks.width - lot.between(0, 200)),
        y(lot.between(80, height - 80)),
        speed(lot.between(4, 7)) {}
};

struct Story {
  Grey world, target, later, occluder, pole;
  std::vector<Passer> passers;
  std::array<Grey, 3> others;
  std::vector<Path> paths;  ///< of the target, then of the others
  bool round;
  double pole_x = 0;
  double pan_x, pan_y, turn, grow, bend, change, blur, light;
  int hides_at, gone_at;
  std::optional<Trial> trial;

  Story(const std::vector<Grey>& photographs, Lot& lot, std::optional<Trial> tried);
  void place_target(Sprite& sprite, int t) const;
  MadeFrame frame(int t) const;
};

Story::Story(const std::vector<Grey>& photographs, Lot& lot, std::optional<Trial> tried)
    : world(0, 0),
      target(0, 0),
      later(0, 0),
      occluder(0, 0),
      pole(0, 0),
      others{Grey(0, 0), {0, 0}, {0, 0}},
      trial(tried) {
  const int last = static_cast<int>(photographs.size()) - 1;
  const int of_world = lot.up_to(last);
  const int of_target = (of_world + 1 + lot.up_to(last - 1)) % (last + 1);
  world = photographs[static_cast<std::size_t>(of_world)];
  const Grey& source = photographs[static_cast<std::size_t>(of_target)];
  const bool is_small = trial == Trial::small;
  const int w = is_small ? small_side : 20 + lot.up_to(40);
  const int h = is_small ? small_side : 20 + lot.up_to(50);
  target = textured_part(source, w, h, lot);
  later = textured_part(source, w, h, lot);
  occluder = textured_part(world, w + 20, std::min(h * 2, 120), lot);
  for (Grey& other : others) {
    other = textured_part(source, w, h, lot);
    if (lot.happens(0.3))
      for (std::size_t i = 0; i < other.pixels.size(); ++i)
        other.pixels[i] = static_cast<std::uint8_t>((other.pixels[i] + target.pixels[i]) / 2);
  }
  for (std::size_t i = 0; i <= others.size(); ++i) paths.emplace_back(lot);
  round = lot.happens(0.5);
  pan_x = lot.between(-2, 2);
  pan_y = lot.between(-1, 1);
  turn = lot.between(-0.7, 0.7);
  grow = lot.between(-0.4, 0.6);
  bend = lot.between(0, 0.12) * std::min(w, h);
  change = lot.between(0, 0.6);
  blur = lot.happens(0.5) ? lot.between(0, 3) : 0;
  light = lot.between(0, 0.4);
  hides_at = lot.happens(0.6) ? 15 + lot.up_to(frames - 40) : frames;
  gone_at = 20 + lot.up_to(60);
  if (!trial) return;
  hides_at = gone_at = frames;
  for (Path& path : paths) path.jumps_at = frames;
  if (trial == Trial::stays) {
    round = true;
    pan_x = pan_y = 0;
  }
  if (trial != Trial::passed) return;
  pole = textured_part(world, 10 + lot.up_to(10), height, lot);
  // On its way, but not in front of it when it is shown.
  const double ahead = std::copysign(w + 30, paths[0].speed_x), x = paths[0].x + ahead;
  pole_x = x < 0 || x > width ? paths[0].x - ahead : x;
  for (int i = 0; i < 3; ++i) passers.emplace_back(world, lot);
}

void Story::place_target(Sprite& sprite, int t) const {
  const Path& path = paths[0];
  path.place(sprite, trial == Trial::stays ? std::max(0, t - stands) : t);
  if (trial == Trial::leans)  // three fifths of it are out twice
    sprite.x = width / 2.0 + (width / 2.0 + target.width / 10.0) * std::sin(2 * pi * t / frames);
}

MadeFrame Story::frame(int t) const {
  const double passed = static_cast<double>(t) / frames;
  Grey looks = target;
  for (std::size_t i = 0; i < looks.pixels.size(); ++i)
    looks.pixels[i] = static_cast<std::uint8_t>(
        std::lerp<double, double>(target.pixels[i], later.pixels[i], change * passed));
  looks = bent(looks, bend * std::sin(pi * passed), t / 8.0);

  Scene scene{width, height, &world};
  scene.pan_x = static_cast<int>(swing(world.width / 3.0 + pan_x * t, 0, world.width - width));
  scene.pan_y = static_cast<int>(swing(world.height / 3.0 + pan_y * t, 0, world.height - height));
  scene.blur = blur * std::max(0.0, std::sin(4 * pi * passed));
  scene.gain = 1 + light * std::sin(3 * pi * passed);
  for (std::size_t i = 0; i < others.size(); ++i) {
    Sprite other{&others[i], 0, 0};
    other.round = round;
    paths[i + 1].place(other, t);
    scene.behind.push_back(other);
  }
  Sprite sprite{&looks, 0, 0, turn * std::sin(pi * passed), 1 + grow * std::sin(pi * passed)};
  sprite.round = round;
  place_target(sprite, t);
  if (trial == Trial::passed) {
    scene.others = {{&pole, pole_x, height / 2.0}};
    for (const Passer& one : passers)
      scene.others.push_back({&one.looks, one.x + one.speed * t, one.y});
  }
  if (t >= hides_at)
    scene.others = {{&occluder, sprite.x + 6.0 * (t - hides_at) - 3.0 * occluder.width, sprite.y}};
  if (t >= gone_at && t < gone_at + frames_away) sprite.x = -1000;
  scene.targets = {sprite};
  return draw(scene, t);
}

SyntheticSequence told(const std::vector<Grey>& photographs, std::uint32_t seed,
                       const std::string& kind, std::optional<Trial> trial) {
  Lot lot(seed);
  const auto story = std::make_shared<const Story>(photographs, lot, trial);
  return {kind + '-' + std::to_string(seed), frames, story->target,
          [story](int t) { return story->frame(t); }, kind};
}

}  // namespace

SyntheticSequence photographed_sequence(const std::vector<Grey>& photographs, std::uint32_t seed) {
  return told(photographs, seed, "photographed", std::nullopt);
}

SyntheticSequence photographed_trial(const std::vector<Grey>& photographs, std::uint32_t seed,
                                     Trial trial) {
  return told(photographs, seed, name_of(trial), trial);
}

}  // namespace bench

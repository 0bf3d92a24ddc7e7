// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A sequence is a row of a table at the end: its name and length, what the target looks like, and a
// function that says what is where in a frame; of two targets that cross, how, each on several
// ways.
#include "synthetic.hpp"

#include <array>
#include <cmath>
#include <iterator>
#include <memory>
#include <numbers>

#include "drawing.hpp"

namespace bench {
namespace {

constexpr double pi = std::numbers::pi;
constexpr int width = 320, height = 240, side = 48;

/// The surfaces of all sequences of a look.
struct Surfaces {
  explicit Surfaces(Look look)
      : world(texture(look, 640, 480, 1)),
        target(texture(look, side, side, 100)),
        quick(texture(look, 64, 64, 200)),
        part(texture(look, 32, 32, 300)),
        post(texture(look, 50, height, 400)),
        wall(texture(look, 112, height, 401)),
        pole(texture(look, 14, height, 402)),
        people{texture(look, 28, 76, 403), texture(look, 26, 70, 404), texture(look, 32, 84, 405)},
        speck(texture(look, 10, 10, 600)),
        lookalikes{alike(target, 0.55, look, 501), alike(target, 0.6, look, 502),
                   alike(target, 0.6, look, 503)} {}

  Grey world, target, quick, part, post, wall, pole;
  std::array<Grey, 3> people;
  Grey speck;                      ///< as a car from above
  std::array<Grey, 3> lookalikes;  ///< that score 0.75 or so
};

/// About five pixels per frame.
Sprite wandering(const Grey& texture, int t) {
  return {&texture, 160 + 70 * std::cos(2 * pi * t / 90), 120 + 50 * std::sin(2 * pi * t / 60)};
}

Scene scene(const Surfaces& of) { return {width, height, &of.world}; }

Scene moving(const Surfaces& of, int t) {
  Scene scene = bench::scene(of);
  scene.targets = {wandering(of.target, t)};
  return scene;
}

/// By 30 degrees in 120 frames.
Scene turning(const Surfaces& of, int t) {
  Scene scene = moving(of, t);
  scene.targets[0].turn = t * pi / 720;
  return scene;
}

Scene growing(const Surfaces& of, int t) {
  Scene scene = moving(of, t);
  scene.targets[0].scale = 1 + t / 240.0;
  return scene;
}

Scene blurring(const Surfaces& of, int t) {
  Scene scene = moving(of, t);
  scene.blur = 4 * std::sin(pi * t / 90);
  return scene;
}

Scene lighting(const Surfaces& of, int t) {
  Scene scene = moving(of, t);
  scene.gain = 0.8 - 0.5 * std::cos(2 * pi * t / 60 + pi);
  scene.offset = 30 * std::sin(2 * pi * t / 40);
  return scene;
}

/// Behind a post for 20 frames.
Scene hiding(const Surfaces& of, int t) {
  Scene scene = bench::scene(of);
  scene.targets = {{&of.target, 30 + 2.5 * t, 110 + 0.2 * t}};
  scene.others = {{&of.post, 160, height / 2.0}};
  return scene;
}

/// From frame 45 on another view.
Scene cutting(const Surfaces& of, int t) {
  Scene scene = moving(of, t);
  if (t < 45) return scene;
  scene.pan_x = 300;
  scene.pan_y = 200;
  Sprite& target = scene.targets[0];
  target.x = width - target.x / 2 - side;
  target.y = height - target.y;
  return scene;
}

/// 66 pixels per frame, in a circle.
Scene racing(const Surfaces& of, int t) {
  Scene scene{640, 640, &of.world};
  constexpr double radius = 270;
  const double angle = 66 * t / radius;
  scene.targets = {{&of.quick, 320 + radius * std::cos(angle), 320 + radius * std::sin(angle)}};
  return scene;
}

/// 66 pixels per frame along a line, to and fro.
Scene bouncing(const Surfaces& of, int t) {
  Scene scene{1056, 120, &of.world};
  const double way = std::fmod(66.0 * t, 2 * 990);
  scene.targets = {{&of.quick, 33 + (way < 990 ? way : 2 * 990 - way), 60}};
  return scene;
}

/// Out on the right, and in again on the left 50 frames later.
Scene leaving(const Surfaces& of, int t) {
  Scene scene = bench::scene(of);
  const double x = 120 + 5.0 * t;
  scene.targets = {{&of.target, t < 75 ? x : x - 250 - (width + side), t < 75 ? 80.0 : 150.0}};
  return scene;
}

/// Beside others that resemble it; from frame 60 to 210 they are alone.
Scene missing(const Surfaces& of, int t) {
  Scene scene = bench::scene(of);
  const bool away = t >= 60 && t < 210;
  scene.targets = {{&of.target, away ? -1000 : 60.0 + 40 * std::sin(t / 20.0), 170}};
  for (std::size_t i = 0; i < of.lookalikes.size(); ++i)
    scene.others.push_back({&of.lookalikes[i],
                            60 + 95.0 * static_cast<double>(i) + 20 * std::sin(t / 15.0),
                            60 + 12 * std::cos(t / 11.0 + static_cast<double>(i))});
  return scene;
}

/// Behind a pole, and people who walk past in front of it, two one way and one the other.
Scene passed(const Surfaces& of, int t) {
  Scene scene = moving(of, t);
  scene.others = {{&of.pole, 120, height / 2.0},
                  {&of.people[0], 4.0 * t - 60, 120},
                  {&of.people[1], 5.0 * t - 300, 150},
                  {&of.people[2], 380 - 4.5 * t, 100}};
  return scene;
}

/// Ten pixels large, from a camera that moves on above it.
Scene flown_over(const Surfaces& of, int t) {
  Scene scene = bench::scene(of);
  scene.pan_x = 2 * t;
  scene.targets = {{&of.speck, 160 + 60 * std::sin(t / 25.0), 120 + 0.6 * (t - 60)}};
  return scene;
}

/// Two of one kind; one hides the other when they meet, or both are hidden there.
struct Crossing {
  const char* name;
  int frames;
  double speed;  ///< pixels per frame
  Grey Surfaces::*hidden_by = nullptr;
};

/// On their ways.
struct Ways {
  double apart;  ///< by how much the second is lower where they meet, pixels
  double slant;  ///< by how much the one sinks, and the other rises, for each pixel to the side
  double pace;   ///< of the second: its share of the speed
};

Scene crossing(const Surfaces& of, const Crossing& how, const Ways& ways, int t) {
  Scene scene = bench::scene(of);
  const double first = how.speed * (t - how.frames / 2), second = -ways.pace * first;
  const double y = height / 2.0;
  scene.targets = {{&of.part, 160 + first, y - ways.apart / 2 + ways.slant * first},
                   {&of.part, 160 + second, y + ways.apart / 2 + ways.slant * second}};
  if (how.hidden_by) scene.others = {{&(of.*how.hidden_by), 160, y}};
  return scene;
}

constexpr int parts = 43, part_gap = 64, part_speed = 4;

Scene conveying(const Surfaces& of, int t) {
  Scene scene{width, 120, &of.world};
  for (int i = 0; i < parts; ++i)
    scene.targets.push_back({&of.part, part_speed * t - part_gap * i - 16.0, 60});
  return scene;
}

struct Row {
  const char* name;
  int frames;
  Grey Surfaces::*target;
  Scene (*at)(const Surfaces&, int);
};

constexpr Row rows[] = {
    {"moves", 90, &Surfaces::target, moving},
    {"turns", 120, &Surfaces::target, turning},
    {"grows", 120, &Surfaces::target, growing},
    {"blurs", 90, &Surfaces::target, blurring},
    {"light", 120, &Surfaces::target, lighting},
    {"hides", 105, &Surfaces::target, hiding},
    {"cut", 90, &Surfaces::target, cutting},
    {"fast", 60, &Surfaces::quick, racing},
    {"bounces", 90, &Surfaces::quick, bouncing},
    {"leaves", 130, &Surfaces::target, leaving},
    {"missing", 250, &Surfaces::target, missing},
    {"passed", 120, &Surfaces::target, passed},
    {"small", 120, &Surfaces::speck, flown_over},
    {"conveyor", (parts * part_gap + width) / part_speed, &Surfaces::part, conveying},
};

/// A part is 32 pixels wide. The post hides all of both for 9 frames, half or more for 25; the wall
/// for 20 and 28.
constexpr Crossing crossings[] = {
    {"crossing", 60, 4},
    {"slow-crossing", 100, 2},
    {"long-crossing", 120, 0.8},
    {"hidden-crossing", 100, 2, &Surfaces::post},
    {"quick-hidden-crossing", 70, 4, &Surfaces::wall},
};

constexpr Ways all_ways[] = {{4, 0, 1}, {0, 0, 1}, {16, 0, 1}, {8, 0.25, 1}, {4, -0.1, 0.8}};

}  // namespace

std::vector<SyntheticSequence> synthetic_sequences(Look look) {
  const auto surfaces = std::make_shared<const Surfaces>(look);
  std::vector<SyntheticSequence> made;
  const auto add = [&](const std::string& kind, const std::string& name, int frames,
                       const Grey& target, auto scene_at) {
    made.push_back({name + (look == Look::clouds ? "-clouds" : "-pieces"), frames, target,
                    [surfaces, scene_at](int t) { return draw(scene_at(*surfaces, t), t); }, kind});
  };
  for (const Row& row : rows) add(row.name, row.name, row.frames, (*surfaces).*row.target, row.at);
  for (const Crossing& how : crossings)
    for (std::size_t i = 0; i < std::size(all_ways); ++i)
      add(how.name, how.name + ("-" + std::to_string(i + 1)), how.frames, surfaces->part,
          [how, ways = all_ways[i]](const Surfaces& of, int t) {
            return crossing(of, how, ways, t);
          });
  return made;
}

}  // namespace bench

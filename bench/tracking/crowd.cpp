// SPDX-License-Identifier: LGPL-2.1-or-later
//
// People who walk to and fro on lanes, the lower ones in front. Half of what they look like they
// have in common.
#include <cmath>
#include <memory>
#include <random>

#include "drawing.hpp"
#include "synthetic.hpp"

namespace bench {
namespace {

constexpr int width = 640, height = 360, person_width = 28, person_height = 56;

struct Walker {
  Grey look;
  double x, y, speed;  ///< the middle at first; pixels per frame
};

struct Street {
  Grey ground, post;
  std::vector<Walker> walkers;

  explicit Street(std::uint32_t seed)
      : ground(texture(Look::clouds, width, height, seed)),
        post(texture(Look::pieces, 30, height, seed + 1)) {
    std::mt19937 lot(seed);
    const Grey person = texture(Look::pieces, person_width, person_height, seed + 2);
    constexpr int count = 12;
    for (int i = 0; i < count; ++i) {
      const double x = std::uniform_real_distribution(20.0, width - 20.0)(lot),
                   speed = std::uniform_real_distribution(1.0, 4.0)(lot);
      walkers.push_back({alike(person, 0.5, Look::pieces, seed + 10 + i), x,
                         60 + (height - 100.0) * i / count, i % 2 ? speed : -speed});
    }
  }
};

/// Between 0 and `length`, turning round at both ends.
double to_and_fro(double way, double length) {
  way = std::fmod(std::fmod(way, 2 * length) + 2 * length, 2 * length);
  return way < length ? way : 2 * length - way;
}

}  // namespace

SyntheticSequence crowd_sequence(std::uint32_t seed, int frames) {
  const auto street = std::make_shared<const Street>(seed);
  const auto frame = [street](int t) {
    Scene scene{width, height, &street->ground};
    for (const Walker& walker : street->walkers)
      scene.targets.push_back({&walker.look,
                               20 + to_and_fro(walker.x + walker.speed * t, width - 40),
                               walker.y + 2 * std::sin(t / 3.0 + walker.x)});
    scene.others = {{&street->post, 200, height / 2.0}, {&street->post, 430, height / 2.0}};
    return draw(scene, t);
  };
  return {"crowd-" + std::to_string(seed), frames, street->walkers[0].look, frame, "crowd"};
}

}  // namespace bench

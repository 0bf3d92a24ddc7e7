// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tracks of targets that turn and grow, in synthetic scenes: each pixel is the mean of samples of a
// function, so that the truth is exact.
#include <cmath>

#include "support.hpp"

namespace {

constexpr double degree = G_PI / 180;

/// What is on the target, (u, v) from its centre: waves, and a slope that tells its upper edge.
double surface(double u, double v) {
  return 128 + 45 * std::sin(0.43 * u + 0.21 * v + 1) + 40 * std::cos(0.37 * v - 0.12 * u) +
         0.9 * v + 0.4 * u;
}

/// What becomes of it.
double other_surface(double u, double v) {
  return 128 + 45 * std::sin(0.29 * v - 0.4 * u + 2) + 40 * std::cos(0.33 * u + 0.3 * v) - 0.8 * u;
}

struct Place {
  double x, y, angle, scale;  ///< of the centre; degrees
};

/// A target of width x height at a pose on an image.
struct Scene {
  int width, height;
  Gray background = texture(240, 200, 9);

  /// \param change  how much of the surface is the other one
  Gray frame(const Place& place, double change = 0) const {
    Gray made = background;
    const double cosine = std::cos(place.angle * degree), sine = std::sin(place.angle * degree);
    const double reach = 0.5 * place.scale * std::hypot(width, height) + 1;
    const auto from = [reach](double at) { return std::max(0, static_cast<int>(at - reach)); };
    const auto to = [reach](double at, int most) {
      return std::min(most, static_cast<int>(at + reach) + 1);
    };
    for (int y = from(place.y); y < to(place.y, made.height); ++y)
      for (int x = from(place.x); x < to(place.x, made.width); ++x) {
        double sum = 0;
        for (int i = 0; i < 16; ++i) {
          const double dx = x + (i % 4 - 1.5) / 4 - place.x, dy = y + (i / 4 - 1.5) / 4 - place.y;
          const double u = (cosine * dx - sine * dy) / place.scale,
                       v = (sine * dx + cosine * dy) / place.scale;
          const bool inside = std::abs(u) <= 0.5 * width && std::abs(v) <= 0.5 * height;
          sum += inside ? (1 - change) * surface(u, v) + change * other_surface(u, v)
                        : background.at(x, y);
        }
        made.at(x, y) = static_cast<std::uint8_t>(std::lround(sum / 16));
      }
    return made;
  }
  Gray pattern() const {
    return crop(Scene{width + 4, height + 4}.frame({100.5, 100.5, 0, 1}), 101 - width / 2,
                101 - height / 2, width, height);
  }
};

double turn_between(double a, double b) { return std::abs(std::remainder(a - b, 360)); }

struct Followed {
  int held = 0;   ///< frames in which it is reported near where it is
  int right = 0;  ///< and as it is
  int ids = 0;
};

/// `frames` of a target that turns and grows evenly, moves along and becomes another one.
Followed follow(Finder& finder, const Scene& scene, int frames, double turn, double growth,
                double change = 0) {
  Followed followed;
  guint64 id = 0;
  for (int i = 0; i < frames; ++i) {
    const Place place{90 + 0.7 * i, 95 + 0.2 * i, turn * i, std::pow(growth, i)};
    const Found found = finder.find(scene.frame(place, change * i));
    if (found.peaks.empty() || found.peaks[0].lost) continue;
    const Peak& peak = found.peaks[0];
    const double away = std::hypot(peak.center_x - place.x, peak.center_y - place.y);
    if (away < 2) ++followed.held;
    if (away < 0.3 && turn_between(peak.angle, place.angle) < 0.5 &&
        std::abs(peak.scale / place.scale - 1) < 0.01)
      ++followed.right;
    if (peak.id != id) ++followed.ids;
    id = peak.id;
  }
  return followed;
}

std::string options(const Scene& scene, const char* more) {
  return "track=true threshold=0.75 search-margin=20 angle-start=-5 angle-extent=10 template=" +
         save(scene.pattern(), "part.png") + " " + more;
}

/// All round, though whole frames are only searched for a few degrees and one size.
ELEMENT_TEST(a_target_that_turns_and_grows_is_held) {
  const Scene scene{32, 32};
  for (const char* more : {"", "template-update=0"}) {
    Finder finder(options(scene, more));
    const Followed followed = follow(finder, scene, 73, 5, std::pow(1.25, 1 / 72.));
    assert_equals_int(followed.right, 73);
    assert_equals_int(followed.ids, 1);
  }
}

/// The other way round, smaller, and longer than it is high: its window must hold it in any pose.
ELEMENT_TEST(a_long_one_that_shrinks_is_held) {
  const Scene scene{72, 20};
  Finder finder(options(scene, "search-margin=8"));
  const Followed followed = follow(finder, scene, 30, -12, std::pow(0.8, 1 / 30.));
  assert_equals_int(followed.right, 30);
  assert_equals_int(followed.ids, 1);
}

/// Filters find angles, too, to some degrees: without the ones before they would have to be asked
/// for.
ELEMENT_TEST(a_filter_holds_what_turns) {
  const Scene scene{48, 36};
  Finder finder(options(scene, "tracker=filter"));
  int held = 0, right = 0;
  for (int i = 0; i < 100; ++i) {
    const Place place{90 + 0.4 * i, 95 + 0.2 * i, 4.0 * i, 1};
    const Found found = finder.find(scene.frame(place));
    if (found.peaks.empty() || found.peaks[0].lost) continue;
    const Peak& peak = found.peaks[0];
    assert_equals_int(static_cast<int>(peak.id), 1);
    held += std::hypot(peak.center_x - place.x, peak.center_y - place.y) < 3;
    right += turn_between(peak.angle, place.angle) < 5;
    // The bounds are those of the turned box.
    const double turn = peak.angle * degree;
    const double wide = std::abs(std::cos(turn)) * 48 + std::abs(std::sin(turn)) * 36;
    fail_unless(std::abs(peak.width / wide - 1) < 0.12, "%d instead of %f", peak.width, wide);
  }
  fail_unless(held >= 97 && right >= 97, "held in %d frames, right in %d", held, right);
}

/// Templates learn what they find as it would lie in them: that is what holds a target whose looks
/// change while it turns. (Part of such a change may look like a turn, and is learnt as one.) The
/// image that the template started from is not forgotten.
ELEMENT_TEST(what_changes_while_it_turns_is_learnt) {
  const Scene scene{32, 32};
  const auto held = [&](const char* more) {
    Finder finder(options(scene, more));
    return follow(finder, scene, 40, 5, std::pow(1.15, 1 / 40.), 1 / 40.);
  };
  const Followed learnt = held("template-update-score=-1");
  assert_equals_int(learnt.held, 40);
  assert_equals_int(learnt.ids, 1);
  const Followed fixed = held("template-update=0");
  fail_unless(fixed.held < 25, "held in %d frames", fixed.held);
  const Followed cautious = held("template-update-score=0.8");
  fail_unless(cautious.held < 40, "held in %d frames", cautious.held);
}

/// Where a corner that the mask leaves out lies beyond the frame's edge nothing is learnt.
ELEMENT_TEST(at_the_edge_it_is_still_found) {
  const Scene scene{32, 32};
  Finder finder(options(scene, "mask=disc template-update=0.5"));
  for (int i = 0; i < 12; ++i) {
    const Found found = finder.find(scene.frame({40. - 2 * i, 60, 3. * i, 1}));
    assert_equals_int(found.peaks.size(), 1);
    fail_unless(std::abs(found.peaks[0].center_x - (40 - 2 * i)) < 0.3, "%g in frame %d",
                found.peaks[0].center_x, i);
    fail_unless(turn_between(found.peaks[0].angle, 3 * i) < 0.5, "%g", found.peaks[0].angle);
  }
}

/// With 0 targets stay within what whole frames are searched for, as the limits say.
ELEMENT_TEST(without_limits_the_range_holds) {
  const Scene scene{32, 32};
  Finder finder(options(scene, "track-angle=0 track-scale=0"));
  const Followed followed = follow(finder, scene, 10, 5, 1);
  fail_unless(followed.right <= 4, "right in %d frames", followed.right);
}

/// A target that turns faster than that is lost; more degrees hold it.
ELEMENT_TEST(limits_are_of_a_frame) {
  const Scene scene{32, 32};
  Finder narrow(options(scene, "track-angle=4"));
  fail_unless(follow(narrow, scene, 8, 23, 1).right <= 2);
  Finder wide(options(scene, "track-angle=25"));
  assert_equals_int(follow(wide, scene, 8, 23, 1).right, 8);
}

}  // namespace

// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sequences whose truth is known because they are drawn: a target over a textured background that
// turns, grows, blurs, hides, leaves, is quick, or meets others that look like it. The tests of
// tracks have bounds for each of them; synthetic_sequences writes them for bench/tracks.py.
// Everything is a function of the frame's number and fixed seeds.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace bench {

/// 8 bits per pixel, rows without gaps.
struct Grey {
  int width = 0, height = 0;
  std::vector<std::uint8_t> pixels;

  Grey(int w, int h) : width(w), height(h), pixels(static_cast<std::size_t>(w) * h) {}
  std::uint8_t& at(int x, int y) { return pixels[static_cast<std::size_t>(y) * width + x]; }
  std::uint8_t at(int x, int y) const { return pixels[static_cast<std::size_t>(y) * width + x]; }
};

/// Pixels; x and y of the upper left corner. Of a turned target that of the upright one.
struct Box {
  double x, y, width, height;
};

struct MadeFrame {
  Grey image;
  /// For each target where it is, if half of it or more is seen.
  std::vector<std::optional<Box>> truth;
};

struct SyntheticSequence {
  std::string name;
  int frames;
  Grey target;  ///< as all of them look at first, without the camera's noise
  std::function<MadeFrame(int)> frame;
  std::string kind{};  ///< the name without the look and, of several ways, which
};

/// What surfaces look like: clouds of all sizes, or flat pieces with sharp edges.
enum class Look { clouds, pieces };

std::vector<SyntheticSequence> synthetic_sequences(Look look);

/// A dozen people who walk through each other and behind two posts, in 640x360.
SyntheticSequence crowd_sequence(std::uint32_t seed, int frames);

inline constexpr int least_photograph_width = 320, least_photograph_height = 240;

/// A part of one photograph moves over another one, among others of its own: it turns, grows,
/// bends, changes, is hidden, is away or jumps, as the lot falls that the seed makes; for a third
/// of the frames it is away. Two photographs or more, none smaller than that.
SyntheticSequence photographed_sequence(const std::vector<Grey>& photographs, std::uint32_t seed);

/// What else is hard, one thing at a time and always in view but for what hides it: a pole and
/// people in front; a target of ten pixels from above; a ground that stays while a round target
/// that stood on it walks away; leaving by half and coming back.
enum class Trial { passed, small, stays, leans };
inline constexpr Trial all_trials[] = {Trial::passed, Trial::small, Trial::stays, Trial::leans};

/// The same with that instead of hiding, jumping and being away.
SyntheticSequence photographed_trial(const std::vector<Grey>& photographs, std::uint32_t seed,
                                     Trial trial);

}  // namespace bench

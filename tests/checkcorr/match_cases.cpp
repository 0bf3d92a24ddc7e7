// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Of what only the stages of matches ask for: masks, planes, contrast, peaks.
#include "cases.hpp"

#include <climits>

namespace checkcorr {
namespace {

constexpr auto u8 = ElementType::u8;
constexpr auto u16 = ElementType::u16;
constexpr auto f32 = ElementType::f32;
using enum Fill;
using enum Form;
using enum Shifts;
using xcorr::Polarity;

// clang-format off
constexpr Case table[] = {
    // ---- 16 bits ----
    {.name = "one-peak", .type = u16, .left = {151, 83}, .right = {32, 32}, .max_peaks = 1},
    {.name = "binary", .type = u16, .left = {64, 48}, .right = {7, 5}, .fill = binary, .max_peaks = 50, .distance = 2, .threshold = -1},
    {.name = "copies", .type = u16, .left = {127, 113}, .right = {64, 64}, .fill = copies, .form = one_to_many, .rights = 3, .threshold = 1},
    {.name = "disc-many", .type = u16, .left = {91, 67}, .right = {21, 13}, .form = one_to_many, .rights = 5, .pad = 5, .misalign = 3, .mask = Mask::disc},
    {.name = "disc-copies", .type = u16, .left = {127, 113}, .right = {64, 64}, .fill = copies, .threshold = 1, .mask = Mask::disc},
    {.name = "ring-extremes", .type = u16, .left = {80, 60}, .right = {17, 23}, .fill = extremes, .mask = Mask::ring},
    {.name = "either-disc", .type = u16, .left = {64, 48}, .right = {16, 16}, .max_peaks = 9, .mask = Mask::disc, .polarity = Polarity::either, .min_contrast = 18900.5},
    {.name = "inverted", .type = u16, .left = {83, 61}, .right = {12, 9}, .max_peaks = 9, .polarity = Polarity::inverted},

    // ---- windows of several strips of columns, of rows that begin anywhere in a word ----
    {.name = "large", .type = u8, .left = {220, 196}, .right = {16, 16}, .max_peaks = 1},
    {.name = "strips", .type = u8, .left = {531, 21}, .right = {16, 5}, .pad = 5},
    {.name = "strips-of-words", .type = u8, .left = {532, 21}, .right = {31, 6}, .shifts = rectangle, .rectangle = {3, 1, 490, 15}},
    {.name = "strips-of-wide", .type = u8, .left = {1104, 11}, .right = {300, 3}, .shifts = rectangle, .rectangle = {5, 2, 797, 7}},

    // ---- few products, but grids of windows that share strips of columns ----
    {.name = "grid", .left = {104, 40}, .right = {16, 16}, .shifts = rectangle, .rectangle = {1, 2, 3, 1}, .misalign = 1},
    {.name = "grid-symmetric", .left = {109, 43}, .right = {16, 16}, .shifts = rectangle, .rectangle = {1, 2, 3, 1}, .misalign = 3},
    {.name = "grid-of-two-strips", .left = {97, 50}, .right = {32, 32}, .shifts = rectangle, .rectangle = {1, 2, 1, 1}},
    {.name = "grid-of-four-strips", .left = {99, 43}, .right = {32, 32}, .shifts = rectangle, .rectangle = {1, 2, 1, 1}},

    // ---- masks ----
    {.name = "disc-small", .type = u8, .left = {12, 9}, .right = {5, 4}, .mask = Mask::disc},
    {.name = "disc-small", .type = f32, .left = {12, 9}, .right = {5, 4}, .mask = Mask::disc},
    {.name = "disc", .type = u8, .left = {64, 48}, .right = {16, 16}, .mask = Mask::disc},
    {.name = "disc", .type = f32, .left = {64, 48}, .right = {16, 16}, .mask = Mask::disc},
    {.name = "disc-many", .type = u8, .left = {91, 67}, .right = {21, 13}, .form = one_to_many, .rights = 5, .pad = 5, .misalign = 3, .mask = Mask::disc},
    {.name = "disc-many", .type = f32, .left = {91, 67}, .right = {21, 13}, .form = one_to_many, .rights = 5, .pad = 5, .misalign = 3, .mask = Mask::disc},
    {.name = "disc-one-peak", .type = u8, .left = {151, 83}, .right = {32, 32}, .max_peaks = 1, .mask = Mask::disc},
    {.name = "disc-cells", .type = u8, .left = {160, 120}, .right = {33, 31}, .form = one_to_many, .rights = 3, .max_peaks = 20, .distance = 9, .threshold = -1, .mask = Mask::disc},
    {.name = "disc-copies", .type = u8, .left = {127, 113}, .right = {64, 64}, .fill = copies, .threshold = 1, .mask = Mask::disc},
    {.name = "disc-copies", .type = f32, .left = {127, 113}, .right = {64, 64}, .fill = copies, .threshold = 0.999, .mask = Mask::disc},
    {.name = "disc-wide", .type = u8, .left = {340, 290}, .right = {310, 261}, .fill = extremes, .mask = Mask::disc},
    {.name = "disc-part", .type = u8, .left = {65, 61}, .right = {19, 17}, .shifts = rectangle, .rectangle = {7, 11, 33, 19}, .mask = Mask::disc},
    {.name = "ring", .type = u8, .left = {80, 60}, .right = {17, 23}, .mask = Mask::ring},
    {.name = "ring-extremes", .type = u8, .left = {80, 60}, .right = {17, 23}, .fill = extremes, .mask = Mask::ring},
    {.name = "ring", .type = f32, .left = {80, 60}, .right = {17, 23}, .fill = wide, .mask = Mask::ring},
    {.name = "noise-mask", .type = u8, .left = {131, 37}, .right = {97, 3}, .mask = Mask::noise},
    {.name = "noise-mask-near-flat", .type = u8, .left = {80, 60}, .right = {24, 24}, .fill = near_flat, .mask = Mask::noise},
    {.name = "noise-mask-near-flat", .type = f32, .left = {80, 60}, .right = {24, 24}, .fill = near_flat, .mask = Mask::noise},
    {.name = "noise-mask-flat-left", .type = u8, .left = {80, 60}, .right = {24, 24}, .fill = flat_left, .mask = Mask::noise},
    {.name = "noise-mask-flat-right", .type = u8, .left = {80, 60}, .right = {24, 24}, .fill = flat_right, .mask = Mask::noise},
    {.name = "noise-mask-zeros", .type = u8, .left = {80, 60}, .right = {24, 24}, .fill = zeros, .mask = Mask::noise},
    {.name = "weights", .type = u8, .left = {64, 48}, .right = {16, 16}, .mask = Mask::weights},
    {.name = "weights-many", .type = u8, .left = {91, 67}, .right = {21, 13}, .form = one_to_many, .rights = 5, .pad = 5, .misalign = 3, .mask = Mask::weights},
    {.name = "weights-part", .type = u8, .left = {65, 61}, .right = {19, 17}, .shifts = rectangle, .rectangle = {7, 11, 33, 19}, .mask = Mask::weights},
    {.name = "weights-extremes", .type = u8, .left = {131, 37}, .right = {97, 31}, .fill = extremes, .mask = Mask::weights},
    {.name = "weights-wide", .type = u8, .left = {340, 290}, .right = {310, 261}, .fill = extremes, .mask = Mask::weights},
    {.name = "one-pixel-mask", .type = u8, .left = {33, 31}, .right = {9, 7}, .mask = Mask::pixel},
    {.name = "one-pixel-mask", .type = f32, .left = {33, 31}, .right = {9, 7}, .mask = Mask::pixel},

    // ---- pictures in colour ----
    {.name = "color-pixel", .type = u8, .left = {1, 1}, .right = {1, 1}, .planes = 3},
    {.name = "color", .type = u8, .left = {64, 48}, .right = {16, 16}, .planes = 3},
    {.name = "color-large", .type = u8, .left = {220, 196}, .right = {16, 16}, .planes = 3, .max_peaks = 1},
    {.name = "color-many", .type = u8, .left = {71, 53}, .right = {19, 11}, .form = one_to_many, .rights = 5, .planes = 3, .pad = 5, .misalign = 3},
    {.name = "color-one-peak", .type = u8, .left = {83, 61}, .right = {32, 32}, .planes = 3, .max_peaks = 1},
    {.name = "color-one-peak-copies", .type = u8, .left = {127, 113}, .right = {64, 64}, .fill = copies, .form = one_to_many, .rights = 3, .planes = 3, .max_peaks = 1, .threshold = 1},
    {.name = "color-one-peak-groups", .type = u8, .left = {95, 63}, .right = {13, 11}, .form = one_to_many, .rights = 35, .planes = 3, .max_peaks = 1},
    {.name = "color-one-peak-disc", .type = u8, .left = {97, 83}, .right = {41, 33}, .form = one_to_many, .rights = 2, .planes = 3, .pad = 5, .misalign = 3, .max_peaks = 1, .mask = Mask::disc},
    {.name = "color-one-peak-near-flat", .type = u8, .left = {80, 60}, .right = {40, 24}, .fill = near_flat, .planes = 3, .max_peaks = 1},
    {.name = "color-one-peak-flat-left", .type = u8, .left = {80, 60}, .right = {40, 24}, .fill = flat_left, .planes = 3, .max_peaks = 1},
    {.name = "color-one-peak-extremes", .type = u8, .left = {131, 137}, .right = {119, 129}, .fill = extremes, .planes = 3, .max_peaks = 1},
    {.name = "color-bounded-pixel", .type = u8, .left = {1, 1}, .right = {1, 1}, .planes = 3, .lead_plane = 0, .max_peaks = 1},
    {.name = "color-bounded", .type = u8, .left = {83, 61}, .right = {32, 32}, .planes = 3, .lead_plane = 0, .max_peaks = 1},
    {.name = "color-bounded-quiet", .type = u8, .left = {83, 61}, .right = {13, 11}, .form = one_to_many, .rights = 3, .planes = 3, .quiet = 3, .lead_plane = 0, .max_peaks = 1},
    {.name = "color-bounded-copies", .type = u8, .left = {301, 203}, .right = {33, 24}, .fill = copies, .form = one_to_many, .rights = 35, .planes = 3, .quiet = 2, .lead_plane = 0, .pad = 5, .misalign = 3, .max_peaks = 1, .threshold = 0.5},
    {.name = "color-bounded-groups", .type = u8, .left = {95, 63}, .right = {13, 11}, .form = one_to_many, .rights = 35, .planes = 3, .quiet = 4, .lead_plane = 0, .max_peaks = 1, .threshold = 0.3},
    {.name = "color-bounded-negative", .type = u8, .left = {64, 48}, .right = {41, 33}, .form = one_to_many, .rights = 2, .planes = 3, .quiet = 1, .lead_plane = 0, .max_peaks = 1, .threshold = -1},
    {.name = "color-bounded-disc", .type = u8, .left = {97, 83}, .right = {41, 33}, .fill = copies, .form = one_to_many, .rights = 2, .planes = 3, .quiet = 3, .lead_plane = 0, .pad = 5, .misalign = 3, .max_peaks = 1, .mask = Mask::disc},
    {.name = "color-bounded-part", .type = u8, .left = {165, 161}, .right = {9, 7}, .shifts = rectangle, .fill = copies, .planes = 3, .quiet = 2, .lead_plane = 0, .rectangle = {7, 11, 133, 119}, .max_peaks = 1},
    {.name = "color-bounded-near-flat", .type = u8, .left = {80, 60}, .right = {40, 24}, .fill = near_flat, .planes = 3, .lead_plane = 0, .max_peaks = 1},
    {.name = "color-bounded-flat-left", .type = u8, .left = {80, 60}, .right = {40, 24}, .fill = flat_left, .planes = 3, .lead_plane = 0, .max_peaks = 1},
    {.name = "color-bounded-flat-right", .type = u8, .left = {80, 60}, .right = {40, 24}, .fill = flat_right, .planes = 3, .lead_plane = 0, .max_peaks = 1},
    {.name = "color-bounded-extremes", .type = u8, .left = {131, 137}, .right = {119, 129}, .fill = extremes, .planes = 3, .lead_plane = 0, .max_peaks = 1},
    {.name = "color-copies", .type = u8, .left = {127, 113}, .right = {64, 64}, .fill = copies, .form = one_to_many, .rights = 3, .planes = 3, .threshold = 1},
    {.name = "color-part", .type = u8, .left = {65, 61}, .right = {9, 7}, .shifts = rectangle, .planes = 3, .rectangle = {7, 11, 33, 19}},
    {.name = "color-extremes", .type = u8, .left = {80, 60}, .right = {24, 24}, .fill = extremes, .planes = 3},
    {.name = "color-wide", .type = u8, .left = {262, 259}, .right = {259, 257}, .planes = 3},
    {.name = "color-flat-right", .type = u8, .left = {64, 48}, .right = {16, 16}, .fill = flat_right, .planes = 3},
    {.name = "color-flat-left", .type = u8, .left = {64, 48}, .right = {16, 16}, .fill = flat_left, .planes = 3},
    {.name = "color-near-flat", .type = u8, .left = {80, 60}, .right = {24, 24}, .fill = near_flat, .planes = 3},
    {.name = "color-either", .type = u8, .left = {64, 48}, .right = {16, 16}, .planes = 3, .max_peaks = 9, .polarity = Polarity::either, .min_contrast = 73.5},
    {.name = "color-disc-many", .type = u8, .left = {91, 67}, .right = {21, 13}, .form = one_to_many, .rights = 5, .planes = 3, .pad = 5, .misalign = 3, .mask = Mask::disc},
    {.name = "color-disc-copies", .type = u8, .left = {127, 113}, .right = {64, 64}, .fill = copies, .planes = 3, .threshold = 1, .mask = Mask::disc},
    {.name = "edges-pixel", .type = u8, .left = {1, 1}, .right = {1, 1}, .planes = 2},
    {.name = "edges-many", .type = u8, .left = {71, 53}, .right = {19, 11}, .form = one_to_many, .rights = 5, .planes = 2, .pad = 5, .misalign = 3},
    {.name = "edges-copies", .type = u8, .left = {127, 113}, .right = {64, 64}, .fill = copies, .form = one_to_many, .rights = 3, .planes = 2, .threshold = 1},
    {.name = "edges-part", .type = u8, .left = {65, 61}, .right = {9, 7}, .shifts = rectangle, .planes = 2, .rectangle = {7, 11, 33, 19}},
    {.name = "edges-extremes", .type = u8, .left = {80, 60}, .right = {24, 24}, .fill = extremes, .planes = 2, .max_peaks = 1},
    {.name = "edges-one-peak", .type = u8, .left = {83, 61}, .right = {32, 32}, .planes = 2, .max_peaks = 1},
    {.name = "edges-one-peak-copies", .type = u8, .left = {127, 113}, .right = {64, 64}, .fill = copies, .form = one_to_many, .rights = 3, .planes = 2, .max_peaks = 1, .threshold = 1},
    {.name = "edges-one-peak-groups", .type = u8, .left = {95, 63}, .right = {13, 11}, .form = one_to_many, .rights = 35, .planes = 2, .max_peaks = 1},
    {.name = "edges-one-peak-disc", .type = u8, .left = {97, 83}, .right = {41, 33}, .form = one_to_many, .rights = 2, .planes = 2, .pad = 5, .misalign = 3, .max_peaks = 1, .threshold = -1, .mask = Mask::disc},
    {.name = "edges-one-peak-flat-left", .type = u8, .left = {80, 60}, .right = {40, 24}, .fill = flat_left, .planes = 2, .max_peaks = 1},
    {.name = "edges-one-peak-extremes", .type = u8, .left = {193, 191}, .right = {181, 182}, .fill = extremes, .planes = 2, .max_peaks = 1},
    {.name = "edges-wide", .type = u8, .left = {262, 259}, .right = {259, 257}, .planes = 2},
    {.name = "edges-disc-many", .type = u8, .left = {91, 67}, .right = {21, 13}, .form = one_to_many, .rights = 5, .planes = 2, .mask = Mask::disc},
    {.name = "color", .type = u16, .left = {64, 48}, .right = {16, 16}, .form = one_to_many, .rights = 2, .planes = 3},
    {.name = "color", .type = f32, .left = {64, 48}, .right = {16, 16}, .form = one_to_many, .rights = 2, .planes = 3},
    {.name = "color-disc-copies", .type = f32, .left = {127, 113}, .right = {64, 64}, .fill = copies, .planes = 3, .threshold = 0.999, .mask = Mask::disc},

    // ---- rights that each have a left of their own ----
    {.name = "own-lefts", .type = u8, .left = {40, 36}, .right = {8, 8}, .form = one_to_many, .rights = 5, .own_lefts = true},
    {.name = "own-lefts-small", .type = u8, .left = {12, 9}, .right = {5, 4}, .form = one_to_many, .rights = 3, .own_lefts = true},
    {.name = "own-lefts-one-peak", .type = u8, .left = {83, 61}, .right = {32, 32}, .form = one_to_many, .rights = 3, .own_lefts = true, .pad = 3, .misalign = 1, .max_peaks = 1},
    {.name = "own-lefts-words", .type = u8, .left = {96, 64}, .right = {33, 31}, .form = one_to_many, .rights = 3, .own_lefts = true, .pad = 16, .max_peaks = 20, .distance = 9, .threshold = -1},
    {.name = "own-lefts-copies", .type = u8, .left = {127, 113}, .right = {64, 64}, .fill = copies, .form = one_to_many, .rights = 3, .own_lefts = true, .threshold = 1},
    {.name = "own-lefts-disc", .type = u8, .left = {64, 48}, .right = {16, 16}, .form = one_to_many, .rights = 4, .own_lefts = true, .max_peaks = 9, .mask = Mask::disc},
    {.name = "own-lefts-color", .type = u8, .left = {40, 36}, .right = {8, 9}, .form = one_to_many, .rights = 11, .own_lefts = true, .planes = 3, .max_peaks = 2},
    {.name = "own-lefts-color-one-peak", .type = u8, .left = {83, 61}, .right = {32, 32}, .form = one_to_many, .rights = 3, .own_lefts = true, .planes = 3, .pad = 3, .misalign = 1, .max_peaks = 1},
    {.name = "own-lefts-color-disc", .type = u8, .left = {64, 48}, .right = {16, 16}, .form = one_to_many, .rights = 4, .own_lefts = true, .planes = 3, .mask = Mask::disc},
    {.name = "own-lefts-color-wide", .type = u8, .left = {262, 261}, .right = {259, 257}, .form = one_to_many, .rights = 2, .own_lefts = true, .planes = 3},
    {.name = "own-lefts-wide", .type = u8, .left = {270, 261}, .right = {257, 258}, .form = one_to_many, .rights = 2, .own_lefts = true},

    // ---- windows that stick out of a picture ----
    {.name = "overhang", .type = u8, .left = {83, 61}, .right = {16, 12}, .max_peaks = 9, .distance = 3, .threshold = -1, .picture = {6, 5, 70, 51}, .overhang = 0.4},
    {.name = "overhang-disc-many", .type = u8, .left = {67, 45}, .right = {12, 12}, .form = one_to_many, .rights = 3, .pad = 3, .misalign = 1, .max_peaks = 9, .distance = 3, .threshold = -1, .mask = Mask::disc, .picture = {5, 5, 57, 35}, .overhang = 0.3},
    {.name = "overhang-none", .type = u8, .left = {67, 45}, .right = {12, 12}, .max_peaks = 9, .mask = Mask::pixel, .picture = {5, 5, 57, 35}},
    {.name = "overhang-either", .type = u16, .left = {64, 48}, .right = {16, 16}, .max_peaks = 9, .distance = 3, .threshold = -1, .polarity = Polarity::either, .min_contrast = 18000.5, .picture = {8, 8, 48, 32}, .overhang = 0.5},
    {.name = "overhang-color", .type = u8, .left = {64, 48}, .right = {16, 16}, .planes = 3, .max_peaks = 9, .distance = 3, .threshold = -1, .picture = {8, 8, 48, 32}, .overhang = 0.5},
    {.name = "overhang", .type = f32, .left = {64, 48}, .right = {16, 16}, .max_peaks = 9, .distance = 3, .threshold = -1, .picture = {8, 8, 48, 32}, .overhang = 0.5},

    // ---- contrast that is asked for ----
    {.name = "either-small", .type = u8, .left = {12, 9}, .right = {5, 4}, .polarity = Polarity::either, .min_contrast = 70.3},
    {.name = "either-small", .type = f32, .left = {12, 9}, .right = {5, 4}, .polarity = Polarity::either, .min_contrast = 0.51},
    {.name = "either", .type = u8, .left = {83, 61}, .right = {12, 9}, .max_peaks = 30, .distance = 3, .polarity = Polarity::either},
    {.name = "either", .type = f32, .left = {83, 61}, .right = {12, 9}, .max_peaks = 30, .distance = 3, .polarity = Polarity::either},
    {.name = "either-many", .type = u8, .left = {67, 45}, .right = {12, 12}, .form = one_to_many, .rights = 3, .pad = 3, .misalign = 1, .polarity = Polarity::either, .min_contrast = 73.5},
    {.name = "either-one-peak", .type = u8, .left = {83, 61}, .right = {12, 9}, .max_peaks = 1, .polarity = Polarity::either},
    {.name = "either-disc", .type = u8, .left = {64, 48}, .right = {16, 16}, .max_peaks = 9, .mask = Mask::disc, .polarity = Polarity::either, .min_contrast = 73.5},
    {.name = "either-tall", .type = u8, .left = {40, 300}, .right = {12, 270}, .polarity = Polarity::either},
    {.name = "inverted", .type = u8, .left = {83, 61}, .right = {12, 9}, .max_peaks = 9, .polarity = Polarity::inverted},
    {.name = "inverted", .type = f32, .left = {83, 61}, .right = {12, 9}, .max_peaks = 9, .polarity = Polarity::inverted},
    {.name = "inverted-disc", .type = f32, .left = {64, 48}, .right = {16, 16}, .mask = Mask::disc, .polarity = Polarity::inverted},
    {.name = "contrast", .type = u8, .left = {83, 61}, .right = {12, 9}, .max_peaks = 30, .distance = 3, .threshold = -1, .min_contrast = 74.1},
    {.name = "contrast", .type = f32, .left = {83, 61}, .right = {12, 9}, .max_peaks = 30, .distance = 3, .threshold = -1, .min_contrast = 0.577},
    {.name = "contrast-flat-left", .type = u8, .left = {64, 48}, .right = {16, 16}, .fill = flat_left, .threshold = -1, .min_contrast = 0.5},
    {.name = "contrast-wide", .type = u8, .left = {270, 261}, .right = {257, 258}, .min_contrast = 73.9},

    // ---- peaks ----
    {.name = "ties", .type = u8, .left = {80, 60}, .right = {2, 2}, .fill = binary, .max_peaks = 1024, .distance = 1, .threshold = -1},
    {.name = "ties-apart", .type = u8, .left = {80, 60}, .right = {3, 3}, .fill = binary, .max_peaks = 100, .distance = 5, .threshold = -1},
    {.name = "ties", .type = f32, .left = {80, 60}, .right = {2, 2}, .fill = binary, .form = one_to_many, .rights = 3, .max_peaks = 37, .distance = 2},

    // ---- searches by cells of shifts: ties, cells that only partly lie nearby, one peak ----
    {.name = "cells", .type = u8, .left = {33, 27}, .right = {4, 4}, .fill = binary, .max_peaks = 20, .distance = 8, .threshold = -1},
    {.name = "cells-ties", .type = u8, .left = {120, 90}, .right = {16, 16}, .fill = binary, .max_peaks = 64, .distance = 8, .threshold = -1},
    {.name = "cells-apart", .type = u8, .left = {151, 100}, .right = {9, 9}, .pad = 3, .misalign = 1, .max_peaks = 50, .distance = 11, .threshold = -1},
    {.name = "cells-many", .type = u8, .left = {143, 97}, .right = {37, 18}, .fill = copies, .form = one_to_many, .rights = 5, .max_peaks = 9, .threshold = 0.1},
    {.name = "cells-far", .type = u8, .left = {160, 120}, .right = {24, 24}, .fill = near_flat, .max_peaks = 1024, .distance = 30, .threshold = -1},
    {.name = "cells-part", .type = u8, .left = {180, 90}, .right = {13, 21}, .shifts = rectangle, .rectangle = {19, 7, 133, 61}, .max_peaks = 30, .distance = 9, .threshold = -0.5},
    {.name = "one-peak", .type = u8, .left = {23, 21}, .right = {5, 3}, .max_peaks = 1, .threshold = -1},
    {.name = "one-peak-ties", .type = u8, .left = {150, 70}, .right = {33, 31}, .fill = binary, .form = one_to_many, .rights = 4, .max_peaks = 1, .distance = 1, .threshold = -1},
    {.name = "one-peak-copies", .type = u8, .left = {190, 110}, .right = {64, 40}, .fill = copies, .form = one_to_many, .rights = 3, .max_peaks = 1, .threshold = 0.9},
    {.name = "no-peak-small", .type = u8, .left = {23, 21}, .right = {6, 4}, .form = one_to_many, .rights = 2, .max_peaks = 1, .threshold = 0.95},
    {.name = "one-peak-pixel", .type = u8, .left = {37, 29}, .right = {1, 1}, .pad = 3, .misalign = 1, .max_peaks = 1, .threshold = -1},
    {.name = "one-peak-one-place", .type = u8, .left = {33, 20}, .right = {33, 20}, .max_peaks = 1, .threshold = -1},
    {.name = "one-peak-row-of-places", .type = u8, .left = {43, 17}, .right = {20, 17}, .max_peaks = 1, .threshold = -1},
    {.name = "one-peak-column-of-places", .type = u8, .left = {31, 40}, .right = {31, 9}, .max_peaks = 1, .threshold = -1},
    {.name = "one-peak-left", .type = u8, .left = {21, 18}, .right = {7, 5}, .shifts = rectangle, .fill = copies, .rectangle = {5, 1, 9, 8}, .max_peaks = 1, .threshold = 0.5},
    {.name = "one-peak-top", .type = u8, .left = {21, 18}, .right = {7, 5}, .shifts = rectangle, .fill = copies, .rectangle = {2, 3, 9, 8}, .max_peaks = 1, .threshold = 0.5},
    {.name = "one-peak-corner", .type = u8, .left = {21, 18}, .right = {7, 5}, .shifts = rectangle, .fill = copies, .rectangle = {0, 0, 6, 4}, .max_peaks = 1, .threshold = 0.5},
    {.name = "one-peak-flat", .type = u8, .left = {18, 14}, .right = {12, 10}, .fill = flat_right, .max_peaks = 1, .threshold = -1},
    {.name = "one-peak-constant", .type = u8, .left = {18, 14}, .right = {12, 10}, .fill = constant, .max_peaks = 1, .threshold = -1},
    {.name = "one-peak-wide-row", .type = u8, .left = {40, 2}, .right = {34, 1}, .max_peaks = 1, .threshold = -1},
    {.name = "one-peak-many", .type = u8, .left = {6, 2}, .right = {5, 1}, .form = one_to_many, .rights = 35, .max_peaks = 1, .threshold = -1},
    {.name = "one-peak-many-16", .type = u8, .left = {71, 53}, .right = {15, 11}, .form = one_to_many, .rights = 35, .pad = 5, .misalign = 3, .max_peaks = 1},
    {.name = "one-peak-many-32", .type = u8, .left = {100, 61}, .right = {29, 18}, .fill = copies, .form = one_to_many, .rights = 33, .max_peaks = 1, .threshold = 0.3},
    {.name = "one-peak-many-64", .type = u8, .left = {131, 83}, .right = {61, 37}, .form = one_to_many, .rights = 20, .pad = 4, .max_peaks = 1},
    {.name = "one-peak-many-discs", .type = u8, .left = {91, 67}, .right = {31, 29}, .form = one_to_many, .rights = 9, .pad = 5, .misalign = 3, .max_peaks = 1, .mask = Mask::disc},
    {.name = "one-peak-misaligned", .type = u8, .left = {18, 12}, .right = {13, 9}, .form = one_to_many, .rights = 3, .pad = 5, .misalign = 3, .max_peaks = 1, .threshold = -1},
    {.name = "one-peak-no-subpixel", .type = u8, .left = {20, 18}, .right = {7, 5}, .max_peaks = 1, .threshold = -1, .subpixel = false},
    {.name = "one-peak-tall", .type = u8, .left = {9, 106}, .right = {3, 100}, .shifts = rectangle, .fill = copies, .rectangle = {4, 2, 3, 3}, .max_peaks = 1},
    {.name = "one-peak-taller", .type = u8, .left = {11, 276}, .right = {5, 270}, .shifts = rectangle, .fill = copies, .rectangle = {4, 2, 3, 3}, .max_peaks = 1},
    {.name = "one-peak-wide", .type = u8, .left = {134, 14}, .right = {129, 7}, .shifts = rectangle, .fill = copies, .rectangle = {4, 2, 2, 3}, .max_peaks = 1},
    {.name = "one-peak-large", .type = u8, .left = {130, 130}, .right = {128, 128}, .fill = extremes, .max_peaks = 1},
    {.name = "no-peak", .type = u8, .left = {97, 91}, .right = {40, 30}, .max_peaks = 1, .threshold = 0.9},
    {.name = "every-shift", .type = u8, .left = {201, 167}, .right = {2, 2}, .max_peaks = 1024, .distance = 1, .threshold = -1},
    {.name = "every-shift-many", .type = u8, .left = {129, 67}, .right = {3, 2}, .form = one_to_many, .rights = 4, .max_peaks = 1000, .distance = 1, .threshold = -1},
    {.name = "far-apart", .type = u8, .left = {150, 140}, .right = {5, 5}, .max_peaks = 64, .distance = 40, .threshold = -1},
    {.name = "distance-past-the-frame", .type = u8, .left = {50, 40}, .right = {5, 5}, .max_peaks = 8, .distance = 1000, .threshold = -1},
    {.name = "distance-past-all-frames", .type = u8, .left = {50, 40}, .right = {5, 5}, .max_peaks = 8, .distance = INT_MAX, .threshold = -1},
    {.name = "constant-surface", .type = u8, .left = {70, 50}, .right = {4, 4}, .fill = constant, .max_peaks = 1024, .distance = 3, .threshold = -1},
    {.name = "no-subpixel", .type = u8, .left = {60, 50}, .right = {7, 5}, .max_peaks = 10, .distance = 2, .threshold = -1, .subpixel = false},
    {.name = "no-subpixel", .type = f32, .left = {60, 50}, .right = {7, 5}, .max_peaks = 10, .distance = 2, .threshold = -1, .subpixel = false},
    {.name = "nothing-reaches", .type = u8, .left = {60, 50}, .right = {7, 5}, .threshold = 1},
};
// clang-format on

}  // namespace

std::span<const Case> match_cases() { return table; }

}  // namespace checkcorr

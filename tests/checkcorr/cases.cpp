// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The test problems, a row each. Sizes lie around the edges of warps and tiles (1 31 32 33 63 65),
// of vectors, and at primes; see Case for the columns' defaults.
#include "cases.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <string>
#include <vector>

namespace checkcorr {
namespace {

constexpr auto u8 = ElementType::u8;
constexpr auto u16 = ElementType::u16;
constexpr auto i32 = ElementType::i32;
constexpr auto f32 = ElementType::f32;
constexpr auto f64 = ElementType::f64;
using enum Fill;
using enum Form;
using enum Shifts;
using xcorr::Polarity;

// clang-format off
constexpr Case table[] = {
    // ---- smallest extents ----
    {.name = "pixel", .type = u8, .left = {1, 1}, .right = {1, 1}},
    {.name = "pixel", .type = f32, .left = {1, 1}, .right = {1, 1}, .fill = integers},
    {.name = "right-pixel", .type = u8, .left = {33, 7}, .right = {1, 1}},
    {.name = "right-pixel", .type = f32, .left = {33, 7}, .right = {1, 1}},
    {.name = "row", .type = u8, .left = {65, 1}, .right = {31, 1}},
    {.name = "row", .type = f32, .left = {65, 1}, .right = {31, 1}, .shifts = full, .fill = integers},
    {.name = "column", .type = u8, .left = {1, 65}, .right = {1, 31}, .shifts = full},
    {.name = "column", .type = f32, .left = {1, 65}, .right = {1, 31}},
    {.name = "narrow", .type = u8, .left = {4, 12}, .right = {1, 9}},
    {.name = "same-size", .type = u8, .left = {33, 31}, .right = {33, 31}},
    {.name = "same-size", .type = f32, .left = {33, 31}, .right = {33, 31}, .fill = integers},
    {.name = "same-size-full", .type = u8, .left = {32, 32}, .right = {32, 32}, .shifts = full},
    {.name = "same-size-full", .type = f32, .left = {32, 32}, .right = {32, 32}, .shifts = full, .fill = integers},

    // ---- warp and tile edges, primes, asymmetric ----
    {.name = "31", .type = u8, .left = {63, 65}, .right = {31, 31}},
    {.name = "32", .type = u8, .left = {64, 64}, .right = {32, 32}},
    {.name = "33", .type = u8, .left = {65, 63}, .right = {33, 33}},
    {.name = "63", .type = u8, .left = {97, 95}, .right = {63, 63}},
    {.name = "65", .type = u8, .left = {97, 101}, .right = {65, 65}},
    {.name = "31", .type = f32, .left = {63, 65}, .right = {31, 31}, .fill = integers},
    {.name = "32", .type = f32, .left = {64, 64}, .right = {32, 32}, .fill = integers},
    {.name = "33", .type = f32, .left = {65, 63}, .right = {33, 33}, .fill = integers},
    {.name = "63", .type = f32, .left = {97, 95}, .right = {63, 63}, .fill = integers},
    {.name = "65", .type = f32, .left = {97, 101}, .right = {65, 65}, .fill = integers},
    {.name = "wide-right", .type = u8, .left = {131, 37}, .right = {97, 3}},
    {.name = "wide-right", .type = f32, .left = {131, 37}, .right = {97, 3}},
    {.name = "right-121x5", .type = u8, .left = {127, 9}, .right = {121, 5}},
    {.name = "tall-right", .type = u8, .left = {37, 131}, .right = {3, 97}},
    {.name = "tall-right", .type = f32, .left = {37, 131}, .right = {3, 97}},
    {.name = "right-4x4", .type = u8, .left = {257, 67}, .right = {4, 4}},
    {.name = "right-8x8", .type = u8, .left = {160, 120}, .right = {8, 8}},
    {.name = "right-16x16", .type = u8, .left = {160, 120}, .right = {16, 16}},
    {.name = "right-17x5", .type = u8, .left = {151, 83}, .right = {17, 5}},
    {.name = "right-17x5", .type = f32, .left = {151, 83}, .right = {17, 5}},
    {.name = "right-64x64", .type = u8, .left = {127, 113}, .right = {64, 64}},
    {.name = "right-64x64", .type = f32, .left = {127, 113}, .right = {64, 64}},

    // ---- 16 bits ----
    {.name = "pixel", .type = u16, .left = {1, 1}, .right = {1, 1}},
    {.name = "row", .type = u16, .left = {65, 1}, .right = {31, 1}, .shifts = full},
    {.name = "same-size", .type = u16, .left = {33, 31}, .right = {33, 31}},
    {.name = "33", .type = u16, .left = {65, 63}, .right = {33, 33}},
    {.name = "right-17x5", .type = u16, .left = {151, 83}, .right = {17, 5}},
    {.name = "right-64x64", .type = u16, .left = {127, 113}, .right = {64, 64}},
    {.name = "wide-right", .type = u16, .left = {131, 37}, .right = {97, 3}},
    {.name = "full", .type = u16, .left = {47, 29}, .right = {11, 13}, .shifts = full},
    {.name = "part-of-full", .type = u16, .left = {33, 31}, .right = {9, 7}, .shifts = rectangle, .rectangle = {-5, -3, 17, 11}},
    {.name = "part-of-valid", .type = u16, .left = {65, 61}, .right = {9, 7}, .shifts = rectangle, .rectangle = {7, 11, 33, 19}},
    {.name = "padded-misaligned-many", .type = u16, .left = {71, 53}, .right = {19, 11}, .form = one_to_many, .rights = 5, .pad = 5, .misalign = 3},
    {.name = "many-33", .type = u16, .left = {40, 36}, .right = {8, 8}, .form = one_to_many, .rights = 33},
    {.name = "n-to-mn", .type = u16, .left = {33, 31}, .right = {5, 7}, .form = n_to_mn, .lefts = 3, .rights = 2},
    {.name = "n-to-m", .type = u16, .left = {23, 19}, .right = {7, 11}, .shifts = full, .form = n_to_m, .lefts = 3, .rights = 2, .pad = 1, .misalign = 1},
    {.name = "one-peak", .type = u16, .left = {151, 83}, .right = {32, 32}, .max_peaks = 1},
    {.name = "extremes", .type = u16, .left = {80, 60}, .right = {24, 24}, .fill = extremes},
    {.name = "extremes-wide", .type = u16, .left = {262, 259}, .right = {259, 257}, .fill = extremes},
    {.name = "zeros", .type = u16, .left = {40, 30}, .right = {12, 12}, .fill = zeros},
    {.name = "binary", .type = u16, .left = {64, 48}, .right = {7, 5}, .fill = binary, .max_peaks = 50, .distance = 2, .threshold = -1},
    {.name = "flat-right", .type = u16, .left = {64, 48}, .right = {16, 16}, .fill = flat_right},
    {.name = "flat-left", .type = u16, .left = {64, 48}, .right = {16, 16}, .fill = flat_left},
    {.name = "near-flat", .type = u16, .left = {80, 60}, .right = {24, 24}, .fill = near_flat},
    {.name = "low-contrast", .type = u16, .left = {80, 60}, .right = {24, 24}, .fill = low_contrast},
    {.name = "copies", .type = u16, .left = {127, 113}, .right = {64, 64}, .fill = copies, .form = one_to_many, .rights = 3, .threshold = 1},
    {.name = "disc-many", .type = u16, .left = {91, 67}, .right = {21, 13}, .form = one_to_many, .rights = 5, .pad = 5, .misalign = 3, .mask = Mask::disc},
    {.name = "disc-copies", .type = u16, .left = {127, 113}, .right = {64, 64}, .fill = copies, .threshold = 1, .mask = Mask::disc},
    {.name = "ring-extremes", .type = u16, .left = {80, 60}, .right = {17, 23}, .fill = extremes, .mask = Mask::ring},
    {.name = "either-disc", .type = u16, .left = {64, 48}, .right = {16, 16}, .max_peaks = 9, .mask = Mask::disc, .polarity = Polarity::either, .min_contrast = 18900.5},
    {.name = "inverted", .type = u16, .left = {83, 61}, .right = {12, 9}, .max_peaks = 9, .polarity = Polarity::inverted},

    // ---- windows of several strips of columns, of rows that begin anywhere in a word ----
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
    {.name = "one-pixel-mask", .type = u8, .left = {33, 31}, .right = {9, 7}, .mask = Mask::pixel},
    {.name = "one-pixel-mask", .type = f32, .left = {33, 31}, .right = {9, 7}, .mask = Mask::pixel},

    // ---- pictures in colour ----
    {.name = "color-pixel", .type = u8, .left = {1, 1}, .right = {1, 1}, .planes = 3},
    {.name = "color", .type = u8, .left = {64, 48}, .right = {16, 16}, .planes = 3},
    {.name = "color-many", .type = u8, .left = {71, 53}, .right = {19, 11}, .form = one_to_many, .rights = 5, .planes = 3, .pad = 5, .misalign = 3},
    {.name = "color-one-peak", .type = u8, .left = {83, 61}, .right = {32, 32}, .planes = 3, .max_peaks = 1},
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

    // ---- rectangles of shifts ----
    {.name = "full", .type = u8, .left = {47, 29}, .right = {11, 13}, .shifts = full},
    {.name = "full", .type = f32, .left = {47, 29}, .right = {11, 13}, .shifts = full, .fill = integers},
    {.name = "full-reals", .type = f32, .left = {47, 29}, .right = {11, 13}, .shifts = full},
    {.name = "right-larger", .type = u8, .left = {13, 11}, .right = {29, 47}, .shifts = full},
    {.name = "right-larger", .type = f32, .left = {13, 11}, .right = {29, 47}, .shifts = full, .fill = integers},
    {.name = "part-of-full", .type = u8, .left = {33, 31}, .right = {9, 7}, .shifts = rectangle, .rectangle = {-5, -3, 17, 11}},
    {.name = "part-of-full-wide", .type = u8, .left = {41, 9}, .right = {37, 5}, .shifts = rectangle, .rectangle = {-7, -3, 13, 9}},
    {.name = "part-of-full-wide-misaligned", .type = u8, .left = {67, 9}, .right = {53, 6}, .shifts = rectangle, .rectangle = {-9, -4, 31, 8}, .pad = 3, .misalign = 1},
    {.name = "part-of-full", .type = f32, .left = {33, 31}, .right = {9, 7}, .shifts = rectangle, .rectangle = {-5, -3, 17, 11}},
    {.name = "part-of-valid", .type = u8, .left = {65, 61}, .right = {9, 7}, .shifts = rectangle, .rectangle = {7, 11, 33, 19}},
    {.name = "part-of-valid", .type = f32, .left = {65, 61}, .right = {9, 7}, .shifts = rectangle, .rectangle = {7, 11, 33, 19}},
    {.name = "one-shift", .type = u8, .left = {65, 61}, .right = {9, 7}, .shifts = rectangle, .rectangle = {40, 20, 1, 1}},
    {.name = "past-the-end", .type = u8, .left = {33, 31}, .right = {9, 7}, .shifts = rectangle, .rectangle = {20, 18, 30, 30}},
    {.name = "past-the-end", .type = f32, .left = {33, 31}, .right = {9, 7}, .shifts = rectangle, .fill = integers, .rectangle = {20, 18, 30, 30}},

    // ---- padded and misaligned ----
    {.name = "padded", .type = u8, .left = {61, 47}, .right = {13, 17}, .pad = 3},
    {.name = "padded", .type = f32, .left = {61, 47}, .right = {13, 17}, .pad = 3},
    {.name = "padded-64", .type = u8, .left = {64, 48}, .right = {16, 16}, .pad = 64},
    {.name = "misaligned", .type = u8, .left = {64, 48}, .right = {16, 16}, .misalign = 1},
    {.name = "misaligned", .type = f32, .left = {64, 48}, .right = {16, 16}, .misalign = 1},
    {.name = "padded-misaligned-many", .type = u8, .left = {71, 53}, .right = {19, 11}, .form = one_to_many, .rights = 5, .pad = 5, .misalign = 3},
    {.name = "padded-misaligned-many", .type = f32, .left = {71, 53}, .right = {19, 11}, .form = one_to_many, .rights = 5, .pad = 5, .misalign = 3},
    {.name = "padded-full-n-to-m", .type = u8, .left = {23, 19}, .right = {7, 11}, .shifts = full, .form = n_to_m, .lefts = 3, .rights = 2, .pad = 1, .misalign = 1},

    // ---- forms ----
    {.name = "many", .type = u8, .left = {67, 45}, .right = {12, 12}, .form = one_to_many, .rights = 3},
    {.name = "many", .type = f32, .left = {67, 45}, .right = {12, 12}, .fill = integers, .form = one_to_many, .rights = 3},
    {.name = "many-33", .type = u8, .left = {40, 36}, .right = {8, 8}, .form = one_to_many, .rights = 33},
    {.name = "many-33", .type = f32, .left = {40, 36}, .right = {8, 8}, .form = one_to_many, .rights = 33},
    {.name = "many-one", .type = u8, .left = {40, 36}, .right = {8, 8}, .form = one_to_many, .rights = 1},
    {.name = "many-full", .type = f32, .left = {32, 32}, .right = {32, 32}, .shifts = full, .fill = integers, .form = one_to_many, .rights = 3},
    {.name = "n-to-mn", .type = u8, .left = {33, 31}, .right = {5, 7}, .form = n_to_mn, .lefts = 3, .rights = 2},
    {.name = "n-to-mn-full", .type = f32, .left = {33, 31}, .right = {5, 7}, .shifts = full, .fill = integers, .form = n_to_mn, .lefts = 3, .rights = 2},
    {.name = "n-to-mn-n-to-n", .type = f32, .left = {16, 16}, .right = {16, 16}, .shifts = full, .form = n_to_mn, .lefts = 7, .rights = 1},
    {.name = "n-to-m", .type = u8, .left = {33, 31}, .right = {5, 7}, .form = n_to_m, .lefts = 2, .rights = 3},
    {.name = "n-to-m-full", .type = f32, .left = {33, 31}, .right = {5, 7}, .shifts = full, .fill = integers, .form = n_to_m, .lefts = 2, .rights = 3},
    {.name = "n-to-m-reals", .type = f32, .left = {64, 64}, .right = {32, 32}, .form = n_to_m, .lefts = 3, .rights = 3},

    // ---- equal sizes, whole output: the paper's problems ----
    {.name = "equal-16", .type = f32, .left = {16, 16}, .right = {16, 16}, .shifts = full, .fill = integers},
    {.name = "equal-16", .type = i32, .left = {16, 16}, .right = {16, 16}, .shifts = full},
    {.name = "equal-31", .type = u8, .left = {31, 31}, .right = {31, 31}, .shifts = full},
    {.name = "equal-31", .type = f64, .left = {31, 31}, .right = {31, 31}, .shifts = full},
    {.name = "equal-32", .type = f32, .left = {32, 32}, .right = {32, 32}, .shifts = full},
    {.name = "equal-33", .type = f32, .left = {33, 33}, .right = {33, 33}, .shifts = full, .fill = integers},
    {.name = "equal-33", .type = i32, .left = {33, 33}, .right = {33, 33}, .shifts = full},
    {.name = "equal-64", .type = f32, .left = {64, 64}, .right = {64, 64}, .shifts = full, .fill = integers},
    {.name = "equal-65", .type = f32, .left = {65, 65}, .right = {65, 65}, .shifts = full},
    {.name = "equal-1-to-2", .type = f32, .left = {31, 31}, .right = {31, 31}, .shifts = full, .form = one_to_many, .rights = 2},
    {.name = "equal-1-to-5", .type = f32, .left = {17, 17}, .right = {17, 17}, .shifts = full, .fill = integers, .form = one_to_many, .rights = 5},
    {.name = "equal-1-to-5", .type = i32, .left = {17, 17}, .right = {17, 17}, .shifts = full, .form = one_to_many, .rights = 5},
    {.name = "equal-1-to-7", .type = u8, .left = {16, 16}, .right = {16, 16}, .shifts = full, .form = one_to_many, .rights = 7},
    {.name = "equal-1-to-9", .type = f64, .left = {16, 16}, .right = {16, 16}, .shifts = full, .fill = integers, .form = one_to_many, .rights = 9},
    {.name = "equal-1-to-9", .type = f32, .left = {33, 33}, .right = {33, 33}, .shifts = full, .fill = integers, .form = one_to_many, .rights = 9},
    {.name = "equal-3-to-15", .type = f32, .left = {16, 16}, .right = {16, 16}, .shifts = full, .fill = integers, .form = n_to_mn, .lefts = 3, .rights = 5},
    {.name = "equal-5-to-10", .type = u8, .left = {15, 15}, .right = {15, 15}, .shifts = full, .form = n_to_mn, .lefts = 5, .rights = 2},
    {.name = "equal-2-to-14", .type = i32, .left = {17, 17}, .right = {17, 17}, .shifts = full, .form = n_to_mn, .lefts = 2, .rights = 7},
    {.name = "equal-2-to-6", .type = f64, .left = {17, 17}, .right = {17, 17}, .shifts = full, .form = n_to_mn, .lefts = 2, .rights = 3},
    {.name = "equal-2-to-2", .type = f32, .left = {32, 32}, .right = {32, 32}, .shifts = full, .fill = integers, .form = n_to_m, .lefts = 2, .rights = 2},
    {.name = "equal-3-to-5", .type = u8, .left = {16, 16}, .right = {16, 16}, .shifts = full, .form = n_to_m, .lefts = 3, .rights = 5},
    {.name = "equal-5-to-3", .type = i32, .left = {15, 15}, .right = {15, 15}, .shifts = full, .form = n_to_m, .lefts = 5, .rights = 3},
    {.name = "equal-5-to-7", .type = f32, .left = {16, 16}, .right = {16, 16}, .shifts = full, .fill = integers, .form = n_to_m, .lefts = 5, .rights = 7},
    {.name = "equal-3-to-9", .type = f64, .left = {13, 13}, .right = {13, 13}, .shifts = full, .form = n_to_m, .lefts = 3, .rights = 9},
    {.name = "equal-5-to-5", .type = f32, .left = {33, 33}, .right = {33, 33}, .shifts = full, .form = n_to_m, .lefts = 5, .rights = 5},
    {.name = "equal-8-to-8", .type = f32, .left = {16, 16}, .right = {16, 16}, .shifts = full, .fill = integers, .form = n_to_m, .lefts = 8, .rights = 8},

    // ---- the same forms without the paper's restrictions ----
    {.name = "pixels-many", .type = f32, .left = {1, 1}, .right = {1, 1}, .shifts = full, .fill = integers, .form = one_to_many, .rights = 5},
    {.name = "pixels-n-to-mn", .type = i32, .left = {1, 1}, .right = {1, 1}, .shifts = full, .form = n_to_mn, .lefts = 3, .rights = 2},
    {.name = "pixels-n-to-m", .type = f64, .left = {1, 1}, .right = {1, 1}, .shifts = full, .form = n_to_m, .lefts = 3, .rights = 5},
    {.name = "left-pixel", .type = f32, .left = {1, 1}, .right = {33, 7}, .shifts = full, .fill = integers, .form = n_to_m, .lefts = 3, .rights = 2},
    {.name = "right-pixel-n-to-m", .type = u8, .left = {33, 7}, .right = {1, 1}, .shifts = full, .form = n_to_m, .lefts = 2, .rights = 3},
    {.name = "row-many", .type = f64, .left = {65, 1}, .right = {33, 1}, .shifts = full, .form = one_to_many, .rights = 3},
    {.name = "column-many", .type = i32, .left = {1, 65}, .right = {1, 33}, .shifts = full, .form = one_to_many, .rights = 3},
    {.name = "column-n-to-m", .type = f32, .left = {1, 70}, .right = {1, 67}, .shifts = full, .fill = integers, .form = n_to_m, .lefts = 3, .rights = 3},
    {.name = "tall", .type = f32, .left = {3, 131}, .right = {2, 97}, .shifts = full, .fill = integers},
    {.name = "tall-many", .type = f32, .left = {5, 70}, .right = {3, 67}, .shifts = full, .fill = integers, .form = one_to_many, .rights = 5},
    {.name = "tall-n-to-m", .type = i32, .left = {5, 70}, .right = {3, 67}, .shifts = full, .form = n_to_m, .lefts = 2, .rights = 3},
    {.name = "wide", .type = f64, .left = {131, 3}, .right = {97, 2}, .shifts = full},
    {.name = "wide-many", .type = f32, .left = {131, 3}, .right = {97, 2}, .shifts = full, .fill = integers, .form = one_to_many, .rights = 3},
    {.name = "wide-n-to-m", .type = u8, .left = {131, 3}, .right = {97, 2}, .shifts = full, .form = n_to_m, .lefts = 3, .rights = 2},
    {.name = "wide-128", .type = f64, .left = {70, 2}, .right = {50, 1}, .shifts = full, .form = one_to_many, .rights = 2},
    {.name = "tall-128", .type = f64, .left = {2, 70}, .right = {1, 50}, .shifts = full, .form = one_to_many, .rights = 2},
    {.name = "wide-192", .type = f64, .left = {100, 2}, .right = {90, 1}, .shifts = full, .form = one_to_many, .rights = 2},
    {.name = "tall-192", .type = f64, .left = {2, 100}, .right = {1, 90}, .shifts = full, .form = one_to_many, .rights = 2},
    {.name = "wide-256", .type = f64, .left = {131, 2}, .right = {100, 1}, .shifts = full, .form = one_to_many, .rights = 2},
    {.name = "tall-256", .type = f64, .left = {2, 131}, .right = {1, 100}, .shifts = full, .form = one_to_many, .rights = 2},
    {.name = "tall-128", .type = f32, .left = {2, 70}, .right = {1, 50}, .shifts = full, .form = one_to_many, .rights = 2},
    {.name = "wide-512", .type = f32, .left = {300, 2}, .right = {200, 1}, .shifts = full, .form = one_to_many, .rights = 2},
    {.name = "tall-512", .type = f32, .left = {2, 300}, .right = {1, 200}, .shifts = full, .form = one_to_many, .rights = 2},
    {.name = "across", .type = f32, .left = {70, 5}, .right = {4, 37}, .shifts = full, .fill = integers, .form = n_to_m, .lefts = 2, .rights = 5},
    {.name = "across", .type = f64, .left = {5, 70}, .right = {37, 4}, .shifts = full, .form = n_to_mn, .lefts = 2, .rights = 2},
    {.name = "right-larger-many", .type = f32, .left = {13, 11}, .right = {29, 37}, .shifts = full, .form = one_to_many, .rights = 7},
    {.name = "right-larger-n-to-mn", .type = u8, .left = {13, 11}, .right = {29, 37}, .shifts = full, .form = n_to_mn, .lefts = 2, .rights = 3},
    {.name = "right-larger-n-to-m", .type = i32, .left = {13, 11}, .right = {29, 37}, .shifts = full, .form = n_to_m, .lefts = 3, .rights = 2},
    {.name = "right-larger-n-to-m", .type = f32, .left = {13, 11}, .right = {29, 37}, .shifts = full, .fill = integers, .form = n_to_m, .lefts = 3, .rights = 5},
    {.name = "valid", .type = i32, .left = {65, 47}, .right = {33, 16}},
    {.name = "valid", .type = f64, .left = {65, 47}, .right = {33, 16}},
    {.name = "valid-many", .type = i32, .left = {41, 37}, .right = {9, 7}, .form = one_to_many, .rights = 3},
    {.name = "valid-many", .type = f64, .left = {41, 37}, .right = {9, 7}, .form = one_to_many, .rights = 5},
    {.name = "valid-n-to-mn", .type = f32, .left = {41, 37}, .right = {9, 7}, .form = n_to_mn, .lefts = 3, .rights = 3},
    {.name = "valid-n-to-m", .type = f32, .left = {41, 37}, .right = {9, 7}, .fill = integers, .form = n_to_m, .lefts = 3, .rights = 7},
    {.name = "valid-n-to-m", .type = f64, .left = {41, 37}, .right = {9, 7}, .form = n_to_m, .lefts = 3, .rights = 2},
    {.name = "part", .type = i32, .left = {33, 31}, .right = {9, 7}, .shifts = rectangle, .rectangle = {-5, -3, 17, 11}},
    {.name = "part", .type = f64, .left = {33, 31}, .right = {9, 7}, .shifts = rectangle, .rectangle = {-5, -3, 17, 11}},
    {.name = "part-many", .type = f32, .left = {33, 31}, .right = {9, 17}, .shifts = rectangle, .fill = integers, .form = one_to_many, .rights = 5, .rectangle = {3, -11, 35, 37}},
    {.name = "part-n-to-mn", .type = f32, .left = {33, 31}, .right = {9, 17}, .shifts = rectangle, .fill = integers, .form = n_to_mn, .lefts = 2, .rights = 3, .rectangle = {-7, 5, 33, 3}},
    {.name = "part-n-to-m", .type = f32, .left = {33, 31}, .right = {9, 17}, .shifts = rectangle, .fill = integers, .form = n_to_m, .lefts = 3, .rights = 3, .rectangle = {5, -15, 3, 43}},
    {.name = "one-shift-n-to-m", .type = f32, .left = {33, 31}, .right = {33, 31}, .fill = integers, .form = n_to_m, .lefts = 5, .rights = 3},
    {.name = "past-both-ends", .type = f32, .left = {19, 17}, .right = {9, 7}, .shifts = rectangle, .fill = integers, .rectangle = {-40, -20, 90, 55}},
    {.name = "past-both-ends-many", .type = u8, .left = {19, 17}, .right = {9, 7}, .shifts = rectangle, .form = one_to_many, .rights = 3, .rectangle = {-40, -20, 90, 55}},
    {.name = "past-both-ends-n-to-m", .type = f32, .left = {19, 17}, .right = {9, 7}, .shifts = rectangle, .fill = integers, .form = n_to_m, .lefts = 3, .rights = 2, .rectangle = {-40, -20, 90, 55}},
    {.name = "nowhere", .type = f32, .left = {19, 17}, .right = {9, 7}, .shifts = rectangle, .fill = integers, .form = n_to_m, .lefts = 2, .rights = 2, .rectangle = {25, -40, 33, 9}},
    {.name = "padded-misaligned", .type = i32, .left = {37, 29}, .right = {19, 11}, .shifts = full, .form = one_to_many, .rights = 3, .pad = 5, .misalign = 3},
    {.name = "padded-misaligned", .type = f64, .left = {37, 29}, .right = {19, 11}, .shifts = full, .form = one_to_many, .rights = 2, .pad = 3, .misalign = 1},
    {.name = "padded-misaligned-n-to-mn", .type = f32, .left = {33, 19}, .right = {17, 11}, .shifts = full, .fill = integers, .form = n_to_mn, .lefts = 3, .rights = 3, .pad = 7, .misalign = 1},
    {.name = "padded-misaligned-n-to-m", .type = f32, .left = {33, 19}, .right = {17, 11}, .shifts = full, .fill = integers, .form = n_to_m, .lefts = 3, .rights = 5, .pad = 7, .misalign = 3},
    {.name = "padded-misaligned-n-to-m", .type = i32, .left = {23, 19}, .right = {17, 11}, .shifts = full, .form = n_to_m, .lefts = 5, .rights = 2, .pad = 2, .misalign = 1},

    // ---- small ones of many matrices, for devices that are slow ----
    {.name = "small-1-to-9", .type = u8, .left = {40, 3}, .right = {33, 2}, .form = one_to_many, .rights = 9},
    {.name = "small-1-to-9", .type = f32, .left = {7, 5}, .right = {4, 3}, .shifts = full, .fill = integers, .form = one_to_many, .rights = 9},
    {.name = "small-1-to-9", .type = i32, .left = {7, 5}, .right = {4, 3}, .shifts = full, .form = one_to_many, .rights = 9, .pad = 3, .misalign = 1},
    {.name = "small-1-to-9", .type = f64, .left = {36, 1}, .right = {33, 1}, .form = one_to_many, .rights = 9},
    {.name = "small-2-to-18", .type = f32, .left = {7, 3}, .right = {4, 2}, .shifts = full, .fill = integers, .form = n_to_mn, .lefts = 2, .rights = 9, .pad = 1, .misalign = 1},
    {.name = "small-2-to-18", .type = u8, .left = {7, 3}, .right = {4, 2}, .shifts = full, .form = n_to_mn, .lefts = 2, .rights = 9},
    {.name = "small-4-to-9", .type = u8, .left = {5, 2}, .right = {4, 2}, .shifts = full, .form = n_to_m, .lefts = 4, .rights = 9},
    {.name = "small-4-to-9", .type = i32, .left = {5, 2}, .right = {4, 2}, .shifts = full, .form = n_to_m, .lefts = 4, .rights = 9},
    {.name = "small-2-to-3", .type = f32, .left = {5, 2}, .right = {3, 2}, .shifts = full, .fill = integers, .form = n_to_m, .lefts = 2, .rights = 3},
    {.name = "small-5-to-8", .type = f32, .left = {5, 2}, .right = {4, 2}, .shifts = full, .fill = integers, .form = n_to_m, .lefts = 5, .rights = 8, .pad = 1, .misalign = 1},
    {.name = "small-5-to-8", .type = f64, .left = {5, 2}, .right = {4, 2}, .shifts = full, .form = n_to_m, .lefts = 5, .rights = 8},
    {.name = "small-9-to-5", .type = f32, .left = {3, 4}, .right = {2, 5}, .shifts = full, .fill = integers, .form = n_to_m, .lefts = 9, .rights = 5},
    {.name = "small-wide-4-to-4", .type = f32, .left = {34, 1}, .right = {33, 1}, .shifts = rectangle, .fill = integers, .form = n_to_m, .lefts = 4, .rights = 4, .rectangle = {-20, 0, 33, 1}},

    // ---- values ----
    {.name = "integers", .type = i32, .left = {35, 33}, .right = {21, 17}, .shifts = full, .fill = integers},
    {.name = "integers", .type = f64, .left = {35, 33}, .right = {21, 17}, .shifts = full, .fill = integers},
    {.name = "extremes", .type = i32, .left = {50, 48}, .right = {46, 44}, .fill = extremes},
    {.name = "wide", .type = f64, .left = {75, 53}, .right = {21, 17}, .fill = wide},
    {.name = "integers", .type = u8, .left = {75, 53}, .right = {21, 17}, .fill = integers},
    {.name = "wide", .type = f32, .left = {75, 53}, .right = {21, 17}, .fill = wide},
    {.name = "constant", .type = u8, .left = {64, 48}, .right = {16, 16}, .fill = constant},
    {.name = "constant", .type = f32, .left = {64, 48}, .right = {16, 16}, .fill = constant},
    {.name = "extremes", .type = u8, .left = {97, 89}, .right = {64, 64}, .fill = extremes},
    {.name = "extremes-181", .type = u8, .left = {185, 184}, .right = {182, 182}, .fill = extremes},
    {.name = "zeros", .type = u8, .left = {40, 36}, .right = {8, 8}, .fill = zeros},
    {.name = "zeros", .type = f32, .left = {40, 36}, .right = {8, 8}, .fill = zeros},
    {.name = "flat-right", .type = u8, .left = {64, 48}, .right = {16, 16}, .fill = flat_right},
    {.name = "flat-right", .type = f32, .left = {64, 48}, .right = {16, 16}, .fill = flat_right},
    {.name = "flat-left", .type = u8, .left = {64, 48}, .right = {16, 16}, .fill = flat_left},
    {.name = "flat-left", .type = f32, .left = {64, 48}, .right = {16, 16}, .fill = flat_left},
    {.name = "near-flat", .type = u8, .left = {64, 48}, .right = {16, 16}, .fill = near_flat},
    {.name = "near-flat", .type = f32, .left = {64, 48}, .right = {16, 16}, .fill = near_flat},
    {.name = "low-contrast", .type = u8, .left = {64, 48}, .right = {16, 16}, .fill = low_contrast},
    {.name = "low-contrast", .type = f32, .left = {64, 48}, .right = {16, 16}, .fill = low_contrast},
    {.name = "copies", .type = u8, .left = {96, 80}, .right = {24, 16}, .fill = copies, .form = one_to_many, .rights = 3, .threshold = 0.9},
    {.name = "copies", .type = f32, .left = {96, 80}, .right = {24, 16}, .fill = copies, .form = one_to_many, .rights = 3, .threshold = 0.9},
    {.name = "copies-at-threshold-1", .type = u8, .left = {96, 80}, .right = {24, 16}, .fill = copies, .threshold = 1},

    // ---- sums past 32 bits ----
    {.name = "u32-limit", .type = u8, .left = {259, 258}, .right = {256, 257}, .fill = extremes},
    {.name = "u64", .type = u8, .left = {261, 262}, .right = {257, 258}, .fill = extremes},
    {.name = "u64-512", .type = u8, .left = {514, 513}, .right = {512, 512}, .fill = extremes},
    {.name = "u64-bytes", .type = u8, .left = {267, 263}, .right = {257, 258}, .form = one_to_many, .rights = 2},
    {.name = "u64-flat", .type = u8, .left = {600, 150}, .right = {597, 147}, .fill = flat_right},

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

    // ---- sizes past one block of a kernel ----
    {.name = "frame", .type = u8, .left = {320, 240}, .right = {24, 24}},
    {.name = "frame", .type = f32, .left = {320, 240}, .right = {24, 24}},
    {.name = "frame-many", .type = u8, .left = {333, 217}, .right = {13, 11}, .form = one_to_many, .rights = 4},

    // ---- filter ----
    {.name = "filter-pixel", .type = u8, .left = {1, 1}, .right = {1, 1}, .filter = true, .radius_x = 2, .radius_y = 3},
    {.name = "filter-identity", .type = u8, .left = {37, 19}, .right = {1, 1}, .filter = true},
    {.name = "filter-row", .type = u8, .left = {131, 1}, .right = {1, 1}, .filter = true, .sigma = 1},
    {.name = "filter-column", .type = f32, .left = {1, 131}, .right = {1, 1}, .filter = true, .sigma = 1},
    {.name = "filter-sigma-1", .type = u8, .left = {65, 33}, .right = {1, 1}, .filter = true, .sigma = 1},
    {.name = "filter-sigma-1", .type = f32, .left = {65, 33}, .right = {1, 1}, .filter = true, .sigma = 1},
    {.name = "filter-sigma-1", .type = f64, .left = {65, 33}, .right = {1, 1}, .filter = true, .sigma = 1},
    {.name = "filter-sigma-1-in-f64", .type = f32, .left = {65, 33}, .right = {1, 1}, .filter = true, .sigma = 1, .sums = f64},
    {.name = "filter-sigma-2", .type = u8, .left = {127, 97}, .right = {1, 1}, .filter = true, .sigma = 2},
    {.name = "filter-sigma-2", .type = f32, .left = {127, 97}, .right = {1, 1}, .filter = true, .sigma = 2},
    {.name = "filter-sigma-2", .type = f64, .left = {127, 97}, .right = {1, 1}, .filter = true, .sigma = 2},
    {.name = "filter-sigma-2-in-f64", .type = f32, .left = {127, 97}, .right = {1, 1}, .filter = true, .sigma = 2, .sums = f64},
    {.name = "filter-sigma-1.3", .type = u8, .left = {64, 64}, .right = {1, 1}, .filter = true, .sigma = 1.3},
    {.name = "filter-extremes", .type = u8, .left = {40, 50}, .right = {1, 1}, .fill = extremes, .filter = true, .sigma = 3},
    {.name = "filter-wide", .type = f32, .left = {75, 53}, .right = {1, 1}, .fill = wide, .filter = true, .radius_x = 4, .radius_y = 4},
    {.name = "filter-across", .type = u8, .left = {75, 53}, .right = {1, 1}, .filter = true, .radius_x = 5},
    {.name = "filter-down", .type = f32, .left = {75, 53}, .right = {1, 1}, .filter = true, .radius_y = 5},
    {.name = "filter-12x7", .type = u8, .left = {67, 71}, .right = {1, 1}, .filter = true, .radius_x = 12, .radius_y = 7},
    {.name = "filter-7x12", .type = f32, .left = {67, 71}, .right = {1, 1}, .filter = true, .radius_x = 7, .radius_y = 12},
    {.name = "filter-32", .type = u8, .left = {70, 41}, .right = {1, 1}, .filter = true, .radius_x = 32, .radius_y = 32},
    {.name = "filter-32", .type = f32, .left = {41, 70}, .right = {1, 1}, .filter = true, .radius_x = 32, .radius_y = 32},
    {.name = "filter-32", .type = f64, .left = {33, 35}, .right = {1, 1}, .filter = true, .radius_x = 32, .radius_y = 32},
    {.name = "filter-12x7", .type = u16, .left = {67, 71}, .right = {1, 1}, .filter = true, .radius_x = 12, .radius_y = 7},
    {.name = "filter-part", .type = u16, .left = {97, 83}, .right = {1, 1}, .shifts = rectangle, .rectangle = {13, 3, 70, 40}, .filter = true, .sigma = 2},
    {.name = "filter-many", .type = u16, .left = {45, 37}, .right = {1, 1}, .form = n_to_m, .lefts = 3, .pad = 5, .misalign = 3, .filter = true, .sigma = 2},
    {.name = "filter-part", .type = u8, .left = {97, 83}, .right = {1, 1}, .shifts = rectangle, .rectangle = {13, 3, 70, 40}, .filter = true, .sigma = 2},
    {.name = "filter-part", .type = f32, .left = {97, 83}, .right = {1, 1}, .shifts = rectangle, .rectangle = {64, 50, 33, 33}, .filter = true, .sigma = 1},
    {.name = "filter-pixel-of-many", .type = u8, .left = {97, 83}, .right = {1, 1}, .shifts = rectangle, .rectangle = {95, 40, 1, 1}, .filter = true, .sigma = 2},
    {.name = "filter-padded", .type = u8, .left = {61, 47}, .right = {1, 1}, .pad = 3, .misalign = 1, .filter = true, .sigma = 2},
    {.name = "filter-padded", .type = f32, .left = {61, 47}, .right = {1, 1}, .pad = 3, .misalign = 1, .filter = true, .sigma = 1},
    {.name = "filter-many", .type = u8, .left = {45, 37}, .right = {1, 1}, .form = n_to_m, .lefts = 3, .pad = 5, .misalign = 3, .filter = true, .sigma = 2},
    {.name = "filter-many", .type = f64, .left = {45, 37}, .right = {1, 1}, .form = n_to_m, .lefts = 3, .filter = true, .radius_x = 3, .radius_y = 2},
};
// clang-format on

constexpr int max_width = 130;

/// The table, and rights of bytes of every width: words, steps and bands begin and end anywhere.
class AllCases {
 public:
  AllCases() : cases_(std::begin(table), std::end(table)) {
    for (int width = 1; width <= max_width; ++width) {
      names_[width] = "width-" + std::to_string(width);
      cases_.push_back({.name = names_[width].c_str(),
                        .left = {width + 4, 4},
                        .right = {width, 2},
                        .form = n_to_m});
    }
  }
  AllCases(const AllCases&) = delete;
  std::span<const Case> cases() const { return cases_; }

 private:
  std::array<std::string, max_width + 1> names_;
  std::vector<Case> cases_;
};

}  // namespace

std::span<const Case> cases() {
  static const AllCases all;
  return all.cases();
}

xcorr::Problem problem_of(const Case& c) {
  const Rect shifts = c.shifts == Shifts::valid  ? xcorr::valid_shifts(c.left, c.right)
                      : c.shifts == Shifts::full ? xcorr::full_shifts(c.left, c.right)
                                                 : c.rectangle;
  xcorr::Problem p =
      xcorr::dense_problem(c.type, c.form, c.left, c.right, c.lefts, c.rights, shifts);
  p.own_lefts = c.own_lefts;
  const auto pad = static_cast<std::int64_t>(xcorr::size_of(c.type)) * c.pad;
  p.left_pitch += pad;
  p.right_pitch += pad;
  p.left_stride = p.left_pitch * (c.left.height + (c.pad ? 1 : 0));
  p.right_stride = p.right_pitch * (c.right.height + (c.pad ? 1 : 0));
  p.planes = c.planes;
  if (c.planes > 1) p.left_plane = p.total_lefts() * p.left_stride;
  return p;
}

std::int64_t products_of(const xcorr::Problem& p) {
  const auto along = [](int left, int right, int first, int count) {
    std::int64_t sum = 0;
    for (int d = first; d < first + count; ++d)
      sum += std::max(0, std::min(left - d, right) - std::max(0, -d));
    return sum;
  };
  return p.outputs() * along(p.left.width, p.right.width, p.shifts.x, p.shifts.width) *
         along(p.left.height, p.right.height, p.shifts.y, p.shifts.height);
}

bool is_matching(const Case& c) {
  const Rect s = problem_of(c).shifts;
  return (c.type == ElementType::u8 || c.type == ElementType::u16 || c.type == ElementType::f32) &&
         c.lefts == 1 && c.form != Form::n_to_m && c.form != Form::n_to_mn && s.x >= 0 &&
         s.y >= 0 && s.x + s.width + c.right.width - 1 <= c.left.width &&
         s.y + s.height + c.right.height - 1 <= c.left.height;
}

}  // namespace checkcorr

// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The problems that are timed. Those named held-* are not used for the selector's table:
// tests/select_test.cpp judges the table by them. "1to32-64": one left and 32 rights of 64x64.
#include "cases.hpp"

namespace checkcorr {
namespace {

constexpr auto u8 = ElementType::u8;
constexpr auto i32 = ElementType::i32;
constexpr auto f32 = ElementType::f32;
constexpr auto f64 = ElementType::f64;
using enum Form;

/// Matrices of one size and the whole output, as in the paper.
constexpr Case equal(const char* name, int side, Form form, int lefts, int rights,
                     ElementType type = f32) {
  return {.name = name,
          .type = type,
          .left = {side, side},
          .right = {side, side},
          .shifts = Shifts::full,
          .form = form,
          .lefts = lefts,
          .rights = rights};
}

/// Square rights cut out of a left, as in matching.
constexpr Case frame(const char* name, ElementType type, Size left, int side, int rights = 1) {
  return {.name = name,
          .type = type,
          .left = left,
          .right = {side, side},
          .fill = Fill::copies,
          .form = rights > 1 ? one_to_many : one_to_one,
          .rights = rights};
}

constexpr Case smoothing(const char* name, ElementType type, double sigma,
                         ElementType sums = ElementType::f32) {
  return {.name = name,
          .type = type,
          .left = {1920, 1080},
          .right = {1, 1},
          .filter = true,
          .sigma = sigma,
          .sums = sums};
}

constexpr Size hd{1920, 1080}, vga{640, 480};

// clang-format off
constexpr Case table[] = {
    // ---- frames ----
    frame("1080p-8", u8, hd, 8), frame("1080p-16", u8, hd, 16), frame("1080p-32", u8, hd, 32),
    frame("1080p-64", u8, hd, 64), frame("1080p-128", u8, hd, 128), frame("1080p-256", u8, hd, 256),
    frame("480p-8", u8, vga, 8), frame("480p-16", u8, vga, 16), frame("480p-32", u8, vga, 32),
    frame("480p-64", u8, vga, 64), frame("480p-128", u8, vga, 128),
    frame("around-16", u8, {48, 48}, 16), frame("around-32", u8, {64, 64}, 32),
    frame("around-64", u8, {96, 96}, 64), frame("around-128", u8, {160, 160}, 128),
    frame("around-256", u8, {320, 320}, 256), frame("one-shift-128", u8, {128, 128}, 128),
    frame("1080p-16-by-32", u8, hd, 16, 32), frame("1080p-32-by-32", u8, hd, 32, 32),
    frame("1080p-64-by-32", u8, hd, 64, 32), frame("480p-128-by-8", u8, vga, 128, 8),
    frame("around-16-by-8", u8, {48, 48}, 16, 8), frame("around-32-by-8", u8, {64, 64}, 32, 8),
    frame("around-128-by-8", u8, {160, 160}, 128, 8),
    frame("480p-8-by-8", u8, vga, 8, 8), frame("480p-16-by-8", u8, vga, 16, 8),
    frame("480p-32-by-8", u8, vga, 32, 8),
    frame("2160p-64", u8, {3840, 2160}, 64), frame("window-64", u8, {192, 192}, 64),
    frame("1080p-96", u8, hd, 96), frame("1080p-128-by-32", u8, hd, 128, 32),
    frame("window-32", u8, {160, 160}, 32), frame("window-128", u8, {256, 256}, 128),
    frame("2160p-16", u8, {3840, 2160}, 16), frame("2160p-128", u8, {3840, 2160}, 128),
    frame("480p-64-by-8", u8, vga, 64, 8), frame("480p-96-by-8", u8, vga, 96, 8),
    frame("1080p-96-by-16", u8, hd, 96, 16), frame("720p-16", u8, {1280, 720}, 16),
    frame("720p-32", u8, {1280, 720}, 32), frame("720p-64", u8, {1280, 720}, 64),
    frame("720p-128", u8, {1280, 720}, 128), frame("480p-32-by-32", u8, vga, 32, 32),
    frame("held-600p-56", u8, {800, 600}, 56), frame("held-600p-28-by-20", u8, {800, 600}, 28, 20), frame("window-64-by-8", u8, {192, 192}, 64, 8),
    frame("window-32-by-32", u8, {160, 160}, 32, 32), frame("window-64-by-32", u8, {192, 192}, 64, 32),
    frame("480p-64-by-32", u8, vga, 64, 32), frame("2160p-32", u8, {3840, 2160}, 32),
    frame("2160p-32-by-32", u8, {3840, 2160}, 32, 32), frame("2160p-96-by-4", u8, {3840, 2160}, 96, 4),
    frame("1080p-8", f32, hd, 8), frame("1080p-16", f32, hd, 16), frame("1080p-32", f32, hd, 32),
    frame("1080p-64", f32, hd, 64), frame("1080p-128", f32, hd, 128), frame("1080p-256", f32, hd, 256),
    frame("480p-8", f32, vga, 8), frame("480p-16", f32, vga, 16), frame("480p-32", f32, vga, 32),
    frame("480p-64", f32, vga, 64), frame("480p-128", f32, vga, 128),
    frame("around-16", f32, {48, 48}, 16), frame("around-32", f32, {64, 64}, 32),
    frame("around-64", f32, {96, 96}, 64), frame("around-128", f32, {160, 160}, 128),
    frame("around-256", f32, {320, 320}, 256), frame("one-shift-128", f32, {128, 128}, 128),
    frame("around-16-by-8", f32, {48, 48}, 16, 8), frame("around-32-by-8", f32, {64, 64}, 32, 8),
    frame("around-128-by-8", f32, {160, 160}, 128, 8),
    frame("480p-8-by-8", f32, vga, 8, 8), frame("480p-16-by-8", f32, vga, 16, 8),
    frame("480p-32-by-8", f32, vga, 32, 8), frame("1080p-16-by-32", f32, hd, 16, 32),
    frame("held-720p-12", u8, {1280, 720}, 12), frame("held-720p-48", u8, {1280, 720}, 48),
    frame("held-window-48", u8, {176, 176}, 48), frame("held-2160p-100", u8, {3840, 2160}, 100),
    frame("held-720p-80-by-12", u8, {1280, 720}, 80, 12),
    frame("held-480p-60-by-24", u8, vga, 60, 24), frame("held-2160p-40-by-8", u8, {3840, 2160}, 40, 8),
    frame("held-480p-24-by-4", u8, vga, 24, 4), frame("held-1080p-40-by-16", u8, hd, 40, 16),
    frame("held-720p-12", f32, {1280, 720}, 12), frame("held-720p-48", f32, {1280, 720}, 48),
    frame("held-480p-24-by-4", f32, vga, 24, 4),

    // ---- the paper's problems ----
    equal("paper-1to1-16", 16, one_to_one, 1, 1), equal("paper-1to1-32", 32, one_to_one, 1, 1),
    equal("paper-1to1-64", 64, one_to_one, 1, 1), equal("paper-1to1-96", 96, one_to_one, 1, 1),
    equal("paper-1to1-128", 128, one_to_one, 1, 1), equal("paper-1to1-192", 192, one_to_one, 1, 1),
    equal("paper-1to1-256", 256, one_to_one, 1, 1), equal("paper-1to1-384", 384, one_to_one, 1, 1),
    equal("paper-1to2-16", 16, one_to_many, 1, 2), equal("paper-1to2-32", 32, one_to_many, 1, 2),
    equal("paper-1to2-64", 64, one_to_many, 1, 2), equal("paper-1to2-128", 128, one_to_many, 1, 2),
    equal("paper-1to2-256", 256, one_to_many, 1, 2),
    equal("paper-1to8-16", 16, one_to_many, 1, 8), equal("paper-1to8-32", 32, one_to_many, 1, 8),
    equal("paper-1to8-64", 64, one_to_many, 1, 8), equal("paper-1to8-96", 96, one_to_many, 1, 8),
    equal("paper-1to8-128", 128, one_to_many, 1, 8), equal("paper-1to8-256", 256, one_to_many, 1, 8),
    equal("paper-1to32-16", 16, one_to_many, 1, 32), equal("paper-1to32-32", 32, one_to_many, 1, 32),
    equal("paper-1to32-64", 64, one_to_many, 1, 32), equal("paper-1to32-96", 96, one_to_many, 1, 32),
    equal("paper-1to32-128", 128, one_to_many, 1, 32), equal("paper-1to32-256", 256, one_to_many, 1, 32),
    equal("paper-1to100-16", 16, one_to_many, 1, 100), equal("paper-1to100-32", 32, one_to_many, 1, 100),
    equal("paper-1to100-64", 64, one_to_many, 1, 100), equal("paper-1to100-96", 96, one_to_many, 1, 100),
    equal("paper-1to100-128", 128, one_to_many, 1, 100), equal("paper-1to100-256", 256, one_to_many, 1, 100),
    equal("paper-2to2-16", 16, n_to_m, 2, 2), equal("paper-2to2-32", 32, n_to_m, 2, 2),
    equal("paper-2to2-64", 64, n_to_m, 2, 2), equal("paper-2to2-128", 128, n_to_m, 2, 2),
    equal("paper-2to2-256", 256, n_to_m, 2, 2),
    equal("paper-8to8-16", 16, n_to_m, 8, 8), equal("paper-8to8-32", 32, n_to_m, 8, 8),
    equal("paper-8to8-64", 64, n_to_m, 8, 8), equal("paper-8to8-128", 128, n_to_m, 8, 8),
    equal("paper-32to32-16", 16, n_to_m, 32, 32), equal("paper-32to32-32", 32, n_to_m, 32, 32),
    equal("paper-32to32-64", 64, n_to_m, 32, 32), equal("paper-32to32-128", 128, n_to_m, 32, 32),
    equal("paper-8by4-16", 16, n_to_mn, 8, 4), equal("paper-8by4-32", 32, n_to_mn, 8, 4),
    equal("paper-8by4-64", 64, n_to_mn, 8, 4), equal("paper-8by4-128", 128, n_to_mn, 8, 4),
    equal("paper-86by50-32", 32, n_to_mn, 86, 50), equal("paper-86by50-96", 96, n_to_mn, 86, 50),
    equal("32by16-16", 16, n_to_mn, 32, 16),
    equal("32by16-32", 32, n_to_mn, 32, 16), equal("32by16-64", 64, n_to_mn, 32, 16),
    equal("held-1to1-24", 24, one_to_one, 1, 1), equal("held-1to1-80", 80, one_to_one, 1, 1),
    equal("held-1to1-160", 160, one_to_one, 1, 1), equal("held-1to4-48", 48, one_to_many, 1, 4),
    equal("held-1to16-48", 48, one_to_many, 1, 16), equal("held-1to16-112", 112, one_to_many, 1, 16),
    equal("held-1to50-24", 24, one_to_many, 1, 50), equal("held-1to64-80", 80, one_to_many, 1, 64),
    equal("held-4to8-24", 24, n_to_m, 4, 8), equal("held-4to8-80", 80, n_to_m, 4, 8),
    equal("held-16to16-48", 48, n_to_m, 16, 16), equal("held-20by10-24", 24, n_to_mn, 20, 10),
    equal("held-20by10-48", 48, n_to_mn, 20, 10),

    // ---- other types ----
    equal("1to1-64", 64, one_to_one, 1, 1, f64), equal("1to32-32", 32, one_to_many, 1, 32, f64),
    equal("1to32-96", 96, one_to_many, 1, 32, f64), equal("8to8-32", 32, n_to_m, 8, 8, f64),
    equal("8by4-32", 32, n_to_mn, 8, 4, f64),
    equal("1to1-64", 64, one_to_one, 1, 1, i32), equal("1to32-32", 32, one_to_many, 1, 32, i32),
    equal("8to8-32", 32, n_to_m, 8, 8, i32), equal("8by4-32", 32, n_to_mn, 8, 4, i32),
    equal("1to1-64", 64, one_to_one, 1, 1, u8), equal("1to32-32", 32, one_to_many, 1, 32, u8),
    equal("8to8-32", 32, n_to_m, 8, 8, u8), equal("8by4-32", 32, n_to_mn, 8, 4, u8),

    // ---- filter ----
    smoothing("1080p-sigma-1", u8, 1), smoothing("1080p-sigma-2", u8, 2), smoothing("1080p-sigma-5", u8, 5),
    smoothing("1080p-sigma-2", f32, 2), smoothing("1080p-sigma-2-in-f64", f32, 2, f64),
    smoothing("1080p-sigma-2", f64, 2),
};
// clang-format on

}  // namespace

std::span<const Case> bench_cases() { return table; }

}  // namespace checkcorr

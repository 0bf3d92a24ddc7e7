// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage warp_template: a template and its mask -> what they look like at given poses and at a
// level of the pyramid. Of integers all is in integers, so that every backend makes the same
// images.
//
// An image's centre is the template's. It is made from the level of the template's own pyramid
// whose pixels are the largest that are not larger than the image's. Each of its pixels is the
// mean of `samples` x `samples` places, at which that level is read by cubic convolution (Keys
// 1981, a = -1/2); at a whole pixel that is the pixel itself, so an upright image of a level is
// that of the pyramid. A pixel counts where all that its samples are mixed of counts: so nothing
// from behind the mask's edge does. A mask of weights (see stages/match/mask.hpp) is mixed, too, in
// between linearly: so often a pixel counts.
//
// Of edges an image has two planes: it is made at full size, and its edges are halved as often as
// its level says, as those of frames are.
#pragma once

#include <limits>
#include <type_traits>

#include "stages/common/four_pixels.hpp"
#include "stages/common/host_device.hpp"
#include "stages/image/edges.hpp"
#include "stages/match/templates.hpp"
#include "stages/poses/build_pyramid.hpp"

namespace xcorr {

/// a * b + c.
XCORR_HD inline std::int64_t multiply_add(std::int32_t a, std::int32_t b, std::int64_t c) {
#ifdef __CUDA_ARCH__
  // Where the compiler has moved a factor's widening out of a loop it takes four instructions.
  std::int64_t sum;
  asm("mad.wide.s32 %0, %1, %2, %3;" : "=l"(sum) : "r"(a), "r"(b), "l"(c));
  return sum;
#else
  return std::int64_t{a} * b + c;
#endif
}

/// From a place in an image to the template. In 2^-24 pixels of its level, for half the distance
/// of two samples: those of an image lie at odd multiples of it from the centre.
struct WarpMap {
  std::int32_t u_by_x, u_by_y, v_by_x, v_by_y;
  std::int32_t width, height;  ///< of the image
  std::int32_t log2_samples;   ///< of the samples of a pixel across, to max_log2_samples
  std::int32_t level;          ///< of the template's pyramid

  /// More samples would not fit into 32 bits.
  static constexpr int max_log2_samples = 6;
};

/// Whether images have the planes of edges, and which.
struct WarpEdges {
  bool made = false;
  EdgeRule rule = {};
  std::int32_t level = 0;    ///< how often they are halved
  std::int64_t plane = 0;    ///< bytes from one plane of an image to the next
  std::int32_t sources = 1;  ///< planes of the template, a pyramid each, one after the other

  /// Of an image of the level: the one of full size that its edges are made of, and round it what
  /// these reach.
  XCORR_HD WarpMap at_full_size(WarpMap map) const {
    const int whole = map.level < level ? map.level : level, rest = level - whole;
    // Its pixels are 2^rest times smaller in that level, so they need so many fewer samples.
    const int fewer = map.log2_samples < rest ? map.log2_samples : rest;
    map.level -= whole;
    map.log2_samples -= fewer;
    map.u_by_x >>= rest - fewer;
    map.u_by_y >>= rest - fewer;
    map.v_by_x >>= rest - fewer;
    map.v_by_y >>= rest - fewer;
    map.width = (map.width << level) + 2 * edge_radius;
    map.height = (map.height << level) + 2 * edge_radius;
    return map;
  }
};

/// The sums of an image over the pixels that count.
struct WarpedTemplateSums {
  TemplateSums sums;
  double counted = 0;  ///< pixels
};

/// A coordinate in a template.
struct WarpedPlace {
  std::int32_t in_128ths;  ///< of a pixel

  static constexpr std::int32_t half = 1 << 16;  ///< of a 128th, in 2^-24 pixels: what rounds

  XCORR_HD explicit constexpr WarpedPlace(std::int32_t in_128ths) : in_128ths(in_128ths) {}
  /// \param u  2^-24 pixels
  XCORR_HD static constexpr WarpedPlace of(std::int64_t u) {
    return WarpedPlace(static_cast<std::int32_t>((u + half) >> 17));
  }
  XCORR_HD constexpr int whole() const { return in_128ths >> 7; }
  /// 128ths of the way from there to the next pixel.
  XCORR_HD constexpr int fraction() const { return in_128ths & 127; }
  /// Whether all that has a part in a linear interpolation there is inside.
  XCORR_HD constexpr bool inside(int length) const {
    return static_cast<std::uint32_t>(in_128ths) <= static_cast<std::uint32_t>((length - 1) << 7);
  }
};

/// The weights of four pixels in cubic convolution, 2048 in all.
struct CubicWeights {
  int of[4];

  XCORR_HD constexpr explicit CubicWeights(int fraction) : of{} {
    const int f = fraction, one = 128;
    of[0] = (f * (f * (2 * one - f) - one * one) + 1024) >> 11;
    of[2] = (f * (f * (4 * one - 3 * f) + one * one) + 1024) >> 11;
    of[3] = (f * f * (f - one) + 1024) >> 11;
    of[1] = 2048 - of[0] - of[2] - of[3];
  }
};

/// The pixels of a level of the template's pyramid, and the mask's, null where there is none: both
/// from where the level begins with its rim.
template <class T>
struct WarpedTemplate {
  /// Of weighed pixels.
  using Sum = std::conditional_t<std::is_floating_point_v<T>, double,
                                 std::conditional_t<sizeof(T) == 1, int, std::int64_t>>;

  const T* pixels;
  const std::uint8_t* mask;
  Size size;
  int pitch;
  std::int64_t centre_u, centre_v;  ///< the images', in 2^-24 pixels of the level

  XCORR_HD WarpedTemplate(const TemplatePyramid& pyramid, const T* pixels, const std::uint8_t* mask,
                          int level, std::int64_t shift_u = 0, std::int64_t shift_v = 0)
      : pixels(pixels + pyramid.begin_of(level)),
        mask(mask ? mask + pyramid.begin_of(level) : nullptr),
        size(pyramid.size_of(level)),
        pitch(pyramid.pitch_of(level)),
        centre_u(centre_of(pyramid.size.width, level) + shift_u),
        centre_v(centre_of(pyramid.size.height, level) + shift_v) {}

  /// Pixel i covers pixels 2 i and 2 i + 1 of the level below.
  XCORR_HD static std::int64_t centre_of(int length, int level) {
    return ((std::int64_t{length} << 23) >> level) - (1 << 23);
  }
  /// Where the pixel before a place is, above it: the first one of those that a cubic reads.
  XCORR_HD int index_of(const WarpedPlace& u, const WarpedPlace& v) const {
    static_assert(TemplatePyramid::before == 1 && TemplatePyramid::behind == 2);
    return v.whole() * pitch + u.whole();
  }
  /// 256 times the template at a place inside; what lies outside is as the nearest pixel. The
  /// weights are those of the fractions. `read`: of four pixels, see ReadEach.
  template <class Read>
  XCORR_HD Sum value(const WarpedPlace& u, const WarpedPlace& v, const CubicWeights& across,
                     const CubicWeights& down, Read read) const {
    const Sum sum = read.template weighed<Sum>(pixels, index_of(u, v), pitch, across.of, down.of);
    if constexpr (std::is_floating_point_v<T>)
      return sum / (1 << 14);
    else
      return (sum + (1 << 13)) >> 14;
  }
  XCORR_HD bool counts(const WarpedPlace& u, const WarpedPlace& v) const {
    if (!u.inside(size.width) || !v.inside(size.height)) return false;
    if (!mask) return true;
    const std::uint8_t* const first = first_weight(u, v);
    const int right = u.fraction() > 0, below = v.fraction() > 0 ? pitch : 0;
    return bool(first[0]) & bool(first[right]) & bool(first[below]) & bool(first[below + right]);
  }
  /// 2^14 times how often a place counts that does, by a mask of weights: these are mixed linearly.
  XCORR_HD int weight(const WarpedPlace& u, const WarpedPlace& v) const {
    const std::uint8_t* const first = first_weight(u, v);
    const auto in_row = [&](const std::uint8_t* row) {
      return row[0] * (128 - u.fraction()) + row[u.fraction() > 0] * u.fraction();
    };
    return in_row(first) * (128 - v.fraction()) +
           in_row(first + (v.fraction() > 0 ? pitch : 0)) * v.fraction();
  }

 private:
  /// Of the mask at the place's whole pixel.
  XCORR_HD const std::uint8_t* first_weight(const WarpedPlace& u, const WarpedPlace& v) const {
    return mask + index_of(u, v) + pitch + 1;
  }
};

/// A coordinate of an image's samples in the level of the template, in 2^-24 pixels.
struct WarpedCoordinate {
  std::int64_t first;       ///< of the first sample of the first row
  std::int32_t by_x, by_y;  ///< to the next ones, even numbers

  /// Of sample x of row y.
  XCORR_HD std::int64_t where(int x, int y) const {
    return multiply_add(by_x, x, multiply_add(by_y, y, first));
  }
  XCORR_HD WarpedPlace at(int x, int y) const { return WarpedPlace::of(where(x, y)); }
};

/// Where the samples of an image lie.
struct WarpedPlaces {
  WarpedCoordinate u, v;

  WarpedPlaces() = default;
  template <class T>
  XCORR_HD WarpedPlaces(const WarpedTemplate<T>& from, const WarpMap& map) {
    const std::int32_t across = 1 - (map.width << map.log2_samples),
                       down = 1 - (map.height << map.log2_samples);
    const auto coordinate = [&](std::int64_t centre, std::int32_t by_x, std::int32_t by_y) {
      return WarpedCoordinate{multiply_add(by_y, down, multiply_add(by_x, across, centre)),
                              2 * by_x, 2 * by_y};
    };
    u = coordinate(from.centre_u, map.u_by_x, map.u_by_y);
    v = coordinate(from.centre_v, map.v_by_x, map.v_by_y);
  }
};

/// A pixel of an image.
template <class T>
struct WarpedPixel {
  /// In which GPUs compute.
  using Value = std::conditional_t<std::is_floating_point_v<T>, T, std::int32_t>;

  Value value = 0;  ///< of a T; 0 where it does not count
  bool counts = true;

  /// Past the image.
  XCORR_HD WarpedPixel() : counts(false) {}
  /// \param u, v        of samples, as WarpedCoordinate
  /// \param weights_of  the CubicWeights of a fraction
  /// \param read        of four pixels
  template <class Coordinate, class WeightsOf, class Read>
  XCORR_HD WarpedPixel(const WarpedTemplate<T>& from, int log2_samples, const Coordinate& u,
                       const Coordinate& v, int x, int y, WeightsOf weights_of, Read read) {
    Sum sum = 0;
    const auto add = [&](const WarpedPlace& at_u, const WarpedPlace& at_v) {
      counts = from.counts(at_u, at_v);
      if (counts)
        sum +=
            from.value(at_u, at_v, weights_of(at_u.fraction()), weights_of(at_v.fraction()), read);
    };
    if (log2_samples == 0) {
      add(u.at(x, y), v.at(x, y));
    } else {
      const int samples = 1 << log2_samples, left = x << log2_samples, top = y << log2_samples;
      for (int j = 0; j < samples && counts; ++j)
        for (int i = 0; i < samples && counts; ++i)
          add(u.at(left + i, top + j), v.at(left + i, top + j));
    }
    if (counts) value = rounded(sum, log2_samples);
  }

 private:
  using Sum = typename WarpedTemplate<T>::Sum;

  XCORR_HD static Value rounded(Sum sum, int log2_samples) {
    const int shift = 8 + 2 * log2_samples;
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(sum / (1 << shift));
    } else {
      constexpr Sum most = std::numeric_limits<T>::max();
      const Sum mean = (sum + (1 << (shift - 1))) >> shift;
      return static_cast<Value>(mean < 0 ? 0 : mean > most ? most : mean);
    }
  }
};

/// How often a pixel of an image counts that does, by a mask of weights: the mean of its samples.
template <class T>
XCORR_HD int warped_weight(const WarpedTemplate<T>& from, const WarpMap& map, int x, int y) {
  const int samples = 1 << map.log2_samples, shift = 14 + 2 * map.log2_samples;
  const WarpedPlaces places(from, map);
  std::int64_t sum = std::int64_t{1} << (shift - 1);
  for (int j = y * samples; j < (y + 1) * samples; ++j)
    for (int i = x * samples; i < (x + 1) * samples; ++i)
      sum += from.weight(places.u.at(i, j), places.v.at(i, j));
  return static_cast<int>(sum >> shift);
}

namespace stage {

struct WarpTemplate {
  static constexpr const char* name = "warp_template";
  struct Problem {
    TemplatePyramid pyramid;
    Masking masking = {};  ///< the template's
    Size most;             ///< of all images; their rows lie most.width apart
    int count = 1;         ///< of images
    /// How far from the template's centre that of the images lies in it, 2^-24 pixels of their
    /// level.
    std::int64_t shift_u = 0, shift_v = 0;
    ElementType type = ElementType::u8;
    WarpEdges edges = {};

    constexpr Features features() const {
      return feature_of(type).with(Feature::mask, bool(masking)).with(Feature::planes, edges.made);
    }
  };

  struct Buffers : Launch {
    const void* pixels = nullptr;        ///< of the pyramid
    const std::uint8_t* mask = nullptr;  ///< of the pyramid; a halved pixel counts if all four do
    const WarpMap* maps = nullptr;
    void* images = nullptr;              ///< 0 where they do not count, and past their size
    std::uint8_t* masks = nullptr;       ///< 1 where they count, 0 elsewhere
    WarpedTemplateSums* sums = nullptr;  ///< of edges those of the first plane
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    const std::int64_t pixels = p.count * p.most.area();
    visit("pyramid", &Buffers::pixels, p.pyramid.extent(p.type, p.edges.sources));
    visit("mask_pyramid", &Buffers::mask, p.pyramid.mask_extent(p.masking));
    visit("maps", &Buffers::maps, records<WarpMap>(p.count));
    visit("images", &Buffers::images,
          elements(p.type, p.edges.made ? p.edges.plane + pixels : pixels));
    visit("masks", &Buffers::masks, elements(ElementType::u8, pixels));
    visit("sums", &Buffers::sums, records<WarpedTemplateSums>(p.count));
  }
};

}  // namespace stage
}  // namespace xcorr

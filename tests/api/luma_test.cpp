// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pixels that are more than luma: the conversion against its definition, on every backend and for
// every alignment of an image; matches in such frames against those in their luma.
#include <cmath>

#include <xcorr/image.hpp>
#include <xcorr/match.hpp>

#include "stages/image/luma.hpp"
#include "support.hpp"

namespace api {
namespace {

using Bytes = Image<std::uint8_t>;

struct Format {
  const char* name;
  PixelLayout layout;
};

constexpr Format formats[] = {
    {"RGBA", packed_rgb(4, 0, 1, 2)},
    {"BGRA", packed_rgb(4, 2, 1, 0)},
    {"ARGB", packed_rgb(4, 1, 2, 3)},
    {"ABGR", packed_rgb(4, 3, 2, 1)},
    {"RGB", packed_rgb(3, 0, 1, 2)},
    {"BGR", packed_rgb(3, 2, 1, 0)},
    {"YUY2", packed_luma(2, 0)},
    {"UYVY", packed_luma(2, 1)},
    {"BT.709 RGBx", {4, {54, 183, 19, 0}}},
};

/// Packed pixels whose rows begin `offset` bytes after the start and `padding` after each other.
struct Packed {
  Size size;
  PixelLayout layout;
  std::ptrdiff_t pitch;
  int offset;
  std::vector<std::uint8_t> bytes;

  Packed(Size s, const PixelLayout& l, int offset_, int padding, unsigned seed)
      : size(s), layout(l), pitch(s.width * l.bytes + padding), offset(offset_) {
    const auto noise = random_image<std::uint8_t>({int(pitch), s.height}, seed);
    bytes.assign(offset, 0);
    // Nothing follows the last pixel, so that reading past it is detected.
    bytes.insert(bytes.end(), noise.data.begin(), noise.data.end() - padding);
  }

  /// `base`: where the bytes are.
  MatrixView view(const void* base, Memory memory) const {
    return {static_cast<const std::uint8_t*>(base) + offset,
            ElementType::u8,
            size,
            pitch,
            memory,
            layout};
  }
  /// By the definition, in floating point, in which all values are exact.
  Bytes luma() const {
    Bytes image(size);
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        double sum = 128;
        for (int i = 0; i < layout.bytes; ++i)
          sum += layout.weights[i] * double(bytes[offset + y * pitch + x * layout.bytes + i]);
        image.at(x, y) = static_cast<std::uint8_t>(std::floor(sum / 256));
      }
    return image;
  }
};

class LumaTest : public BackendTest {
 protected:
  /// Checks the backend's result, and that it writes nothing past the rows' pitch.
  void check_conversion(const Packed& packed) {
    const std::ptrdiff_t pitch = (packed.size.width + 3) / 4 * 4;
    const std::vector<std::uint8_t> untouched(pitch * packed.size.height + 16, 0xa5);
    const Block from = upload(device, packed.bytes.data(), packed.bytes.size());
    const Block to = upload(device, untouched.data(), untouched.size());
    const MatrixView view = packed.view(from.data(), Memory::device);
    const Runtime& run = runtime(device.backend);
    const stage::Luma::Problem problem{view.size, {{view.pixels, view.pitch}}, pitch};
    const auto variant = select_variant<stage::Luma>(problem, device);
    ASSERT_TRUE(variant.ok()) << variant.status().message();
    const auto done = variant.value()->launch(
        problem, device, {{}, static_cast<const std::uint8_t*>(view.data), to.as<std::uint8_t>()},
        nullptr);
    ASSERT_TRUE(done.ok()) << done.message();
    std::vector<std::uint8_t> got(untouched.size());
    ASSERT_TRUE(
        run.copy(bytes_copy(got.data(), to.data(), got.size()), Memory::device, Memory::host, {})
            .ok());
    ASSERT_TRUE(run.wait({}).ok());
    const Bytes expected = packed.luma();
    for (int y = 0; y < packed.size.height; ++y)
      for (int x = 0; x < packed.size.width; ++x)
        ASSERT_EQ(got[y * pitch + x], expected.at(x, y)) << "at " << x << "," << y;
    for (std::size_t i = pitch * packed.size.height; i < got.size(); ++i)
      ASSERT_EQ(got[i], 0xa5) << "past the end";
  }

  std::vector<Peak> match_in(const MatrixView& frame, const Bytes& pattern,
                             const MatchSettings& settings) {
    auto made = Matcher::create(device);
    EXPECT_TRUE(made.ok());
    Matcher& matcher = made.value();
    const MatrixView view = pattern.view();
    std::vector<Peak> peaks;
    EXPECT_TRUE(matcher.set_templates({&view, 1}).ok());
    EXPECT_TRUE(matcher.prepare(ElementType::u8, frame.size, settings).ok());
    for (int twice = 0; twice < 2; ++twice) {  // the second time nothing is allocated
      const Status status = matcher.enqueue(frame);
      EXPECT_TRUE(status.ok()) << status.message();
      EXPECT_TRUE(matcher.collect(peaks).ok());
    }
    return peaks;
  }
};

TEST_P(LumaTest, IsTheDefinition) {
  for (const Format& format : formats)
    for (const Size size : {Size{1, 1}, Size{3, 2}, Size{4, 1}, Size{131, 7}, Size{128, 9},
                            Size{257, 50}, Size{30, 67}})
      for (const int padding : {0, 1, 4, 20})
        for (const int offset : {0, 1, 4}) {
          SCOPED_TRACE(std::string(format.name) + " " + std::to_string(size.width) + "x" +
                       std::to_string(size.height) + " padding " + std::to_string(padding) +
                       " offset " + std::to_string(offset));
          check_conversion(Packed(size, format.layout, offset, padding, 7));
          if (HasFatalFailure()) return;
        }
}

TEST_P(LumaTest, ReachesTheExtremes) {
  for (const Format& format : formats) {
    SCOPED_TRACE(format.name);
    for (const std::uint8_t value : {0, 1, 127, 128, 254, 255}) {
      Packed gray({9, 3}, format.layout, 0, 0, 1);
      std::fill(gray.bytes.begin(), gray.bytes.end(), value);
      EXPECT_EQ(gray.luma().data, Bytes(gray.size, value).data) << "gray stays as it is";
      check_conversion(gray);
    }
  }
}

/// For the whole frame and parts of it, in both kinds of memory, with and without smoothing.
TEST_P(LumaTest, MatchesAreThoseOfTheLuma) {
  for (const Format& format : formats) {
    SCOPED_TRACE(format.name);
    const Packed packed({61, 43}, format.layout, 0, 5, 3);
    const Bytes luma = packed.luma();
    const Bytes pattern = crop(luma, {30, 20, 9, 7});
    const Block there = upload(device, packed.bytes.data(), packed.bytes.size());
    for (const Rect& region : {Rect{}, Rect{17, 3, 40, 31}, Rect{26, 18, 15, 11}})
      for (const double sigma : {0.0, 1.0}) {
        MatchSettings settings;
        settings.max_peaks = 3;
        settings.threshold = 0.2;
        settings.search_region = region;
        settings.prefilter_sigma = sigma;
        const auto expected = match_in(luma.view(), pattern, settings);
        ASSERT_FALSE(expected.empty());
        EXPECT_NEAR(expected[0].x, 30, 1);
        const MatrixView views[] = {packed.view(packed.bytes.data(), Memory::host),
                                    packed.view(there.data(), Memory::device)};
        for (const MatrixView& view : views) {
          const auto found = match_in(view, pattern, settings);
          ASSERT_EQ(found.size(), expected.size());
          for (std::size_t i = 0; i < found.size(); ++i) {
            EXPECT_EQ(found[i].x, expected[i].x);
            EXPECT_EQ(found[i].y, expected[i].y);
            EXPECT_EQ(found[i].score, expected[i].score);
          }
        }
      }
  }
}

/// The rows lie in memory from the last to the first.
TEST_P(LumaTest, MatchesFromTheBottomUp) {
  for (const PixelLayout& layout :
       {PixelLayout{}, packed_luma(2, 1), packed_rgb(3, 0, 1, 2), packed_rgb(4, 2, 1, 0)}) {
    SCOPED_TRACE(layout.bytes);
    const Packed packed({61, 43}, layout, 0, 0, 3);
    const Bytes luma = packed.luma();
    const Bytes pattern = crop(luma, {30, 20, 9, 7});
    const auto row = static_cast<std::size_t>(packed.pitch), bytes = packed.bytes.size();
    std::vector<std::uint8_t> upwards;
    for (int y = packed.size.height - 1; y >= 0; --y)
      upwards.insert(upwards.end(), packed.bytes.begin() + y * packed.pitch,
                     packed.bytes.begin() + (y + 1) * packed.pitch);
    const Block there = upload(device, upwards.data(), bytes);
    void* pinned = allocate_host(device, bytes).value();
    std::copy(upwards.begin(), upwards.end(), static_cast<std::uint8_t*>(pinned));
    const std::pair<const void*, Memory> places[] = {
        {upwards.data(), Memory::host}, {pinned, Memory::host}, {there.data(), Memory::device}};
    for (const auto& [place, memory] : places)
      for (const Rect& region : {Rect{}, Rect{17, 3, 40, 31}}) {
        MatchSettings settings;
        settings.search_region = region;
        const auto expected = match_in(luma.view(), pattern, settings);
        MatrixView view = packed.view(place, memory);
        view.data = static_cast<const std::uint8_t*>(view.data) + bytes - row;
        view.pitch = -view.pitch;
        expect_same(match_in(view, pattern, settings), expected);
      }
    release_host(device, pinned);
  }
}

/// A matcher accepts frames of one layout after those of another.
TEST_P(LumaTest, LayoutsTakeTurns) {
  auto made = Matcher::create(device);
  ASSERT_TRUE(made.ok());
  const Bytes pattern = random_image<std::uint8_t>({8, 8}, 5);
  const MatrixView view = pattern.view();
  ASSERT_TRUE(made.value().set_templates({&view, 1}).ok());
  ASSERT_TRUE(made.value().prepare(ElementType::u8, {40, 30}, {}).ok());
  int place = 0;
  for (const int bytes : {1, 4, 2, 3, 1, 4}) {
    const PixelLayout layout = packed_luma(bytes, bytes - 1);
    Packed packed({40, 30}, layout, 0, 0, 11);
    place += 3;
    for (int y = 0; y < 8; ++y)
      for (int x = 0; x < 8; ++x)
        packed.bytes[(place + y) * packed.pitch + (place + x) * bytes + bytes - 1] =
            pattern.at(x, y);
    const std::vector<Peak> peaks =
        peaks_in(made.value(), packed.view(packed.bytes.data(), Memory::host));
    ASSERT_EQ(peaks.size(), 1u);
    EXPECT_NEAR(peaks[0].x, place, 1);
    EXPECT_EQ(peaks[0].score, 1.0);
  }
}

ON_EACH_BACKEND(LumaTest);

TEST(LumaOfTemplates, IsMatched) {
  const Packed packed({50, 40}, packed_rgb(3, 0, 1, 2), 0, 3, 9);
  MatrixView part = packed.view(packed.bytes.data() + 10 * packed.pitch + 20 * 3, Memory::host);
  part.size = {11, 9};
  auto matcher = Matcher::create(open_device(Backend::cpu).value());
  std::vector<Peak> peaks;
  ASSERT_TRUE(matcher.value().set_templates({&part, 1}).ok());
  MatchSettings whole_pixels;
  whole_pixels.subpixel = Subpixel::none;
  ASSERT_TRUE(matcher.value().prepare(ElementType::u8, packed.size, whole_pixels).ok());
  ASSERT_TRUE(matcher.value().enqueue(packed.luma().view()).ok());
  ASSERT_TRUE(matcher.value().collect(peaks).ok());
  ASSERT_EQ(peaks.size(), 1u);
  EXPECT_EQ(peaks[0].x, 20);
  EXPECT_EQ(peaks[0].y, 10);
  EXPECT_EQ(peaks[0].score, 1.0);
}

TEST(LumaOfTemplates, MayBeFlatThoughColoursAreNot) {
  const std::uint8_t pixels[] = {0, 10, 20, 30, 40, 10, 60, 70};
  const auto flat_at = [&](int position) {
    return is_flat({pixels, ElementType::u8, {2, 1}, 8, Memory::host, packed_luma(4, position)});
  };
  EXPECT_FALSE(flat_at(0));
  EXPECT_TRUE(flat_at(1));
}

TEST(PixelLayouts, ThatCannotBeAreRefused) {
  const Bytes pixels = random_image<std::uint8_t>({64, 8}, 2);
  auto matcher = Matcher::create(open_device(Backend::cpu).value());
  MatrixView view{pixels.data.data(), ElementType::u8,       {16, 8}, 64,
                  Memory::host,       packed_rgb(4, 0, 1, 2)};
  ASSERT_TRUE(matcher.value().set_templates({&view, 1}).ok());
  ASSERT_TRUE(matcher.value().prepare(ElementType::u8, {16, 8}, {}).ok());
  const PixelLayout bad[] = {{0, {256}},          {5, {256}},           {1, {255}},
                             {2, {100, 100, 56}}, {3, {-1, 257, 0, 0}}, {4, {64, 64, 64, 65}}};
  for (const PixelLayout& layout : bad) {
    MatrixView wrong = view;
    wrong.pixels = layout;
    EXPECT_EQ(matcher.value().enqueue(wrong).code(), Code::invalid_argument);
    EXPECT_NE(matcher.value().enqueue(wrong).message().find("frame"), std::string::npos);
    EXPECT_EQ(matcher.value().set_templates({&wrong, 1}).code(), Code::invalid_argument);
  }
  MatrixView narrow = view;
  for (const int pitch : {63, 0, -63}) {  // of 16 pixels of 4 bytes
    narrow.pitch = pitch;
    EXPECT_EQ(matcher.value().enqueue(narrow).code(), Code::invalid_argument);
  }
  MatrixView floats = view;
  floats.type = ElementType::f32;
  EXPECT_EQ(matcher.value().set_templates({&floats, 1}).code(), Code::invalid_argument);
}

}  // namespace
}  // namespace api

// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Template files of kinds that GStreamer has no encoder for, written here: each is decoded to an
// exact copy, with the mask that its alpha says, or refused with a reason, never taken for
// something else in silence.
#include <algorithm>
#include <filesystem>
#include <map>

#include "live_templates.hpp"

namespace {

std::string big_endian(std::uint32_t number, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    text += static_cast<char>(number >> shift & 0xff);
  return text;
}

std::string little_endian(std::uint32_t number, int bytes) {
  const std::string text = big_endian(number, bytes);
  return {text.rbegin(), text.rend()};
}

std::string written(const std::string& name, const std::string& bytes) {
  write_file(temporary(name), bytes);
  return temporary(name);
}

Gray scene() { return texture(96, 64); }
Gray patch() { return crop(scene(), 41, 22, 16, 12); }

// ---- PNG --------------------------------------------------------------------------------------

std::uint32_t crc_of(const std::string& bytes) {
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc ^= static_cast<std::uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

std::string chunk(const std::string& type, const std::string& data) {
  return big_endian(static_cast<std::uint32_t>(data.size()), 4) + type + data +
         big_endian(crc_of(type + data), 4);
}

/// In zlib's format, in one block that is not compressed.
std::string stored(const std::string& bytes) {
  std::uint32_t a = 1, b = 0;
  for (const char byte : bytes) {
    a = (a + static_cast<std::uint8_t>(byte)) % 65521;
    b = (b + a) % 65521;
  }
  const auto size = static_cast<std::uint32_t>(bytes.size());
  return "\x78\x01\x01" + little_endian(size, 2) + little_endian(~size, 2) + bytes +
         big_endian(b << 16 | a, 4);
}

/// Of PNG: gray 0, RGB 2, palette 3, gray with alpha 4, RGB with alpha 6.
struct Kind {
  int colour, depth, interlaced;
  bool right;  ///< or refused
};

constexpr Kind kinds[] = {
    {0, 8, 0, true}, {0, 8, 1, true},   {0, 16, 0, true},  {0, 16, 1, true},  {2, 8, 0, true},
    {2, 8, 1, true}, {2, 16, 0, false}, {2, 16, 1, false}, {3, 8, 0, true},   {3, 8, 1, true},
    {4, 8, 0, true}, {4, 8, 1, true},   {4, 16, 0, false}, {4, 16, 1, false}, {6, 8, 0, true},
    {6, 8, 1, true}, {6, 16, 0, false}, {6, 16, 1, false}};

std::string pixel_of(const Kind& kind, std::uint8_t value) {
  const std::string sample(static_cast<std::size_t>(kind.depth / 8), static_cast<char>(value));
  std::string pixel = sample;
  if (kind.colour == 2 || kind.colour == 6) pixel += sample + sample;
  if (kind.colour & 4) pixel += sample;  // alpha
  return pixel;
}

std::string png(const Kind& kind, const Gray& image) {
  struct Pass {
    int x, y, across, down;
  };
  static constexpr Pass one[] = {{0, 0, 1, 1}};
  static constexpr Pass seven[] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                                   {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
  std::string data;
  const auto add = [&](const Pass& pass) {
    for (int y = pass.y; y < image.height; y += pass.down) {
      data += '\0';
      for (int x = pass.x; x < image.width; x += pass.across)
        data += pixel_of(kind, image.at(x, y));
    }
  };
  if (kind.interlaced)
    for (const Pass& pass : seven) add(pass);
  else
    for (const Pass& pass : one) add(pass);
  std::string palette, alpha;
  for (int i = 0; i < 256; ++i) {
    palette.append(3, static_cast<char>(i));
    alpha += static_cast<char>(i);
  }
  std::string header = big_endian(static_cast<std::uint32_t>(image.width), 4) +
                       big_endian(static_cast<std::uint32_t>(image.height), 4);
  for (const int field : {kind.depth, kind.colour, 0, 0, kind.interlaced})
    header += static_cast<char>(field);
  std::string file = "\x89PNG\r\n\x1a\n" + chunk("IHDR", header);
  if (kind.colour == 3) file += chunk("PLTE", palette) + chunk("tRNS", alpha);
  return file + chunk("IDAT", stored(data)) + chunk("IEND", "");
}

/// Whether alpha says that the brighter half of the pixels counts.
bool has_alpha(const Kind& kind) { return kind.colour == 3 || kind.colour & 4; }

/// The scene, where pixels of the patch that do not count are others.
Gray scene_of(bool alpha) {
  Gray scene = ::scene();
  for (int y = 22; alpha && y < 22 + 12; ++y)
    for (int x = 41; x < 41 + 16; ++x)
      if (scene.at(x, y) < 128) scene.at(x, y) = static_cast<std::uint8_t>(255 - scene.at(x, y));
  return scene;
}

/// In an RGB frame, so that gray is neither scaled nor lost.
void assert_copy_or_refused(const std::string& file, bool right, bool alpha = false) {
  Finder finder("subpixel=false threshold=-1");
  finder.set_format(GST_VIDEO_FORMAT_RGB, 96, 64);
  const guint id = add_file(finder, file);
  if (id == 0) {
    fail_unless(!right, "%s is refused", file.c_str());
    assert_warned(finder, file.c_str(), GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ);
    return;
  }
  const auto peaks = finder.find(scene_of(alpha)).peaks;
  assert_equals_int(peaks.size(), 1);
  assert_at(peaks[0], 41, 22);
  fail_unless(peaks[0].score == 1.0, "%s scores %f", file.c_str(), peaks[0].score);
  if (!alpha) return;
  finder.set("mask", "none");
  fail_unless(finder.find(scene_of(alpha)).peaks[0].score < 0.9);
}

bool there_is(const char* element) {
  return gst_registry_check_feature_version(gst_registry_get(), element, 1, 0, 0);
}

int end_with_libav(int end) {
  return count_with(there_is("avdec_tiff") && there_is("avdemux_gif"), "gst-libav", end);
}

ELEMENT_TESTS(kind_of_png, 0, G_N_ELEMENTS(kinds)) {
  const Kind& kind = kinds[__i__];
  const std::string name = "kind-" + std::to_string(kind.colour) + "-" +
                           std::to_string(kind.depth) + "-" + std::to_string(kind.interlaced);
  assert_copy_or_refused(written(name + ".png", png(kind, patch())), kind.right, has_alpha(kind));
}

long descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

/// pngdec forgets the frame when the checksum at the end of the pixels is wrong.
ELEMENT_TEST(damaged_pngs) {
  std::string bytes = png({2, 8, 0, true}, patch());
  bytes[bytes.size() - 14] ^= 1;
  const std::string file = written("damaged.png", bytes);
  Finder finder("");
  const auto refuse = [&] {
    assert_equals_int(add_file(finder, file), 0);
    assert_warned(finder, "damaged.png", GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ);
  };
  refuse();
  const long before = descriptors();
  for (int i = 0; i < 20; ++i) refuse();
  fail_unless(descriptors() < before + 10, "%ld descriptors are left", descriptors() - before);
}

// ---- TIFF -------------------------------------------------------------------------------------

using Entries = std::map<std::uint32_t, std::uint32_t>;  ///< values by tags

/// A gray image; its one strip has these bytes in that compression.
std::string tiff(const Gray& image, int compression, const std::string& strip, bool most_first,
                 const Entries& more = {}) {
  const auto number = [&](std::uint32_t value, int bytes) {
    return most_first ? big_endian(value, bytes) : little_endian(value, bytes);
  };
  const auto size = static_cast<std::uint32_t>(strip.size());
  const auto width = static_cast<std::uint32_t>(image.width),
             height = static_cast<std::uint32_t>(image.height);
  Entries entries = {{256, width}, {257, height}, {258, 8},      {259, compression}, {262, 1},
                     {273, 8},     {277, 1},      {278, height}, {279, size}};
  entries.insert(more.begin(), more.end());
  std::string directory = number(static_cast<std::uint32_t>(entries.size()), 2);
  for (const auto& [tag, value] : entries)
    directory += number(tag, 2) + number(4, 2) + number(1, 4) + number(value, 4);
  const std::string signature = most_first ? std::string("MM\0*", 4) : std::string("II*\0", 4);
  return signature + number(8 + size, 4) + strip + directory + number(0, 4);
}

ELEMENT_TESTS(tiff_template, 0, end_with_libav(2)) {
  const Gray image = patch();
  const std::string pixels(image.pixels.begin(), image.pixels.end());
  const std::string file = written("a.tif", tiff(image, 1, pixels, __i__ != 0));
  assert_copy_or_refused(file, true);
}

void assert_refused(const std::string& file, const char* reason) {
  Finder finder("");
  assert_equals_int(add_file(finder, file), 0);
  assert_warned(finder, reason, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ);
}

/// libav decodes these to something else.
ELEMENT_TESTS(jpeg_in_tiff, 0, 2) {
  const std::string jpeg = read_file(save(patch(), "in.jpg"));
  assert_refused(written("jpeg.tif", tiff(patch(), 7, jpeg, __i__ != 0)), "TIFF with JPEG");
}

/// What is refused says what it is.
ELEMENT_TESTS(kinds_have_names, 0, 2) {
  const Gray image = patch();
  assert_refused(
      written("float.tif", tiff(image, 1, std::string(4 * 16 * 12, 1), __i__ != 0, {{339, 3}})),
      "it is a TIFF of floating-point numbers");
  std::string cmyk = read_file(save(image, "cmyk.jpg"));
  cmyk[cmyk.find("\xff\xc0") + 9] = 4;  // the number of its colours
  assert_refused(written("cmyk.jpg", cmyk), "it is a JPEG image in CMYK");
  const std::string header("\0\0\3\0\0\0\0\0\0\0\0\0\x10\0\x0c\0\x08\0", 18);
  assert_refused(written("a.tga", header + std::string(16 * 12, 7)), "it is a TGA image");
  assert_refused(written("a.avif", std::string("\0\0\0\x1c"
                                               "ftypavif\0\0\0\0avifmif1miaf",
                                               28)),
                 "it is an AVIF image");
}

// ---- orientation ------------------------------------------------------------------------------

/// The image as a file has it that says how to turn it.
Gray lying(const Gray& shown, int orientation) {
  const bool turned = orientation >= 5;
  Gray made(turned ? shown.height : shown.width, turned ? shown.width : shown.height);
  for (int y = 0; y < shown.height; ++y)
    for (int x = 0; x < shown.width; ++x) {
      int column = turned ? y : x, row = turned ? x : y;
      if (orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8)
        column = made.width - 1 - column;
      if (orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7)
        row = made.height - 1 - row;
      made.at(column, row) = shown.at(x, y);
    }
  return made;
}

ELEMENT_TESTS(orientation_of_png, 1, 9) {
  const std::string exif = tiff(patch(), 1, "", __i__ % 2 != 0, {{274, __i__}});
  std::string bytes = png({0, 8, 0, true}, lying(patch(), __i__));
  bytes.insert(bytes.size() - 12, chunk("eXIf", exif));
  assert_copy_or_refused(written("turned.png", bytes), true);
}

ELEMENT_TESTS(orientation_of_jpeg, 1, 9) {
  const std::string exif =
      std::string("Exif\0\0", 6) + tiff(patch(), 1, "", __i__ % 2 != 0, {{274, __i__}});
  std::string bytes = read_file(save(lying(patch(), __i__), "lying.jpg"));
  bytes.insert(2, "\xff\xe1" + big_endian(static_cast<std::uint32_t>(exif.size()) + 2, 2) + exif);
  Finder finder("");
  fail_unless(add_file(finder, written("turned.jpg", bytes)) != 0);
  const Peak peak = only(finder.find(scene()));
  fail_unless(peak.score > 0.95, "score %f", peak.score);
}

ELEMENT_TESTS(orientation_of_tiff, 1, end_with_libav(9)) {
  const Gray image = lying(patch(), __i__);
  const std::string pixels(image.pixels.begin(), image.pixels.end());
  const std::string file =
      written("turned.tif", tiff(image, 1, pixels, __i__ % 2 != 0, {{274, __i__}}));
  assert_copy_or_refused(file, true);
}

// ---- GIF --------------------------------------------------------------------------------------

/// Of codes of 9 bits, with a clear code before the table would grow.
std::string lzw(const Gray& image) {
  constexpr unsigned clear = 256, end = 257;
  std::vector<unsigned> codes;
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    if (i % 200 == 0) codes.push_back(clear);
    codes.push_back(image.pixels[i]);
  }
  codes.push_back(end);
  std::string bytes(codes.size() * 9 / 8 + 1, '\0');
  for (std::size_t bit = 0; bit < codes.size() * 9; ++bit)
    if (codes[bit / 9] >> bit % 9 & 1)
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] | 1 << bit % 8);
  return bytes;
}

/// Pixels of the value `transparent` are, if there is one.
std::string gif(const Gray& image, int transparent = -1) {
  const std::string size = little_endian(static_cast<std::uint32_t>(image.width), 2) +
                           little_endian(static_cast<std::uint32_t>(image.height), 2);
  std::string file = "GIF89a" + size + std::string("\xf7\0\0", 3);
  for (int i = 0; i < 256; ++i) file.append(3, static_cast<char>(i));
  if (transparent >= 0)
    file += std::string("!\xf9\4\1\0\0", 6) + static_cast<char>(transparent) + '\0';
  file += "," + std::string(4, '\0') + size + std::string("\0\x8", 2);
  const std::string data = lzw(image);
  for (std::size_t i = 0; i < data.size(); i += 255) {
    const std::string block = data.substr(i, 255);
    file += static_cast<char>(block.size()) + block;
  }
  return file + std::string("\0;", 2);
}

/// libav's demuxer reads past the end of the file for ever.
ELEMENT_TESTS(still_gif, 0, end_with_libav(1)) {
  assert_copy_or_refused(written("still.gif", gif(patch())), true);
}

/// What does not count may be anything in the frame.
ELEMENT_TESTS(transparent_gif, 0, end_with_libav(1)) {
  Gray image = patch();
  for (auto& pixel : image.pixels) pixel = std::max<std::uint8_t>(pixel, 128);
  Gray frame = scene();
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x)
      frame.at(41 + x, 22 + y) =
          image.at(x, y) > 128 ? image.at(x, y) : static_cast<std::uint8_t>(99 * x + 55 * y);
  Finder finder("subpixel=false");
  finder.set_format(GST_VIDEO_FORMAT_RGB, frame.width, frame.height);
  fail_unless(add_file(finder, written("transparent.gif", gif(image, 128))) != 0);
  const Peak peak = only(finder.find(frame));
  assert_at(peak, 41, 22);
  fail_unless(peak.score == 1.0, "score %f", peak.score);
}

ELEMENT_TESTS(half_a_gif, 0, end_with_libav(1)) {
  const std::string bytes = gif(patch());
  const gint64 begin = g_get_monotonic_time();
  assert_copy_or_refused(written("half.gif", bytes.substr(0, bytes.size() - 60)), false);
  fail_unless(g_get_monotonic_time() - begin < 5 * G_USEC_PER_SEC, "it took too long");
}

}  // namespace

// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The second look at peaks: what differs in a small part goes, what differs in brightness and
// contrast alone stays, as far as the method does not compare them.
#include <xcorr/window_matcher.hpp>

#include "planes.hpp"

namespace api {
namespace {

constexpr Size icon_size{29, 27};

/// A texture, with a dot of 6 x 6 pixels of another brightness.
Bytes icon(int more) {
  const Texture waves(3);
  Bytes image(icon_size);
  for (int y = 0; y < icon_size.height; ++y)
    for (int x = 0; x < icon_size.width; ++x) {
      const bool in_dot = x >= 17 && x < 23 && y >= 9 && y < 15;
      image.at(x, y) =
          static_cast<std::uint8_t>(std::clamp(waves(x, y), 60.0, 200.0) / 2 + (in_dot ? more : 0));
    }
  return image;
}

/// The icon at (11, 20) and another at (70, 30), on a ground, with a gain and an offset.
struct Screen {
  Bytes pattern = icon(0), other = icon(40), frame{{120, 80}};

  explicit Screen(double gain = 1, double offset = 0) {
    const Texture ground(8);
    const auto changed = [&](double value) {
      return static_cast<std::uint8_t>(std::lround(gain * value + offset));
    };
    for (int y = 0; y < frame.size.height; ++y)
      for (int x = 0; x < frame.size.width; ++x)
        frame.at(x, y) = changed(std::clamp(ground(x, y), 40.0, 200.0) / 2);
    for (int y = 0; y < icon_size.height; ++y)
      for (int x = 0; x < icon_size.width; ++x) {
        frame.at(11 + x, 20 + y) = changed(pattern.at(x, y));
        frame.at(70 + x, 30 + y) = changed(other.at(x, y));
      }
  }
};

MatchSettings settings_of(double confirm_threshold, Method method = Method::ccoeff_normed) {
  MatchSettings settings;
  settings.method = method;
  settings.threshold = 0.8;
  settings.max_peaks = 2;
  settings.min_peak_distance = 20;
  settings.subpixel = Subpixel::none;
  settings.confirm_threshold = confirm_threshold;
  return settings;
}

/// The largest root mean square of a square of the other icon, by the definition: the window with
/// the template's mean and, if `free`, deviation, where `counts`.
template <class Counts>
double defined_difference(const Bytes& window, const Bytes& pattern, bool free, Counts counts) {
  const auto sum_of = [&](auto term) {
    double sum = 0;
    for (int y = 0; y < window.size.height; ++y)
      for (int x = 0; x < window.size.width; ++x)
        if (counts(x, y)) sum += term(double(window.at(x, y)), double(pattern.at(x, y)));
    return sum;
  };
  const double n = sum_of([](double, double) { return 1; });
  const double f_mean = sum_of([](double f, double) { return f; }) / n,
               t_mean = sum_of([](double, double t) { return t; }) / n;
  const double gain =
      free ? std::sqrt(sum_of([&](double, double t) { return (t - t_mean) * (t - t_mean); }) /
                       sum_of([&](double f, double) { return (f - f_mean) * (f - f_mean); }))
           : 1;
  double worst = 0;
  for (int top = 0; top < window.size.height; top += 8)
    for (int left = 0; left < window.size.width; left += 8) {
      double squares = 0, pixels = 0;
      for (int y = top; y < std::min(top + 8, window.size.height); ++y)
        for (int x = left; x < std::min(left + 8, window.size.width); ++x) {
          if (!counts(x, y)) continue;
          squares += std::pow(gain * (window.at(x, y) - f_mean) - (pattern.at(x, y) - t_mean), 2);
          ++pixels;
        }
      worst = std::max(worst, squares / std::max(pixels, 16.0));
    }
  return std::sqrt(worst);
}

bool all(int, int) { return true; }

class ConfirmTest : public PosedTest {
 protected:
  std::vector<Peak> find(const Screen& in, const MatchSettings& settings,
                         const Bytes* mask = nullptr) {
    return match(in.frame, in.pattern, settings, mask);
  }
  static void expect_the_icon(const std::vector<Peak>& peaks) {
    ASSERT_EQ(peaks.size(), 1U);
    EXPECT_EQ(peaks[0].x, 11);
    EXPECT_EQ(peaks[0].y, 20);
  }
};

TEST_P(ConfirmTest, TellsSimilarIconsApart) {
  for (const Screen& in : {Screen(), Screen(1.4, 20)}) {
    EXPECT_EQ(find(in, settings_of(0)).size(), 2U);
    expect_the_icon(find(in, settings_of(6)));
    // Just below and above the difference that the other one has.
    const double difference =
        defined_difference(crop(in.frame, {70, 30, 29, 27}), in.pattern, true, all);
    EXPECT_GT(difference, 12);
    expect_the_icon(find(in, settings_of(0.999 * difference)));
    EXPECT_EQ(find(in, settings_of(1.001 * difference)).size(), 2U);
    // By a kernel that finds one place without surfaces.
    MatchSettings one = settings_of(6);
    one.max_peaks = 1;
    expect_the_icon(find(in, one));
  }
}

/// What a method compares is not made equal.
TEST_P(ConfirmTest, ByEachMethod) {
  const Screen same, brighter(1, 20), contrasty(1.4, 0);
  for (const Method method : {Method::sqdiff_normed, Method::ccorr_normed, Method::ccoeff_normed,
                              Method::sqdiff, Method::ccoeff}) {
    const auto expect = [&](const Screen& in, bool is_same) {
      MatchSettings settings = settings_of(6, method);
      settings.threshold = method == Method::sqdiff ? 0.7 : 0.6;
      const auto peaks = find(in, settings);
      if (is_same)
        expect_the_icon(peaks);
      else
        EXPECT_TRUE(peaks.empty()) << info(method).name;
    };
    expect(same, true);
    expect(brighter, info(method).centred);
    expect(contrasty, info(method).normed && !info(method).minimum);
  }
}

TEST_P(ConfirmTest, OfEitherContrast) {
  MatchSettings settings = settings_of(6);
  settings.polarity = Polarity::either;
  expect_the_icon(find(Screen(-1, 255), settings));
  settings.polarity = Polarity::inverted;
  const auto peaks = find(Screen(-1, 255), settings);
  expect_the_icon(peaks);
  EXPECT_TRUE(peaks[0].inverted);
}

/// Only pixels that count are looked at: those of a square that has few of them.
TEST_P(ConfirmTest, Masked) {
  Bytes without_dot(icon_size, 1), corner(icon_size, 1);
  for (int y = 9; y < 15; ++y)
    for (int x = 17; x < 23; ++x) without_dot.at(x, y) = corner.at(x, y) = 0;
  const Screen in;
  EXPECT_EQ(find(in, settings_of(6), &without_dot).size(), 2U);
  corner.at(17, 9) = corner.at(18, 9) = 1;
  const double difference = defined_difference(in.other, in.pattern, true,
                                               [&](int x, int y) { return corner.at(x, y) != 0; });
  EXPECT_EQ(find(in, settings_of(1.001 * difference), &corner).size(), 2U);
  expect_the_icon(find(in, settings_of(0.999 * difference), &corner));
}

/// The dot differs in hue alone.
TEST_P(ConfirmTest, InColor) {
  const Screen in;
  const Bytes gray = in.pattern;
  Planes<std::uint8_t> frame{in.frame, in.frame, in.frame};
  for (int y = 9; y < 15; ++y)
    for (int x = 17; x < 23; ++x) {
      for (Bytes& plane : frame) plane.at(70 + x, 30 + y) = gray.at(x, y);
      frame[0].at(70 + x, 30 + y) = static_cast<std::uint8_t>(gray.at(x, y) + 40);
      frame[2].at(70 + x, 30 + y) = static_cast<std::uint8_t>(gray.at(x, y) - 25);
    }
  const Planes<std::uint8_t> pattern{gray, gray, gray};
  const MatrixView view = planar(frame), templ = planar(pattern);
  for (const double threshold : {0.0, 6.0}) {
    MatchSettings settings = settings_of(threshold);
    settings.match_on = MatchOn::color;
    Matcher matcher = std::move(Matcher::create(device).value());
    ASSERT_TRUE(matcher.set_templates({&templ, 1}).ok());
    ASSERT_TRUE(matcher.prepare(ElementType::u8, view.size, settings).ok());
    const std::vector<Peak> peaks = peaks_in(matcher, view);
    if (threshold > 0)
      expect_the_icon(peaks);
    else
      EXPECT_EQ(peaks.size(), 2U);
  }
}

TEST_P(ConfirmTest, WordsFloatsAndWindows) {
  const Screen in;
  const auto expect_one = [&]<class T>(T, double scale) {
    const auto scaled = [&](const Bytes& from) {
      Image<T> made(from.size);
      for (std::size_t i = 0; i < from.data.size(); ++i)
        made.data[i] = static_cast<T>(from.data[i] * scale);
      return made;
    };
    const Image<T> frame = scaled(in.frame), pattern = scaled(in.pattern);
    WindowMatcher matcher = std::move(WindowMatcher::create(device).value());
    const MatrixView templ = pattern.view();
    ASSERT_TRUE(matcher.set_templates({&templ, 1}).ok());
    ASSERT_TRUE(matcher.prepare(element_type<T>, frame.size, settings_of(6 * scale)).ok());
    const SearchWindow windows[] = {{0, {5, 10, 50, 50}}, {0, {60, 20, 50, 50}}};
    std::vector<std::vector<Peak>> found;
    ASSERT_TRUE(matcher.enqueue(frame.view(), windows).ok());
    ASSERT_TRUE(matcher.collect(found).ok());
    ASSERT_EQ(found.size(), 2U);
    expect_the_icon(found[0]);
    EXPECT_TRUE(found[1].empty());
  };
  expect_one(std::uint8_t{}, 1);
  expect_one(std::uint16_t{}, 200);
  expect_one(float{}, 0.01);
}

/// The threshold may change while frames flow.
TEST_P(ConfirmTest, Adopted) {
  const Screen in;
  Matcher matcher = std::move(Matcher::create(device).value());
  const MatrixView templ = in.pattern.view();
  ASSERT_TRUE(matcher.set_templates({&templ, 1}).ok());
  for (const auto& [threshold, count] :
       {std::pair(0.0, 2U), std::pair(6.0, 1U), std::pair(60.0, 2U), std::pair(0.0, 2U)}) {
    ASSERT_TRUE(matcher.prepare(ElementType::u8, in.frame.size, settings_of(threshold)).ok());
    std::vector<Peak> peaks;
    ASSERT_TRUE(matcher.enqueue(in.frame.view()).ok());
    ASSERT_TRUE(matcher.collect(peaks).ok());
    EXPECT_EQ(peaks.size(), count) << threshold;
  }
}

TEST_P(ConfirmTest, Refused) {
  const Screen in;
  Matcher matcher = std::move(Matcher::create(device).value());
  const MatrixView templ = in.pattern.view();
  ASSERT_TRUE(matcher.set_templates({&templ, 1}).ok());
  const auto prepare = [&](auto change) {
    MatchSettings settings = settings_of(6);
    change(settings);
    return matcher.prepare(ElementType::u8, in.frame.size, settings).message();
  };
  const std::string why = "confirm_threshold is for templates inside the frame, on luma and colour";
  EXPECT_EQ(prepare([](MatchSettings& s) { s.match_on = MatchOn::edges; }), why);
  EXPECT_EQ(prepare([](MatchSettings& s) { s.overhang = 0.2; }), why);
}

INSTANTIATE_TEST_SUITE_P(Backends, ConfirmTest, testing::Values(Backend::cpu, Backend::cuda),
                         [](const auto& info) { return xcorr::name_of(info.param); });

}  // namespace
}  // namespace api

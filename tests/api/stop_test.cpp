// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Work that would take minutes ends soon after another thread asks for it, whatever is computed.
#include <algorithm>
#include <chrono>
#include <functional>
#include <ostream>
#include <thread>

#include <xcorr/field.hpp>
#include <xcorr/live_template.hpp>
#include <xcorr/stop.hpp>
#include <xcorr/tracker.hpp>
#include <xcorr/window_matcher.hpp>

#include "fields/plan.hpp"
#include "planes.hpp"
#include "support.hpp"

namespace api {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// It takes a tenth of it on an idle machine; sanitizers and other tests take their share.
constexpr auto soon = 5s;

/// Of the CPU: what a GPU has begun it finishes.
Device cpu() { return open_device(Backend::cpu).value(); }

Image<float> noise_of_floats(Size size) { return random_image<float>(size, 7); }

Status search(const MatrixView& frame, const MatrixView& templ, const MatchSettings& settings,
              std::span<const MatrixView> masks = {}) {
  auto matcher = Matcher::create(cpu());
  if (Status s = matcher.value().set_templates({&templ, 1}, masks); !s.ok()) return s;
  std::vector<Peak> peaks;
  while (true) {
    if (Status s = matcher.value().prepare(frame.type, frame.size, settings); !s.ok()) return s;
    if (Status s = matcher.value().enqueue(frame); !s.ok()) return s;
    if (Status s = matcher.value().collect(peaks); !s.ok()) return s;
  }
}

MatchSettings without_limits() {
  MatchSettings settings;
  settings.budget = {0, 0};
  return settings;
}

Status poses(int levels, double scale) {
  const auto frame = random_image<std::uint8_t>({1280, 720}, 1);
  const auto templ = random_image<std::uint8_t>({96, 96}, 2);
  MatchSettings settings = without_limits();
  settings.poses.angle_extent = 360;
  settings.poses.scale_max = scale;
  settings.poses.pyramid_levels = levels;
  return search(frame.view(), templ.view(), settings);
}

Status upright(const char* kernel) {
  const auto frame = random_image<std::uint8_t>({1920, 1080}, 1);
  const auto templ = random_image<std::uint8_t>({300, 300}, 2);
  MatchSettings settings = without_limits();
  settings.kernel = kernel;
  return search(frame.view(), templ.view(), settings);
}

Status masked_floats() {
  const auto frame = noise_of_floats({1280, 720});
  const auto templ = noise_of_floats({200, 200});
  auto mask = random_image<std::uint8_t>({200, 200}, 3);
  for (std::uint8_t& counts : mask.data) counts &= 1;
  const MatrixView masks[] = {mask.view()};
  return search(frame.view(), templ.view(), without_limits(), masks);
}

/// Every angle, none of them in a smaller image.
const PoseRange at_full_size = [] {
  PoseRange range;
  range.angle_extent = 360;
  range.pyramid_levels = 0;
  return range;
}();

void on_edges(MatchSettings& settings) { settings.match_on = MatchOn::edges; }

void over_the_border(MatchSettings& settings) { settings.overhang = 0.5; }

void looked_at_twice(MatchSettings& settings) {
  settings.confirm_threshold = 200;
  settings.min_contrast = 1;
  settings.polarity = Polarity::either;
  settings.min_confidence = 0;
}

/// Frame after frame, with a template that is there and fifty peaks.
Status small(const std::function<void(MatchSettings&)>& change, bool masked = false) {
  const auto frame = random_image<std::uint8_t>({1280, 720}, 1);
  const auto templ = crop(frame, {300, 200, 90, 70});
  const auto mask = random_image<std::uint8_t>(templ.size, 3);
  const MatrixView views[] = {mask.view()};
  MatchSettings settings = without_limits();
  settings.max_peaks = 50;
  settings.threshold = 0.01;
  change(settings);
  return search(frame.view(), templ.view(), settings,
                masked ? std::span<const MatrixView>(views) : std::span<const MatrixView>());
}

Status in_color(PoseRange poses) {
  const auto frame = random_planes<std::uint8_t>({640, 480}, 1);
  const auto templ = crop_planes(frame, {100, 100, 60, 50});
  MatchSettings settings = without_limits();
  settings.match_on = MatchOn::color;
  settings.poses = poses;
  return search(planar(frame), planar(templ), settings);
}

/// The scores of every place, again and again.
Status scores() {
  const auto frame = random_image<std::uint8_t>({1920, 1080}, 1);
  const auto templ = crop(frame, {300, 200, 90, 70});
  const MatrixView view = templ.view();
  auto matcher = Matcher::create(cpu());
  if (Status s = matcher.value().set_templates({&view, 1}); !s.ok()) return s;
  if (Status s = matcher.value().prepare(ElementType::u8, frame.size, without_limits()); !s.ok())
    return s;
  Response response;
  while (true)
    if (Status s = matcher.value().respond(frame.view(), 0, response); !s.ok()) return s;
}

/// A template that takes on what it finds, in search windows all over the frame.
Status live_in_windows(PoseRange poses) {
  const auto frame = random_image<std::uint8_t>({1280, 720}, 1);
  auto live = LiveTemplate::create(cpu(), crop(frame, {300, 200, 90, 70}).view());
  auto matcher = WindowMatcher::create(cpu());
  const std::shared_ptr<const LiveTemplate> shared = live.value();
  if (Status s = matcher.value().set_templates({&shared, 1}); !s.ok()) return s;
  if (Status s = matcher.value().prepare(ElementType::u8, frame.size, without_limits()); !s.ok())
    return s;
  std::vector<SearchWindow> windows;
  for (int i = 0; i < 50; ++i) windows.push_back({0, {i % 10 * 100, i / 10 * 80, 300, 300}, poses});
  std::vector<std::vector<Peak>> found;
  while (true) {
    if (Status s = matcher.value().enqueue(frame.view(), windows); !s.ok()) return s;
    if (Status s = matcher.value().collect(found); !s.ok()) return s;
    auto patch = live.value()->cut(frame.view(), {.center_x = 345, .center_y = 235, .angle = 30});
    if (!patch.ok()) return patch.status();
    if (Status s = live.value()->blend(patch.value(), 0, 0, 0.5); !s.ok()) return s;
  }
}

FieldSettings of_windows(std::vector<int> windows, FieldSubpixel subpixel = FieldSubpixel::gauss) {
  FieldSettings settings;
  settings.windows = std::move(windows);
  settings.search_range = 64;
  settings.spacing = 1;
  settings.subpixel = subpixel;
  settings.order = 2;
  settings.budget = {0, 0};
  return settings;
}

Status field(const FieldSettings& settings, std::span<const FieldPlace> places = {}) {
  const auto reference = random_image<std::uint8_t>({640, 480}, 1);
  auto matcher = FieldMatcher::make(cpu(), {640, 480}, settings, {}, places);
  if (!matcher.ok()) return matcher.status();
  std::vector<FieldVector> vectors;
  while (true)
    if (Status s = matcher.value().match(reference.view(), reference.view(), vectors); !s.ok())
      return s;
}

/// Few pixels a window, so that what is done with vectors takes its share.
FieldSettings smoothed_field() {
  FieldSettings settings = of_windows({8, 8});
  settings.search_range = settings.later_range = 1;
  settings.smoothing = 2;
  settings.deformation = true;
  return settings;
}

Status field_at_places() {
  std::vector<FieldPlace> places = {{600, 20}};
  for (int i = 0; i < 200000; ++i) places.push_back({20, 20 + i / 500.F});
  FieldSettings settings = smoothed_field();
  settings.deformation = false;
  return field(settings, places);
}

Status filters() {
  const auto frame = random_image<std::uint8_t>({640, 480}, 1);
  auto tracker = Tracker::create(cpu());
  std::vector<TargetBox> targets;
  for (std::uint64_t i = 0; i < 500; ++i)
    targets.push_back({i, {double(i % 40) * 15, double(i / 40) * 30, 40, 30}});
  std::vector<FilterDetection> detections;
  while (true) {
    if (Status s = tracker.value().train(frame.view(), targets); !s.ok()) return s;
    if (Status s = tracker.value().locate(frame.view(), targets, detections); !s.ok()) return s;
  }
}

struct LongWork {
  const char* name;
  std::function<Status()> run;
};

void PrintTo(const LongWork& work, std::ostream* out) { *out << work.name; }

class StopTest : public testing::TestWithParam<LongWork> {};

TEST_P(StopTest, EndsSoon) {
  for (const auto after : {20ms, 400ms}) {  // while it prepares, perhaps, and while it works
    Stop stop;
    Status status;
    std::thread working([&] {
      const StopScope scope(&stop);
      status = GetParam().run();
    });
    std::this_thread::sleep_for(after);
    const auto asked = Clock::now();
    stop.request();
    working.join();
    EXPECT_LT(Clock::now() - asked, soon);
    EXPECT_EQ(status.code(), Code::stopped) << status.message();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, StopTest,
    testing::Values(
        LongWork{"poses", [] { return poses(-1, 1); }},
        LongWork{"poses at full size", [] { return poses(0, 1); }},
        LongWork{"poses of several sizes", [] { return poses(0, 1.1); }},
        LongWork{"transforms", [] { return upright("fft"); }},
        LongWork{"products by definition", [] { return upright("direct"); }},
        LongWork{"masked floats", masked_floats},
        LongWork{"windows", [] { return field(of_windows({256})); }},
        LongWork{"blocks", [] { return field(of_windows({64})); }},
        LongWork{"least squares",
                 [] {
                   return field(of_windows({64, 32}, FieldSubpixel::least_squares));
                 }},
        LongWork{"smoothed fields", [] { return field(smoothed_field()); }},
        LongWork{"fields at places", field_at_places},
        LongWork{"live templates in windows", [] { return live_in_windows({}); }},
        LongWork{"live templates at any angle", [] { return live_in_windows(at_full_size); }},
        LongWork{"edges", [] { return small(on_edges); }},
        LongWork{"edges at any angle",
                 [] {
                   return small([](MatchSettings& s) {
                     on_edges(s);
                     s.poses = at_full_size;
                   });
                 }},
        LongWork{"colour", [] { return in_color({}); }},
        LongWork{"colour at any angle", [] { return in_color(at_full_size); }},
        LongWork{"overhang", [] { return small(over_the_border); }},
        LongWork{"overhang at any angle",
                 [] {
                   return small([](MatchSettings& s) {
                     over_the_border(s);
                     s.poses = at_full_size;
                   });
                 }},
        LongWork{"weights", [] { return small([](MatchSettings& s) { s.weights = true; }, true); }},
        LongWork{"second looks", [] { return small(looked_at_twice); }},
        LongWork{"smoothed frames",
                 [] { return small([](MatchSettings& s) { s.prefilter_sigma = 10; }); }},
        LongWork{"scores", scores}, LongWork{"filters", filters}),
    [](const auto& info) {
      std::string name = info.param.name;
      std::ranges::replace(name, ' ', '_');
      return name;
    });

TEST(StopScopeTest, ARequestThatStandsStopsWhatComes) {
  Stop stop;
  stop.request();
  const auto frame = random_image<std::uint8_t>({60, 40}, 1);
  const auto templ = crop(frame, {13, 17, 16, 12});
  const MatrixView view = templ.view();
  auto made = Matcher::create(cpu());
  Matcher& matcher = made.value();
  ASSERT_TRUE(matcher.set_templates({&view, 1}).ok());
  {
    const StopScope scope(&stop);
    EXPECT_EQ(matcher.prepare(ElementType::u8, frame.size, {}).code(), Code::stopped);
    stop.withdraw();
    ASSERT_TRUE(matcher.prepare(ElementType::u8, frame.size, {}).ok());
    stop.request();
    EXPECT_EQ(matcher.enqueue(frame.view()).code(), Code::stopped);
    EXPECT_EQ(matcher.enqueue(frame.view()).code(), Code::invalid_argument);
  }
  // Nothing is heeded outside of the scope, and the matcher works as before.
  std::vector<Peak> peaks;
  ASSERT_TRUE(matcher.prepare(ElementType::u8, frame.size, {}).ok());
  ASSERT_TRUE(matcher.enqueue(frame.view()).ok());
  ASSERT_TRUE(matcher.collect(peaks).ok());
  ASSERT_EQ(peaks.size(), 1U);
  EXPECT_NEAR(peaks[0].x, 13, 0.01);
  EXPECT_NEAR(peaks[0].y, 17, 0.01);
}

/// A matcher may be asked for scores while a frame is enqueued.
TEST(StopScopeTest, StoppedScoresLeaveTheFrame) {
  const auto frame = random_image<std::uint8_t>({60, 40}, 1);
  const auto templ = crop(frame, {13, 17, 16, 12});
  const MatrixView view = templ.view();
  auto made = Matcher::create(cpu());
  ASSERT_TRUE(made.ok());
  Matcher& matcher = made.value();
  ASSERT_TRUE(matcher.set_templates({&view, 1}).ok());
  ASSERT_TRUE(matcher.prepare(ElementType::u8, frame.size, {}).ok());
  Stop stop;
  for (const bool again : {false, true}) {
    ASSERT_TRUE(matcher.enqueue(frame.view()).ok());
    Response response;
    {
      stop.request();
      const StopScope scope(&stop);
      EXPECT_EQ(matcher.respond(frame.view(), 0, response).code(), Code::stopped);
      stop.withdraw();
    }
    if (again) {
      EXPECT_TRUE(matcher.respond(frame.view(), 0, response).ok());
    }
    std::vector<Peak> peaks;
    ASSERT_TRUE(matcher.collect(peaks).ok());
    EXPECT_EQ(peaks.size(), 1U);
  }
}

/// What a GPU is given at once of a field.
TEST(LaunchesOfFields, AreShortAndOfWholeRows) {
  EXPECT_EQ(windows_of_launch(1000, 10, 0.001), 1000);
  EXPECT_EQ(windows_of_launch(1000, 10, 0.25), 80);
  EXPECT_EQ(windows_of_launch(1000, 1, 0.25), 80);
  EXPECT_EQ(windows_of_launch(1000, 10, 1e6), 10);
}

}  // namespace
}  // namespace api

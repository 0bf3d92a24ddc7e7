// SPDX-License-Identifier: LGPL-2.1-or-later
//
// MultiMatcher: what it finds is what one Matcher finds, bit for bit, whatever is asked for. The
// CPU is several devices here; with two GPUs they are compared with one.
#include <xcorr/multi_matcher.hpp>

#include <algorithm>
#include <bit>
#include <memory>

#include "match/balance_templates.hpp"
#include "support.hpp"

namespace api {
namespace {

using Bytes = Image<std::uint8_t>;
using Shares = std::vector<std::vector<std::uint32_t>>;

Shares shared(std::vector<std::int64_t> costs, std::size_t shares) {
  return balance_templates(costs, shares);
}

TEST(BalanceTemplatesTest, EqualCostsAreDealtOutInTurn) {
  EXPECT_EQ(shared({4, 4, 4, 4, 4}, 2), (Shares{{0, 2, 4}, {1, 3}}));
  EXPECT_EQ(shared({4, 4}, 3), (Shares{{0}, {1}, {}}));
  EXPECT_EQ(shared({}, 2), (Shares{{}, {}}));
}

TEST(BalanceTemplatesTest, OneThatCostsMuchIsAlone) {
  EXPECT_EQ(shared({1, 2, 10, 1, 3}, 2), (Shares{{2}, {0, 1, 3, 4}}));
}

const Bytes frame = random_image<std::uint8_t>({120, 96}, 1);

/// Templates of three sizes, mixed, some of them with a mask; each is in the frame.
struct Templates {
  std::vector<Bytes> images, masks;

  explicit Templates(int count, bool masked = false) {
    constexpr Size sizes[] = {{16, 12}, {9, 9}, {31, 20}};
    for (int i = 0; i < count; ++i) {
      const Size size = sizes[i % 3];
      images.push_back(crop(frame, {(i * 13) % 80, (i * 29) % 70, size.width, size.height}));
      masks.emplace_back(size, std::uint8_t{1});
      if (masked && i % 2) masks.back().at(2 + i % 3, 3) = 0;
    }
    if (!masked) masks.clear();
  }
  static std::vector<MatrixView> views_of(const std::vector<Bytes>& images) {
    std::vector<MatrixView> views;
    for (const Bytes& image : images) views.push_back(image.view());
    return views;
  }
  std::vector<MatrixView> views() const { return views_of(images); }
  std::vector<MatrixView> mask_views() const { return views_of(masks); }
};

MatchSettings several() {
  MatchSettings settings;
  settings.threshold = 0.2;
  settings.max_peaks = 4;
  return settings;
}

Device cpu() { return open_device(Backend::cpu).value(); }

MultiMatcher matcher_of(const std::vector<Device>& devices) {
  return std::move(MultiMatcher::create(devices).value());
}

/// A Matcher's or a MultiMatcher's.
std::vector<Peak> find(auto& matcher, const Templates& templates, const MatchSettings& settings,
                       const MatrixView& in = frame.view()) {
  std::vector<Peak> peaks;
  const auto views = templates.views(), masks = templates.mask_views();
  for (const Status& status :
       {matcher.set_templates(views, masks), matcher.prepare(ElementType::u8, in.size, settings),
        matcher.enqueue(in), matcher.collect(peaks)})
    EXPECT_TRUE(status.ok()) << status.message();
  return peaks;
}

void expect_identical(const std::vector<Peak>& got, const std::vector<Peak>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
  for (std::size_t i = 0; i < got.size(); ++i) {
    const Peak &a = got[i], &b = expected[i];
    EXPECT_EQ(a.template_index, b.template_index) << i;
    EXPECT_EQ(a.width, b.width) << i;
    EXPECT_EQ(a.height, b.height) << i;
    EXPECT_EQ(a.inverted, b.inverted) << i;
    for (const auto& [x, y] :
         {std::pair(a.x, b.x), std::pair(a.y, b.y), std::pair(a.score, b.score),
          std::pair(a.similarity, b.similarity), std::pair(a.pose.angle, b.pose.angle),
          std::pair(a.pose.scale, b.pose.scale), std::pair(a.pose.center_x, b.pose.center_x),
          std::pair(a.pose.center_y, b.pose.center_y)})
      EXPECT_EQ(bits(x), bits(y)) << i << ": " << x << ", " << y;
  }
}

/// By one to five devices, against one Matcher.
void expect_same_as_one(const Templates& templates, const MatchSettings& settings) {
  Matcher one = std::move(Matcher::create(cpu()).value());
  const std::vector<Peak> expected = find(one, templates, settings);
  EXPECT_FALSE(expected.empty());
  for (const std::size_t devices : {1, 2, 3, 5}) {
    MultiMatcher matcher = matcher_of(std::vector(devices, cpu()));
    expect_identical(find(matcher, templates, settings), expected);
    EXPECT_EQ(matcher.kernel().empty(), one.kernel().empty());
  }
}

TEST(MultiMatcherTest, SeveralSizes) { expect_same_as_one(Templates(11), several()); }
TEST(MultiMatcherTest, Masks) { expect_same_as_one(Templates(7, true), several()); }
TEST(MultiMatcherTest, OneTemplate) { expect_same_as_one(Templates(1), several()); }

TEST(MultiMatcherTest, EitherContrast) {
  MatchSettings settings = several();
  settings.polarity = Polarity::either;
  settings.subpixel = Subpixel::quadratic;
  expect_same_as_one(Templates(6), settings);
}

TEST(MultiMatcherTest, Poses) {
  MatchSettings settings = several();
  settings.poses.angle_extent = 20;
  settings.poses.pyramid_levels = 1;
  expect_same_as_one(Templates(4), settings);
}

/// Which template is the best at a place is known of all devices together only.
TEST(MultiMatcherTest, BestTemplate) {
  Templates templates(0);
  for (int i = 0; i < 6; ++i) {  // of the same place, ever less like it
    Bytes image = crop(frame, {40, 30, 16, 12});
    for (int n = 0; n < 5 * ((i + 3) % 6); ++n) image.at(n % 16, n / 16) ^= 0x55;
    templates.images.push_back(std::move(image));
  }
  MatchSettings settings = several();
  settings.best_template = true;
  settings.max_peaks = 1;
  expect_same_as_one(templates, settings);
  MultiMatcher matcher = matcher_of({cpu(), cpu()});
  const std::vector<Peak> best = find(matcher, templates, settings);
  ASSERT_EQ(best.size(), 1);
  EXPECT_EQ(best.front().template_index, 3);
}

/// Another bank and other settings after the first.
TEST(MultiMatcherTest, UsedAgain) {
  MultiMatcher matcher = matcher_of({cpu(), cpu(), cpu()});
  Matcher one = std::move(Matcher::create(cpu()).value());
  MatchSettings settings = several();
  for (const int count : {5, 1, 8, 0, 2}) {
    settings.max_peaks = 1 + count;
    expect_identical(find(matcher, Templates(count), settings),
                     find(one, Templates(count), settings));
  }
}

TEST(MultiMatcherTest, Responses) {
  const Templates templates(5);
  Matcher one = std::move(Matcher::create(cpu()).value());
  MultiMatcher matcher = matcher_of({cpu(), cpu()});
  find(one, templates, several());
  find(matcher, templates, several());
  for (std::uint32_t i = 0; i < 5; ++i) {
    Response expected, got;
    ASSERT_TRUE(one.respond(frame.view(), i, expected).ok());
    ASSERT_TRUE(matcher.respond(frame.view(), i, got).ok());
    EXPECT_EQ(got.places, expected.places);
    EXPECT_EQ(got.values, expected.values);
  }
  Response none;
  EXPECT_EQ(matcher.respond(frame.view(), 5, none).message(), "there is no template 5");
}

TEST(MultiMatcherTest, LiveTemplatesAreTheFirstDevices) {
  const Templates templates(3);
  std::vector<std::shared_ptr<const LiveTemplate>> live;
  for (const MatrixView& view : templates.views())
    live.push_back(LiveTemplate::create(cpu(), view).value());
  Matcher one = std::move(Matcher::create(cpu()).value());
  MultiMatcher matcher = matcher_of({cpu(), cpu()});
  find(matcher, Templates(6), several());  // which it must forget
  std::vector<Peak> peaks;
  for (const Status& status :
       {matcher.set_templates(live), matcher.prepare(ElementType::u8, frame.size, several()),
        matcher.enqueue(frame.view()), matcher.collect(peaks)})
    EXPECT_TRUE(status.ok()) << status.message();
  expect_identical(peaks, find(one, templates, several()));
}

/// Only its number tells a device of a backend from another.
TEST(MultiMatcherTest, LiveTemplateOfAnotherDevice) {
  Device other = cpu();
  other.ordinal = 1;
  const std::shared_ptr<const LiveTemplate> live[] = {
      LiveTemplate::create(other, Templates(1).views().front()).value()};
  Matcher matcher = std::move(Matcher::create(cpu()).value());
  EXPECT_EQ(matcher.set_templates(live).message(), "template 0 lives on another device");
}

TEST(MultiMatcherTest, DevicesThatCannotBe) {
  EXPECT_EQ(MultiMatcher::create({}).status().message(), "there must be a device at least");
  Device gpu;
  gpu.backend = Backend::cuda;
  gpu.ordinal = 3;
  const Device twice[] = {cpu(), gpu, cpu(), gpu};
  const Status status = MultiMatcher::create(twice).status();
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_EQ(status.message(), "the CUDA device 3 is named twice");
}

/// By its number in the whole bank; the bank before stays.
TEST(MultiMatcherTest, RefusedTemplatesAreNamed) {
  const Templates templates(4);
  MultiMatcher matcher = matcher_of({cpu(), cpu()});
  const std::vector<Peak> before = find(matcher, templates, several());
  std::vector<MatrixView> views = templates.views();
  views[3].data = nullptr;
  EXPECT_EQ(matcher.set_templates(views).message(), "template 3 is empty");
  std::vector<Peak> peaks;
  ASSERT_TRUE(matcher.enqueue(frame.view()).ok());
  ASSERT_TRUE(matcher.collect(peaks).ok());
  expect_identical(peaks, before);
}

TEST(MultiMatcherTest, OrderOfCalls) {
  MultiMatcher matcher = matcher_of({cpu(), cpu()});
  std::vector<Peak> peaks;
  Response response;
  const auto is_unprepared = [&] {
    EXPECT_EQ(matcher.enqueue(frame.view()).message(), "prepare() has not been called");
    EXPECT_EQ(matcher.respond(frame.view(), 0, response).message(),
              "prepare() has not been called");
  };
  is_unprepared();
  EXPECT_EQ(matcher.collect(peaks).message(), "no frame is enqueued");
  find(matcher, Templates(3), several());
  MatchSettings unknown = several();
  unknown.kernel = "no_such";
  EXPECT_EQ(matcher.prepare(ElementType::u8, frame.size, unknown).code(), Code::unsupported);
  is_unprepared();
  ASSERT_TRUE(matcher.prepare(ElementType::u8, frame.size, several()).ok());
  EXPECT_EQ(matcher.enqueue(Bytes({9, 9}).view()).code(), Code::invalid_argument);
  EXPECT_EQ(matcher.collect(peaks).message(), "no frame is enqueued");
  ASSERT_TRUE(matcher.enqueue(frame.view()).ok());
  EXPECT_TRUE(matcher.collect(peaks).ok());
  EXPECT_FALSE(peaks.empty());
}

/// Two GPUs against one: frames in host memory and in the memory of each.
TEST(MultiMatcherTest, TwoGpus) {
  const auto gpus = open_devices(Backend::cuda);
  if (!gpus.ok() || gpus.value().size() < 2) GTEST_SKIP() << "there are no two GPUs";
  const Device& first = gpus.value()[0];
  const Device& second = gpus.value()[1];
  ASSERT_TRUE(make_current(second).ok());
  const Block there = upload(second, frame.data.data(), frame.data.size());
  ASSERT_TRUE(make_current(first).ok());
  const Block here = upload(first, frame.data.data(), frame.data.size());
  MatrixView views[] = {frame.view(), frame.view(), frame.view()};
  views[1].data = here.data();
  views[2].data = there.data();
  views[1].memory = views[2].memory = Memory::device;

  MatchSettings turned = several();
  turned.poses.angle_extent = 20;
  for (const MatchSettings& settings : {several(), turned})
    for (const int count : {1, 11}) {
      const Templates templates(count, !settings.poses.any());
      Matcher one = std::move(Matcher::create(first).value());
      const std::vector<Peak> expected = find(one, templates, settings);
      EXPECT_FALSE(expected.empty());
      MultiMatcher both = matcher_of({first, second});
      for (const MatrixView& view : views) {
        expect_identical(find(both, templates, settings, view), expected);
        expect_identical(find(one, templates, settings, view), expected);
      }
      Response of_one, of_both;
      for (int i = 0; i < count; ++i) {
        ASSERT_TRUE(one.respond(views[1], i, of_one).ok());
        ASSERT_TRUE(both.respond(views[1], i, of_both).ok());
        EXPECT_EQ(of_both.values, of_one.values);
      }
    }
}

/// Turned over: its last row comes first.
TEST(MultiMatcherTest, UpwardsOnAnotherGpu) {
  const auto gpus = open_devices(Backend::cuda);
  if (!gpus.ok() || gpus.value().size() < 2) GTEST_SKIP() << "there are no two GPUs";
  ASSERT_TRUE(make_current(gpus.value()[1]).ok());
  Bytes over(frame.size);
  for (int y = 0; y < frame.size.height; ++y)
    for (int x = 0; x < frame.size.width; ++x)
      over.at(x, y) = frame.at(x, frame.size.height - 1 - y);
  const Block there = upload(gpus.value()[1], over.data.data(), over.data.size());
  MatrixView view = frame.view();
  view.data = there.as<std::uint8_t>() + (frame.size.height - 1) * view.pitch;
  view.pitch = -view.pitch;
  view.memory = Memory::device;
  ASSERT_TRUE(make_current(gpus.value()[0]).ok());
  Matcher one = std::move(Matcher::create(gpus.value()[0]).value());
  const std::vector<Peak> expected = find(one, Templates(3), several());
  expect_identical(find(one, Templates(3), several(), view), expected);
}

}  // namespace
}  // namespace api

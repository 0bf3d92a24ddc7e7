// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Turned and scaled parts in frames of 16 bits and of floats, as cameras and microscopes give them.
#include <xcorr/live_template.hpp>

#include "posed_scene.hpp"

namespace api {
namespace {

const std::vector<Pose> parts = {
    {60.3, 50.7, 0, 1}, {160.25, 60.5, 33.3, 1}, {240, 170, 120, 1}, {70.8, 180.1, -95.6, 1}};
constexpr Size frame_size{300, 240};

/// What a camera makes of gray levels, see Scene::image().
struct Camera {
  double gain, offset;
};

class PoseTypesTest : public BackendTest {
 protected:
  template <class T>
  static std::vector<Peak> match(const Device& on, const Image<T>& frame, const Image<T>& pattern,
                                 const MatchSettings& settings, const Bytes* mask = nullptr) {
    Matcher matcher = std::move(Matcher::create(on).value());
    const MatrixView view = pattern.view(), mask_view = mask ? mask->view() : MatrixView{};
    EXPECT_TRUE(matcher.set_templates({&view, 1}, {&mask_view, 1}).ok());
    const Status prepared = matcher.prepare(view.type, frame.size, settings);
    EXPECT_TRUE(prepared.ok()) << prepared.message();
    std::vector<Peak> peaks;
    EXPECT_TRUE(matcher.enqueue(frame.view()).ok());
    const Status collected = matcher.collect(peaks);
    EXPECT_TRUE(collected.ok()) << collected.message();
    return peaks;
  }
  template <class T>
  void expect_found(const Scene& scene, Camera camera, const MatchSettings& settings) {
    SCOPED_TRACE(camera.gain);
    const auto pattern = scene.part_image<T>(camera.gain, camera.offset);
    const Bytes mask = scene.disc();
    expect_parts(match(device, scene.image<T>(frame_size, camera.gain, camera.offset), pattern,
                       settings, scene.round ? &mask : nullptr),
                 scene);
  }
};
ON_EACH_BACKEND(PoseTypesTest);

/// Of 12 bits, of 16, and half as many levels far from black; shares of white, and little of much.
TEST_P(PoseTypesTest, PartsAtAnyAngle) {
  const Scene scene{.poses = parts};
  for (const Camera camera : {Camera{16, 0}, {257, 0}, {0.5, 40000}})
    expect_found<std::uint16_t>(scene, camera, all_round(8));
  for (const Camera camera : {Camera{1 / 255.0, 0}, {-1, 1e4}, {1e-20, 0}})
    expect_found<float>(scene, camera, all_round(8));
}

TEST_P(PoseTypesTest, RoundPartsOfAnySize) {
  MatchSettings settings = all_round(4);
  settings.poses.scale_min = 0.8;
  settings.poses.scale_max = 1.25;
  const Scene scene{
      .part = {41, 41}, .round = true, .poses = {{60.3, 50.7, 10, 0.85}, {180.25, 120.5, 75, 1.2}}};
  expect_found<std::uint16_t>(scene, {16, 0}, settings);
  expect_found<float>(scene, {1 / 255.0, 0}, settings);
}

TEST_P(PoseTypesTest, EverythingAtFullSize) {
  MatchSettings settings = all_round(8);
  settings.poses.exhaustive = true;
  settings.poses.angle_start = 20;
  settings.poses.angle_extent = 30;
  const Scene scene{.poses = {parts[1]}};
  expect_found<std::uint16_t>(scene, {16, 3}, settings);
  expect_found<float>(scene, {0.1, -3}, settings);
}

/// All sums are of the same integers. Where bytes are searched coarsely, words have peaks; they
/// lead to the same places.
TEST_P(PoseTypesTest, WordsThatAreBytes) {
  const Scene scene{.poses = parts};
  const Bytes frame = scene.frame(frame_size), pattern = scene.pattern();
  const auto words_of = [](const Bytes& bytes) {
    Image<std::uint16_t> words(bytes.size);
    std::ranges::copy(bytes.data, words.data.begin());
    return words;
  };
  for (const Method method : {Method::sqdiff_normed, Method::ccorr_normed, Method::ccoeff_normed}) {
    MatchSettings settings = all_round(4);
    settings.method = method;
    settings.threshold = 0.9;
    const auto expected = match(device, frame, pattern, settings);
    const auto got = match(device, words_of(frame), words_of(pattern), settings);
    ASSERT_EQ(got.size(), expected.size());
    ASSERT_FALSE(got.empty());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].score, expected[i].score);
      EXPECT_NEAR(got[i].pose.center_x, expected[i].pose.center_x, 1e-3);
      EXPECT_NEAR(got[i].pose.center_y, expected[i].pose.center_y, 1e-3);
      EXPECT_NEAR(got[i].pose.angle, expected[i].pose.angle, 1e-2);
    }
  }
}

/// Also where only the low bytes differ.
TEST_P(PoseTypesTest, UprightCopiesScoreOne) {
  auto frame = random_image<std::uint16_t>({120, 90}, 5);
  for (auto& pixel : frame.data) pixel = static_cast<std::uint16_t>(0x5a00 | (pixel & 0xff));
  const Rect place{31, 22, 24, 20};
  MatchSettings settings = all_round(1);
  settings.poses.angle_extent = 90;
  const auto peaks = match(device, frame, crop(frame, place), settings);
  ASSERT_EQ(peaks.size(), 1u);
  EXPECT_EQ(peaks[0].score, 1);
  EXPECT_NEAR(peaks[0].x, place.x, 1e-4);
  EXPECT_NEAR(peaks[0].y, place.y, 1e-4);
}

TEST_P(PoseTypesTest, PartsOfEitherContrast) {
  Scene scene{.poses = {parts[0], parts[1]}};
  scene.positives = 1;
  MatchSettings settings = all_round(4);
  settings.polarity = Polarity::either;
  expect_found<std::uint16_t>(scene, {16, 100}, settings);
  expect_found<float>(scene, {16, 100}, settings);
}

TEST_P(PoseTypesTest, FlatPlacesAreNoMatch) {
  const Scene scene{.poses = {parts[0], parts[2]}};
  auto frame = scene.image<std::uint16_t>(frame_size, 16, 0);
  for (int y = 120; y < frame_size.height; ++y)
    for (int x = 120; x < frame_size.width; ++x)
      frame.at(x, y) = static_cast<std::uint16_t>(2000 + frame.at(x, y) / 8);
  const auto pattern = scene.part_image<std::uint16_t>(16, 0);
  MatchSettings settings = all_round(4);
  EXPECT_EQ(match(device, frame, pattern, settings).size(), 2u);
  settings.min_contrast = 16 * 20;  // there are some 50 gray levels of 8 bits, and 6
  EXPECT_EQ(match(device, frame, pattern, settings).size(), 1u);
}

/// At no pose, though its images have something of what lies outside at the mask's rim.
TEST_P(PoseTypesTest, NothingIsLikeAMaskedFlatPart) {
  const auto expect_nothing = [&]<class T>(double gain) {
    const Scene scene{.poses = parts};
    auto pattern = scene.part_image<T>(gain, 0);
    Bytes mask(pattern.size);
    for (int y = 4; y + 4 < mask.size.height; ++y)
      for (int x = 4; x + 4 < mask.size.width; ++x) {
        mask.at(x, y) = 255;
        pattern.at(x, y) = static_cast<T>(90 * gain);
      }
    const auto frame = scene.image<T>(frame_size, gain, 0);
    for (const double first : {0.0, 10.0, 45.0}) {
      MatchSettings settings = all_round(4);
      settings.threshold = 0.1;
      settings.poses.angle_start = first;
      settings.poses.angle_extent = 30;
      EXPECT_TRUE(match(device, frame, pattern, settings, &mask).empty()) << first;
    }
  };
  expect_nothing.operator()<std::uint8_t>(1);
  expect_nothing.operator()<std::uint16_t>(16);
  expect_nothing.operator()<float>(0.1);
}

/// A template that showed something else takes up what lies at a pose, and is found at others.
TEST_P(PoseTypesTest, LearntAtAPose) {
  const Scene scene{.poses = {parts[1], parts[2]}};
  const auto learn = [&]<class T>(double gain, double offset) {
    const auto frame = scene.image<T>(frame_size, gain, offset);
    const auto pattern = scene.part_image<T>(gain, offset);
    const auto live =
        std::move(LiveTemplate::create(device, random_image<T>(scene.part, 3).view()).value());
    Matcher matcher = std::move(Matcher::create(device).value());
    const std::shared_ptr<const LiveTemplate> bank[] = {live};
    ASSERT_TRUE(matcher.set_templates(bank).ok());
    MatchSettings settings = all_round(2);
    settings.poses.pyramid_levels = 2;  // noise bears none
    ASSERT_TRUE(matcher.prepare(element_type<T>, frame_size, settings).ok());
    const auto peaks = [&] {
      std::vector<Peak> found;
      EXPECT_TRUE(matcher.enqueue(frame.view()).ok());
      EXPECT_TRUE(matcher.collect(found).ok());
      return found;
    };
    EXPECT_TRUE(peaks().empty());
    const auto patch = live->cut(frame.view(), scene.poses[0]);
    ASSERT_TRUE(patch.ok()) << patch.status().message();
    ASSERT_TRUE(live->blend(patch.value(), 0, 0, 1).ok());
    Image<T> now(scene.part);
    ASSERT_TRUE(live->read(now.data.data()).ok());
    for (int y = 2; y + 2 < scene.part.height; ++y)  // background shows through at the rim
      for (int x = 2; x + 2 < scene.part.width; ++x)
        ASSERT_NEAR(now.at(x, y), pattern.at(x, y), 8 * gain);
    expect_parts(peaks(), scene);
  };
  learn.operator()<std::uint16_t>(16, 1000);
  learn.operator()<float>(0.01, -1);
}

/// As large templates of 16 bits are.
TEST_P(PoseTypesTest, ImagesPastWhatIsExact) {
  Matcher matcher = std::move(Matcher::create(device).value());
  const auto pattern = random_image<std::uint16_t>({800, 700}, 4);
  const MatrixView view = pattern.view();
  ASSERT_TRUE(matcher.set_templates({&view, 1}).ok());
  MatchSettings settings;
  settings.poses.scale_min = settings.poses.scale_max = 2;
  settings.poses.pyramid_levels = 0;
  EXPECT_EQ(matcher.prepare(ElementType::u16, {2000, 1700}, settings).message(),
            "images of 1600x1400 pixels of u16: at most 2097152 are searched, of more as f32 or "
            "halved");
}

TEST_P(PoseTypesTest, SameAsOnTheCpu) {
  const Scene scene{.poses = parts};
  const auto compare = [&]<class T>(double share) {
    const auto frame = scene.image<T>(frame_size, 16, 0), pattern = scene.part_image<T>(16, 0);
    const auto here = match(device, frame, pattern, all_round(8));
    const auto there = match(Device{}, frame, pattern, all_round(8));
    ASSERT_EQ(here.size(), there.size());
    for (std::size_t i = 0; i < here.size(); ++i) {
      EXPECT_NEAR(here[i].score, there[i].score, share);
      EXPECT_NEAR(here[i].pose.center_x, there[i].pose.center_x, 1e-3);
      EXPECT_NEAR(here[i].pose.center_y, there[i].pose.center_y, 1e-3);
      EXPECT_NEAR(here[i].pose.angle, there[i].pose.angle, 1e-2);
    }
  };
  compare.operator()<std::uint16_t>(0);
  compare.operator()<float>(1e-5);
}

}  // namespace
}  // namespace api

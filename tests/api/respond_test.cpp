// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Matcher::respond(): the thresholds that the scores reach, by the definition, at every position;
// and its contract: settings, banks, errors, frames enqueued meanwhile.
#include <cmath>
#include <optional>

#include "definition.hpp"
#include "device/runtime.hpp"

namespace api {
namespace {

using Bytes = Image<std::uint8_t>;

class RespondTest : public TargetTest {
 protected:
  const Bytes frame = random_image<std::uint8_t>({60, 44}, 1);
  const Bytes pattern = crop(frame, {20, 10, 9, 8});
  const Bytes second = crop(frame, {41, 30, 7, 12});
  std::optional<Matcher> made;

  Matcher& matcher() { return *made; }

  void SetUp() override {
    TargetTest::SetUp();
    if (IsSkipped()) return;
    auto created = Matcher::create(device);
    ASSERT_TRUE(created.ok()) << created.status().message();
    made = std::move(created.value());
    const MatrixView views[] = {pattern.view(), second.view()};
    ASSERT_TRUE(matcher().set_templates(views).ok());
  }
  Status prepare(const MatchSettings& s) {
    return api::prepare(matcher(), ElementType::u8, frame.size, s);
  }
  Response respond(std::uint32_t index = 0) {
    Response response;
    const Status status = matcher().respond(frame.view(), index, response);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(response.values.size(), std::size_t(response.places.size().area()));
    return response;
  }
  std::vector<Peak> peaks() { return peaks_in(matcher(), frame.view()); }
};

INSTANTIATE_TEST_SUITE_P(Kernels, RespondTest, testing::ValuesIn(targets()), name_of);

float value_at(const Response& r, int x, int y) {
  return r.values[std::size_t(y - r.places.y) * r.places.width + (x - r.places.x)];
}

/// A limit is linear in the threshold.
double defined_response(Method method, const Bytes& frame, int x, int y, const Bytes& pattern) {
  MatchSettings none, all;
  none.method = all.method = method;
  none.threshold = 0;
  all.threshold = 1;
  const double origin = defined_limit(none, pattern);
  return (defined_score(method, frame, x, y, pattern) - origin) /
         (defined_limit(all, pattern) - origin);
}

TEST_P(RespondTest, ValuesAreTheDefinitions) {
  for (const MethodInfo& method : methods()) {
    MatchSettings s = settings(method.method);
    ASSERT_TRUE(prepare(s).ok());
    for (const Bytes* bytes : {&pattern, &second}) {
      const Response r = respond(bytes == &second);
      ASSERT_EQ(r.places, (Rect{0, 0, 60 - bytes->size.width + 1, 44 - bytes->size.height + 1}));
      for (int y = 0; y < r.places.height; ++y)
        for (int x = 0; x < r.places.width; ++x)
          ASSERT_NEAR(value_at(r, x, y), defined_response(method.method, frame, x, y, *bytes), 1e-4)
              << method.name << " at " << x << "," << y;
    }
    // Exact copies.
    EXPECT_FLOAT_EQ(value_at(respond(0), 20, 10), 1) << method.name;
    EXPECT_FLOAT_EQ(value_at(respond(1), 41, 30), 1) << method.name;
  }
}

/// By score(), into host memory that is `gap` values wider than its rows.
std::vector<float> scores_of(Matcher& matcher, const Bytes& frame, std::uint32_t index,
                             int gap = 0) {
  const Size size = matcher.places(index).size();
  std::vector<float> padded(std::size_t(size.width + gap) * size.height, -7), scores;
  const ScoreMap map{padded.data(), std::ptrdiff_t(sizeof(float)) * (size.width + gap)};
  const Status status = matcher.score(frame.view(), index, map);
  EXPECT_TRUE(status.ok()) << status.message();
  for (int y = 0; y < size.height; ++y) {
    const auto row = padded.begin() + std::ptrdiff_t{y} * (size.width + gap);
    scores.insert(scores.end(), row, row + size.width);
    for (int i = 0; i < gap; ++i) EXPECT_EQ(row[size.width + i], -7);
  }
  return scores;
}

TEST_P(RespondTest, ScoresAreTheDefinitions) {
  for (const MethodInfo& method : methods()) {
    ASSERT_TRUE(prepare(settings(method.method)).ok());
    for (const Bytes* bytes : {&pattern, &second}) {
      const std::uint32_t index = bytes == &second;
      const Rect places = matcher().places(index);
      ASSERT_EQ(places, (Rect{0, 0, 60 - bytes->size.width + 1, 44 - bytes->size.height + 1}));
      const std::vector<float> scores = scores_of(matcher(), frame, index);
      EXPECT_EQ(scores_of(matcher(), frame, index, 3), scores);
      for (int y = 0; y < places.height; ++y)
        for (int x = 0; x < places.width; ++x) {
          const double defined = defined_score(method.method, frame, x, y, *bytes);
          // One rounding of the exact value; the normed ones have another in the definition.
          ASSERT_NEAR(scores[std::size_t(y) * places.width + x], defined,
                      1e-6 * std::max(1.0, std::abs(defined)))
              << method.name << " at " << x << "," << y;
        }
    }
  }
}

TEST_P(RespondTest, ScoresInMemoryOfTheDevice) {
  ASSERT_TRUE(prepare(settings()).ok());
  const Size size = matcher().places(0).size();
  const std::vector<float> expected = scores_of(matcher(), frame, 0);
  auto stream = runtime(device.backend).create_stream();
  ASSERT_TRUE(stream.ok());
  for (const int gap : {0, 5}) {
    const std::size_t row = sizeof(float) * (size.width + gap);
    auto block = Block::make(device.backend, row * size.height);
    ASSERT_TRUE(block.ok());
    const ScoreMap map{block.value().as<float>(), std::ptrdiff_t(row), Memory::device};
    ASSERT_TRUE(matcher().score(frame.view(), 0, map, stream.value()).ok());
    std::vector<float> got(expected.size());
    const std::size_t dense = sizeof(float) * size.width;
    ASSERT_TRUE(runtime(device.backend)
                    .copy({got.data(), std::ptrdiff_t(dense), map.data, map.pitch, dense,
                           std::size_t(size.height)},
                          Memory::device, Memory::host, stream.value())
                    .ok());
    ASSERT_TRUE(runtime(device.backend).wait(stream.value()).ok());
    EXPECT_EQ(got, expected);
  }
  runtime(device.backend).destroy_stream(stream.value());
}

TEST_P(RespondTest, FollowsTheSettings) {
  MatchSettings s = settings();
  ASSERT_TRUE(prepare(s).ok());
  const Response whole = respond();
  s.search_region = {10, 5, 30, 25};
  ASSERT_TRUE(prepare(s).ok());
  Response part = respond();
  EXPECT_EQ(part.places, (Rect{10, 5, 22, 18}));
  for (int y = 5; y < 23; ++y)
    for (int x = 10; x < 32; ++x) ASSERT_EQ(value_at(part, x, y), value_at(whole, x, y));
  s.search_region.x = 15;  // which needs no new plan
  ASSERT_TRUE(prepare(s).ok());
  part = respond();
  EXPECT_EQ(part.places, (Rect{15, 5, 22, 18}));
  EXPECT_EQ(value_at(part, 20, 10), value_at(whole, 20, 10));
  s.search_region = {};
  s.prefilter_sigma = 1;
  ASSERT_TRUE(prepare(s).ok());
  const Peak peak = peaks().at(0);
  EXPECT_NEAR(value_at(respond(), int(peak.x), int(peak.y)), peak.score, 1e-6);
  EXPECT_LT(peak.score, 1);
}

TEST_P(RespondTest, TheGreatestValueIsThePeak) {
  ASSERT_TRUE(prepare(settings()).ok());
  const Peak peak = peaks().at(0);
  const Response r = respond();
  const auto greatest = std::max_element(r.values.begin(), r.values.end()) - r.values.begin();
  EXPECT_EQ(peak.x, greatest % r.places.width);
  EXPECT_EQ(peak.y, greatest / r.places.width);
}

TEST_P(RespondTest, LeavesAnEnqueuedFrameAlone) {
  ASSERT_TRUE(prepare(settings()).ok());
  const auto expected = peaks();
  ASSERT_TRUE(matcher().enqueue(frame.view()).ok());
  respond(0);
  respond(1);
  std::vector<Peak> got;
  ASSERT_TRUE(matcher().collect(got).ok());
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].x, expected[i].x);
}

TEST_P(RespondTest, WhatCannotMatchHasNone) {
  const Bytes flat({5, 5}, 77), large({61, 3}, 1);
  const MatrixView views[] = {flat.view(), large.view()};
  ASSERT_TRUE(matcher().set_templates(views).ok());
  for (const Method method : {Method::ccoeff, Method::ccoeff_normed}) {
    ASSERT_TRUE(prepare(settings(method)).ok());
    for (const float value : respond(0).values) ASSERT_EQ(value, 0);
    EXPECT_TRUE(respond(1).places.empty());
  }
}

TEST_P(RespondTest, Errors) {
  Response response;
  EXPECT_EQ(matcher().respond(frame.view(), 0, response).code(), Code::invalid_argument);
  ASSERT_TRUE(prepare(settings()).ok());
  EXPECT_EQ(matcher().respond(frame.view(), 2, response).code(), Code::invalid_argument);
  EXPECT_EQ(matcher().respond(second.view(), 0, response).code(), Code::invalid_argument);
  std::vector<float> scores(60 * 44);
  const auto score = [&](float* data, std::ptrdiff_t pitch) {
    return matcher().score(frame.view(), 0, {data, pitch}).code();
  };
  EXPECT_EQ(score(nullptr, 60 * 4), Code::invalid_argument);
  EXPECT_EQ(score(scores.data(), 52 * 4 - 1), Code::invalid_argument);
  EXPECT_EQ(score(scores.data(), 52 * 4), Code::ok);
  EXPECT_TRUE(matcher().places(2).empty());
  const MatrixView view = second.view();
  respond();
  ASSERT_TRUE(matcher().set_templates({&view, 1}).ok());
  EXPECT_EQ(matcher().respond(frame.view(), 0, response).code(), Code::invalid_argument);
}

}  // namespace
}  // namespace api

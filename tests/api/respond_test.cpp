// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Matcher::respond(): the thresholds that the scores reach, by the definition, at every position;
// and its contract: settings, banks, errors, frames enqueued meanwhile.
#include <cmath>
#include <optional>

#include "definition.hpp"

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
  std::vector<Peak> peaks() {
    std::vector<Peak> peaks;
    EXPECT_TRUE(matcher().enqueue(frame.view()).ok());
    EXPECT_TRUE(matcher().collect(peaks).ok());
    return peaks;
  }
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
  const MatrixView view = second.view();
  respond();
  ASSERT_TRUE(matcher().set_templates({&view, 1}).ok());
  EXPECT_EQ(matcher().respond(frame.view(), 0, response).code(), Code::invalid_argument);
}

}  // namespace
}  // namespace api

// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A bank whose spectra no GPU can hold is refused with a Status, and the matcher remains usable.
#include "support.hpp"

namespace api {
namespace {

TEST(OutOfMemory, IsAStatusAndTheMatcherGoesOn) {
  auto device = open_device(Backend::cuda);
  if (!device.ok()) GTEST_SKIP() << device.status().message();
  ASSERT_TRUE(make_current(device.value()).ok());
  MatchSettings settings;
  settings.kernel = "fft";
  settings.subpixel = false;

  const auto frame = random_image<std::uint8_t>({4096, 4096}, 1);
  const auto pattern = crop(frame, {1234, 567, 8, 8});
  const MatrixView view = pattern.view();
  auto matcher = Matcher::create(device.value());
  ASSERT_TRUE(matcher.ok());

  const std::vector<MatrixView> many(8000, view);  // 67 MB of spectrum each
  ASSERT_TRUE(matcher.value().set_templates(many).ok());
  const Status status = matcher.value().prepare(ElementType::u8, frame.size, settings);
  EXPECT_EQ(status.code(), Code::out_of_memory);
  EXPECT_NE(status.message().find("device memory: out of memory"), std::string::npos)
      << status.message();

  ASSERT_TRUE(matcher.value().set_templates({&view, 1}).ok());
  ASSERT_TRUE(matcher.value().prepare(ElementType::u8, frame.size, settings).ok());
  ASSERT_TRUE(matcher.value().enqueue(frame.view()).ok());
  std::vector<Peak> peaks;
  ASSERT_TRUE(matcher.value().collect(peaks).ok());
  ASSERT_EQ(peaks.size(), 1u);
  EXPECT_EQ(peaks[0].x, 1234);
  EXPECT_EQ(peaks[0].y, 567);
  EXPECT_EQ(peaks[0].score, 1.0);
}

}  // namespace
}  // namespace api

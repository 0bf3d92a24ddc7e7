// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Memory that cannot be had, on a GPU or the host, is a Status, and the matcher remains usable.
#include <malloc.h>

#include <xcorr/image.hpp>

#include "../address_space.hpp"
#include "support.hpp"

namespace api {
namespace {

TEST(OutOfMemory, IsAStatusAndTheMatcherGoesOn) {
  auto device = open_device(Backend::cuda);
  if (!device.ok()) GTEST_SKIP() << device.status().message();
  ASSERT_TRUE(make_current(device.value()).ok());
  MatchSettings settings;
  settings.kernel = "fft";
  settings.subpixel = Subpixel::none;
  settings.budget.max_memory = 0;

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
  const std::vector<Peak> peaks = peaks_in(matcher.value(), frame.view());
  ASSERT_EQ(peaks.size(), 1u);
  EXPECT_EQ(peaks[0].x, 1234);
  EXPECT_EQ(peaks[0].y, 567);
  EXPECT_EQ(peaks[0].score, 1.0);
}

/// Each of the allocations on the way fails once, as the limit grows.
TEST(OutOfMemory, OfTheHostIsAStatus) {
  const Device device = open_device(Backend::cpu).value();
  // Large blocks are the system's each time.
  mallopt(M_MMAP_THRESHOLD, 1 << 17);
  const auto frame = random_image<std::uint8_t>({1500, 1200}, 1);
  const auto pattern = crop(frame, {400, 300, 900, 700});
  const MatrixView view = pattern.view();
  auto matcher = Matcher::create(device);
  ASSERT_TRUE(matcher.ok());
  Response response;
  const auto attempt = [&] {
    if (Status s = matcher.value().set_templates({&view, 1}); !s.ok()) return s;
    if (Status s = matcher.value().prepare(ElementType::u8, frame.size, {}); !s.ok()) return s;
    if (Status s = matcher.value().enqueue(frame.view()); !s.ok()) return s;
    std::vector<Peak> peaks;
    if (Status s = matcher.value().collect(peaks); !s.ok()) return s;
    response = {};
    return matcher.value().respond(frame.view(), 0, response);
  };
  ASSERT_TRUE(attempt().ok());  // what is made once for all is there
  response = {};
  const FreedMemory taken;  // what earlier tests freed would count as had
  int failed = 0;
  for (std::size_t left = 1 << 20;; left += 1 << 19) {
    Status status;
    {
      const AddressSpace space(left);
      status = attempt();
    }
    if (status.ok()) break;
    ASSERT_EQ(status.code(), Code::out_of_memory) << status.message();
    ++failed;
  }
  EXPECT_GT(failed, 0);
  EXPECT_EQ(response.values.size(), 601u * 501u);
}

TEST(OutOfMemory, ImagesAreCheckedWithoutAny) {
  const auto large = Image<std::uint8_t>({8000, 8000}, 7);
  const AddressSpace space(1 << 20);
  EXPECT_TRUE(is_flat(large.view()));
}

}  // namespace
}  // namespace api

// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Parts of frames in any host memory arrive unchanged in the device's memory; ordinary memory may
// be reused as soon as the read is enqueued.
#include <algorithm>

#include "match/frame_reader.hpp"
#include "support.hpp"

namespace api {
namespace {

using Bytes = Image<std::uint8_t>;

class FrameReaderTest : public BackendTest {
 protected:
  /// Larger than one upload; an odd pitch.
  static constexpr Size size{1001, 1300};

  void SetUp() override {
    BackendTest::SetUp();
    if (IsSkipped()) return;
    reader = std::move(FrameReader::make(device, ElementType::u8, size).value());
  }
  /// Enqueued: the result is valid after a wait.
  Bytes read(const MatrixView& frame, const Rect& part) {
    const Runtime& r = runtime(device.backend);
    Bytes out(part.size());
    const auto rows = reader.read(frame, part, {});
    EXPECT_TRUE(rows.ok());
    const Copy back{out.data.data(),
                    part.width,
                    rows.value().data,
                    rows.value().pitch,
                    static_cast<std::size_t>(part.width),
                    static_cast<std::size_t>(part.height)};
    EXPECT_TRUE(r.copy(back, Memory::device, Memory::host, {}).ok());
    return out;
  }
  void wait() { EXPECT_TRUE(runtime(device.backend).wait({}).ok()); }

  FrameReader reader;
};

constexpr Rect parts[] = {
    {0, 0, 1001, 1300}, {3, 5, 998, 700}, {1000, 1299, 1, 1}, {17, 9, 65, 63}};

TEST_P(FrameReaderTest, OrdinaryMemory) {
  for (const Rect& part : parts) {
    const Bytes frame = random_image<std::uint8_t>(size, 1);
    const Bytes found = read(frame.view(), part);
    wait();
    EXPECT_TRUE(found.data == crop(frame, part).data) << part.width << 'x' << part.height;
  }
}

TEST_P(FrameReaderTest, OrdinaryMemoryOfOneFrameAfterTheOther) {
  if (device.backend == Backend::cpu) GTEST_SKIP() << "frames are read where they lie";
  Bytes frame({1001, 1300});
  std::vector<Bytes> found, expected;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    frame.data = random_image<std::uint8_t>(size, seed).data;
    const Rect& part = parts[seed % std::size(parts)];
    expected.push_back(crop(frame, part));
    found.push_back(read(frame.view(), part));
  }
  wait();
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_TRUE(found[i].data == expected[i].data) << i;
}

TEST_P(FrameReaderTest, PinnedMemory) {
  const Bytes frame = random_image<std::uint8_t>(size, 1);
  void* memory = allocate_host(device, frame.data.size()).value();
  std::copy(frame.data.begin(), frame.data.end(), static_cast<std::uint8_t*>(memory));
  EXPECT_TRUE(runtime(device.backend).is_pinned(memory, frame.data.size()));
  MatrixView view = frame.view();
  view.data = memory;
  const Bytes found = read(view, parts[1]);
  wait();
  EXPECT_TRUE(found.data == crop(frame, parts[1]).data);
  release_host(device, memory);
}

TEST_P(FrameReaderTest, MemoryIsToldApart) {
  if (device.backend == Backend::cpu) GTEST_SKIP() << "all memory is alike";
  const Bytes frame({64, 64});
  EXPECT_FALSE(runtime(device.backend).is_pinned(frame.data.data(), 1));
}

/// What others have allocated, and only while it is registered.
TEST_P(FrameReaderTest, RegisteredMemory) {
  Bytes frame = random_image<std::uint8_t>(size, 1);
  auto* const memory = frame.data.data();
  const std::size_t bytes = frame.data.size();
  const Status status = register_host(device, memory, bytes);
  ASSERT_TRUE(status.ok()) << status.message();
  const Bytes found = read(frame.view(), parts[1]);
  wait();
  EXPECT_TRUE(found.data == crop(frame, parts[1]).data);
  if (device.backend == Backend::cuda) {
    EXPECT_TRUE(runtime(device.backend).is_pinned(memory, bytes));
    EXPECT_FALSE(register_host(device, memory, bytes).ok());
  }
  unregister_host(device, memory);
  if (device.backend == Backend::cuda)
    EXPECT_FALSE(runtime(device.backend).is_pinned(memory, bytes));
  // Half of it is not enough.
  ASSERT_TRUE(register_host(device, memory, bytes / 2).ok());
  const Bytes again = read(frame.view(), parts[1]);
  wait();
  EXPECT_TRUE(again.data == crop(frame, parts[1]).data);
  unregister_host(device, memory);
}

ON_EACH_BACKEND(FrameReaderTest);

}  // namespace
}  // namespace api

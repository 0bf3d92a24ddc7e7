// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the tests of the public interface share: images, devices, the kernels to test, which
// problems these may refuse, and simple functions to correlate and match data in host memory.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <ostream>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include <xcorr/correlate.hpp>
#include <xcorr/filter.hpp>
#include <xcorr/match.hpp>

#include "device/runtime.hpp"
#include "select/select.hpp"

namespace api {

using namespace xcorr;

template <class T>
inline constexpr ElementType element_type = sizeof(T) == 1   ? ElementType::u8
                                            : sizeof(T) == 2 ? ElementType::u16
                                            : sizeof(T) == 4 ? ElementType::f32
                                                             : ElementType::f64;

/// A dense matrix that owns its elements.
template <class T>
struct Image {
  Size size;
  std::vector<T> data;

  explicit Image(Size s, T value = 0) : size(s), data(static_cast<std::size_t>(s.area()), value) {}
  Image(Size s, std::vector<T> values) : size(s), data(std::move(values)) {}

  T& at(int x, int y) { return data[static_cast<std::size_t>(y) * size.width + x]; }
  T at(int x, int y) const { return data[static_cast<std::size_t>(y) * size.width + x]; }
  MatrixView view() const {
    return {data.data(), element_type<T>, size, static_cast<std::ptrdiff_t>(size.width * sizeof(T)),
            Memory::host};
  }
};

/// u8: any byte; f32: uniform in [0, 255).
template <class T>
Image<T> random_image(Size size, unsigned seed) {
  std::mt19937 random(seed);
  Image<T> image(size);
  for (T& v : image.data)
    v = sizeof(T) == 1 ? static_cast<T>(random() & 255)
                       : static_cast<T>(static_cast<double>(random()) * (255.0 / 4294967296.0));
  return image;
}

template <class T>
Image<T> crop(const Image<T>& from, Rect r) {
  Image<T> image(r.size());
  for (int y = 0; y < r.height; ++y)
    for (int x = 0; x < r.width; ++x) image.at(x, y) = from.at(r.x + x, r.y + y);
  return image;
}

/// Opens a device for a test's SetUp(); the test is skipped where there is none.
inline void open(Backend backend, Device& device) {
  auto opened = open_device(backend);
  if (!opened.ok()) GTEST_SKIP() << opened.status().message();
  device = opened.value();
  ASSERT_TRUE(make_current(device).ok());
}

/// A test on a device of each backend.
class BackendTest : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override { open(GetParam(), device); }

  Device device;
};
#define ON_EACH_BACKEND(Tests)                               \
  INSTANTIATE_TEST_SUITE_P(                                  \
      , Tests, testing::Values(Backend::cpu, Backend::cuda), \
      [](const auto& info) { return std::string(xcorr::name_of(info.param)); })

// ---- kernels to go through ------------------------------------------------------------------

/// A variant of a backend or `auto`; a test of it is skipped where there is no such device.
struct Target {
  Backend backend;
  std::string kernel;
};

/// For GoogleTest's messages.
inline void PrintTo(const Target& target, std::ostream* out) {
  *out << xcorr::name_of(target.backend) << ' ' << target.kernel;
}

/// The common part of the names of one file's variants.
inline std::string_view family(std::string_view kernel) {
  return kernel.substr(0, kernel.find('.'));
}

/// For each backend `auto` and of each family that matches the first and the last variant, which
/// differ most. checkcorr tests all of them.
inline std::vector<Target> targets() {
  std::vector<Target> list;
  const auto add = [&list](const VariantInfo* v) {
    const auto is_sibling = [&](std::size_t back) {
      return list.size() >= back && list[list.size() - back].backend == v->backend &&
             family(list[list.size() - back].kernel) == family(v->name);
    };
    if (list.empty() || list.back().backend != v->backend) list.push_back({v->backend, "auto"});
    if (is_sibling(1) && is_sibling(2)) list.pop_back();
    list.push_back({v->backend, v->name});
  };
  for (const Backend backend : {Backend::cpu, Backend::cuda}) {
    for (const auto* v : variants_on<stage::Correlate>(backend)) add(v);
    for (const auto* v : variants_on<stage::Search>(backend)) add(v);
  }
  return list;
}

inline std::string name_of(const testing::TestParamInfo<Target>& info) {
  std::string name = std::string(xcorr::name_of(info.param.backend)) + "_" + info.param.kernel;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

class TargetTest : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override { open(GetParam().backend, device); }

  const std::string& kernel() const { return GetParam().kernel; }
  /// For `auto` that is not known.
  bool is_exact() const {
    const Backend backend = GetParam().backend;
    if (find_variant<stage::Search>(backend, kernel())) return true;
    const auto* variant = find_variant<stage::Correlate>(backend, kernel());
    return variant && variant->exact;
  }

  /// For a match by this kernel, to whole pixels.
  MatchSettings settings(Method method = Method::ccoeff_normed) const {
    MatchSettings s;
    s.method = method;
    s.kernel = kernel();
    s.subpixel = Subpixel::none;
    return s;
  }

  Device device;
};

// ---- what kernels may refuse ----------------------------------------------------------------

/// Kernels that support every match. The others support only some: of one type, of narrow rights,
/// of many rights.
inline bool is_general(std::string_view kernel) {
  for (const char* name : {"auto", "direct", "fft", "overlap_wise"})
    if (kernel == name) return true;
  return false;
}

/// If a kernel reports that it cannot do a problem, which it may unless the result is `owed`, ends
/// the test, which counts as skipped unless it has already failed.
inline void skip_if_unable(const Status& status, bool owed) {
  if (owed || status.code() != Code::unsupported) return;
  [&] { GTEST_SKIP() << status.message(); }();  // returns from the lambda only
  throw testing::AssertionException(
      {testing::TestPartResult::kSkip, __FILE__, __LINE__, status.message().c_str()});
}

/// Correlator::create() for a test.
inline Result<Correlator> make_correlator(const Problem& problem, const Device& device,
                                          const std::string& kernel) {
  auto made = Correlator::create(problem, device, kernel);
  const auto* variant = find_variant<stage::Correlate>(device.backend, kernel);
  const bool approximate = variant && !variant->exact;
  skip_if_unable(made.status(),
                 is_general(kernel) && !(approximate && problem.type == ElementType::u8));
  return made;
}

/// Matcher::prepare() for a test.
inline Status prepare(Matcher& matcher, ElementType type, Size frame,
                      const MatchSettings& settings) {
  const Status status = matcher.prepare(type, frame, settings);
  // Only the CPU's FFT is exact, as words must be.
  const bool inexact = type == ElementType::u16 && settings.kernel == "fft";
  skip_if_unable(status, is_general(settings.kernel) && !inexact);
  return status;
}

// ---- plain ways to run ----------------------------------------------------------------------

inline Block upload(const Device& device, const void* from, std::size_t bytes) {
  Block block = std::move(Block::make(device.backend, bytes).value());
  const Runtime& r = runtime(device.backend);
  EXPECT_TRUE(r.copy(bytes_copy(block.data(), from, bytes), Memory::host, Memory::device, {}).ok());
  // Matchers have streams of their own, which do not wait for this one.
  EXPECT_TRUE(r.wait({}).ok());
  return block;
}

/// The products as doubles (exact for all but the largest u64).
inline std::vector<double> correlate(const Problem& problem, const Device& device,
                                     const std::string& kernel, const void* lefts,
                                     const void* rights) {
  auto made = make_correlator(problem, device, kernel);
  if (!made.ok()) {
    ADD_FAILURE() << made.status().message();
    return {};
  }
  Correlator& correlator = made.value();
  EXPECT_TRUE(kernel == "auto" || correlator.kernel() == kernel) << correlator.kernel();
  const std::size_t element = size_of(problem.output_type());
  const auto count = static_cast<std::size_t>(problem.outputs() * problem.shifts.size().area());
  const Block left = upload(device, lefts, problem.left_stride * problem.lefts);
  const Block right = upload(device, rights, problem.right_stride * problem.total_rights());
  std::vector<std::byte> raw(count * element, std::byte{0xff});
  const Block out = upload(device, raw.data(), raw.size());
  const Block workspace =
      std::move(Block::make(device.backend, correlator.workspace_bytes()).value());
  EXPECT_TRUE(correlator.set_rights(right.data()).ok());
  const Status status = correlator.run(left.data(), out.data(), workspace.data());
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(
      runtime(device.backend)
          .copy(bytes_copy(raw.data(), out.data(), raw.size()), Memory::device, Memory::host, {})
          .ok());
  EXPECT_TRUE(runtime(device.backend).wait({}).ok());

  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* at = raw.data() + i * element;
    switch (problem.output_type()) {
      case ElementType::u32:
        values[i] = *reinterpret_cast<const std::uint32_t*>(at);
        break;
      case ElementType::u64:
        values[i] = static_cast<double>(*reinterpret_cast<const std::uint64_t*>(at));
        break;
      default:
        values[i] = *reinterpret_cast<const float*>(at);
    }
  }
  return values;
}

/// The peaks of a frame. Fails the test on any error.
inline std::vector<Peak> peaks_in(Matcher& matcher, const MatrixView& frame, Stream stream = {}) {
  std::vector<Peak> peaks;
  const Status status = matcher.enqueue(frame, stream);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(matcher.collect(peaks).ok());
  return peaks;
}

/// One frame through a matcher: set, prepare, enqueue, collect. Fails the test on any error.
template <class T>
std::vector<Peak> match(const Device& device, std::span<const Image<T>> templates,
                        const Image<T>& frame, const MatchSettings& settings) {
  std::vector<MatrixView> views;
  for (const Image<T>& image : templates) views.push_back(image.view());
  std::vector<Peak> peaks;
  auto matcher = Matcher::create(device);
  const auto succeed = [](const Status& status) {
    EXPECT_TRUE(status.ok()) << status.message();
    return status.ok();
  };
  if (succeed(matcher.status()) && succeed(matcher.value().set_templates(views)) &&
      succeed(prepare(matcher.value(), element_type<T>, frame.size, settings)) &&
      succeed(matcher.value().enqueue(frame.view())))
    succeed(matcher.value().collect(peaks));
  return peaks;
}

/// With masks, of which an empty view is none, and any kernel. `owed`: see skip_if_unable().
template <class T>
std::vector<Peak> match_masked(const Device& device, std::span<const MatrixView> patterns,
                               std::span<const MatrixView> masks, const Image<T>& frame,
                               const MatchSettings& settings, bool owed) {
  Matcher matcher = std::move(Matcher::create(device).value());
  const Status set = matcher.set_templates(patterns, masks);
  EXPECT_TRUE(set.ok()) << set.message();
  const Status prepared = matcher.prepare(element_type<T>, frame.size, settings);
  skip_if_unable(prepared, owed);
  EXPECT_TRUE(prepared.ok()) << prepared.message();
  return peaks_in(matcher, frame.view());
}

template <class T>
std::vector<Peak> match(const Device& device, const Image<T>& pattern, const Image<T>& frame,
                        const MatchSettings& settings) {
  return match<T>(device, std::span(&pattern, 1), frame, settings);
}

/// `tolerance`: of scores; sub-pixel places may be off by a hundred times that.
inline void expect_same(const std::vector<Peak>& got, const std::vector<Peak>& expected,
                        double tolerance = 0) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i].x, expected[i].x, 100 * tolerance) << i;
    EXPECT_NEAR(got[i].y, expected[i].y, 100 * tolerance) << i;
    EXPECT_NEAR(got[i].score, expected[i].score, tolerance) << i;
  }
}

}  // namespace api

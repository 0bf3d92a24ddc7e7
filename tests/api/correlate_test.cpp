// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Correlator: scipy's values, the four forms, rectangles of shifts, errors. Tests are skipped for
// kernels that do not support their problem; each kernel supports at least one of the forms.
#include "support.hpp"

namespace api {
namespace {

class CorrelateTest : public TargetTest {
 protected:
  /// `tolerance` is for variants and types that are not exact.
  void expect_products(const Problem& problem, const void* lefts, const void* rights,
                       const std::vector<double>& expected, double tolerance) {
    const auto got = correlate(problem, device, kernel(), lefts, rights);
    expect_equal(got, expected, tolerance);
  }

  void expect_equal(const std::vector<double>& got, const std::vector<double>& expected,
                    double tolerance) {
    ASSERT_EQ(got.size(), expected.size());
    const double bound = is_exact() ? 0 : tolerance;
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], bound) << i;
  }
};

INSTANTIATE_TEST_SUITE_P(Kernels, CorrelateTest, testing::ValuesIn(targets()), name_of);

// scipy.signal.correlate2d(left, right, mode), scipy 1.10.1.
const std::vector<std::uint8_t> left_bytes = {106, 152, 249, 131, 184, 200, 0,   21,  253, 147,
                                              202, 107, 249, 169, 138, 149, 119, 166, 224, 148};
const std::vector<std::uint8_t> right_bytes = {172, 93, 167, 142, 248, 26};

TEST_P(CorrelateTest, FullIsScipysFull) {
  const std::vector<double> scipy = {2756,  30240, 59222,  86742,  72630,  64234,  26128,  //
                                     22902, 84842, 102897, 82964,  155287, 112026, 52522,  //
                                     38652, 71478, 99601,  125544, 132548, 115409, 44880,  //
                                     37608, 76701, 141264, 133674, 164563, 110414, 44752,  //
                                     24883, 33730, 64417,  73314,  74100,  52292,  25456};
  const Size left{5, 4}, right{3, 2};
  expect_products(
      dense_problem(ElementType::u8, Form::one_to_one, left, right, 1, 1, full_shifts(left, right)),
      left_bytes.data(), right_bytes.data(), scipy, 1);
}

TEST_P(CorrelateTest, ValidIsScipysValid) {
  const std::vector<double> scipy = {102897, 82964,  155287, 99601, 125544,
                                     132548, 141264, 133674, 164563};
  const Size left{5, 4}, right{3, 2};
  expect_products(dense_problem(ElementType::u8, Form::one_to_one, left, right, 1, 1,
                                valid_shifts(left, right)),
                  left_bytes.data(), right_bytes.data(), scipy, 1);
}

TEST_P(CorrelateTest, FullIsScipysFullInFloats) {
  const std::vector<float> left_floats = {-1.75f, 1.5f,   0.75f,  -3.75f, 0.5f,
                                          -2.0f,  -0.75f, -1.75f, 1.5f};
  const std::vector<float> right_floats = {-0.5f, -2.75f, 0.25f, 2.25f, -1.5f, -2.25f, -1.0f, 3.5f};
  const std::vector<double> scipy = {-6.125,  7.0,    1.125,    -0.75,   //
                                     -9.1875, 4.75,   -11.4375, 0.875,   //
                                     1.875,   2.0625, 12.8125,  1.6875,  //
                                     -1.9375, 2.0,    -7.9375,  -3.125,  //
                                     8.625,   -3.625, 8.1875,   1.375,   //
                                     2.0625,  5.1875, -3.25,    -0.75};
  const Size left{3, 3}, right{2, 4};
  expect_products(dense_problem(ElementType::f32, Form::one_to_one, left, right, 1, 1,
                                full_shifts(left, right)),
                  left_floats.data(), right_floats.data(), scipy, 1e-5);
}

/// Part of a flat array of matrices.
template <class T>
std::vector<T> slice(const std::vector<T>& all, std::int64_t index, Size size) {
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(index * size.area());
  return {first, first + static_cast<std::ptrdiff_t>(size.area())};
}

class FormsTest : public CorrelateTest {
 protected:
  static constexpr Size left{12, 9}, right{4, 5};

  static Problem problem(ElementType type, Form form, int lefts, int rights) {
    return dense_problem(type, form, left, right, lefts, rights, full_shifts(left, right));
  }

  /// By the definition.
  template <class T>
  static std::vector<double> products_of(const std::vector<T>& l, const std::vector<T>& r) {
    std::vector<double> products;
    const Rect shifts = full_shifts(left, right);
    for (int dy = shifts.y; dy < shifts.y + shifts.height; ++dy)
      for (int dx = shifts.x; dx < shifts.x + shifts.width; ++dx) {
        double& sum = products.emplace_back(0);
        for (int j = std::max(0, -dy); j < std::min(right.height, left.height - dy); ++j)
          for (int i = std::max(0, -dx); i < std::min(right.width, left.width - dx); ++i)
            sum += double(l[(j + dy) * left.width + i + dx]) * r[j * right.width + i];
      }
    return products;
  }

  /// Integers, whose products no type rounds; each output is compared with the definition of its
  /// pair's.
  template <class T>
  void expect_pairs(Form form, int lefts, int rights) {
    const Problem many = problem(element_type<T>, form, lefts, rights);
    const auto numbers = [](Size size, std::int64_t count, unsigned seed) {
      const auto bytes =
          random_image<std::uint8_t>({size.width, size.height * static_cast<int>(count)}, seed);
      return std::vector<T>(bytes.data.begin(), bytes.data.end());
    };
    const auto all_lefts = numbers(left, lefts, 1);
    const auto all_rights = numbers(right, many.total_rights(), 2);
    const auto products = correlate(many, device, kernel(), all_lefts.data(), all_rights.data());
    ASSERT_EQ(products.size(), std::size_t(many.outputs() * many.shifts.size().area()));
    for (int l = 0; l < lefts; ++l)
      for (int r = 0; r < rights; ++r) {
        const int output = l * rights + r;
        const int which = form == Form::n_to_mn ? output : r;
        const auto alone = products_of(slice(all_lefts, l, left), slice(all_rights, which, right));
        SCOPED_TRACE(testing::Message() << "left " << l << ", right " << r);
        expect_equal(slice(products, output, many.shifts.size()), alone, 1);
      }
  }
};

INSTANTIATE_TEST_SUITE_P(Kernels, FormsTest, testing::ValuesIn(targets()), name_of);

TEST_P(FormsTest, OneToManyOfBytes) { expect_pairs<std::uint8_t>(Form::one_to_many, 1, 5); }
TEST_P(FormsTest, OneToManyOfFloats) { expect_pairs<float>(Form::one_to_many, 1, 5); }
TEST_P(FormsTest, RightsOfTheirOwnOfBytes) { expect_pairs<std::uint8_t>(Form::n_to_mn, 2, 3); }
TEST_P(FormsTest, RightsOfTheirOwnOfFloats) { expect_pairs<float>(Form::n_to_mn, 2, 3); }
TEST_P(FormsTest, AllPairsOfBytes) { expect_pairs<std::uint8_t>(Form::n_to_m, 5, 3); }
TEST_P(FormsTest, AllPairsOfFloats) { expect_pairs<float>(Form::n_to_m, 5, 3); }

TEST_P(FormsTest, EachKernelIsForOne) {
  const auto* variant = find_variant<stage::Correlate>(device.backend, kernel());
  if (!variant || variant->extra.quicker_than) GTEST_SKIP() << "of matches alone";
  const Size wide{96, 9};
  int able = 0;
  for (const int columns : {4, 64})
    for (const ElementType type : {ElementType::u8, ElementType::f32, ElementType::f64})
      for (const Form form : {Form::one_to_many, Form::n_to_m}) {
        const Size size{columns, 5};
        const Problem some = dense_problem(type, form, wide, size, form == Form::n_to_m ? 5 : 1, 3,
                                           full_shifts(wide, size));
        able += Correlator::create(some, device, kernel()).ok();
      }
  EXPECT_GT(able, 0);
}

TEST_P(CorrelateTest, RectangleIsPartOfFull) {
  const Size left{20, 17}, right{6, 3};
  const Rect full = full_shifts(left, right), part{-2, 4, 9, 7};
  const auto l = random_image<std::uint8_t>(left, 3), r = random_image<std::uint8_t>(right, 4);
  const auto problem = [&](Rect shifts) {
    return dense_problem(ElementType::u8, Form::one_to_one, left, right, 1, 1, shifts);
  };
  const auto whole = correlate(problem(full), device, kernel(), l.data.data(), r.data.data());
  const auto piece = correlate(problem(part), device, kernel(), l.data.data(), r.data.data());
  std::vector<double> expected;
  for (int y = 0; y < part.height; ++y)
    for (int x = 0; x < part.width; ++x)
      expected.push_back(whole[(part.y - full.y + y) * full.width + (part.x - full.x + x)]);
  expect_equal(piece, expected, 1);
}

TEST_P(CorrelateTest, RightsMayBeReplaced) {
  const Size left{9, 8}, right{3, 3};
  const Problem problem = dense_problem(ElementType::u8, Form::one_to_one, left, right, 1, 1,
                                        valid_shifts(left, right));
  auto correlator = make_correlator(problem, device, kernel());
  ASSERT_TRUE(correlator.ok());
  const auto l = random_image<std::uint8_t>(left, 5);
  const Block lefts = upload(device, l.data.data(), l.data.size());
  const Block workspace =
      std::move(Block::make(device.backend, correlator.value().workspace_bytes()).value());
  const Block out = std::move(Block::make(device.backend, 7 * 6 * 4).value());
  for (const unsigned seed : {6u, 7u}) {
    const auto r = random_image<std::uint8_t>(right, seed);
    const Block rights = upload(device, r.data.data(), r.data.size());
    ASSERT_TRUE(correlator.value().set_rights(rights.data()).ok());
    ASSERT_TRUE(correlator.value().run(lefts.data(), out.data(), workspace.data()).ok());
    std::uint32_t first = 0, expected = 0;
    ASSERT_TRUE(runtime(device.backend)
                    .copy({&first, 4, out.data(), 4, 4, 1}, Memory::device, Memory::host, {})
                    .ok());
    ASSERT_TRUE(runtime(device.backend).wait({}).ok());
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 3; ++x) expected += l.at(x, y) * r.at(x, y);
    expect_equal({double(first)}, {double(expected)}, 1);
  }
}

// ---- errors ---------------------------------------------------------------------------------

Problem good_problem() {
  return dense_problem(ElementType::u8, Form::one_to_one, {8, 6}, {3, 2}, 1, 1,
                       valid_shifts({8, 6}, {3, 2}));
}

Code code_of(const Problem& problem, std::string_view kernel = "auto") {
  return Correlator::create(problem, open_device(Backend::cpu).value(), kernel).status().code();
}

TEST(CorrelatorErrors, MalformedProblems) {
  EXPECT_EQ(code_of(good_problem()), Code::ok);
  const auto with = [](auto change) {
    Problem p = good_problem();
    change(p);
    return code_of(p);
  };
  EXPECT_EQ(with([](Problem& p) { p.type = ElementType::u32; }), Code::invalid_argument);
  EXPECT_EQ(with([](Problem& p) { p.left.width = 0; }), Code::invalid_argument);
  EXPECT_EQ(with([](Problem& p) { p.right.height = -1; }), Code::invalid_argument);
  EXPECT_EQ(with([](Problem& p) { p.shifts.width = 0; }), Code::invalid_argument);
  EXPECT_EQ(with([](Problem& p) { p.lefts = 2; }), Code::invalid_argument);
  EXPECT_EQ(with([](Problem& p) { p.rights = 2; }), Code::invalid_argument);
  EXPECT_EQ(with([](Problem& p) { p.rights = 0; }), Code::invalid_argument);
  EXPECT_EQ(with([](Problem& p) { p.left_pitch = 7; }), Code::invalid_argument);
  EXPECT_EQ(with([](Problem& p) { p.right_pitch = 2; }), Code::invalid_argument);
  EXPECT_EQ(with([](Problem& p) {
              p.type = ElementType::f32;
              p.left_pitch = 33;
              p.right_pitch = 12;
            }),
            Code::invalid_argument);
}

TEST(CorrelatorErrors, UnknownKernelIsNamed) {
  auto made = Correlator::create(good_problem(), open_device(Backend::cpu).value(), "no-such");
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code(), Code::unsupported);
  EXPECT_NE(made.status().message().find("no-such"), std::string::npos) << made.status().message();
}

TEST(CorrelatorErrors, NullPointersAndMissingRights) {
  auto made = Correlator::create(good_problem(), open_device(Backend::cpu).value());
  ASSERT_TRUE(made.ok());
  Correlator& c = made.value();
  std::vector<std::byte> memory(c.workspace_bytes());
  void* const workspace = memory.data();
  ASSERT_FALSE(memory.empty());
  std::uint8_t left[48] = {}, right[6] = {};
  std::uint32_t out[30];
  EXPECT_EQ(c.run(left, out, workspace).code(), Code::invalid_argument);  // no rights yet
  EXPECT_EQ(c.set_rights(nullptr).code(), Code::invalid_argument);
  ASSERT_TRUE(c.set_rights(right).ok());
  EXPECT_EQ(c.run(nullptr, out, workspace).code(), Code::invalid_argument);
  EXPECT_EQ(c.run(left, nullptr, workspace).code(), Code::invalid_argument);
  EXPECT_EQ(c.run(left, out, nullptr).code(), Code::invalid_argument);
  EXPECT_TRUE(c.run(left, out, workspace).ok());
}

TEST(Devices, NamesAndErrors) {
  auto cpu = open_device(Backend::cpu);
  ASSERT_TRUE(cpu.ok());
  EXPECT_EQ(cpu.value().backend, Backend::cpu);
  EXPECT_FALSE(cpu.value().name.empty());
  auto cuda = open_device(Backend::cuda, 4711);
  ASSERT_FALSE(cuda.ok());
  EXPECT_TRUE(cuda.status().code() == Code::not_found || cuda.status().code() == Code::unsupported);
  EXPECT_FALSE(cuda.status().message().empty());
}

}  // namespace
}  // namespace api

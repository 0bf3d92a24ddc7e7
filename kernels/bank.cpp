// SPDX-License-Identifier: LGPL-2.1-or-later
#include "bank.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include <xcorr/match.hpp>

#include "luma.hpp"

namespace xcorr {
namespace {

Status check_view(const MatrixView& view, std::size_t index) {
  const std::string name = "template " + std::to_string(index);
  if (!view.data || view.size.empty()) return {Code::invalid_argument, name + " is empty"};
  if (view.memory != Memory::host) return {Code::invalid_argument, name + " is not in host memory"};
  if (view.type != ElementType::u8 && view.type != ElementType::f32)
    return {Code::invalid_argument, name + " has elements of type " + name_of(view.type)};
  if (Status s = check_rows(view, name); !s.ok()) return s;
  if (view.size.area() > max_template_pixels)
    return {Code::invalid_argument, name + " has more than 11.9 million pixels"};
  return {};
}

/// Of pixels that are more, their luma.
std::vector<std::byte> dense_copy(const MatrixView& view) {
  const std::size_t row = view.size.width * size_of(view.type);
  std::vector<std::byte> copy(row * view.size.height);
  if (view.type == ElementType::u8) {
    copy_luma(view, reinterpret_cast<std::uint8_t*>(copy.data()), view.size.width);
    return copy;
  }
  for (int y = 0; y < view.size.height; ++y)
    std::memcpy(copy.data() + y * row, static_cast<const std::byte*>(view.data) + y * view.pitch,
                row);
  return copy;
}

RightSums sums_of(std::span<const std::uint8_t> pixels) {
  std::int64_t sum = 0, squares = 0;
  for (const std::int64_t v : pixels) {
    sum += v;
    squares += v * v;
  }
  const auto n = static_cast<std::int64_t>(pixels.size());
  return {double(sum), double(squares), double(n * squares - sum * sum)};
}

RightSums sums_of(std::span<const float> pixels) {
  RightSums sums;
  for (const double v : pixels) {
    sums.sum += v;
    sums.squares += v * v;
  }
  const double n = double(pixels.size()), mean = sums.sum / n;
  for (const double v : pixels) sums.deviation += (v - mean) * (v - mean);
  sums.deviation *= n;
  return sums;
}

template <class T>
std::span<const T> as(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

/// The pixels less their mean, see Buffers::rights.
std::vector<std::byte> centred(std::span<const float> pixels, const RightSums& sums) {
  const double mean = sums.sum / double(pixels.size());
  std::vector<std::byte> bytes(pixels.size_bytes());
  std::transform(pixels.begin(), pixels.end(), reinterpret_cast<float*>(bytes.data()),
                 [mean](float v) { return static_cast<float>(v - mean); });
  return bytes;
}

}  // namespace

Result<std::vector<BankTemplate>> make_bank(std::span<const MatrixView> views) {
  std::vector<BankTemplate> bank;
  for (const MatrixView& view : views) {
    if (Status status = check_view(view, bank.size()); !status.ok()) return status;
    if (view.type != views.front().type)
      return Status(Code::invalid_argument, "templates of different element types");
    BankTemplate entry{view.type, view.size, dense_copy(view), {}, {}};
    if (view.type == ElementType::u8) {
      entry.sums = sums_of(as<std::uint8_t>(entry.pixels));
    } else {
      entry.sums = sums_of(as<float>(entry.pixels));
      entry.operand = centred(as<float>(entry.pixels), entry.sums);
    }
    bank.push_back(std::move(entry));
  }
  return bank;
}

BankGroups groups_by_size(const std::vector<BankTemplate>& bank, Size space) {
  BankGroups groups;
  for (std::uint32_t i = 0; i < bank.size(); ++i) {
    const Size size = bank[i].size;
    if (size.width <= space.width && size.height <= space.height)
      groups[{size.width, size.height}].push_back(i);
  }
  return groups;
}

Result<std::vector<BankTemplate>> smoothed(std::span<const BankTemplate> bank, double sigma) {
  auto weights = gaussian_weights(sigma);
  if (!weights.ok()) return weights.status();
  std::vector<std::vector<std::byte>> pixels;
  std::vector<MatrixView> views;
  for (const BankTemplate& t : bank) {
    auto filter = Filter::create(dense_filter(t.type, t.size, weights.value()), Device{});
    if (!filter.ok()) return filter.status();
    std::vector<std::byte> workspace(filter.value().workspace_bytes());
    std::vector<std::byte>& out = pixels.emplace_back(t.pixels.size());
    if (Status s = filter.value().run(t.pixels.data(), out.data(), workspace.data()); !s.ok())
      return s;
    views.push_back({out.data(), t.type, t.size,
                     static_cast<std::ptrdiff_t>(t.size.width * size_of(t.type)), Memory::host});
  }
  return make_bank(views);
}

bool is_flat(const MatrixView& view) {
  const std::vector<std::byte> elements = dense_copy(view);
  const std::size_t element = size_of(view.type);
  for (std::size_t at = 0; at < elements.size(); at += element)
    if (std::memcmp(elements.data(), elements.data() + at, element) != 0) return false;
  return true;
}

}  // namespace xcorr

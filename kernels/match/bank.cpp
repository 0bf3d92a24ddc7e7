// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/bank.hpp"

#include <cstring>
#include <string>

#include <xcorr/match.hpp>

#include "stages/luma.hpp"

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

Status check_types(std::span<const BankTemplate> bank) {
  for (const BankTemplate& t : bank)
    if (t.type != bank.front().type)
      return {Code::invalid_argument, "templates of different element types"};
  return {};
}

}  // namespace

Result<std::vector<BankTemplate>> make_bank(std::span<const MatrixView> views) {
  std::vector<BankTemplate> bank;
  for (const MatrixView& view : views) {
    if (Status status = check_view(view, bank.size()); !status.ok()) return status;
    bank.push_back({view.type, view.size, dense_copy(view), nullptr});
  }
  if (Status status = check_types(bank); !status.ok()) return status;
  return bank;
}

Result<std::vector<BankTemplate>> make_bank(
    std::span<const std::shared_ptr<const LiveTemplate>> templates, Backend backend) {
  std::vector<BankTemplate> bank;
  for (const auto& live : templates) {
    const std::string name = "template " + std::to_string(bank.size());
    if (!live) return Status(Code::invalid_argument, name + " is missing");
    if (live->backend() != backend)
      return Status(Code::invalid_argument, name + " lives on another device");
    bank.push_back({live->view().type, live->view().size, {}, live});
  }
  if (Status status = check_types(bank); !status.ok()) return status;
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

bool is_flat(const MatrixView& view) {
  const std::vector<std::byte> elements = dense_copy(view);
  const std::size_t element = size_of(view.type);
  for (std::size_t at = 0; at < elements.size(); at += element)
    if (std::memcmp(elements.data(), elements.data() + at, element) != 0) return false;
  return true;
}

}  // namespace xcorr

// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The library alone:  c++ -std=c++20 correlate.cpp $(pkg-config --cflags --libs xcorr)
#include <cstdint>
#include <cstdio>
#include <vector>

#include <xcorr/correlate.hpp>

int main() {
  const std::uint8_t left[3][4] = {{0, 0, 0, 0}, {0, 1, 2, 0}, {0, 3, 4, 0}};
  const std::uint8_t right[2][2] = {{1, 2}, {3, 4}};
  const xcorr::Size frame{4, 3}, patch{2, 2};
  const auto problem = xcorr::dense_problem(xcorr::ElementType::u8, xcorr::Form::one_to_one, frame,
                                            patch, 1, 1, xcorr::valid_shifts(frame, patch));
  auto device = xcorr::open_device(xcorr::Backend::cpu);
  auto plan = xcorr::Correlator::create(problem, device.value());
  if (!plan.ok()) return std::puts(plan.status().message().c_str()), 1;
  std::vector<std::byte> workspace(plan.value().workspace_bytes());
  std::uint32_t sums[2][3];
  if (!plan.value().set_rights(right).ok()) return 1;
  if (!plan.value().run(left, sums, workspace.data()).ok()) return 1;
  for (const auto& row : sums) std::printf("%u %u %u\n", row[0], row[1], row[2]);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How a plan's templates come to where kernels read them, when the plan is made and whenever one
// that lives on the device has changed: the pixels, smoothed if asked for, their sums, and what the
// kernel keeps of them. Enqueued; templates of one size that change together are summed up at once.
#include "match/plan.hpp"

namespace xcorr {

Status MatchPlan::load(Group& group, const std::vector<BankTemplate>& bank, Stream stream) {
  const int count = static_cast<int>(group.members.size());
  for (int i = 0; i < count; ++i) {
    const BankTemplate& t = bank[group.members[i].index];
    if (Status s = t.live ? load_live(group, i, stream)
                          : load_pixels(group, i, t.pixels.data(), Memory::host, stream);
        !s.ok())
      return s;
  }
  return sum_up(group, 0, count, stream);
}

Status MatchPlan::refresh(Group& group, Stream stream) {
  int first = 0, end = 0;
  for (int i = 0; i < static_cast<int>(group.members.size()); ++i) {
    const auto& [index, live, version] = group.members[i];
    if (!live || version == live->version()) continue;
    if (Status s = load_live(group, i, stream); !s.ok()) return s;
    if (end == 0) first = i;
    end = i + 1;
  }
  return end == 0 ? Status() : sum_up(group, first, end - first, stream);
}

Status MatchPlan::load_live(Group& group, int member, Stream stream) {
  auto& [index, live, version] = group.members[member];
  version = live->version();
  return load_pixels(group, member, live->view().data, Memory::device, stream);
}

Status MatchPlan::load_pixels(Group& group, int member, const void* pixels, Memory memory,
                              Stream stream) {
  const Problem& p = group.problem.correlate;
  auto* to = group.templates.as<std::byte>() + member * p.right_stride;
  const auto row = static_cast<std::ptrdiff_t>(p.right.width * size_of(type_));
  const auto rows = static_cast<std::size_t>(p.right.height);
  Status s = runtime_->copy(bytes_copy(to, pixels, row * rows), memory, Memory::device, stream);
  if (!s.ok() || !group.prefilter) return s;
  Prefilter& filter = *group.prefilter;
  s = filter.run(to, row, {0, 0, p.right.width, p.right.height}, stream);
  if (!s.ok()) return s;
  return runtime_->copy({to, row, filter.data(), filter.pitch(), std::size_t(row), rows},
                        Memory::device, Memory::device, stream);
}

Status MatchPlan::sum_up(Group& group, int first, int count, Stream stream) {
  Buffers buffers;
  buffers.templates = group.templates.data();
  buffers.right_sums = group.sums.as<RightSums>();
  buffers.centred = group.rights.data();
  buffers.first_right = first;
  buffers.right_count = count;
  buffers.stream = stream;
  if (Status s = group.right_sums->launch(group.problem, device_, buffers, nullptr); !s.ok())
    return s;
  const Copy sums = bytes_copy(results_.sums_in(host_results_) + group.first + first,
                               buffers.right_sums + first, count * sizeof(RightSums));
  if (Status s = runtime_->copy(sums, Memory::device, Memory::host, stream); !s.ok()) return s;
  return group.state ? group.state->set_rights(group.operands(), stream) : Status();
}

}  // namespace xcorr

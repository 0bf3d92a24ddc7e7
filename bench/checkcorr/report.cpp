// SPDX-License-Identifier: LGPL-2.1-or-later
#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace checkcorr {
namespace {

const char* name_of(Shifts shifts) {
  constexpr const char* names[] = {"valid", "full", "rectangle"};
  return names[static_cast<std::size_t>(shifts)];
}

void print_console(const Measurement& m) {
  std::printf("%-64s %-8s %10.4f ms  least %10.4f", id_of(m.entry, m.test).c_str(), m.step,
              1e3 * m.timing.median, 1e3 * m.timing.least);
  if (m.products) std::printf("  %9.2f G/s", 1e-9 * m.products / m.timing.median);
  if (m.products && m.peak) std::printf("  %5.1f %%", 100 * m.products / m.timing.median / m.peak);
  std::putchar('\n');
}

/// Every field, as `name: value` with a string's value in quotes, or only the values.
void print_fields(const Measurement& m, bool names) {
  const Case& c = m.test;
  bool first = true;
  const auto begin = [&](const char* name) {
    if (!std::exchange(first, false)) std::fputs(names ? ", " : ",", stdout);
    if (names) std::printf("\"%s\": ", name);
  };
  const auto word = [&](const char* name, const char* value, bool quoted = false) {
    begin(name);
    std::printf(names || quoted ? "\"%s\"" : "%s", value);
  };
  const auto number = [&](const char* name, double value) {
    begin(name);
    std::printf("%.6g", value);
  };
  word("backend", xcorr::name_of(m.entry.variant->backend));
  word("device", m.device.name.c_str(), true);
  word("stage", m.entry.stage);
  word("variant", m.entry.variant->name);
  word("case", c.name);
  word("type", xcorr::name_of(c.type));
  word("form", xcorr::name_of(c.form));
  number("left_w", c.left.width);
  number("left_h", c.left.height);
  number("right_w", c.right.width);
  number("right_h", c.right.height);
  number("lefts", c.lefts);
  number("rights", c.rights);
  word("shifts", name_of(c.shifts));
  word("step", m.step);
  number("median_ms", 1e3 * m.timing.median);
  number("min_ms", 1e3 * m.timing.least);
  number("mean_ms", 1e3 * m.timing.mean);
  number("samples", double(m.timing.samples));
  number("products", m.products);
  number("products_per_s", m.products / m.timing.median);
  number("share_of_peak", m.peak ? m.products / m.timing.median / m.peak : 0);
}

constexpr char columns[] =
    "backend,device,stage,variant,case,type,form,left_w,left_h,right_w,right_h,lefts,rights,shifts,"
    "step,median_ms,min_ms,mean_ms,samples,products,products_per_s,share_of_peak";

}  // namespace

Report::Report(Output output, const std::vector<std::string>& devices) : output_(output) {
  for (const std::string& text : devices)
    if (output != Output::json) std::printf("# %s\n", text.c_str());
  if (output == Output::csv) std::puts(columns);
  if (output != Output::json) return;
  std::fputs("{\"devices\": [", stdout);
  for (std::size_t i = 0; i < devices.size(); ++i)
    std::printf("%s\"%s\"", i ? ", " : "", devices[i].c_str());
  std::fputs("], \"measurements\": [", stdout);
}

Report::~Report() {
  if (output_ == Output::json) std::puts("\n]}");
}

void Report::add(const Measurement& m) {
  const bool first = std::exchange(first_, false);
  switch (output_) {
    case Output::console:
      print_console(m);
      break;
    case Output::csv:
      print_fields(m, false);
      std::putchar('\n');
      break;
    case Output::json:
      std::printf("%s\n  {", first ? "" : ",");
      print_fields(m, true);
      std::putchar('}');
      break;
  }
  std::fflush(stdout);
}

}  // namespace checkcorr

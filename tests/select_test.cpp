// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Judges the selector by measurements that its table was not made from: for each problem of the
// given files (checkcorr --bench --output=csv) whose case is called held-*, the variant that "auto"
// takes may need at most 1.1 times as long as the best one. Also: every variant that the paper's
// table names exists. Needs no GPU, only a build with the kernels. Times below 5 us are mostly what
// a launch costs and count as 5 us.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "select/select.hpp"

namespace {

using namespace xcorr;

using Fields = std::map<std::string, std::string>;

/// A line of CSV; quotes stand around whole fields.
std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line)
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      fields.emplace_back();
    else
      fields.back() += c;
  return fields;
}

std::vector<Fields> read(const char* path) {
  std::ifstream file(path);
  std::vector<std::string> columns;
  std::vector<Fields> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const auto fields = split(line);
    if (columns.empty()) {
      columns = fields;
      continue;
    }
    Fields row;
    for (std::size_t i = 0; i < columns.size() && i < fields.size(); ++i)
      row[columns[i]] = fields[i];
    rows.push_back(std::move(row));
  }
  return rows;
}

template <class Enum>
Enum named(const std::string& name, Enum last) {
  int value = 0;
  while (value < int(last) && name != name_of(Enum(value))) ++value;
  return Enum(value);
}

int number(const Fields& row, const char* column) { return std::atoi(row.at(column).c_str()); }

MatchProblem problem_of(const Fields& row) {
  const Size left{number(row, "left_w"), number(row, "left_h")};
  const Size right{number(row, "right_w"), number(row, "right_h")};
  const Rect shifts =
      row.at("shifts") == "full" ? full_shifts(left, right) : valid_shifts(left, right);
  MatchProblem problem;
  problem.correlate =
      dense_problem(named(row.at("type"), ElementType::f64), named(row.at("form"), Form::n_to_m),
                    left, right, number(row, "lefts"), number(row, "rights"), shifts);
  problem.products = problem.correlate.output_type();
  return problem;
}

/// As a matcher asks, or a correlator.
Result<MatchKernel> choice(const MatchProblem& problem, const Device& device, bool match) {
  MatchProblem p = problem;
  if (match) return select_matching(p, device, "auto");
  const auto variant = select_variant<stage::Correlate>(p.correlation(), device, "auto");
  if (!variant.ok()) return variant.status();
  return MatchKernel(variant.value());
}

struct Counts {
  int passed = 0, failed = 0, skipped = 0;
};

void judge(const std::string& name, const MatchProblem& problem, const Device& device, bool match,
           const std::map<std::string, double>& ms, Counts& counts) {
  constexpr double limit = 1.1, launch_ms = 0.005;
  const auto best =
      std::ranges::min_element(ms, {}, [](const auto& entry) { return entry.second; });
  const auto chosen = choice(problem, device, match);
  const auto found = chosen.ok() ? ms.find(chosen.value()->name) : ms.end();
  if (found == ms.end()) {
    std::printf("FAIL %s: takes %s, which was not measured\n", name.c_str(),
                chosen.ok() ? chosen.value()->name : chosen.status().message().c_str());
    ++counts.failed;
    return;
  }
  const double ratio = std::max(found->second, launch_ms) / std::max(best->second, launch_ms);
  const bool good = ratio <= limit;
  std::printf("%s %s: %s, %.4f ms, %.2f times the best (%s, %.4f ms)\n", good ? "ok  " : "FAIL",
              name.c_str(), found->first.c_str(), found->second, ratio, best->first.c_str(),
              best->second);
  ++(good ? counts.passed : counts.failed);
}

/// A held problem, with what is measured of it in any file.
struct Held {
  Fields row;
  std::map<std::string, double> ms;
};

void gather(const char* path, std::map<std::string, Held>& held) {
  for (const Fields& row : read(path)) {
    if (!row.contains("case") || !row.at("case").starts_with("held-")) continue;
    const bool match = row.at("step") == "match";
    if (!match && (row.at("stage") != "correlate" || row.at("step") != "kernel")) continue;
    // An FFT's products of bytes are for matches.
    if (!match && row.at("type") == "u8" && row.at("variant").starts_with("fft")) continue;
    Held& problem = held[row.at("backend") + '/' + (match ? "match/" : "") + row.at("type") + '/' +
                         row.at("case")];
    problem.row = row;
    problem.ms[row.at("variant")] = std::atof(row.at("median_ms").c_str());
  }
}

/// The names of those that can do it on that device.
std::set<std::string> able_names(const MatchProblem& problem, const Device& device, bool match) {
  std::set<std::string> names;
  if (match) {
    for (const MatchKernel& kernel : able_to_match(problem, device)) names.insert(kernel->name);
  } else {
    for (const auto* variant : variants_on<stage::Correlate>(Backend::cuda))
      if (variant->able(problem.correlation(), device)) names.insert(variant->name);
  }
  return names;
}

void judge(const std::map<std::string, Held>& held, Counts& counts) {
  for (const auto& [name, problem] : held) {
    const bool cuda = problem.row.at("backend") == "cuda";
    if (cuda && !find_variant<stage::Correlate>(Backend::cuda, "overlap_wise")) {
      ++counts.skipped;
      continue;
    }
    const MatchProblem p = problem_of(problem.row);
    const bool match = problem.row.at("step") == "match";
    if (!cuda) {
      judge(name, p, {.name = "CPU"}, match, problem.ms, counts);
      continue;
    }
    // The GPU that the file is of stands for others; the kernels look at no more of it. One of an
    // earlier generation lacks some variants; the times of the others stand for its own.
    for (const int capability : {90, 80}) {
      const Device device{Backend::cuda, 0, capability, 132, problem.row.at("device")};
      auto ms = problem.ms;
      const auto able = able_names(p, device, match);
      std::erase_if(ms, [&](const auto& entry) { return !able.contains(entry.first); });
      judge(name + " on " + std::to_string(capability), p, device, match, ms, counts);
    }
  }
}

/// The paper's table speaks of variants that exist.
void check_names(const char* path, Counts& counts) {
  if (!find_variant<stage::Correlate>(Backend::cuda, "overlap_wise")) {
    ++counts.skipped;
    return;
  }
  for (const Fields& row : read(path)) {
    const std::string& name = row.at("variant");
    const bool known = find_variant<stage::Correlate>(Backend::cuda, name) != nullptr;
    if (!known) std::printf("FAIL %s names %s, which does not exist\n", path, name.c_str());
    ++(known ? counts.passed : counts.failed);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: select_test PAPER_TABLE.csv RESULTS.csv...\n", stderr);
    return 2;
  }
  unsetenv("XCORR_KERNEL");
  Counts counts;
  check_names(argv[1], counts);
  std::map<std::string, Held> held;
  for (int i = 2; i < argc; ++i) gather(argv[i], held);
  judge(held, counts);
  std::printf("%d passed, %d failed, %d skipped\n", counts.passed, counts.failed, counts.skipped);
  return counts.failed ? 1 : counts.passed ? 0 : 77;
}

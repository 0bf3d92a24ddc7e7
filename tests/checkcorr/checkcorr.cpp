// SPDX-License-Identifier: LGPL-2.1-or-later
//
// checkcorr: every registered variant of every stage against the oracle, on a table of cases;
// with --bench, how fast each is. A new variant or case needs no change here. On a machine without
// a GPU the CUDA variants are skipped, visibly. The last line is `N passed, N failed, N skipped`.
#include "checkcorr.hpp"

#include <fnmatch.h>
#include <getopt.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <hwy/highway.h>

#include "stage_test.hpp"

namespace checkcorr {

std::string id_of(const xcorr::Family::Entry& entry) {
  return std::string(xcorr::name_of(entry.variant->backend)) + '/' + entry.stage + '/' +
         entry.variant->name;
}

std::string id_of(const xcorr::Family::Entry& entry, const Case& c) {
  return id_of(entry) + '/' + xcorr::name_of(c.type) + '/' + c.name;
}

bool matches(const Options& options, const std::string& id) {
  for (std::size_t begin = 0; begin <= options.filter.size();) {
    const std::size_t end = std::min(options.filter.find(',', begin), options.filter.size());
    const std::string glob = options.filter.substr(begin, end - begin);
    if (fnmatch(glob.c_str(), id.c_str(), 0) == 0) return true;
    begin = end + 1;
  }
  return false;
}

namespace {

using xcorr::Backend;

constexpr int exit_failed = 1, exit_usage = 2, exit_skipped = 77;  // 77: Meson's "skipped"

constexpr char help[] =
    "checkcorr: checks (or times) every kernel variant against the oracle.\n"
    "  --list              the ids of all checks (with --bench, of all timings), and stop\n"
    "  --filter=GLOB,...   only ids that match: backend/stage/variant/type/case[/method[/...]]\n"
    "  --backend=B         cpu, cuda or all (default)\n"
    "  --max-products=N   of larger cases none, or as many as --sample says: for slow devices\n"
    "  --sample=N          of cases of more products a share of the variants that costs N each\n"
    "  --seed=N            of the random fills (default 1)\n"
    "  --bench             time the bench cases instead; the oracle, too, where the filter names\n"
    "                      'reference'\n"
    "  --level=L           of --bench: kernel (default: a launch), run (rights given anew), steps\n"
    "                      (prepare, transfer, rights, kernel, finalize, free and the whole) or\n"
    "                      match (frame to peaks, by variants of search and of correlate)\n"
    "  --seconds=S         of --bench: least time of a measurement (default 0.1)\n"
    "  --output=FORMAT     console (default), csv or json\n"
    "  --coverage          of a variant that --max-products and --sample leave nothing of, the\n"
    "                      smallest case; fail when none reaches it\n"
    "  --simd=TARGET       with that one of Highway's sets of instructions, such as AVX2\n"
    "  --help\n"
    "Exit status: 0 all passed, 1 failures, 2 bad usage, 77 nothing could be run.\n";

[[noreturn]] void usage_error(const std::string& what) {
  std::fprintf(stderr, "checkcorr: %s; try --help\n", what.c_str());
  std::exit(exit_usage);
}

Output parse_output(const std::string& name) {
  if (name == "console") return Output::console;
  if (name == "csv") return Output::csv;
  if (name == "json") return Output::json;
  usage_error("no output format '" + name + "'");
}

Level parse_level(const std::string& name) {
  if (name == "kernel") return Level::kernel;
  if (name == "run") return Level::run;
  if (name == "steps") return Level::steps;
  if (name == "match") return Level::match;
  usage_error("no level '" + name + "'");
}

double parse_seconds(const char* text) {
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (end == text || *end || !(seconds > 0)) usage_error(std::string("bad time '") + text + "'");
  return seconds;
}

std::optional<Backend> parse_backend(const std::string& name) {
  if (name == "all") return std::nullopt;
  for (const Backend backend : {Backend::cpu, Backend::cuda})
    if (name == xcorr::name_of(backend)) return backend;
  usage_error("no backend '" + name + "'");
}

std::uint64_t parse_number(const char* what, const char* text) {
  char* end = nullptr;
  const auto number = std::strtoull(text, &end, 10);
  if (end == text || *end) usage_error(std::string("bad ") + what + " '" + text + "'");
  return number;
}

/// From here on the CPU's variants choose that set of instructions; ends where it is not built or
/// the processor lacks it.
void use_simd(const char* name) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets())
    if (std::strcmp(hwy::TargetName(target), name) == 0)
      return hwy::SetSupportedTargetsForTest(target);
  std::printf("SKIPPED: this build or this processor has no %s\n", name);
  std::exit(exit_skipped);
}

Options parse(int argc, char** argv) {
  static const option known[] = {{"list", no_argument, nullptr, 'l'},
                                 {"filter", required_argument, nullptr, 'f'},
                                 {"backend", required_argument, nullptr, 'b'},
                                 {"max-products", required_argument, nullptr, 'p'},
                                 {"sample", required_argument, nullptr, 'a'},
                                 {"seed", required_argument, nullptr, 's'},
                                 {"bench", no_argument, nullptr, 't'},
                                 {"output", required_argument, nullptr, 'o'},
                                 {"level", required_argument, nullptr, 'L'},
                                 {"seconds", required_argument, nullptr, 'S'},
                                 {"coverage", no_argument, nullptr, 'c'},
                                 {"simd", required_argument, nullptr, 'i'},
                                 {"help", no_argument, nullptr, 'h'},
                                 {}};
  Options options;
  for (int c; (c = getopt_long(argc, argv, "", known, nullptr)) != -1;) switch (c) {
      case 'l':
        options.list = true;
        break;
      case 'f':
        options.filter = optarg;
        break;
      case 'b':
        options.backend = parse_backend(optarg);
        break;
      case 's':
        options.seed = parse_number("seed", optarg);
        break;
      case 'p':
        options.max_products = parse_number("number of products", optarg);
        break;
      case 'a':
        options.sample = parse_number("number of products", optarg);
        break;
      case 't':
        options.bench = true;
        break;
      case 'L':
        options.level = parse_level(optarg);
        break;
      case 'S':
        options.seconds = parse_seconds(optarg);
        break;
      case 'o':
        options.output = parse_output(optarg);
        break;
      case 'c':
        options.coverage = true;
        break;
      case 'i':
        use_simd(optarg);
        break;
      case 'h':
        std::fputs(help, stdout);
        std::exit(0);
      default:
        std::exit(exit_usage);
    }
  if (options.coverage && options.filter != "*")
    usage_error("--coverage is of all cases; no --filter");
  if (optind < argc) usage_error(std::string("unexpected argument '") + argv[optind] + "'");
  return options;
}

/// The variants to check.
std::vector<Tally> wanted_tallies(const Options& options) {
  std::vector<Tally> tallies;
  for (const auto& entry : xcorr::all_variants())
    if (!options.backend || entry.variant->backend == *options.backend) tallies.push_back({entry});
  return tallies;
}

Devices open_devices(const Options& options) {
  Devices devices;
  for (const Backend backend : {Backend::cpu, Backend::cuda}) {
    if (options.backend && backend != *options.backend) continue;
    auto device = xcorr::open_device(backend);
    if (device.ok())
      if (auto status = xcorr::make_current(device.value()); !status.ok()) device = status;
    devices.emplace(backend, std::move(device));
  }
  return devices;
}

void list(const Options& options) {
  for (const Case& c : options.bench ? bench_cases() : cases())
    for (const Tally& tally : wanted_tallies(options)) {
      const std::string id = id_of(tally, c);
      const AnyStageTest& test = AnyStageTest::of(tally.stage);
      if (test.knows_mask_of(c) && test.concerns(c) && matches(options, id)) std::puts(id.c_str());
    }
}

void print_tally(const Tally& t, Output output, bool first) {
  const std::string id = id_of(t);
  switch (output) {
    case Output::console:
      std::printf("%s %-36s %5d checks", t.failed ? "FAIL" : "ok  ", id.c_str(),
                  t.passed + t.failed);
      if (t.failed) std::printf(", %d failed", t.failed);
      if (t.worst > 0) std::printf(", worst error %.3f of its bound", t.worst);
      std::putchar('\n');
      break;
    case Output::csv:
      if (first) std::puts("backend,stage,variant,passed,failed,worst_share_of_bound");
      std::printf("%s,%s,%s,%d,%d,%.6g\n", xcorr::name_of(t.variant->backend), t.stage,
                  t.variant->name, t.passed, t.failed, t.worst);
      break;
    case Output::json:
      std::printf(
          "%s\n  {\"backend\": \"%s\", \"stage\": \"%s\", \"variant\": \"%s\", "
          "\"passed\": %d, \"failed\": %d, \"worst_share_of_bound\": %.6g}",
          first ? "" : ",", xcorr::name_of(t.variant->backend), t.stage, t.variant->name, t.passed,
          t.failed, t.worst);
      break;
  }
}

/// Requested backends without a device: their variants, at least one, count as skipped.
int report_skipped(const Devices& devices, const std::vector<Tally>& tallies) {
  int skipped = 0;
  for (const auto& [backend, device] : devices) {
    if (device.ok()) continue;
    int variants = 0;
    for (const Tally& t : tallies) variants += t.variant->backend == backend;
    std::fprintf(stderr, "SKIP %s, %d variants: %s\n", xcorr::name_of(backend), variants,
                 device.status().message().c_str());
    skipped += std::max(variants, 1);
  }
  return skipped;
}

int check(const Options& options, const Devices& devices) {
  std::vector<Tally> tallies = wanted_tallies(options);
  check_all(options, devices, tallies);
  int passed = 0, failed = 0;
  bool first = true;
  if (options.output == Output::json) std::fputs("[", stdout);
  for (const Tally& t : tallies) {
    passed += t.passed;
    failed += t.failed;
    const bool run = devices.at(t.variant->backend).ok();
    const bool reached = t.passed + t.failed > 0;
    if (reached) print_tally(t, options.output, std::exchange(first, false));
    if (options.coverage && run && !reached) {
      std::fprintf(stderr, "FAIL no case reaches %s\n", id_of(t).c_str());
      ++failed;
    }
  }
  if (options.output == Output::json) std::puts("\n]");
  const int skipped = report_skipped(devices, tallies);
  std::fflush(stdout);
  std::fprintf(options.output == Output::console ? stdout : stderr,
               "%d passed, %d failed, %d skipped\n", passed, failed, skipped);
  if (failed) return exit_failed;
  return passed ? 0 : exit_skipped;
}

}  // namespace
}  // namespace checkcorr

int main(int argc, char** argv) {
  using namespace checkcorr;
  const Options options = parse(argc, argv);
  for (const auto& entry : xcorr::all_variants())
    if (!AnyStageTest::find(entry.stage)) {
      std::fprintf(stderr, "FAIL there are no tests of the stage %s\n", entry.stage);
      return exit_failed;
    }
  if (options.list) return list(options), 0;
  const Devices devices = open_devices(options);
  if (options.bench) return bench_all(options, devices) ? 0 : exit_failed;
  return check(options, devices);
}

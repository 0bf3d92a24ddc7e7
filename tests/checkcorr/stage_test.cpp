// SPDX-License-Identifier: LGPL-2.1-or-later
#include "stage_test.hpp"

#include <algorithm>
#include <cstring>

namespace checkcorr {

std::vector<const AnyStageTest*>& AnyStageTest::list() {
  static std::vector<const AnyStageTest*> tests;
  return tests;
}

const AnyStageTest* AnyStageTest::find(const char* stage) {
  const auto found = std::find_if(list().begin(), list().end(), [stage](const AnyStageTest* test) {
    return std::strcmp(test->stage(), stage) == 0;
  });
  return found == list().end() ? nullptr : *found;
}

std::string AnyStageTest::suffix(const Trial& trial) const {
  return trial.method ? std::string("/") + xcorr::info(*trial.method).name : "";
}

}  // namespace checkcorr

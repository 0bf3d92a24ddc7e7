// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A library that is opened while the program runs, and its functions by their names. It stays open:
// others may keep pointers into it.
#pragma once

#include <dlfcn.h>

#include <initializer_list>

namespace cudaxcorr {

class SharedObject {
 public:
  /// The first of these that is there.
  SharedObject(std::initializer_list<const char*> names) {
    for (const char* name : names)
      if ((handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL))) break;
  }

  /// False if it lacks the function, or is not there; the pointer then is null.
  template <class Function>
  bool find(Function*& function, const char* name) const {
    function = handle_ ? reinterpret_cast<Function*>(dlsym(handle_, name)) : nullptr;
    return function != nullptr;
  }

 private:
  void* handle_ = nullptr;
};

}  // namespace cudaxcorr

// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   load LIBRARY FUNCTION      calls it
#include <cstdio>

#include <dlfcn.h>

int main(int, char** arguments) {
  void* library = dlopen(arguments[1], RTLD_NOW);
  const auto function =
      library ? reinterpret_cast<void (*)()>(dlsym(library, arguments[2])) : nullptr;
  if (!function) return std::fprintf(stderr, "%s\n", dlerror()), 2;
  function();
  return 0;
}

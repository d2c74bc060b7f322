#include "base/shared_library.h"

#include <dlfcn.h>

#include <utility>

#include "base/error.h"

namespace segue {

SharedLibrary::SharedLibrary(std::string title, const std::string& file)
    : title_(std::move(title)), library_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr)
    throw DeviceError("{}: {}; name the folder that holds {} in LD_LIBRARY_PATH", title_, dlerror(), file);
}

void* SharedLibrary::symbol(const char* name) const {
  void* found = dlsym(library_, name);
  if (found == nullptr) throw DeviceError("{}: {} is missing: {}", title_, name, dlerror());
  return found;
}

}  // namespace segue

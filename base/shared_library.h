// A library that is loaded when it is first needed rather than when the program starts: a program built with it also
// runs where it is not installed.
#pragma once

#include <string>

namespace segue {

class SharedLibrary {
 public:
  // Searched as the dynamic linker does: run path of the program, LD_LIBRARY_PATH, the system's folders. Stays loaded
  // until the program ends, as handles of the library may. Throws DeviceError; `title` is what its words call the
  // library.
  SharedLibrary(std::string title, const std::string& file);

  // The library's function of the same name as kFunction, which is declared in a header and linked from nowhere.
  template <auto* kFunction>
  auto* function(const char* name) const {
    return reinterpret_cast<decltype(kFunction)>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;  // throws DeviceError when the library lacks it

  std::string title_;
  void* library_;
};

}  // namespace segue

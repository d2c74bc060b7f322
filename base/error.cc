// What is thrown by the standard library, as errors of Segue.
#include "base/error.h"

#include <exception>
#include <filesystem>
#include <new>

namespace segue {

void throw_as_error() {
  try {
    throw;
  } catch (const Error&) {
    throw;
  } catch (const std::filesystem::filesystem_error& error) {
    throw FileError("{}: {}", error.path1().string(), error.code().message());
  } catch (const std::bad_alloc&) {
    throw OutOfMemoryError("out of memory");
  } catch (const std::exception& error) {
    throw UnexpectedError("{}", error.what());
  } catch (...) {
    throw UnexpectedError("an exception of an unknown type");
  }
}

}  // namespace segue

// The message of a failing call: tests compare whole messages.
#pragma once

#include <exception>
#include <string>

namespace segue {

// The message of the Error that `call` throws; another text when it throws nothing or something else.
template <typename Error, typename Call>
std::string message_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("another type of error: ") + error.what();
  }
  return "no error";
}

}  // namespace segue

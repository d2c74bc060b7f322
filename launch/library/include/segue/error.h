// Errors: a few exception types, each with the exit code the program returns for it.
#pragma once

#include <segue/export.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace segue {

// The exit codes of the process. Scripts rely on these numbers; they never change meaning.
enum class ExitCode : int {
  kSuccess = 0,
  kUnexpected = 1,    // an unexpected error
  kUsage = 2,         // the command line
  kConfig = 3,        // a config file or an override
  kData = 4,          // text, token files, shards, manifests
  kCheckpoint = 5,    // checkpoints and weight files
  kFile = 6,          // the operating system refused a file operation
  kDevice = 7,        // a device or one of its libraries, or memory ran out
  kPeer = 8,          // another rank failed or went silent
  kContract = 9,      // an operation was called against its contract: an internal error
  kDiverged = 10,     // the loss is not finite
  kInterrupted = 75,  // stopped by a signal after saving; `--resume` resumes
};

// How an error's line is written. Segue's own sources complete it (base/error.h); what is built upon the library
// catches errors and makes none.
template <typename... Args>
struct MessageFormat;

// Base of all errors: one line that names the file, key or tensor, what was expected and what was found.
class SEGUE_EXPORT Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

// One type per exit code.
template <ExitCode kCode>
class SEGUE_EXPORT ErrorOf : public Error {
 public:
  template <typename... Args>
  explicit ErrorOf(typename MessageFormat<Args...>::Text format, Args&&... args)
      : Error(kCode, MessageFormat<Args...>::fill(format, std::forward<Args>(args)...)) {}
};

using UnexpectedError = ErrorOf<ExitCode::kUnexpected>;
using UsageError = ErrorOf<ExitCode::kUsage>;
using ConfigError = ErrorOf<ExitCode::kConfig>;
using DataError = ErrorOf<ExitCode::kData>;
using CheckpointError = ErrorOf<ExitCode::kCheckpoint>;
using FileError = ErrorOf<ExitCode::kFile>;
using DeviceError = ErrorOf<ExitCode::kDevice>;
// Memory is exhausted: the one failure of a device that a smaller model or batch avoids.
class SEGUE_EXPORT OutOfMemoryError : public DeviceError {
 public:
  using DeviceError::DeviceError;
};
using PeerError = ErrorOf<ExitCode::kPeer>;
using ContractError = ErrorOf<ExitCode::kContract>;
using DivergedError = ErrorOf<ExitCode::kDiverged>;
using InterruptedError = ErrorOf<ExitCode::kInterrupted>;

}  // namespace segue

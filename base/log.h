// The log: lines for people on standard error. Results go to standard output, metrics to files.
#pragma once

#include <spdlog/logger.h>

#include <memory>
#include <string>

namespace segue {

using Logger = spdlog::logger;

// Time (wall_clock.h) and the level's letter before each line on standard error, then `speaker`; `quiet` keeps only
// warnings and errors.
std::shared_ptr<Logger> make_logger(bool quiet, const std::string& speaker = "");

}  // namespace segue

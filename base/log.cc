// spdlog set up once, handed around by reference.
#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>

namespace segue {

std::shared_ptr<Logger> make_logger(bool quiet) {
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  auto logger = std::make_shared<Logger>("segue", std::move(sink));
  logger->set_pattern("%H:%M:%S %^%L%$ %v");
  logger->set_level(quiet ? spdlog::level::warn : spdlog::level::info);
  logger->flush_on(spdlog::level::info);
  return logger;
}

}  // namespace segue

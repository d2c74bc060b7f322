// spdlog set up once, handed around by reference.
#include "base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <utility>

#include "base/terminal_line.h"
#include "base/text.h"

namespace segue {

namespace {

// The message, in which names of files and words of theirs may be, after who says it.
class VisibleMessage : public spdlog::custom_flag_formatter {
 public:
  explicit VisibleMessage(std::string speaker) : speaker_(std::move(speaker)) {}
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/, spdlog::memory_buf_t& line) override {
    const std::string text = visible_line(speaker_ + std::string(message.payload.data(), message.payload.size()));
    line.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<spdlog::custom_flag_formatter> clone() const override {
    return std::make_unique<VisibleMessage>(speaker_);
  }

 private:
  std::string speaker_;
};

// Its lines are apart from one that shows progress.
class ApartSink : public spdlog::sinks::stderr_color_sink_mt {
 public:
  void log(const spdlog::details::log_msg& message) override {
    write_apart([&] { spdlog::sinks::stderr_color_sink_mt::log(message); });
  }
};

}  // namespace

std::shared_ptr<Logger> make_logger(bool quiet, const std::string& speaker) {
  auto sink = std::make_shared<ApartSink>();
  auto logger = std::make_shared<Logger>("segue", std::move(sink));
  auto pattern = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  pattern->add_flag<VisibleMessage>('*', speaker).set_pattern("%Y-%m-%dT%H:%M:%SZ %^%L%$ %*");
  logger->set_formatter(std::move(pattern));
  logger->set_level(quiet ? spdlog::level::warn : spdlog::level::info);
  logger->flush_on(spdlog::level::info);
  return logger;
}

}  // namespace segue

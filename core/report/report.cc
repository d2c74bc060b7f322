#include "core/report/report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "base/file.h"
#include "core/report/sections.h"

namespace segue::report {

namespace {

constexpr int64_t kLargestVerdict = int64_t{1} << 20;

std::string time_text() { return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::time(nullptr))); }

std::string kicker_of(const ReportOptions& options) {
  std::string written = "Training report \xC2\xB7 " + time_text();
  if (options.refresh_seconds == 0) return written;
  return fmt::format("{} \xC2\xB7 training goes on; this page reloads itself every {} s", written,
                     options.refresh_seconds);
}

}  // namespace

Report make_report(const ReportOptions& options) {
  ReportData data{.runs = read_runs(options.runs)};
  if (options.effective_context) {
    data.effective_context_file = options.effective_context->string();
    data.effective_context = read_effective_context(*options.effective_context);
  }
  if (options.verdict) {
    data.verdict_file = options.verdict->string();
    data.verdict = read_file(*options.verdict, kLargestVerdict);
  }
  PageHead head = head_of(data);
  head.kicker = kicker_of(options);
  head.refresh_seconds = options.refresh_seconds;
  Page page(std::move(head));
  add_verdict(page, data);
  add_runs(page, data);
  add_learning_curves(page, data);
  add_accuracy_curves(page, data);
  add_throughput(page, data);
  add_spans(page, data);
  add_answers(page, data);
  add_loss_by_memory(page, data);
  add_loss_by_position(page, data);
  add_attention(page, data);
  add_effective_context(page, data);
  add_shaded_text(page, data);
  add_configs(page, data);
  add_commands(page, data);
  return {.html = page.finish(), .drawings = page.drawings()};
}

}  // namespace segue::report

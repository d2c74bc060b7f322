// The sections of the page, in their order. Each adds itself, or one sentence with the command that would produce what
// it lacks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/drawing/page.h"
#include "core/report/evaluation_file.h"
#include "core/report/run_data.h"

namespace segue::report {

struct ReportData {
  std::vector<RunData> runs = {};
  std::optional<EffectiveContext> effective_context = {};
  std::string effective_context_file = {};
  std::string verdict = {};
  std::string verdict_file = {};
};

PageHead head_of(const ReportData& data);              // without its kicker
void add_verdict(Page& page, const ReportData& data);  // nothing without one
void add_runs(Page& page, const ReportData& data);
void add_learning_curves(Page& page, const ReportData& data);
void add_accuracy_curves(Page& page, const ReportData& data);  // within the section before; nothing without marked data
void add_throughput(Page& page, const ReportData& data);
void add_spans(Page& page, const ReportData& data);    // nothing without learned spans
void add_answers(Page& page, const ReportData& data);  // nothing without marked data
void add_loss_by_memory(Page& page, const ReportData& data);
void add_loss_by_position(Page& page, const ReportData& data);
void add_attention(Page& page, const ReportData& data);  // nothing where no evaluation tells it
void add_effective_context(Page& page, const ReportData& data);
void add_shaded_text(Page& page, const ReportData& data);
void add_configs(Page& page, const ReportData& data);
void add_commands(Page& page, const ReportData& data);

}  // namespace segue::report

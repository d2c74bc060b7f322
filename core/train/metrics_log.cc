// Appending, and dropping what a resumed run will write again.
#include "core/train/metrics_log.h"

#include <fmt/format.h>

#include <numeric>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/wall_clock.h"

namespace segue {

namespace {

// A killed process may leave half a line; it is dropped with those that come after the step.
std::string lines_up_to(const std::string& text, int64_t step, bool evaluation_pending) {
  std::string kept;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const Json parsed = Json::parse(line, nullptr, false);
    if (!parsed.is_object() || !parsed.contains("step") || !parsed["step"].is_number_integer()) continue;
    const auto found = parsed["step"].get<int64_t>();
    const bool is_pending = evaluation_pending && found == step && parsed.contains("evaluation");
    if (found <= step && !is_pending) kept += line + "\n";
  }
  return kept;
}

// Of each layer's heads; null of a layer that learns none.
OrderedJson mean_spans(const LearnedSpans& spans) {
  OrderedJson means = OrderedJson::array();
  for (const std::vector<double>& heads : spans.layers) {
    const double sum = std::accumulate(heads.begin(), heads.end(), 0.0);
    means.push_back(heads.empty() ? OrderedJson() : OrderedJson(sum / static_cast<double>(heads.size())));
  }
  return means;
}

}  // namespace

MetricsLog::MetricsLog(const std::filesystem::path& path, int64_t resumed_step, bool evaluation_pending) : path_(path) {
  if (std::filesystem::exists(path))
    write_file_atomically(path, lines_up_to(read_file(path), resumed_step, evaluation_pending));
  file_.open(path, std::ios::app);
  if (!file_) throw FileError("{}: cannot open for appending: {}", path.string(), reason_of_failure());
}

void MetricsLog::append(const OrderedJson& line) {
  file_ << line.dump() << '\n' << std::flush;
  if (!file_) throw FileError("{}: cannot write: {}", path_.string(), reason_of_failure());
}

void MetricsLog::write_evaluation(int64_t step, int64_t tokens, const std::string& split, const OrderedJson& values) {
  OrderedJson line{{"step", step}, {"time", utc_millisecond()}, {"evaluation", split}};
  line.update(values);
  line["tokens"] = tokens;
  append(line);
}

void MetricsLog::write(const StepMetrics& metrics) {
  OrderedJson line{{"step", metrics.step}, {"time", utc_millisecond()}};
  add_loss(line, metrics.loss, metrics.units);
  if (metrics.accuracy) line["accuracy"] = *metrics.accuracy;
  if (metrics.reconstruction) line["reconstruction_loss"] = *metrics.reconstruction;
  if (metrics.passes) line["mean_passes"] = *metrics.passes;
  line.update({{"gradient_norm", metrics.gradient_norm},
               {"learning_rate", metrics.learning_rate},
               {"tokens", metrics.tokens},
               {"tokens_per_second", metrics.tokens_per_second},
               {"model_flops_per_second", metrics.flops_per_second}});
  if (metrics.mfu) line["mfu"] = *metrics.mfu;
  line["seconds"] = metrics.seconds;
  if (metrics.spans) {
    line["span_penalty"] = metrics.spans->penalty;
    line["mean_spans"] = mean_spans(*metrics.spans);
    line["spans"] = metrics.spans->layers;
  }
  if (metrics.exchange) {
    line["exchange_seconds"] = metrics.exchange->exchanging;
    line["exposed_exchange_seconds"] = metrics.exchange->exposed;
  }
  append(line);
}

namespace {

std::string exchange_text(const std::optional<ExchangeTimes>& exchange) {
  if (!exchange) return "";
  return fmt::format("  exchange {:.1f} ms, {:.1f} exposed", 1e3 * exchange->exchanging, 1e3 * exchange->exposed);
}

std::string reconstruction_text(const std::optional<double>& loss) {
  return loss ? fmt::format("  reconstruction {:.4f}", *loss) : "";
}

std::string passes_text(const std::optional<double>& passes) {
  return passes ? fmt::format("  passes {:.2f}", *passes) : "";
}

std::string flops_text(const StepMetrics& metrics) {
  const bool is_tera = metrics.flops_per_second >= 1e12;
  const std::string share = metrics.mfu ? fmt::format(" ({:.0f}% of peak)", 100.0 * *metrics.mfu) : "";
  return fmt::format("{:.1f} {}FLOP/s{}", metrics.flops_per_second / (is_tera ? 1e12 : 1e9), is_tera ? "T" : "G",
                     share);
}

}  // namespace

std::string console_line(const StepMetrics& metrics, int64_t max_step, const std::string& eta) {
  return fmt::format("step {}/{}  loss {:.4f}  {}{}{}{}  lr {:.2e}  |g| {:.3f}  {} tokens/s  {}{}  ETA {}",
                     metrics.step, max_step, metrics.loss.per_token, describe_bits(metrics.loss, metrics.units),
                     describe_accuracy(metrics.accuracy), reconstruction_text(metrics.reconstruction),
                     passes_text(metrics.passes), metrics.learning_rate, metrics.gradient_norm,
                     human_count(static_cast<int64_t>(metrics.tokens_per_second)), flops_text(metrics),
                     exchange_text(metrics.exchange), eta);
}

}  // namespace segue

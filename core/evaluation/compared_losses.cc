#include "core/evaluation/compared_losses.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace segue {

namespace {

// "losses.h5@512": the path, and 512; without a number behind the last "@", all of it, and -1.
std::pair<std::filesystem::path, int64_t> split_argument(const std::string& argument) {
  const size_t at = argument.rfind('@');
  int64_t context = -1;
  if (at == std::string::npos) return {argument, context};
  const char* const end = argument.data() + argument.size();
  const auto [parsed, error] = std::from_chars(argument.data() + at + 1, end, context);
  if (error != std::errc() || parsed != end || context < 0) return {argument, -1};
  return {argument.substr(0, at), context};
}

}  // namespace

ComparedLosses::ComparedLosses(const std::vector<ContextFiles>& models) {
  for (const ContextFiles& model : models) {
    std::vector<File>& files = files_.emplace_back();
    for (const std::string& argument : model.files) add(argument, files);
    std::ranges::sort(files, {}, &File::context);
    const auto same = std::ranges::adjacent_find(files, {}, &File::context);
    if (same != files.end())
      throw DataError("{}: {} and {} are both of context {}", model.name, same->path.string(),
                      std::next(same)->path.string(), same->context);
  }
  if (files_.empty()) throw UsageError("effective context: expected a model, found none");
  for (const File& file : files_.front()) contexts_.push_back(file.context);
  check_contexts(models);
}

void ComparedLosses::add(const std::string& argument, std::vector<File>& files) {
  const auto [path, said] = split_argument(argument);
  const PerTokenLosses losses = read_per_token_file(path);
  const int64_t context = said >= 0 ? said : losses.info.context;
  if (context < 0)
    throw DataError(R"({}: attribute "context": expected the most tokens a query could attend to, found none; say it )"
                    R"(behind the file's name, as "{}@512")",
                    path.string(), path.filename().string());
  same_tokens_.check(path, losses);
  if (scored_.empty()) scored_.assign(losses.targets.size(), true);
  for (size_t i = 0; i < scored_.size(); ++i) scored_[i] = scored_[i] && !std::isnan(losses.nll[i]);
  files.push_back({.path = path, .context = context});
}

void ComparedLosses::check_contexts(const std::vector<ContextFiles>& models) const {
  for (size_t model = 0; model < models.size(); ++model) {
    std::vector<int64_t> found;
    for (const File& file : files_[model]) found.push_back(file.context);
    if (found != contexts_)
      throw DataError("{}: files of contexts {}, but {} has {}; every model needs the same", models[model].name,
                      fmt::join(found, ", "), models.front().name, fmt::join(contexts_, ", "));
  }
}

int64_t ComparedLosses::tokens() const { return std::ranges::count(scored_, true); }

std::vector<float> ComparedLosses::losses(size_t model, size_t context) const {
  const PerTokenLosses all = read_per_token_file(files_[model][context].path);
  if (all.nll.size() != scored_.size())
    throw DataError("{}: has changed while it was read", files_[model][context].path.string());
  std::vector<float> kept;
  kept.reserve(static_cast<size_t>(tokens()));
  for (size_t i = 0; i < scored_.size(); ++i)
    if (scored_[i]) kept.push_back(all.nll[i]);
  return kept;
}

namespace {

OrderedJson step_of(const std::vector<int64_t>& contexts) {
  const int64_t step = contexts[1] - contexts[0];
  for (size_t i = 1; i < contexts.size(); ++i)
    if (contexts[i] - contexts[i - 1] != step) return {};
  return step;
}

OrderedJson curve_json(const GainCurve& curve) {
  OrderedJson points = OrderedJson::array();
  for (const GainPoint& point : curve.points) {
    points.push_back(
        {{"context", point.context}, {"loss", point.loss}, {"next_loss", point.next_loss}, {"gain", point.gain}});
  }
  return {{"ratio", curve.ratio},
          {"effective_context", curve.effective_context},
          {"ends_within", curve.ends_within},
          {"points", std::move(points)}};
}

OrderedJson model_json(const std::string& name, const std::vector<GainCurve>& curves) {
  OrderedJson lengths = OrderedJson::object();
  OrderedJson all = OrderedJson::array();
  for (const GainCurve& curve : curves) {
    lengths[OrderedJson(curve.ratio).dump()] = curve.effective_context;
    all.push_back(curve_json(curve));
  }
  return {{"name", name}, {"effective_context", std::move(lengths)}, {"curves", std::move(all)}};
}

}  // namespace

OrderedJson compare_effective_contexts(const std::vector<ContextFiles>& models,
                                       const EffectiveContextOptions& options) {
  const ComparedLosses compared(models);
  const auto curves = effective_contexts(
      models.size(), compared.contexts(), [&](size_t model, size_t context) { return compared.losses(model, context); },
      options);
  OrderedJson json{{"format", "segue-effective-context"},
                   {"version", 1},
                   {"threshold", options.threshold},
                   {"step", step_of(compared.contexts())},
                   {"ratios", options.ratios},
                   {"tokens", compared.tokens()},
                   {"models", OrderedJson::array()}};
  for (size_t i = 0; i < models.size(); ++i) json["models"].push_back(model_json(models[i].name, curves[i]));
  return json;
}

}  // namespace segue

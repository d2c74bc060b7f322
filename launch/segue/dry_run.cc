#include "launch/segue/dry_run.h"

#include <fmt/format.h>

#include "base/memory_limit.h"
#include "base/text.h"
#include "core/train/training_plan.h"
#include "data_pipeline/dataset.h"

namespace segue {

namespace {

std::string streams_text(const Share& streams) {
  if (streams.count == 1) return fmt::format("{}", streams.first);
  return fmt::format("{}-{}", streams.first, streams.first + streams.count - 1);
}

std::string row_of(size_t rank, const RankPlan& plan) {
  const RankMemory& memory = plan.memory;
  return fmt::format("{:>4}{:>9}{:>11}{:>11}{:>11}{:>11}{:>12}{:>11}\n", rank, streams_text(plan.streams),
                     human_bytes(memory.weights), human_bytes(memory.gradients), human_bytes(memory.optimizer),
                     human_bytes(memory.segment_memory), human_bytes(memory.activations), human_bytes(memory.total()));
}

std::string buckets_text(int64_t buckets, double mebibytes) {
  return buckets == 1 ? "one bucket" : fmt::format("{} buckets of about {:g} MiB", buckets, mebibytes);
}

// Where hosts are not known, every rank is taken to have one of its own.
int64_t bytes_of_first_host(const TrainingPlan& plan, const std::vector<RankPlace>& places) {
  int64_t bytes = 0;
  for (size_t rank = 0; rank < places.size(); ++rank)
    if (rank == 0 || (!places[rank].host.empty() && places[rank].host == places.front().host))
      bytes += plan.ranks[rank].memory.total();
  return bytes;
}

}  // namespace

std::string describe_training(const Config& config, const std::vector<RankPlace>& places, Device device) {
  const auto ranks = static_cast<int>(places.size());
  const int64_t vocab_size = config.data.vocab_size > 0 ? config.data.vocab_size : dataset_of(config.data).vocabulary();
  const TrainingPlan plan = plan_training(config, vocab_size, ranks);
  std::string text = fmt::format("{} parameters, vocabulary {}, {} of {} a step, {}\n\n", human_count(plan.parameters),
                                 vocab_size, counted(config.training.batch_size, "stream"),
                                 counted(config.training.tgt_len, "token"), counted(config.training.max_step, "step"));
  text += fmt::format("{:>4}{:>9}{:>11}{:>11}{:>11}{:>11}{:>12}{:>11}\n", "rank", "streams", "weights", "gradients",
                      "optimizer", "memory", "activations", "total");
  for (size_t rank = 0; rank < places.size(); ++rank) text += row_of(rank, plan.ranks[rank]);
  if (!places.front().host.empty()) text += '\n';
  for (size_t rank = 0; rank < places.size(); ++rank)
    if (const RankPlace& place = places[rank]; !place.host.empty())
      text += fmt::format("rank {} on {} {}\n", rank, place.host, place.processors);
  if (ranks > 1)
    text += fmt::format("\nEach rank sends {} a step, in {}{}.\n", human_bytes(plan.bytes_sent),
                        buckets_text(plan.buckets, config.training.bucket_mb),
                        config.optimizer.shard ? ", and receives the weights that others have updated" : "");
  if (device.is_cuda()) return text;
  const std::string complaint = complaint_of_memory(bytes_of_first_host(plan, places), remedy_for_memory(config));
  if (!complaint.empty()) text += fmt::format("\nTraining takes {}.\n", complaint);
  return text;
}

}  // namespace segue

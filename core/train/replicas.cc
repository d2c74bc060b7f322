// Checksums go around, not weights.
#include "core/train/replicas.h"

#include <map>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "base/error.h"
#include "base/json_text.h"

namespace segue {

namespace {

void add(Checksum& checksum, ConstTensorView tensor, Device device) {
  const HostTensor host(tensor, device);
  checksum.update({host.view().data, static_cast<size_t>(host.view().bytes())});
}

std::string checksum_of_weights(const TrainingParts& parts) {
  Checksum checksum;
  add(checksum, parts.parameters.values(), parts.parameters.compute().device);
  return checksum.text();
}

std::string checksum_of_moments(const TrainingParts& parts) {
  Checksum checksum;
  for (size_t i = 0; i < parts.optimizer.moments() && !parts.optimizer.is_sharded(); ++i)
    add(checksum, parts.optimizer.moment(i), parts.parameters.compute().device);
  return checksum.text();
}

std::string checksum_of_state(const TrainingParts& parts) {
  TrainingState state = parts.state;
  state.seconds = 0.0;  // each rank has its own clock
  const std::string text = write_fields(state).dump();
  return checksum_of(std::as_bytes(std::span(text)));
}

// The answer of most ranks; of two that are as frequent, that of the lower rank.
std::string most_frequent(const std::vector<std::string>& said) {
  std::map<std::string, int> counts;
  for (const std::string& each : said) ++counts[each];
  std::string best = said.front();
  for (const std::string& each : said) {
    if (counts[each] > counts[best]) best = each;
  }
  return best;
}

// Throws when ranks differ in `what`, a key of what they have said.
void compare(const std::vector<OrderedJson>& ranks, const char* what, int64_t step) {
  std::vector<std::string> said;
  said.reserve(ranks.size());
  for (const OrderedJson& rank : ranks) said.push_back(rank[what]);
  const std::string expected = most_frequent(said);
  std::string others;
  for (size_t r = 0; r < said.size(); ++r) {
    if (said[r] == expected) continue;
    others += fmt::format("{}rank {} on {} ({})", others.empty() ? "" : ", ", r, ranks[r]["host"].get<std::string>(),
                          said[r]);
  }
  if (others.empty()) return;
  throw PeerError("step {}: ranks differ in their {}: expected {}, found otherwise: {}", step, what, expected, others);
}

}  // namespace

void check_replicas(const TrainingParts& parts, Job& job) {
  if (job.size() == 1) return;
  const LongWork comparing(job, "comparing weights");
  const OrderedJson mine{{"host", job.host()},
                         {"weights", checksum_of_weights(parts)},
                         {"optimizer", checksum_of_moments(parts)},
                         {"state", checksum_of_state(parts)}};
  std::vector<OrderedJson> ranks;
  for (const std::string& text : job.gather(mine.dump())) ranks.push_back(OrderedJson::parse(text));
  for (const char* what : {"weights", "optimizer", "state"}) compare(ranks, what, parts.state.step);
}

}  // namespace segue

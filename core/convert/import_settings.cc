#include "core/convert/import_settings.h"

#include <fmt/format.h>

#include <string_view>

#include "base/json_fields.h"

namespace segue {

namespace {

class SettingList {
 public:
  template <typename T>
  void add(std::string_view key, const T& value, const std::string& reason) {
    lines_.push_back(fmt::format("model.{} = {}: {}", key, value, reason));
  }
  std::vector<std::string> take() { return std::move(lines_); }

 private:
  std::vector<std::string> lines_;
};

void add_head(SettingList& list, const HeadConfig& head, std::string_view program) {
  if (!head.cutoffs.empty()) {
    const bool reversed = head.cluster_order == ClusterOrder::kReversed;
    list.add("head.cluster_order", name_of_choice(head.cluster_order),
             fmt::format("in {} the {} cluster row stands for the first cluster after the frequent words", program,
                         reversed ? "last" : "first"));
  }
  if (head.div_val > 1)
    list.add("head.proj_same_dim", head.proj_same_dim,
             head.proj_same_dim ? "a table as wide as d_model has a projection too"
                                : "a table as wide as d_model has no projection");
}

}  // namespace

std::vector<std::string> import_settings(WeightFormat format, const ModelConfig& model) {
  const std::string_view program = traits_of(format).program;
  const bool zeros = model.memory.initial == InitialMemory::kZeros;
  SettingList list;
  add_head(list, model.head, program);
  list.add("block.layer_norm_epsilon", model.block.layer_norm_epsilon,
           fmt::format("what {} adds to variances; another one shifts every loss a little", program));
  list.add("memory.initial", name_of_choice(model.memory.initial),
           zeros ? fmt::format("{} attends to rows of zeros before the first segment; the first losses depend on it",
                               program)
                 : fmt::format("in {} the memory grows from nothing; the first losses depend on it", program));
  list.add("visibility.same_length_extra_key", model.visibility.same_length_extra_key,
           model.visibility.same_length_extra_key ? "with same_length a query sees mem_len + 1 keys"
                                                  : "with same_length a query sees mem_len keys, its own included");
  list.add("position.untie_r", model.position.untie_r,
           model.position.untie_r ? "every layer has its own biases u and w" : "all layers share the biases u and w");
  list.add("position.clamp_len", model.position.clamp_len,
           model.position.clamp_len > 0 ? "larger distances count as this one; segue eval --clamp-len takes another"
                                        : "no distance is clamped; segue eval --clamp-len takes another");
  list.add("mem_len", model.mem_len, "the memory of the source; segue eval --mem-len takes another");
  return list.take();
}

}  // namespace segue

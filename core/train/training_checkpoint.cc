// Names and order of the tensors of a saved run.
#include "core/train/training_checkpoint.h"

#include <fmt/format.h>

namespace segue {

namespace {

constexpr const char* kFirstMoment = "first_moment.";
constexpr const char* kSecondMoment = "second_moment.";

void append_moment(std::vector<NamedTensor>& tensors, const char* prefix, const Parameters& parameters,
                   ConstTensorView flat) {
  for (NamedTensor& part : named_parts(parameters, flat)) tensors.push_back({prefix + part.name, part.tensor});
}

// What is saved of a run's flat blocks, on the CPU.
struct SavedBlocks {
  explicit SavedBlocks(const TrainingParts& parts)
      : values(parts.parameters.values(), device_of(parts)),
        first_moment(parts.optimizer.first_moment(), device_of(parts)),
        second_moment(parts.optimizer.second_moment(), device_of(parts)) {}
  static Device device_of(const TrainingParts& parts) { return parts.parameters.compute().device; }
  HostTensor values, first_moment, second_moment;
};

TensorFile optimizer_file(const TrainingParts& parts, const SavedBlocks& blocks) {
  TensorFile file{kOptimizerFile, {}, {}};
  append_moment(file.tensors, kFirstMoment, parts.parameters, blocks.first_moment.view());
  append_moment(file.tensors, kSecondMoment, parts.parameters, blocks.second_moment.view());
  return file;
}

void restore_moment(const SafetensorsFile& file, const char* prefix, const Parameters& parameters, TensorView flat) {
  for (size_t i = 0; i < parameters.specs().size(); ++i) {
    const ParameterSpec& spec = parameters.specs()[i];
    parameters.upload(flat, i, file.tensor(prefix + spec.name, DType::kFloat32, spec.shape));
  }
}

std::string layer_name(int64_t layer) { return fmt::format("layers.{}", layer); }

int64_t stream_count(std::span<const StreamGroup> groups) { return groups.back().first + groups.back().count; }

// One layer's memory of all streams, in their order: groups hold contiguous ranges.
OwnedTensor gather_layer(std::span<const StreamGroup> groups, int64_t layer, Device device) {
  const ConstTensorView part = groups[0].memory.layer(layer);
  OwnedTensor gathered(part.dtype, {stream_count(groups), part.shape[1], part.shape[2]});
  for (const StreamGroup& group : groups)
    copy_tensor(gathered.view().rows(group.first, group.count), group.memory.layer(layer), device);
  return gathered;
}

void restore_memory(const SafetensorsFile& file, std::span<StreamGroup> groups, int64_t layers) {
  for (StreamGroup& group : groups) {
    std::vector<ConstTensorView> parts;
    for (int64_t l = 0; l < layers; ++l) {
      const ConstTensorView saved = file.tensor(layer_name(l));
      if (saved.shape.rank() != 3 || saved.shape[0] != stream_count(groups)) {
        throw CheckpointError("{}: {} is {}, expected {} streams", file.source(), layer_name(l), saved.shape.text(),
                              stream_count(groups));
      }
      parts.push_back(saved.rows(group.first, group.count));
    }
    group.memory.restore(parts);
  }
}

}  // namespace

void save_training(CheckpointStore& store, const TrainingParts& parts, const Config& config, const StoredModel& model) {
  const SavedBlocks blocks(parts);
  std::vector<OwnedTensor> gathered;
  TensorFile memory{kMemoryFile, {}, {}};
  for (int64_t l = 0; l < model.model.n_layer; ++l)
    gathered.push_back(gather_layer(parts.groups, l, SavedBlocks::device_of(parts)));
  for (int64_t l = 0; l < model.model.n_layer; ++l) {
    memory.tensors.push_back({layer_name(l), std::as_const(gathered[static_cast<size_t>(l)]).view()});
  }
  store.save(parts.state.step, {.tensor_files = {weights_file(parts.parameters, blocks.values.view()),
                                                 optimizer_file(parts, blocks), memory},
                                .text_files = {model_file(model),
                                               {kStateFile, write_fields(parts.state).dump(2) + "\n"},
                                               {kConfigFile, to_json(config).dump(2) + "\n"}}});
}

void restore_training(const Checkpoint& checkpoint, const TrainingParts& parts) {
  const std::string source = (checkpoint.directory() / kStateFile).string();
  if (!checkpoint.contains(kStateFile)) {
    throw CheckpointError("{}: holds weights only, no training state; start from it with training.init_from",
                          checkpoint.directory().string());
  }
  parts.state = read_fields<CheckpointError, TrainingState>(
      parse_json<CheckpointError>(checkpoint.text(kStateFile), source), source);
  read_weights(checkpoint, parts.parameters);
  const SafetensorsFile moments = checkpoint.tensors(kOptimizerFile);
  restore_moment(moments, kFirstMoment, parts.parameters, parts.optimizer.first_moment());
  restore_moment(moments, kSecondMoment, parts.parameters, parts.optimizer.second_moment());
  parts.optimizer.set_steps(parts.state.optimizer_step);
  restore_memory(checkpoint.tensors(kMemoryFile), parts.groups, parts.groups[0].memory.layers());
}

}  // namespace segue

// Names and order of the tensors of a saved run.
#include "core/train/training_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace segue {

namespace {

Device device_of(const TrainingParts& parts) { return parts.parameters.compute().device; }

std::string moment_of(std::string_view moment, const std::string& parameter) {
  return fmt::format("{}.{}", moment, parameter);
}

// What is saved of a run's flat blocks, on the CPU.
struct SavedBlocks {
  HostTensor values;
  std::vector<HostTensor> moments;
};

// Of the first rank, all that the ranks have; nothing on the others, which give their parts.
std::optional<SavedBlocks> collect_blocks(const TrainingParts& parts, bool is_first) {
  Optimizer& optimizer = parts.optimizer;
  if (!is_first && !optimizer.is_sharded()) return std::nullopt;
  std::vector<HostTensor> moments;
  for (size_t i = 0; i < optimizer.moments(); ++i) {
    if (std::optional<HostTensor> moment = optimizer.collect_moment(i)) moments.push_back(std::move(*moment));
  }
  if (!is_first) return std::nullopt;
  return SavedBlocks{HostTensor(parts.parameters.values(), device_of(parts)), std::move(moments)};
}

TensorFile optimizer_file(const TrainingParts& parts, const SavedBlocks& blocks) {
  TensorFile file{kOptimizerFile, {}, {}};
  const std::vector<std::string_view> names = moment_names(parts.optimizer.config());
  for (size_t i = 0; i < names.size(); ++i) {
    for (const NamedTensor& part : named_parts(parts.parameters, blocks.moments[i].view()))
      file.tensors.push_back({moment_of(names[i], part.name), part.tensor});
  }
  return file;
}

// The words by which the states of optimizers are told apart.
std::string describe_state(const OptimizerConfig& config) {
  const std::vector<std::string_view> moments = moment_names(config);
  const bool is_adamw = config.kind == OptimizerKind::kAdamw;  // its decay leaves no trace: the state is Adam's
  return fmt::format("{} ({})", is_adamw ? "adam" : name_of_choice(config.kind),
                     moments.empty() ? "nothing" : fmt::format("{}", fmt::join(moments, ", ")));
}

void check_optimizer_state(const Checkpoint& checkpoint, const SafetensorsFile& moments,
                           const OptimizerConfig& optimizer) {
  const std::string source = (checkpoint.directory() / kConfigFile).string();
  const auto saved =
      read_fields<CheckpointError, Config>(parse_json<CheckpointError>(checkpoint.text(kConfigFile), source), source);
  const std::string expected = describe_state(optimizer);
  const std::string found = describe_state(saved.optimizer);
  if (found != expected)
    throw CheckpointError(
        "{}: expected the state of optimizer {}, found that of {}; start anew from these weights "
        "with training.init_from",
        moments.source(), expected, found);
}

// A moment of all parameters, laid out as they are, on the CPU.
OwnedTensor flat_moment(const SafetensorsFile& file, std::string_view moment, Parameters& parameters) {
  OwnedTensor flat(DType::kFloat32, parameters.values().shape);
  for (size_t i = 0; i < parameters.specs().size(); ++i) {
    const ParameterSpec& spec = parameters.specs()[i];
    copy_tensor(parameters.part_of(flat.view(), i),
                file.tensor(moment_of(moment, spec.name), DType::kFloat32, spec.shape), {});
  }
  return flat;
}

void restore_optimizer(const Checkpoint& checkpoint, const TrainingParts& parts) {
  const SafetensorsFile moments = checkpoint.tensors(kOptimizerFile);
  check_optimizer_state(checkpoint, moments, parts.optimizer.config());
  const std::vector<std::string_view> names = moment_names(parts.optimizer.config());
  for (size_t i = 0; i < names.size(); ++i)
    parts.optimizer.restore_moment(i, flat_moment(moments, names[i], parts.parameters).view());
  parts.optimizer.set_steps(parts.state.optimizer_step);
}

std::string layer_name(int64_t layer) { return fmt::format("layers.{}", layer); }

// One layer's memory of this rank's streams, in their order: groups hold contiguous ranges.
OwnedTensor gather_layer(std::span<const StreamGroup> groups, int64_t layer, Device device) {
  const ConstTensorView part = groups[0].memory.layer(layer);
  const int64_t first = groups.front().first;
  OwnedTensor gathered(part.dtype, {groups.back().first + groups.back().count - first, part.shape[1], part.shape[2]});
  for (const StreamGroup& group : groups)
    copy_tensor(gathered.view().rows(group.first - first, group.count), group.memory.layer(layer), device);
  return gathered;
}

ManifestFile write_memory(const std::filesystem::path& directory, const TrainingParts& parts) {
  const int64_t layers = parts.groups[0].memory.layers();
  std::vector<OwnedTensor> gathered;
  TensorFile file{fmt::format("{}{:05}.safetensors", kMemoryFilePrefix, parts.groups.front().first), {}, {}};
  for (int64_t l = 0; l < layers; ++l) gathered.push_back(gather_layer(parts.groups, l, device_of(parts)));
  for (int64_t l = 0; l < layers; ++l)
    file.tensors.push_back({layer_name(l), std::as_const(gathered[static_cast<size_t>(l)]).view()});
  return write_tensor_file(directory, file);
}

// A rank's file, in the words in which ranks tell each other.
std::string text_of(const ManifestFile& file) { return write_fields(file).dump(); }
ManifestFile file_of(const std::string& text) {
  return read_fields<PeerError, ManifestFile>(parse_json<PeerError>(text, "a rank's memory"), "a rank's memory");
}

// The saved memories: which streams each file holds.
class SavedMemory {
 public:
  SavedMemory(const Checkpoint& checkpoint, int64_t layers) {
    for (const std::string& name : checkpoint.names()) {
      if (!name.starts_with(kMemoryFilePrefix)) continue;
      parts_.push_back({streams_, checkpoint.tensors(name)});
      streams_ += check_part(parts_.back().file, layers);
    }
  }
  int64_t streams() const { return streams_; }

  // [count, M, D]: the rows of streams first .. first + count - 1.
  OwnedTensor layer(int64_t l, const Share& wanted) const {
    OwnedTensor rows;
    for (const Part& part : parts_) {
      const ConstTensorView saved = part.file.tensor(layer_name(l));
      if (rows.shape().rank() != 3) rows = OwnedTensor(saved.dtype, {wanted.count, saved.shape[1], saved.shape[2]});
      const int64_t begin = std::max(wanted.first, part.first);
      const int64_t end = std::min(wanted.first + wanted.count, part.first + saved.shape[0]);
      if (begin < end)
        copy_tensor(rows.view().rows(begin - wanted.first, end - begin), saved.rows(begin - part.first, end - begin),
                    {});
    }
    return rows;
  }

 private:
  struct Part {
    int64_t first;
    SafetensorsFile file;
  };

  // The streams of a file, which all its layers hold, in the one shape that all files share.
  int64_t check_part(const SafetensorsFile& file, int64_t layers) {
    const ConstTensorView first = parts_.front().file.tensor(layer_name(0));
    if (first.shape.rank() != 3)
      throw CheckpointError("{}: tensor {}: expected three extents, found {}", parts_.front().file.source(),
                            layer_name(0), first.shape.text());
    const ConstTensorView own = file.tensor(layer_name(0));
    const Shape expected{own.shape.rank() == 0 ? 0 : own.shape[0], first.shape[1], first.shape[2]};
    for (int64_t l = 0; l < layers; ++l) {
      const ConstTensorView found = file.tensor(layer_name(l));
      if (found.shape != expected || found.dtype != first.dtype)
        throw CheckpointError("{}: tensor {}: expected {} {}, as of the other layers, found {} {}", file.source(),
                              layer_name(l), name_of(first.dtype), expected.text(), name_of(found.dtype),
                              found.shape.text());
    }
    return expected[0];
  }

  std::vector<Part> parts_;  // in the order of their streams, as their names sort
  int64_t streams_ = 0;
};

void check_streams(const Checkpoint& checkpoint, const SavedMemory& memory, int64_t expected) {
  if (memory.streams() != expected)
    throw CheckpointError("{}: holds the memory of {} streams, expected {}", checkpoint.directory().string(),
                          memory.streams(), expected);
}

void restore_memory(const SavedMemory& saved, std::span<StreamGroup> groups, int64_t layers) {
  for (StreamGroup& group : groups) {
    std::vector<OwnedTensor> rows;
    std::vector<ConstTensorView> views;
    rows.reserve(static_cast<size_t>(layers));
    views.reserve(static_cast<size_t>(layers));
    for (int64_t l = 0; l < layers; ++l) rows.push_back(saved.layer(l, {group.first, group.count}));
    for (const OwnedTensor& layer : rows) views.push_back(layer.view());
    group.memory.restore(views);
  }
}

}  // namespace

void save_training(CheckpointStore& store, const TrainingParts& parts, const Config& config, const StoredModel& model,
                   const std::vector<TextFile>& further, Communicator& communicator) {
  const LongWork saving(communicator, fmt::format("saving step {}", parts.state.step));
  // Twice the ranks meet: when the directory is there, whose name the first one tells, and when all files are.
  const auto write_memories = [&](const std::filesystem::path& made) {
    const std::filesystem::path directory = store.directory() / communicator.gather(made.filename().string()).front();
    std::vector<ManifestFile> files;
    for (const std::string& text : communicator.gather(text_of(write_memory(directory, parts))))
      files.push_back(file_of(text));
    return files;
  };
  if (const std::optional<SavedBlocks> blocks = collect_blocks(parts, communicator.is_first())) {
    std::vector<TextFile> text_files{model_file(model),
                                     {kStateFile, write_fields(parts.state).dump(2) + "\n"},
                                     {kConfigFile, to_json(config).dump(2) + "\n"}};
    text_files.insert(text_files.end(), further.begin(), further.end());
    store.save(parts.state.step,
               {.tensor_files = {weights_file(parts.parameters, blocks->values.view()), optimizer_file(parts, *blocks)},
                .text_files = std::move(text_files)},
               write_memories);
  } else {
    write_memories({});
  }
  communicator.barrier();
}

void check_resumable(const Checkpoint& checkpoint, const Config& config, const Dataset& dataset) {
  const TrainingState state = read_training_state(checkpoint);
  const std::string tokens = dataset.identity(config.data.train_split);
  if (state.dataset != tokens)
    throw CheckpointError("{}: was trained on other tokens: dataset {}, {} has {}", checkpoint.directory().string(),
                          state.dataset, dataset.directory().string(), tokens);
  check_optimizer_state(checkpoint, checkpoint.tensors(kOptimizerFile), config.optimizer);
  check_streams(checkpoint, SavedMemory(checkpoint, config.model.n_layer), config.training.batch_size);
}

void restore_training(const Checkpoint& checkpoint, const TrainingParts& parts, int64_t batch_size) {
  parts.state = read_training_state(checkpoint);
  read_weights(checkpoint, parts.parameters);
  restore_optimizer(checkpoint, parts);
  const int64_t layers = parts.groups[0].memory.layers();
  const SavedMemory memory(checkpoint, layers);
  check_streams(checkpoint, memory, batch_size);
  restore_memory(memory, parts.groups, layers);
}

}  // namespace segue

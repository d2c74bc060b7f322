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

// The saved form of a run's flat blocks, on the CPU.
struct SavedBlocks {
  HostTensor values;
  std::vector<HostTensor> moments;
};

// Returns on the first rank all that the ranks have; nothing on the others, which give their parts.
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

// The words that distinguish the states of optimizers.
std::string describe_state(const OptimizerConfig& config) {
  const std::vector<std::string_view> moments = moment_names(config);
  const bool is_adamw = config.kind == OptimizerKind::kAdamw;  // its decay leaves no trace: the state is Adam's
  return fmt::format("{} ({})", is_adamw ? "adam" : name_of_choice(config.kind),
                     moments.empty() ? "nothing" : fmt::format("{}", fmt::join(moments, ", ")));
}

void check_optimizer_state(const Checkpoint& checkpoint, const SafetensorsFile& moments,
                           const OptimizerConfig& optimizer) {
  const auto saved = checkpoint.read<Config>(kConfigFile);
  const std::string expected = describe_state(optimizer);
  const std::string found = describe_state(saved.optimizer);
  if (found != expected)
    throw CheckpointError(
        "{}: expected the state of optimizer {}, found that of {}; start a new run from these weights "
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

// The shape of the same rows of so many streams.
Shape with_streams(const Shape& shape, int64_t streams) {
  Shape changed{streams};
  for (int i = 1; i < shape.rank(); ++i) changed.append(shape[i]);
  return changed;
}

ManifestFile write_memory(const std::filesystem::path& directory, const TrainingParts& parts) {
  const std::span<const StreamGroup> groups = parts.groups;
  const int64_t first = groups.front().first;
  const int64_t streams = groups.back().first + groups.back().count - first;
  const std::vector<NamedTensor> state = groups.front().memory->state();
  // The memories of this rank's streams, in their order: groups hold contiguous ranges.
  std::vector<OwnedTensor> gathered;
  gathered.reserve(state.size());
  for (const NamedTensor& each : state)
    gathered.emplace_back(each.tensor.dtype, with_streams(each.tensor.shape, streams));
  for (const StreamGroup& group : groups) {
    const std::vector<NamedTensor> own = group.memory->state();
    for (size_t i = 0; i < own.size(); ++i)
      copy_tensor(gathered[i].view().rows(group.first - first, group.count), own[i].tensor, device_of(parts));
  }
  TensorFile file{fmt::format("{}{:05}.safetensors", kMemoryFilePrefix, first), {}, {}};
  for (size_t i = 0; i < state.size(); ++i) file.tensors.push_back({state[i].name, std::as_const(gathered[i]).view()});
  return write_tensor_file(directory, file);
}

// A rank's file, in the form in which ranks exchange it.
std::string text_of(const ManifestFile& file) { return write_fields(file).dump(); }
ManifestFile file_of(const std::string& text) {
  return read_fields<PeerError, ManifestFile>(parse_json<PeerError>(text, "a rank's memory"), "a rank's memory");
}

// The saved memories: which streams each file holds.
class SavedMemory {
 public:
  // `state` has the names and, but for their lengths, the shapes of what the memory of a stream is made of.
  SavedMemory(const Checkpoint& checkpoint, const std::vector<NamedTensor>& state) {
    for (const std::string& name : checkpoint.names()) {
      if (!name.starts_with(kMemoryFilePrefix)) continue;
      parts_.push_back({streams_, checkpoint.tensors(name)});
      streams_ += check_part(parts_.back().file, state);
    }
  }
  int64_t streams() const { return streams_; }

  // [count, ...]: the rows of streams first .. first + count - 1 of a tensor of the state.
  OwnedTensor rows(const std::string& name, const Share& wanted) const {
    const ConstTensorView like = parts_.front().file.tensor(name);
    OwnedTensor rows(like.dtype, with_streams(like.shape, wanted.count));
    for (const Part& part : parts_) {
      const ConstTensorView saved = part.file.tensor(name);
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

  // The streams of a file, which all its tensors hold; but for them each is as in the first file. Whether that one's
  // fit the model is for the memory to say.
  int64_t check_part(const SafetensorsFile& file, const std::vector<NamedTensor>& state) {
    int64_t streams = 0;
    for (const auto& [name, own] : state) {
      const ConstTensorView found = file.tensor(name);
      const ConstTensorView like = parts_.front().file.tensor(name);
      if (found.shape.rank() != own.shape.rank())
        throw CheckpointError("{}: tensor {}: expected {} extents, found {}", file.source(), name, own.shape.rank(),
                              found.shape.text());
      if (name == state.front().name) streams = found.shape[0];
      const Shape expected = with_streams(like.shape, streams);
      if (found.shape != expected || found.dtype != like.dtype)
        throw CheckpointError(
            "{}: tensor {}: expected {} {}, as of its first tensor and of the first file, found {} {}", file.source(),
            name, name_of(like.dtype), expected.text(), name_of(found.dtype), found.shape.text());
    }
    return streams;
  }

  std::vector<Part> parts_;  // in the order of their streams, as their names sort
  int64_t streams_ = 0;
};

void check_streams(const Checkpoint& checkpoint, const SavedMemory& memory, int64_t expected) {
  if (memory.streams() != expected)
    throw CheckpointError("{}: holds the memory of {} streams, expected {}", checkpoint.directory().string(),
                          memory.streams(), expected);
}

// Of a memory that keeps tokens, of which a model looks up vectors wherever the numbers point.
void check_tokens(const std::string& name, ConstTensorView saved, int64_t vocabulary) {
  if (saved.dtype != DType::kInt32) return;
  const auto* tokens = saved.as<int32_t>();
  for (int64_t i = 0; i < saved.elements(); ++i)
    if (tokens[i] < 0 || tokens[i] >= vocabulary)
      throw CheckpointError("memory: {}: expected tokens of [0, {}), found {}", name, vocabulary, tokens[i]);
}

// Throws CheckpointError naming the checkpoint when the memory cannot take over what was saved.
void restore_streams(const Checkpoint& checkpoint, const SavedMemory& saved, const Share& streams,
                     TrainingMemory& memory) try {
  std::vector<OwnedTensor> rows;
  const int64_t vocabulary = read_model(checkpoint).vocab_size;
  for (const NamedTensor& own : memory.state()) {
    rows.push_back(saved.rows(own.name, streams));
    check_tokens(own.name, std::as_const(rows.back()).view(), vocabulary);
  }
  std::vector<ConstTensorView> views;
  views.reserve(rows.size());
  for (const OwnedTensor& tensor : rows) views.push_back(tensor.view());
  memory.restore(views);
} catch (const CheckpointError& error) {
  throw CheckpointError("{}: {}", checkpoint.directory().string(), error.what());
}

}  // namespace

void save_training(CheckpointStore& store, const TrainingParts& parts, const Config& config, const StoredModel& model,
                   const std::vector<TextFile>& further, Job& job) {
  const LongWork saving(job, fmt::format("saving step {}", parts.state.step));
  // Twice the ranks meet: when the directory is there, whose name the first one sends, and when all files are.
  const auto write_memories = [&](const std::filesystem::path& made) {
    const std::filesystem::path directory = store.directory() / job.gather(made.filename().string()).front();
    std::vector<ManifestFile> files;
    for (const std::string& text : job.gather(text_of(write_memory(directory, parts)))) files.push_back(file_of(text));
    return files;
  };
  if (const std::optional<SavedBlocks> blocks = collect_blocks(parts, job.is_first())) {
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
  job.barrier();
}

void check_resumable(const Checkpoint& checkpoint, const Config& config, const Dataset& dataset) {
  const TrainingState state = read_training_state(checkpoint);
  const std::string& split = config.data.train_split;
  if (!dataset.has_identity(split, state.dataset))
    throw CheckpointError(
        "{}: expected the tokens that it was trained on{}, {}; found {} in {}; name the dataset of then "
        "with --set data.path=DIR, or start a new run with training.init_from",
        checkpoint.directory().string(),
        state.dataset.starts_with(kByTokens)
            ? ""
            : ", or the same in other shards, which its version of the program did not tell apart",
        state.dataset, dataset.identity(split), dataset.directory().string());
  check_optimizer_state(checkpoint, checkpoint.tensors(kOptimizerFile), config.optimizer);
  const auto memory = make_training_memory(config.model, use_of(config.model), 1);
  const SavedMemory saved(checkpoint, memory->state());
  check_streams(checkpoint, saved, config.training.batch_size);
  restore_streams(checkpoint, saved, {.first = 0, .count = 1}, *memory);  // if one's fits, all do
}

void restore_training(const Checkpoint& checkpoint, const TrainingParts& parts, int64_t batch_size) {
  parts.state = read_training_state(checkpoint);
  read_weights(checkpoint, parts.parameters);
  restore_optimizer(checkpoint, parts);
  const SavedMemory memory(checkpoint, parts.groups.front().memory->state());
  check_streams(checkpoint, memory, batch_size);
  for (const StreamGroup& group : parts.groups)
    restore_streams(checkpoint, memory, {.first = group.first, .count = group.count}, *group.memory);
}

}  // namespace segue

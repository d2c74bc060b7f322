// The part of an experiment's config that says what the model is: its sizes, and one object for each of the eight axes,
// whose `kind` selects the implementation. Meanings, units and ranges stand in model_config.cc, once, for people and
// for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/config/kinds.h"
#include "core/config/own_options.h"

namespace segue {

class JsonFields;
enum class RecurrentGate : uint8_t;  // core/kinds/memory/block_recurrent/options.h
enum class ResidualGate : uint8_t;   // core/kinds/block/gated/options.h

// What a token is predicted from. The masked objective has a token of its own, the vocabulary's last and no dataset's.
struct ObjectiveConfig {
  ObjectiveKind kind = {};
  double mask_rate = 0.15;
  double mask_token_share = 0.8;
  double random_token_share = 0.1;
  bool is_masked() const;
  void describe(JsonFields& fields);
};

struct PositionConfig {
  PositionKind kind = {};
  int64_t clamp_len = -1;  // none unless above 0
  bool untie_r = false;
  int64_t max_positions = 0;     // rows of a learned table; a config that has been read names them
  double rotary_base = 10000.0;  // read it and its scaling through use_of
  double rotary_scaling = 1.0;
  double rotary_share = 1.0;  // read it through rotary_width
  int64_t t5_buckets = 32;
  int64_t t5_max_distance = 128;
  void describe(JsonFields& fields);
  bool operator==(const PositionConfig&) const = default;
};

// Keys that some heads see, whatever else they see; a query always sees its own.
struct PatternConfig {
  PatternKind kind = {};
  std::vector<int64_t> heads = {};  // counted from 0; none: all
  int64_t window = 128;             // keys
  int64_t stride = 2;
  int64_t block = 64;  // tokens; blocks and periods are counted from a stream's first token
  int64_t before = 64;
  int64_t shift = 1;
  int64_t period = 128;
  int64_t from = -1;  // -1: read it through first_column
  int64_t columns = 32;
  int64_t count = 3;
  int64_t nearest = 2;
  int64_t farthest = 8;
  int64_t seed = 1;
  int64_t first_column() const { return from >= 0 ? from : period - columns; }
  // The farthest key that it may name for a query at this position of its stream, in tokens before the query; none: as
  // far as memory reaches. At positions where blocks and periods begin, so far before a segment.
  std::optional<int64_t> farthest_distance(int64_t position) const;
  // What it says is the same so many tokens on, 1: everywhere; and the name of the key that says how many.
  int64_t repeats_after() const;
  std::string_view repeat_key() const;
  void describe(JsonFields& fields);
  bool operator==(const PatternConfig&) const = default;
};

struct VisibilityConfig {
  VisibilityKind kind = {};
  bool same_length = false;
  bool same_length_extra_key = false;
  int64_t window = 128;                      // read it and the patterns through use_of
  std::vector<PatternConfig> patterns = {};  // of the sparse kind: a head sees what any of them says
  int64_t span = 96;                         // the longest that a head of the adaptive kind learns
  int64_t ramp = 32;
  double initial = 0.0;
  double penalty = 5e-7;
  void describe(JsonFields& fields);
};

struct ScoreConfig {
  ScoreKind kind = {};
  // Read by states:
  StateFeature feature = StateFeature::kSilu;
  int64_t random_features = 64;  // M: directions that performer and random_fourier project on
  int64_t shifts = 1;            // of dpfp
  int64_t convolution = 0;       // taps; 0: none
  bool unit_keys = true;
  StateDecay decay = StateDecay::kToken;
  bool erases = true;
  StateStrength strength = StateStrength::kShare;
  StateNorm output_norm = StateNorm::kHead;
  bool output_gate = true;
  void describe(JsonFields& fields);
  bool operator==(const ScoreConfig&) const = default;
};

// What some layers have in place of the model's own; see core/config/layers.h.
struct LayerOverride {
  std::vector<int64_t> only = {};  // the layers, counted from 0
  std::optional<PositionConfig> position = {};
  std::optional<VisibilityConfig> visibility = {};
  std::optional<ScoreConfig> score = {};
  void describe(JsonFields& fields);
};

struct MemoryConfig {
  MemoryKind kind = {};
  InitialMemory initial = InitialMemory::kEmpty;
  // Each read by the kinds that its description names:
  int64_t tokens = 8;
  WrittenTokens written = WrittenTokens::kRead;
  int64_t shifts = 1;
  int64_t compressed_len = 128;  // rows
  int64_t compression_rate = 4;
  CompressionKind compression = CompressionKind::kConvolution;
  ReconstructionKind reconstruction = ReconstructionKind::kAuto;
  double reconstruction_weight = 1.0;
  int64_t encoder_layers = 2;
  int64_t states = 64;
  int64_t recurrent_layer = -1;  // read it through the function of this name
  RecurrentGate gate = {};
  OwnOptions own = {};  // of a kind that comes from an extension
  void describe(JsonFields& fields);
};

// A second stream beside a segment's tokens: learned tokens that see all of them and its memory, and that all of them
// see, whatever visibility says (Ainslie et al. 2020, "ETC").
struct GlobalStreamConfig {
  int64_t tokens = 0;
  StreamProjections projections = StreamProjections::kShared;  // read it through projects_global_tokens
  void describe(JsonFields& fields);
};

struct DepthConfig {
  DepthKind kind = {};
  bool step_codes = true;  // of shared layers
  // Read where tokens halt:
  double halting_epsilon = 0.01;
  double halting_bias = 1.0;
  double ponder_weight = 0.01;
  void describe(JsonFields& fields);
};

struct BlockConfig {
  BlockKind kind = {};
  bool pre_lnorm = false;
  bool final_norm = false;  // where layers do not end in a norm
  double layer_norm_epsilon = 1e-5;
  ActivationKind activation = ActivationKind::kRelu;
  ResidualGate gate = {};
  double gate_bias = 2.0;  // of gates that have_bias
  void describe(JsonFields& fields);
};

struct HeadConfig {
  HeadKind kind = {};
  bool tie_weight = true;
  std::vector<bool> tie_projs = {};  // one per cluster of the vocabulary, of which the plain softmax has one; or none
  // Read by the adaptive kind:
  std::vector<int64_t> cutoffs = {};  // first token of every cluster but the first
  int64_t div_val = 1;
  bool proj_same_dim = true;
  ClusterOrder cluster_order = ClusterOrder::kReversed;
  void describe(JsonFields& fields);
};

struct InitConfig {
  InitKind kind = InitKind::kNormal;
  double init_std = 0.02;
  double init_range = 0.1;
  double proj_init_std = 0.01;
  void describe(JsonFields& fields);
};

struct ModelConfig {
  int64_t n_layer = 4;
  int64_t n_head = 4;
  int64_t d_model = 256;
  int64_t d_head = 64;
  int64_t d_inner = 1024;
  int64_t d_embed = 0;  // 0: d_model; read it through effective_d_embed
  int64_t mem_len = 128;
  double dropout = 0.1;
  double dropatt = 0.0;
  ObjectiveConfig objective = {};
  PositionConfig position = {};
  VisibilityConfig visibility = {};
  MemoryConfig memory = {};
  GlobalStreamConfig global_stream = {};
  DepthConfig depth = {};
  BlockConfig block = {};
  ScoreConfig score = {};
  HeadConfig head = {};
  std::vector<LayerOverride> layers = {};
  InitConfig init = {};
  void describe(JsonFields& fields);
};

int64_t effective_d_embed(const ModelConfig& model);

// Whether tokens of the global stream, if there are such, have projections of their own.
bool projects_global_tokens(const ModelConfig& model);

// Columns of a head that rotary positions turn: `rotary_share` of them, to the nearest number.
int64_t rotary_width(const ModelConfig& model);

// How weights are used, which may differ from one use of the same weights to another, as between training and an
// evaluation. Nothing of it shapes a parameter but the numbers of memory tokens and global tokens, which never differ.
// What it says of positions and visibility is of layers without axis objects of their own.
struct ModelUse {
  int64_t mem_len = 0;     // tokens of memory, in every layer
  int64_t clamp_len = -1;  // distances beyond this one count as this one; none unless above 0
  double rotary_base = 10000.0;
  double rotary_scaling = 1.0;  // positions are divided by it
  bool same_length = false;
  bool same_length_extra_key = false;
  int64_t window = 0;  // keys that a query sees, whatever mem_len is; 0: all, or as same_length or patterns say
  std::vector<PatternConfig> patterns = {};
  int64_t layer = 0;   // for what is drawn for each layer
  bool ahead = false;  // whether queries see keys of the segment after their own, as visibility says it of those before
  InitialMemory initial_memory = InitialMemory::kEmpty;
  int64_t memory_tokens = 0;  // that a segment writes after its own tokens, and
  int64_t read_tokens = 0;    // that it reads before them: the model's
  int64_t global_tokens = 0;  // of the second stream, before a segment's own: the model's
  // Of a memory that compresses: compressed rows beside mem_len others, and of how many others each is made.
  int64_t compressed_len = 0;
  int64_t compression_rate = 1;

  // Of a segment of so many tokens: with those of its memory and of the second stream.
  int64_t rows_of(int64_t tgt_len) const { return global_tokens + read_tokens + tgt_len + memory_tokens; }
  // At most, in every layer: whole groups are compressed at a time, so that fewer than one wait beyond mem_len.
  int64_t uncompressed_rows() const { return mem_len + compression_rate - 1; }
  int64_t memory_rows() const { return compressed_len + uncompressed_rows(); }
  // And the tokens that they were made of.
  int64_t remembered_tokens() const { return compressed_len * compression_rate + uncompressed_rows(); }
  // Of so many rows that are not compressed, those that a segment of `tgt_len` tokens pushes out, to be compressed.
  int64_t pushed_out(int64_t rows, int64_t tgt_len) const;
  bool starts_full() const { return initial_memory == InitialMemory::kZeros && mem_len > 0; }
  bool operator==(const ModelUse&) const = default;
};

// As a config says it: its training's, and that of whoever asks for no other.
ModelUse use_of(const ModelConfig& model);

// Says of a use what the axis object says.
void take_over(const PositionConfig& position, ModelUse& use);
void take_over(const VisibilityConfig& visibility, ModelUse& use);

// Throws ConfigError naming `source` and both keys when values that are right alone cannot go together.
void check_model(const ModelConfig& model, std::string_view source);

// The same when segments of `tgt_len` tokens, used like this, have a query that sees no key, or reach beyond the
// model's learned table of positions. `mem_len_key` is what says the memory's length.
void check_use(const ModelConfig& model, const ModelUse& use, int64_t tgt_len, std::string_view source,
               std::string_view mem_len_key = "model.mem_len");

// The number of different distances, after clamping, from a query to `keys` keys.
int64_t distances_of(int64_t keys, int64_t clamp_len);

// Rows of a learned table of positions that segments of `tgt_len` take when used like this; 0 without a table.
int64_t position_rows(const PositionConfig& position, const ModelUse& use, int64_t tgt_len);

// Throws ConfigError naming `source` and the lengths when a segment, or a segment and its memory, reach beyond a
// learned table of positions.
void check_position_tables(const ModelConfig& model, const ModelUse& use, int64_t tgt_len, std::string_view source);

// Throws ConfigError naming `source` when the clusters do not fit into a vocabulary of this size.
void check_cutoffs(const ModelConfig& model, int64_t vocab_size, std::string_view source);

}  // namespace segue

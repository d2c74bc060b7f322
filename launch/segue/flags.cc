// Two more implementations of JsonFields: one makes options of a command, the other reads the words they were given.
#include "launch/segue/flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <functional>
#include <utility>

#include "base/directory_content.h"
#include "base/error.h"
#include "base/file.h"
#include "base/output_file.h"
#include "base/text.h"
#include "core/extension/load_extension.h"
#include "distributed/launched_tasks.h"
#include "launch/segue/options.h"
#include "launch/segue/usage_error.h"

namespace segue {

namespace {

using namespace std::string_view_literals;

using Given = std::vector<std::string>;  // the words behind a flag

// "--mem-len" of mem_len; a positional argument is called by its key.
std::string name_of_flag(std::string_view key, const FieldInfo& info) {
  std::string name(key);
  if (info.flag.is_positional) return name;
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

// What has a name, which cannot be empty.
constexpr std::array kNamed{"FILE"sv, "FILE.svg"sv, "DIR"sv, "PATH"sv, "NAME"sv, "KIND|FILE"sv};

// "huggingface" of "hf": the only one that begins alike and has these letters in their order.
std::string_view abbreviated(std::string_view word, Words names) {
  const auto has_letters = [word](std::string_view name) {
    size_t at = 0;
    for (const char letter : name)
      if (at < word.size() && letter == word[at]) ++at;
    return at == word.size() && name.front() == word.front();
  };
  if (word.size() < 2 || std::ranges::count_if(names, has_letters) != 1) return {};
  return *std::ranges::find_if(names, has_letters);
}

std::string_view meant_choice(std::string_view word, Words names) {
  const std::string_view near = nearest_word(word, {names.begin(), names.end()});
  return near.empty() ? abbreviated(word, names) : near;
}

// Reads the keys for which `given` has words.
class FlagReader : public JsonFields {
 public:
  using Find = std::function<const Given*(const std::string& name)>;
  explicit FlagReader(Find find) : find_(std::move(find)) {}

 protected:
  bool enter_key(std::string_view key, const FieldInfo& info, bool /*required*/, bool /*is_struct*/) override {
    name_ = name_of_flag(key, info);
    given_ = find_(name_);
    is_repeated_ = info.flag.is_repeated;
    is_output_ = info.flag.is_output;
    names_ = info.flag.value;
    kept_ = 0;
    element_ = 0;
    return given_ != nullptr;
  }
  void enter_element(int64_t index) override { element_ = index - kept_; }
  void leave() override {}

  void visit_bool(bool& value) override {
    element_ = std::ssize(*given_) - 1;  // of those given more than once the last
    if (word() != "true" && word() != "false") fail("nothing, true or false");
    value = word() == "true";
  }
  void visit_integer(int64_t& value, const FieldInfo& info) override { read_number("an integer", value, info); }
  void visit_number(double& value, const FieldInfo& info) override { read_number("a number", value, info); }
  void visit_text(std::string& value) override {
    if (is_kept()) return;
    // A variable of a script that is not set, mostly.
    const bool names_something = std::ranges::find(kNamed, names_) != kNamed.end();
    if (word().empty() && names_something) fail(names_);
    // A shell replaces it at the beginning of a word alone, and not in --output=~/data.
    if (names_something && word().starts_with("~/")) fail(names_, hint_at_missing(word()));
    if (is_output_)
      if (const std::string mistake = mistake_in_output_name(word()); !mistake.empty()) fail(names_, mistake);
    value = word();
  }
  void visit_choice(size_t& index, Words names) override {
    const auto at = std::find(names.begin(), names.end(), word());
    if (at == names.end())
      fail(fmt::format("one of {}", fmt::join(names, ", ")), did_you_mean(meant_choice(word(), names)));
    index = static_cast<size_t>(at - names.begin());
  }
  int64_t visit_list(int64_t size) override {
    kept_ = is_repeated_ ? size : 0;
    return kept_ + std::ssize(*given_);
  }
  void begin_struct() override {}
  void end_struct() override {}

 private:
  bool is_kept() const { return element_ < 0; }  // an element that is there already
  const std::string& word() const { return (*given_)[static_cast<size_t>(element_)]; }

  [[noreturn]] void fail(std::string_view expected, std::string_view hint = "") const {
    throw CLI::ValidationError(fmt::format("{}: expected {}, found \"{}\"{}", name_, expected, word(), hint));
  }

  template <typename T>
  void read_number(std::string_view kind, T& value, const FieldInfo& info) {
    if (is_kept()) return;
    T read{};
    const char* const end = word().data() + word().size();
    const auto [parsed, error] = std::from_chars(word().data(), end, read);
    const bool is_number = error == std::errc() && parsed == end && std::isfinite(static_cast<double>(read));
    if (!is_number || !is_in_range(static_cast<double>(read), info))
      fail(expected_number(kind, info),
           element_ > 0 && path_exists(word()) ? "; put a file without a flag before a list of numbers" : "");
    value = read;
  }

  Find find_;
  std::string name_;
  const Given* given_ = nullptr;
  bool is_repeated_ = false;
  bool is_output_ = false;
  std::string_view names_;  // the kind of thing that the value names
  int64_t kept_ = 0;        // elements of a list before those that are read
  int64_t element_ = 0;
};

// Makes an option of every key; the values are the defaults.
class FlagMaker : public JsonFields {
 public:
  FlagMaker(CLI::App& command, const Describe& prototype) : command_(command), prototype_(prototype) {}

 protected:
  bool enter_key(std::string_view key, const FieldInfo& info, bool required, bool is_struct) override {
    if (is_struct) throw ContractError("{}: a flag cannot be a struct", key);
    flag_ = {.name = name_of_flag(key, info), .info = info, .is_required = required};
    return true;
  }
  void enter_element(int64_t /*index*/) override { ++depth_; }
  void leave() override {
    if (depth_ == 0) return add();
    --depth_;
  }

  void visit_bool(bool& value) override {
    if (value && flag_.info.presence == Presence::kNotOptional)
      throw ContractError("{}: a flag cannot be given by default", flag_.name);
    flag_.type.clear();
  }
  void visit_integer(int64_t& value, const FieldInfo& /*info*/) override { set_number("INT", value); }
  void visit_number(double& value, const FieldInfo& /*info*/) override { set_number("NUMBER", value); }
  void visit_text(std::string& value) override { set("TEXT", value); }
  void visit_choice(size_t& index, Words names) override {
    set(fmt::format("{{{}}}", fmt::join(names, ",")), names[index]);
  }
  int64_t visit_list(int64_t size) override {
    flag_.is_list = true;
    flag_.is_empty = size == 0;
    return std::max<int64_t>(1, size);
  }
  void begin_struct() override {}
  void end_struct() override {}

 private:
  struct Flag {
    std::string name;
    FieldInfo info;
    bool is_required = false;
    std::string type = {};  // empty: takes no value
    std::string defaulted = {};
    bool is_list = false;
    bool is_empty = false;  // a list without a default
    bool is_number = false;
  };

  void set(std::string type, std::string_view value) {
    flag_.type = std::move(type);
    if (flag_.is_required || flag_.is_empty || flag_.info.presence == Presence::kAbsent) return;
    flag_.defaulted += fmt::format("{}{}", flag_.defaulted.empty() ? "" : ",", value);
  }
  void set_number(const char* type, auto value) {
    set(type, fmt::format("{}", value));
    flag_.is_number = true;
  }

  // As a sentence, with what else a value must be.
  std::string description() const {
    std::string text = explained_meaning(flag_.info);
    const bool begins_with_a_key = text.find(": ") < text.find(' ');  // "word: rarer ones are unknown"
    if (!begins_with_a_key) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
    std::vector<std::string> details;
    if (!flag_.info.unit.empty()) details.emplace_back(flag_.info.unit);
    if (const std::string range = range_text(flag_.info); !range.empty()) details.push_back(range);
    if (flag_.info.flag.may_be_unnamed) details.push_back(fmt::format("{} may be left out", flag_.name));
    return details.empty() ? text : fmt::format("{} ({})", text, fmt::join(details, "; "));
  }

  void add() {
    const FlagInfo& told = flag_.info.flag;
    std::string names = told.alias.empty() ? flag_.name : fmt::format("{},{}", told.alias, flag_.name);
    if (told.may_be_unnamed) names += "," + flag_.name.substr(2);
    const std::string meaning = description();  // CLI11 wants it const
    if (flag_.type.empty()) {
      const bool has_opposite = flag_.info.presence != Presence::kNotOptional;
      command_.add_flag(has_opposite ? fmt::format("{},!--no-{}", names, flag_.name.substr(2)) : names, meaning);
      return;
    }
    const auto check = [name = flag_.name, prototype = prototype_](const CLI::results_t& words) {
      FlagReader reader([&](const std::string& asked) { return asked == name ? &words : nullptr; });
      prototype(reader);
      return true;
    };
    CLI::Option* option = command_.add_option(names, check, meaning);
    option->type_name(told.value.empty() ? flag_.type : std::string(told.value));
    option->default_str(flag_.defaulted);
    option->required(flag_.is_required);
    if (!flag_.is_list) return;
    option->expected(1, -1)->allow_extra_args(!told.is_repeated);
    if (flag_.is_number) option->delimiter(',');
  }

  CLI::App& command_;
  const Describe& prototype_;
  Flag flag_;
  int depth_ = 0;  // in the current list
};

}  // namespace

namespace {

// Whether it may be one of several processes of a job.
bool takes_ranks(const CLI::App& command) {
  constexpr std::array kOfRanks{"train"sv, "eval"sv, "exchange"sv};
  return std::ranges::find(kOfRanks, command.get_name()) != kOfRanks.end();
}

}  // namespace

CLI::App& add_described_command(CLI::App& app, const std::string& name, const std::string& purpose,
                                const std::string& examples, const Describe& prototype,
                                std::function<void(const CLI::App& command)> run) {
  CLI::App* command = app.add_subcommand(name, purpose);
  command->footer(examples);
  FlagMaker maker(*command, prototype);
  prototype(maker);
  command->callback([command, run = std::move(run)] {
    if (!takes_ranks(*command)) check_one_process(command->get_name());
    if (const CLI::Option* option = command->get_option_no_throw(kExtensionFlag))
      for (const std::string& path : option->results()) load_extension(path);
    run(*command);
  });
  return *command;
}

void read_described_flags(const CLI::App& command, const Describe& describe) {
  if (const std::string stray = stray_override(command); !stray.empty())
    throw UsageError("{}: {}", command.get_name(), stray);
  Given words;
  FlagReader reader([&](const std::string& name) -> const Given* {
    const CLI::Option* option = command.get_option(name);
    if (option->count() == 0) return nullptr;
    words = option->results();
    return &words;
  });
  describe(reader);
}

void flag_needs(CLI::App& command, const std::string& flag, const std::string& other) {
  command.get_option(flag)->needs(command.get_option(other));
}

void flag_excludes(CLI::App& command, const std::string& flag, const std::string& other) {
  command.get_option(flag)->excludes(command.get_option(other));
}

// As FlagMaker writes them.
std::vector<std::string> choices_of_flag(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type.size() < 2 || type.front() != '{') return {};
  return CLI::detail::split(type.substr(1, type.size() - 2), ',');
}

}  // namespace segue

// Reads from the environment how many processes the launcher started beside this one. So it is known without MPI.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace segue {

// An error that all ranks meet is said by the first. A launcher, or MPI, ends the others within a second or two.
inline constexpr std::chrono::seconds kFirstSpeaks(5);

struct LaunchedTasks {
  int64_t count = 1;
  int64_t rank = 0;            // of this one
  std::string_view launcher;   // "srun"
  std::string_view variable;   // that says so
  std::string_view cure = {};  // how the same launcher starts ranks of one job; empty: it needs another
};

// By the innermost launcher, whose variables `value_of` reads as std::getenv does; nothing where there is none. What an
// allocation has room for does not count, nor does a step that a person types in.
std::optional<LaunchedTasks> launched_tasks(const std::function<const char*(const char* name)>& value_of);

// How a job is stopped with a save where the first thing that people try ends it without one: under mpirun of Open MPI
// 5, which kills its ranks half a second after Ctrl-C or SIGTERM (4.1: two seconds), whatever odls_base_sigkill_timeout
// says (5.0.11). `parent` is the process that started this one, and `parent_name` what Linux calls it. Empty elsewhere.
std::string advice_to_stop(const std::function<const char*(const char* name)>& value_of, int64_t parent,
                           std::string_view parent_name);
std::string advice_to_stop();  // of this process

// For a process that ends on an error before it is a rank of a job: lets the first of several speak, with which a
// launcher ends the others. Then who it is, "rank 1 of 4: "; nothing for the first, or for a single one.
std::string name_after_first();

// For a process that is a job of one rank alone: throws UsageError when its launcher has started others beside it. Of
// these the first speaks, and the others end without a word.
void check_alone();

// For a command that is one process whatever it does: throws UsageError when a launcher has started several of it. Of
// these the first speaks, and the others end without a word.
void check_one_process(std::string_view command);

}  // namespace segue

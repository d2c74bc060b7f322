// A command as one rank of a job: how its errors end the job, and what the ranks must agree on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"
#include "core/config/config.h"
#include "data_pipeline/dataset.h"
#include "distributed/collectives.h"
#include "distributed/job.h"

namespace segue {

// The log of a job: the first rank speaks for all; the others only warn, and say who they are.
std::shared_ptr<Logger> make_job_logger(const Job& job, bool quiet);

// The last line of a command that ends otherwise than it would by itself, once for all ranks. Said before they take
// leave of one another: when one of them has ended with a code, a launcher soon kills the others.
void say_for_all(const Job& job, const std::string& line);

// The processor's cores that this process may run on, as "0-3,8".
std::string usable_cores();

// Where a command is to compute with more threads than it may use processors. `asked` of `key`; 0: as many as OpenMP
// would.
void warn_of_threads(std::string_view key, int64_t asked, Logger& logger);

// Throws DeviceError when the config demands NCCL and this rank has no GPU.
void check_communicator(const Job& job, Device device, const TrainingConfig& training);

// Those of the job for tensors on `device`, as the config wants them. Throws DeviceError when the config demands NCCL
// and the ranks cannot use it.
std::unique_ptr<Collectives> open_collectives(Job& job, Device device, const TrainingConfig& training, Logger& logger);

// Runs the command. In a job of several ranks an error prints its line with the rank and ends all of them at once;
// alone, it is thrown on.
void run_as_rank(Job& job, const std::function<void()>& command);

// Throws ConfigError in every rank when one of them runs another build of the program than the first: their arithmetic
// may differ.
void check_build(Job& job);

// The same, or when one of them has another configuration.
void check_agreement(Job& job, const Config& config);

// Throws ConfigError when a rank would have no stream.
void check_shares(const Config& config, int ranks);

// Throws DataError in every rank when one of them finds other tokens at the dataset's path than the first.
void check_dataset(Job& job, const Dataset& dataset, const std::string& split);

}  // namespace segue

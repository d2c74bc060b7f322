// Errors, logs and agreement of the ranks of a job.
#include "launch/segue/job.h"

#include <cstdio>
#include <exception>
#include <vector>

#include "base/error.h"
#include "base/json_text.h"

namespace segue {

namespace {

// Does not return when there are other ranks.
void end_job(Communicator& communicator, const char* message, ExitCode code) {
  if (communicator.size() == 1) return;
  static_cast<void>(
      std::fprintf(stderr, "segue: rank %d of %d: %s\n", communicator.rank(), communicator.size(), message));
  communicator.abort(static_cast<int>(code));
}

}  // namespace

std::shared_ptr<Logger> make_job_logger(const Communicator& communicator, bool quiet) {
  std::shared_ptr<Logger> logger = make_logger(quiet);
  if (!communicator.is_first()) logger->set_level(spdlog::level::err);
  return logger;
}

void run_as_rank(Communicator& communicator, const std::function<void()>& command) try {
  command();
} catch (const Error& error) {
  end_job(communicator, error.what(), error.code());
  throw;
} catch (const std::bad_alloc&) {
  end_job(communicator, "out of memory", ExitCode::kDevice);
  throw;
} catch (const std::exception& error) {
  end_job(communicator, error.what(), ExitCode::kInternal);
  throw;
}

void check_agreement(Communicator& communicator, const Config& config) {
  const std::string mine = OrderedJson{{"version", SEGUE_VERSION}, {"config", to_json(config)}}.dump();
  const std::vector<std::string> all = communicator.gather(mine);
  for (size_t r = 1; r < all.size(); ++r) {
    if (all[r] == all[0]) continue;
    const OrderedJson first = OrderedJson::parse(all[0]);
    const OrderedJson other = OrderedJson::parse(all[r]);
    if (first["version"] != other["version"])
      throw ConfigError("rank {} runs version {}, rank 0 version {}", r, other["version"].dump(),
                        first["version"].dump());
    const auto config_of = [](const OrderedJson& said) { return parse_config(said["config"].dump(), "config"); };
    throw ConfigError("rank {} has another config than rank 0: {}", r,
                      diff_configs(config_of(first), config_of(other)).front());
  }
}

}  // namespace segue

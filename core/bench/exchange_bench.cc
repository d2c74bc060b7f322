#include "core/bench/exchange_bench.h"

#include <functional>
#include <memory>

#include "core/bench/training_step.h"
#include "core/train/gradient_exchange.h"

namespace segue {

namespace {

// One call is one sample: a number of calls that depends on the clock would differ from rank to rank.
Timing time_together(kernels::Queue& queue, const Effort& effort, Job& job, const std::function<void()>& call) {
  job.barrier();
  return time_calls(queue, {.warm_up = effort.warm_up, .samples = effort.samples, .sample_seconds = 0.0}, call);
}

double exposed_share(GradientExchange& exchange) {
  const ExchangeTimes times = exchange.take_times();
  return times.exposed / times.exchanging;
}

}  // namespace

ExchangeBench bench_exchange(Workbench& workbench, const Effort& effort, const Config& config, int64_t vocab_size,
                             Job& job, Collectives& collectives) {
  const Share streams = share_of(config.training.batch_size, job.size(), job.rank());
  TrainingStep step(workbench, config, vocab_size, streams);
  step.reserve();
  step.fill_memory();
  const auto exchange_of = [&](double bucket_mb) {
    const Buckets buckets(step.gradients().elements(), bucket_elements(bucket_mb));
    return make_gradient_exchange({step.gradients(), {}, buckets}, collectives, workbench.queue());
  };
  const Flops flops = step.flops();
  const Measurement work{.name = "",
                         .timing = {},
                         .flops = flops.forward + flops.backward,
                         .tokens = static_cast<double>(config.training.batch_size * last_lengths(config).tokens())};
  ExchangeBench bench{
      .measurements = {},
      .parameters = step.parameters(),
      .buckets = Buckets(step.gradients().elements(), bucket_elements(config.training.bucket_mb)).count()};
  const auto measure = [&](const char* name, Measurement measurement, const std::function<void()>& call) {
    measurement.name = name;
    measurement.timing = time_together(workbench.queue(), effort, job, call);
    bench.measurements.push_back(measurement);
  };
  measure("computing alone", work, [&] { step.run(); });
  const std::unique_ptr<GradientExchange> after = exchange_of(0.0);
  const Measurement sums{.name = "", .timing = {}, .bytes = static_cast<double>(step.gradients().bytes())};
  measure("exchange alone", sums, [&] {
    after->progress()(nullptr);
    after->finish();
  });
  after->take_times();
  measure("exchange afterwards", work, [&] { step.run(after->progress(), [&] { after->finish(); }); });
  bench.exposed_afterwards = exposed_share(*after);
  const std::unique_ptr<GradientExchange> during = exchange_of(config.training.bucket_mb);
  measure("exchange meanwhile", work, [&] { step.run(during->progress(), [&] { during->finish(); }); });
  bench.exposed_meanwhile = exposed_share(*during);
  return bench;
}

}  // namespace segue

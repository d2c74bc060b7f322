// Collectives between the memories of hosts: large ones around a ring of ranks, small sums over MPI's tree. What lies
// on a GPU passes through pinned memory of its host.
#pragma once

#include <mpi.h>

#include "base/buffer.h"
#include "distributed/collectives.h"
#include "distributed/job.h"
#include "distributed/mpi_calls.h"
#include "distributed/mpi_ring.h"

namespace segue {

class MpiCollectives final : public Collectives {
 public:
  // For tensors on `device`. `around` joins the ranks of the job and carries nothing else, `wait` is how the job waits;
  // both outlive the collectives.
  MpiCollectives(const Job& job, MPI_Comm around, Device device, mpi::Wait wait);

  const char* name() const override { return "MPI"; }
  void all_reduce(TensorView values) override;
  void reduce_scatter(ConstTensorView values, TensorView my_part) override;
  void all_gather(ConstTensorView my_part, TensorView values) override;

 private:
  enum class Fill : bool { kNo, kYes };

  TensorView staged(TensorView values, Buffer& stage, Fill fill) const;
  void unstage(ConstTensorView host, TensorView values) const;
  void sum_over_tree(TensorView values);
  void finish_ring(const char* what);

  MPI_Comm around_;
  Device device_;
  mpi::Wait wait_;
  MpiRing ring_;
  Buffer first_stage_;
  Buffer second_stage_;
};

}  // namespace segue

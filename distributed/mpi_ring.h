// Sums and gathers over a ring of ranks: each sends to the next and hears from the one before, and every element goes
// around once to be summed and once to be distributed (Patarasuk and Yuan 2009). A rank sends 2 (n - 1) / n of the
// values, the least there is, and so does a host, however many neighbours of the ring it holds.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/buffer.h"
#include "base/tensor.h"
#include "distributed/mpi_calls.h"
#include "distributed/share.h"

namespace segue {

// One trip at a time: a start_ function begins it, advance() takes it further and never waits. Tensors of the CPU,
// which belong to the trip until it is done.
//
// The sum of each rank's part begins at the next rank and ends at its own, the addends in that order: it depends on the
// number of ranks and on where in the values an element stands, and is made once, so all ranks see the same bits.
class MpiRing {
 public:
  // `ranks` carries nothing else, and outlives this. Throws PeerError, as all functions here do when MPI fails.
  explicit MpiRing(MPI_Comm ranks);

  void start_all_reduce(TensorView values);                               // float32, float64 or int64
  void start_reduce_scatter(ConstTensorView values, TensorView my_part);  // of them; values [size * n], my_part [n]
  void start_all_gather(TensorView values);  // of any dtype; [size * n], with this rank's part in its place

  mpi::Progress advance();

 private:
  // Data in flight: one chunk of every part goes around in a lane, while those of other lanes keep the link busy.
  struct Lane {
    int64_t chunk = 0;
    int step = 0;
  };
  struct Trip {
    const std::byte* values = nullptr;  // of this rank
    std::byte* mine = nullptr;          // the sum of this rank's part
    std::byte* all = nullptr;           // the parts of all ranks
    DType dtype = DType::kFloat32;
    int64_t elements = 0;
    int64_t chunks = 0;  // of each part
    int first_step = 0;
    int end_step = 0;
  };
  static constexpr size_t kLanes = 4;

  void start(const Trip& trip);
  bool is_reducing(int step) const { return step < size_ - 1; }
  int sent_part(int step) const;
  int received_part(int step) const;
  Share chunk_of(int part, int64_t chunk) const;
  std::byte* stage(size_t lane, int step);
  const std::byte* source(size_t lane, const Share& sent);
  void post(size_t lane);
  void complete_step(size_t lane);
  void add_received(size_t lane);

  MPI_Comm ranks_;
  int rank_ = 0;
  int size_ = 1;
  Trip trip_;
  std::array<Lane, kLanes> lanes_;
  std::array<MPI_Request, 2 * kLanes> requests_;  // of each lane, what is sent and what is received
  Buffer stages_;                                 // of each lane two, for what is received and for what is sent on
};

}  // namespace segue

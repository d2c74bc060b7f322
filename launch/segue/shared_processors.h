// Sets OpenMP's waiting and number of threads for processors that others use too, unless OpenMP's variables say
// otherwise.
#pragma once

namespace segue {

// Says what OMP_NUM_THREADS holds where that is no number of threads, and takes it away: GNU's library, which has read
// it before main begins, says that it is wrong, but not what it is, and would say so again. Throws UsageError where it
// is more threads than may be asked for, of which GNU's library crashes. To be called before there are threads.
void check_threads_variable();

// OpenMP's threads wait for the next parallel region, or for the last of their own, by asking again and again; GNU's
// library lets them ask for milliseconds before they sleep, which takes the time of whoever else is on a processor, and
// most of all of the thread that they wait for. It reads how long before main begins (GOMP_SPINCOUNT), so that the
// program starts itself once more, with the same arguments and process number, for threads that ask for some tens of
// microseconds. Does nothing where OMP_WAIT_POLICY or GOMP_SPINCOUNT is set, and where the system cannot start it
// again. To be called before anything else but that is done.
void wait_briefly(char** argv);

// As many threads as the processors that this process may run on, but no more than a quota of processor time allows.
// Leaves alone what OMP_NUM_THREADS says.
void choose_threads();

}  // namespace segue

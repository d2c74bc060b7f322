// Student's t distribution: how sure a mean of few observations is.
#pragma once

namespace segue {

// The t that is not exceeded with probability `probability`, within (0, 1); `degrees_of_freedom` is above 0 and need
// not be whole.
double student_t_quantile(double probability, double degrees_of_freedom);

// The probability of a t at least this far from 0, on either side.
double student_t_two_sided(double t, double degrees_of_freedom);

}  // namespace segue

// Student's t distribution, for confidence intervals of means of few observations.
#pragma once

namespace segue {

// The t at least as far from 0 as which, on either side, one lies with probability `p`, within (0, 1); 1.96 for 5 % and
// very many degrees of freedom, which are above 0 and need not be whole.
double student_t_critical(double p, double degrees_of_freedom);

}  // namespace segue

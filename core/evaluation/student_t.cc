// Boost's distribution.
#include "core/evaluation/student_t.h"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace segue {

double student_t_quantile(double probability, double degrees_of_freedom) {
  return boost::math::quantile(boost::math::students_t(degrees_of_freedom), probability);
}

double student_t_two_sided(double t, double degrees_of_freedom) {
  return 2.0 * boost::math::cdf(boost::math::complement(boost::math::students_t(degrees_of_freedom), std::abs(t)));
}

}  // namespace segue

#include "core/evaluation/student_t.h"

#include <boost/math/distributions/students_t.hpp>

namespace segue {

double student_t_critical(double p, double degrees_of_freedom) {
  return boost::math::quantile(boost::math::complement(boost::math::students_t(degrees_of_freedom), p / 2.0));
}

}  // namespace segue

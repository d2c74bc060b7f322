// Particles that move on a grid, and where those of two colours last met: the object collisions of Expire-Span
// (Sukhbaatar et al. 2021).
//
// As the authors' generator: a step writes row, column and colour of every particle, then two colours, and the answer
// is the quarter of the grid in which a particle of the first colour last met one of the second that comes after it
// in the row. Particles keep their velocity, normal with standard deviation 0.5, and draw another one at the walls;
// after each move the colour is drawn anew with probability .05. The colours asked are, with probability .4, those that
// met last, otherwise any; pairs that have not met yet are answered by a token of its own, which is not scored. What
// differs: integers (places in 1/512, a sum of twelve bytes for a normal number), and the answer stands in the row.
#include <fmt/format.h>

#include <array>
#include <memory>
#include <vector>

#include "data_pipeline/tasks/task.h"

namespace segue {

namespace {

constexpr int64_t kCell = 512;
constexpr double kNewColour = 0.05;
constexpr double kAskLast = 0.4;
constexpr int64_t kQuarters = 4;

struct Particle {
  std::array<int64_t, 2> at = {};  // row and column, in units of 1 / kCell
  std::array<int64_t, 2> velocity = {};
  int64_t colour = 0;

  int64_t cell(size_t axis) const { return (at[axis] + kCell / 2) / kCell; }
};

struct Meeting {
  int64_t token = -1;  // the first that tells of it; -1: none yet
  int64_t quarter = 0;
};

class CollisionsTask : public Task {
 public:
  CollisionsTask(int64_t grid, int64_t colours) : grid_(grid), colours_(colours) {}

  int64_t tokens() const { return no_meeting() + 1; }
  int64_t filler() const override { return no_meeting(); }

  void check(const TaskPart& part, const SpecPlace& place) const override {
    place.expect_at_least(2, "items", part.items, "particles that can meet");
    place.expect_at_least(step_tokens(part) - 1, "length", part.length, "tokens for a step of these particles");
  }

  void make(const TaskPart& part, TaskRandom& random, TaskExample& example) const override {
    std::vector<Particle> particles(static_cast<size_t>(part.items));
    for (Particle& particle : particles) place_anywhere(particle, random);
    std::vector<Meeting> meetings(static_cast<size_t>(colours_ * colours_));
    int64_t last = -1;  // the pair of colours that met last
    while (example.size() + step_tokens(part) <= part.length + 1) {
      const int64_t step = example.size();
      for (Particle& particle : particles) {
        move(particle, random);
        example.add(particle.cell(0));
        example.add(grid_ + particle.cell(1));
        example.add(2 * grid_ + particle.colour);
      }
      for (size_t p = 0; p < particles.size(); ++p)
        for (size_t q = p + 1; q < particles.size(); ++q)
          if (particles[p].cell(0) == particles[q].cell(0) && particles[p].cell(1) == particles[q].cell(1)) {
            last = pair_of(particles[p].colour, particles[q].colour);
            meetings[static_cast<size_t>(last)] = {step + 3 * static_cast<int64_t>(p), quarter_of(particles[p])};
          }
      const int64_t asked = random.chance(kAskLast) && last >= 0 ? last : random.below(colours_ * colours_);
      ask(asked, meetings[static_cast<size_t>(asked)], example);
    }
    example.pad(part.length + 1, filler());
  }

 private:
  int64_t first_asked() const { return 2 * grid_ + colours_; }
  int64_t first_quarter() const { return first_asked() + colours_; }
  int64_t no_meeting() const { return first_quarter() + kQuarters; }
  static int64_t step_tokens(const TaskPart& part) { return 3 * part.items + 3; }
  int64_t pair_of(int64_t first, int64_t second) const { return first * colours_ + second; }

  int64_t quarter_of(const Particle& particle) const {
    const auto is_beyond = [this, &particle](size_t axis) { return 2 * particle.cell(axis) + 1 > grid_; };
    return (is_beyond(0) ? 2 : 0) + (is_beyond(1) ? 1 : 0);
  }

  void place_anywhere(Particle& particle, TaskRandom& random) const {
    for (int64_t& at : particle.at) at = random.below((grid_ - 1) * kCell);
    draw_velocity(particle, random);
    particle.colour = random.below(colours_);
  }

  // The sum of twelve bytes has the standard deviation 256, which is half a cell.
  static void draw_velocity(Particle& particle, TaskRandom& random) {
    constexpr int kWords = 3;
    constexpr int64_t kMean = 12 * 255 / 2;
    for (int64_t& velocity : particle.velocity) {
      velocity = -kMean;
      for (int i = 0; i < kWords; ++i) {
        const uint32_t bits = random.bits();
        for (int shift = 0; shift < 32; shift += 8) velocity += bits >> shift & 0xFF;
      }
    }
  }

  void move(Particle& particle, TaskRandom& random) const {
    const auto stays_inside = [this, &particle](size_t axis) {
      const int64_t next = particle.at[axis] + particle.velocity[axis];
      return next > 0 && next < (grid_ - 1) * kCell;
    };
    while (!stays_inside(0) || !stays_inside(1)) draw_velocity(particle, random);
    for (size_t axis = 0; axis < particle.at.size(); ++axis) particle.at[axis] += particle.velocity[axis];
    if (random.chance(kNewColour)) particle.colour = random.below(colours_);
  }

  void ask(int64_t pair, const Meeting& meeting, TaskExample& example) const {
    example.add(first_asked() + pair / colours_);
    example.add(first_asked() + pair % colours_);
    if (meeting.token < 0)
      example.add(no_meeting());
    else
      example.add_answer(first_quarter() + meeting.quarter, meeting.token);
  }

  int64_t grid_;
  int64_t colours_;
};

}  // namespace

std::unique_ptr<Task> make_collisions(const TaskSpec& spec, const SpecPlace& place) {
  auto task = std::make_unique<CollisionsTask>(spec.grid, spec.colours);
  place.expect_at_least(task->tokens(), "vocabulary", spec.vocabulary,
                        fmt::format("tokens for a grid of {} and {} colours", spec.grid, spec.colours));
  return task;
}

}  // namespace segue

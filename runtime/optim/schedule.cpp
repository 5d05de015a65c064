#include "runtime/optim/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "kernels/base/error.hpp"

namespace cohort {
namespace {

// The warm-up is the same for all; a schedule states the rates after it.
class Warmed : public Schedule {
 public:
  explicit Warmed(WarmUp warm_up) : warm_up_(warm_up) {
    if (!(std::isfinite(warm_up.begin_rate) && warm_up.begin_rate >= 0))
      throw_usage("warm-up from learning rate {}: must be 0 or more", warm_up.begin_rate);
  }

  double rate(double base, std::uint64_t update) const final {
    if (warm_up_.updates > 0 && warm_up_.begin_rate > base)
      throw_usage("warm-up from learning rate {} to {}: must not fall", warm_up_.begin_rate, base);
    if (update >= warm_up_.updates) return after_warm_up(base, update);
    const double part = static_cast<double>(update) / static_cast<double>(warm_up_.updates);
    return warm_up_.begin_rate + (base - warm_up_.begin_rate) * part;
  }

 protected:
  virtual double after_warm_up(double base, std::uint64_t update) const = 0;

  // 0 at the end of the warm-up, 1 from update `total` on.
  double progress(std::uint64_t update, std::uint64_t total) const {
    const std::uint64_t now = std::min(update, total);
    return static_cast<double>(now - warm_up_.updates) / static_cast<double>(total - warm_up_.updates);
  }
  void check_total(std::uint64_t total) const {
    if (total <= warm_up_.updates)
      throw_usage("a schedule of {} updates does not outlast its warm-up of {}", total, warm_up_.updates);
  }

 private:
  WarmUp warm_up_;
};

void check_factor(double factor) {
  if (!(factor > 0 && factor <= 1)) throw_usage("learning rate factor {}: must be above 0 and at most 1", factor);
}

void check_final_rate(double rate) {
  if (!(std::isfinite(rate) && rate >= 0)) throw_usage("final learning rate {}: must be 0 or more", rate);
}

class Factor final : public Warmed {
 public:
  Factor(std::uint64_t step, double factor, double stop, WarmUp warm_up)
      : Warmed(warm_up), step_(step), factor_(factor), stop_(stop) {
    if (step < 1) throw_usage("learning rate step {}: must be 1 or more", step);
    check_factor(factor);
  }

 private:
  double after_warm_up(double base, std::uint64_t update) const override {
    const std::uint64_t changes = update > 0 ? (update - 1) / step_ : 0;
    if (changes == 0) return base;
    return std::max(base * std::pow(factor_, static_cast<double>(changes)), stop_);
  }

  std::uint64_t step_;
  double factor_;
  double stop_;
};

class MultiFactor final : public Warmed {
 public:
  MultiFactor(std::vector<std::uint64_t> steps, double factor, WarmUp warm_up)
      : Warmed(warm_up), steps_(std::move(steps)), factor_(factor) {
    std::uint64_t last = 0;
    for (const std::uint64_t step : steps_) {
      if (step <= last) throw_usage("learning rate steps must rise and be 1 or more, but {} follows {}", step, last);
      last = step;
    }
    check_factor(factor);
  }

 private:
  double after_warm_up(double base, std::uint64_t update) const override {
    const auto changes = std::lower_bound(steps_.begin(), steps_.end(), update) - steps_.begin();
    return base * std::pow(factor_, static_cast<double>(changes));
  }

  std::vector<std::uint64_t> steps_;
  double factor_;
};

class Poly final : public Warmed {
 public:
  Poly(std::uint64_t total, double power, double final_rate, WarmUp warm_up)
      : Warmed(warm_up), total_(total), power_(power), final_rate_(final_rate) {
    check_total(total);
    check_final_rate(final_rate);
    if (!(std::isfinite(power) && power >= 0)) throw_usage("learning rate power {}: must be 0 or more", power);
  }

 private:
  double after_warm_up(double base, std::uint64_t update) const override {
    return final_rate_ + (base - final_rate_) * std::pow(1 - progress(update, total_), power_);
  }

  std::uint64_t total_;
  double power_;
  double final_rate_;
};

class Cosine final : public Warmed {
 public:
  Cosine(std::uint64_t total, double final_rate, WarmUp warm_up)
      : Warmed(warm_up), total_(total), final_rate_(final_rate) {
    check_total(total);
    check_final_rate(final_rate);
  }

 private:
  double after_warm_up(double base, std::uint64_t update) const override {
    return final_rate_ + (base - final_rate_) * (1 + std::cos(std::numbers::pi * progress(update, total_))) / 2;
  }

  std::uint64_t total_;
  double final_rate_;
};

}  // namespace

std::shared_ptr<const Schedule> factor_schedule(std::uint64_t step, double factor, double stop, WarmUp warm_up) {
  return std::make_shared<Factor>(step, factor, stop, warm_up);
}

std::shared_ptr<const Schedule> multi_factor_schedule(std::vector<std::uint64_t> steps, double factor, WarmUp warm_up) {
  return std::make_shared<MultiFactor>(std::move(steps), factor, warm_up);
}

std::shared_ptr<const Schedule> poly_schedule(std::uint64_t total, double power, double final_rate, WarmUp warm_up) {
  return std::make_shared<Poly>(total, power, final_rate, warm_up);
}

std::shared_ptr<const Schedule> cosine_schedule(std::uint64_t total, double final_rate, WarmUp warm_up) {
  return std::make_shared<Cosine>(total, final_rate, warm_up);
}

}  // namespace cohort

#include "protocols/http1/head_intake.h"

namespace pontage::http1 {

HeadIntake::Step HeadIntake::settle(Step step, message::Arena& arena, message::Arena::Mark mark) noexcept {
  if (!step) {
    arena.rollback(mark);
    reset();
    failed_ = true;
    error_ = step.error();
  } else if (step->event == HeadEvent::need_more) {
    arena.rollback(mark);
  } else {
    reset();
  }
  return step;
}

void HeadIntake::reset() noexcept {
  // The memory of a large head is worth less than an idle connection that is small.
  constexpr std::size_t kKept = 4096;
  if (pending_.capacity() > kKept) {
    std::string().swap(pending_);
  } else {
    pending_.clear();
  }
  progress_ = {};
  failed_ = false;
}

}  // namespace pontage::http1

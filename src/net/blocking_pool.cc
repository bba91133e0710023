#include "src/net/blocking_pool.h"

#include <algorithm>

namespace pontage::net {

BlockingPool::BlockingPool(unsigned threads, std::size_t max_queued) : max_queued_(max_queued) {
  threads_.reserve(std::max(threads, 1U));
  for (unsigned i = 0; i < std::max(threads, 1U); ++i) threads_.emplace_back([this] { work(); });
}

BlockingPool::~BlockingPool() {
  {
    const std::lock_guard lock(lock_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (auto& thread : threads_) thread.join();
}

bool BlockingPool::post(std::shared_ptr<Job> job) {
  {
    const std::lock_guard lock(lock_);
    if (queue_.size() >= max_queued_) return false;
    queue_.push_back(std::move(job));
  }
  wake_.notify_one();
  return true;
}

void BlockingPool::work() {
  for (;;) {
    std::shared_ptr<Job> job;
    {
      std::unique_lock lock(lock_);
      wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (stopping_) return;
      job = std::move(queue_.front());
      queue_.pop_front();
    }
    job->run();
  }
}

}  // namespace pontage::net

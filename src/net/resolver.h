// Resolver: names to addresses with their time to live, by c-ares (which reads /etc/hosts, too), on a thread of its
// own: getaddrinfo knows no TTL. A name that does not resolve is asked again with growing pauses and never stops a
// start, a check or a reload (USERS 2, row 1). The last good answer is kept. Start and stop from the control thread;
// `changed` is called on the resolver's thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "src/net/address.h"
#include "src/util/unique_fd.h"

namespace pontage::net {

class Resolver {
 public:
  using Changed = std::function<void(std::vector<Address>)>;
  using Failed = std::function<void()>;

  Resolver();
  ~Resolver();  // joins the thread

  // Keeps `host`:`port` resolved and reports the addresses whenever they change, until forget(id). An address literal
  // is reported at once, on this thread. `failed` is called, on the resolver's thread, each time nothing was found.
  std::uint64_t watch(const std::string& host, std::uint16_t port, Changed changed, Failed failed = {});
  void forget(std::uint64_t id);

 private:
  struct Watch {
    std::string host;
    std::uint16_t port = 0;
    Changed changed;
    Failed failed;
    std::vector<Address> last;
    std::uint64_t due_ms = 0;
    std::uint32_t failures = 0;
    bool asking = false;
  };
  struct Query;
  struct Library;
  void run();
  void ask_due();
  void answered(std::uint64_t id, std::vector<Address> addresses, std::uint64_t ttl_s);
  void wait_for_events();
  void wake() noexcept;

  std::unique_ptr<Library> library_;
  util::UniqueFd wake_;
  std::mutex lock_;
  std::map<std::uint64_t, std::shared_ptr<Watch>> watches_;  // guarded by lock_
  std::uint64_t next_id_ = 1;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace pontage::net

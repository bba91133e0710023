#include "src/net/resolver.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <ares.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "src/observe/log.h"
#include "src/util/clock.h"

namespace pontage::net {
namespace {

constexpr std::uint64_t kShortestTtl = 1;  // seconds
constexpr std::uint64_t kLongestTtl = 300;
constexpr std::uint64_t kHostsFileTtl = 30;  // answers without a TTL
constexpr std::uint64_t kLongestRetryMs = 10'000;

std::uint64_t now_ms() noexcept {
  return util::monotonic_ns() / 1'000'000;
}

}  // namespace

struct Resolver::Library {
  ares_channel channel = nullptr;
  Library() {
    if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS) throw std::runtime_error("c-ares does not start");
    ares_options options{};
    options.timeout = 2000;
    options.tries = 2;
    if (ares_init_options(&channel, &options, ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES) != ARES_SUCCESS) {
      throw std::runtime_error("c-ares finds no usable configuration");
    }
  }
  ~Library() {
    ares_destroy(channel);
    ares_library_cleanup();
  }
};

struct Resolver::Query {
  Resolver* resolver;
  std::uint64_t id;
  std::uint16_t port;
};

Resolver::Resolver() : library_(std::make_unique<Library>()), wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  thread_ = std::thread([this] { run(); });
}

Resolver::~Resolver() {
  stopping_.store(true);
  wake();
  thread_.join();
}

void Resolver::wake() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto put = ::write(wake_.get(), &one, sizeof one);
}

std::uint64_t Resolver::watch(const std::string& host, std::uint16_t port, Changed changed, Failed failed) {
  if (const auto literal = Address::from_ip(host, port)) {
    changed({*literal});
    return 0;
  }
  auto watch = std::make_shared<Watch>();
  watch->host = host;
  watch->port = port;
  watch->changed = std::move(changed);
  watch->failed = std::move(failed);
  std::uint64_t id = 0;
  {
    const std::lock_guard guard(lock_);
    id = next_id_++;
    watches_[id] = std::move(watch);
  }
  wake();
  return id;
}

void Resolver::forget(std::uint64_t id) {
  const std::lock_guard guard(lock_);
  watches_.erase(id);
}

void Resolver::run() {
  while (!stopping_.load()) {
    ask_due();
    wait_for_events();
  }
  ares_cancel(library_->channel);
}

void Resolver::ask_due() {
  std::vector<std::pair<std::uint64_t, std::shared_ptr<Watch>>> due;
  const std::uint64_t now = now_ms();
  {
    const std::lock_guard guard(lock_);
    for (auto& [id, watch] : watches_) {
      if (!watch->asking && watch->due_ms <= now) due.emplace_back(id, watch);
    }
    for (auto& [id, watch] : due) watch->asking = true;
  }
  for (auto& [id, watch] : due) {
    auto* query = new Query{this, id, watch->port};
    ares_addrinfo_hints hints{};
    hints.ai_family = AF_UNSPEC;
    ares_getaddrinfo(
        library_->channel, watch->host.c_str(), nullptr, &hints,
        [](void* argument, int status, int, ares_addrinfo* result) {
          const std::unique_ptr<Query> q(static_cast<Query*>(argument));
          std::vector<Address> addresses;
          std::uint64_t ttl = kLongestTtl;
          if (status == ARES_SUCCESS && result != nullptr) {
            for (const auto* node = result->nodes; node != nullptr; node = node->ai_next) {
              sockaddr_storage storage{};
              std::copy_n(reinterpret_cast<const char*>(node->ai_addr), node->ai_addrlen,
                          reinterpret_cast<char*>(&storage));
              if (node->ai_family == AF_INET) reinterpret_cast<sockaddr_in&>(storage).sin_port = htons(q->port);
              if (node->ai_family == AF_INET6) reinterpret_cast<sockaddr_in6&>(storage).sin6_port = htons(q->port);
              addresses.push_back(Address::from_raw(reinterpret_cast<const sockaddr*>(&storage), node->ai_addrlen));
              ttl = std::min(ttl, node->ai_ttl > 0 ? static_cast<std::uint64_t>(node->ai_ttl) : kHostsFileTtl);
            }
          }
          if (result != nullptr) ares_freeaddrinfo(result);
          if (status != ARES_EDESTRUCTION && status != ARES_ECANCELLED)
            q->resolver->answered(q->id, std::move(addresses), ttl);
        },
        query);
  }
}

void Resolver::answered(std::uint64_t id, std::vector<Address> addresses, std::uint64_t ttl_s) {
  std::shared_ptr<Watch> watch;
  {
    const std::lock_guard guard(lock_);
    const auto found = watches_.find(id);
    if (found == watches_.end()) return;
    watch = found->second;
    watch->asking = false;
    if (addresses.empty()) {
      ++watch->failures;
      watch->due_ms = now_ms() + std::min<std::uint64_t>(kLongestRetryMs, 500ULL << std::min(watch->failures, 5U));
    } else {
      watch->failures = 0;
      watch->due_ms = now_ms() + 1000 * std::clamp(ttl_s, kShortestTtl, kLongestTtl);
    }
  }
  if (addresses.empty()) {
    observe::log::warn_limited(watch->host, "name {} does not resolve; asking again", watch->host);
    if (watch->failed) watch->failed();
    return;
  }
  // The order of equal answers differs from one to the next.
  std::sort(addresses.begin(), addresses.end(), [](const Address& a, const Address& b) { return a.text() < b.text(); });
  if (addresses == watch->last) return;
  watch->last = addresses;
  watch->changed(std::move(addresses));
}

void Resolver::wait_for_events() {
  std::array<ares_socket_t, ARES_GETSOCK_MAXNUM> sockets;
  const int bits = ares_getsock(library_->channel, sockets.data(), ARES_GETSOCK_MAXNUM);
  std::array<pollfd, ARES_GETSOCK_MAXNUM + 1> polled{};
  std::size_t count = 0;
  polled[count++] = {wake_.get(), POLLIN, 0};
  for (int i = 0; i < ARES_GETSOCK_MAXNUM; ++i) {
    int events = 0;
    if (ARES_GETSOCK_READABLE(bits, i)) events |= POLLIN;
    if (ARES_GETSOCK_WRITABLE(bits, i)) events |= POLLOUT;
    if (events != 0) polled[count++] = {sockets[static_cast<std::size_t>(i)], static_cast<short>(events), 0};
  }
  ::poll(polled.data(), count, 200);
  if (polled[0].revents != 0) {
    std::uint64_t value = 0;
    [[maybe_unused]] const auto got = ::read(wake_.get(), &value, sizeof value);
  }
  for (std::size_t i = 1; i < count; ++i) {
    const bool in = (polled[i].revents & (POLLIN | POLLERR | POLLHUP)) != 0;
    const bool out = (polled[i].revents & POLLOUT) != 0;
    ares_process_fd(library_->channel, in ? polled[i].fd : ARES_SOCKET_BAD, out ? polled[i].fd : ARES_SOCKET_BAD);
  }
  ares_process_fd(library_->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);  // timeouts
}

}  // namespace pontage::net

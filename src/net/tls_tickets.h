// The keys that session tickets are sealed with: one seals, those before it still open. Shared by all workers, and kept
// across reloads. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "protocols/wire/expected.h"
#include "src/net/tls_handle.h"

namespace pontage::net {

class TicketKeys {
 public:
  static constexpr std::size_t kFileSize = 80;  // name, AES-256 key, HMAC key
  struct Key {
    std::array<unsigned char, 16> name;
    std::array<unsigned char, 32> aes;
    std::array<unsigned char, 32> mac;
  };

  // Random keys that change every half `lifetime_s`, so that a ticket can be opened as long as its session lives.
  explicit TicketKeys(std::int64_t lifetime_s) : period_s_(lifetime_s / 2 + 1) {}
  // The keys of files, for several gateways: the first seals, all open; they change when the files do, at a reload. An
  // error is one sentence.
  static wire::Expected<std::vector<Key>, std::string> read(const std::vector<std::string>& files);
  explicit TicketKeys(std::vector<Key> fixed) : keys_(std::move(fixed)) {}

  // The key to seal with at `now_s` (unix seconds).
  Key sealing(std::int64_t now_s);
  // Finds the key called `name`; false when it is gone. `newest` says whether it still seals.
  bool opening(const unsigned char* name, std::int64_t now_s, Key& key, bool& newest);

  // For SSL_CTX_set_tlsext_ticket_key_evp_cb.
  int seal_or_open(unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac, bool seal);

 private:
  static constexpr std::size_t kKept = 3;
  void rotate(std::int64_t now_s);

  std::mutex lock_;
  std::vector<Key> keys_;      // newest first; guarded by lock_
  std::int64_t period_s_ = 0;  // 0: they stay
  std::int64_t next_s_ = 0;    // guarded by lock_
};

}  // namespace pontage::net

#include "src/net/tls_tickets.h"

#include <algorithm>
#include <cstring>
#include <ctime>

#include <openssl/core_names.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include "src/config/files.h"

namespace pontage::net {

wire::Expected<std::vector<TicketKeys::Key>, std::string> TicketKeys::read(const std::vector<std::string>& files) {
  std::vector<Key> keys;
  for (const auto& file : files) {
    auto text = config::read_file(file, kFileSize + 1);
    if (!text) return wire::Unexpected<std::string>(text.error());
    if (text->size() != kFileSize) {
      return wire::Unexpected<std::string>("`" + file +
                                           "` is no ticket key: 80 random bytes, as from `openssl rand 80`");
    }
    std::memcpy(&keys.emplace_back(), text->data(), kFileSize);
  }
  return keys;
}

void TicketKeys::rotate(std::int64_t now_s) {
  if (!keys_.empty() && (period_s_ == 0 || now_s < next_s_)) return;
  // A process that gave no ticket for long has keys that may open nothing any more.
  if (!keys_.empty() && now_s >= next_s_ + 2 * period_s_) keys_.clear();
  Key key;
  RAND_bytes(key.name.data(), static_cast<int>(key.name.size()));
  RAND_priv_bytes(key.aes.data(), static_cast<int>(key.aes.size()));
  RAND_priv_bytes(key.mac.data(), static_cast<int>(key.mac.size()));
  keys_.insert(keys_.begin(), key);
  if (keys_.size() > kKept) keys_.resize(kKept);
  next_s_ = now_s + period_s_;
}

TicketKeys::Key TicketKeys::sealing(std::int64_t now_s) {
  const std::lock_guard guard(lock_);
  rotate(now_s);
  return keys_.front();
}

bool TicketKeys::opening(const unsigned char* name, std::int64_t now_s, Key& key, bool& newest) {
  const std::lock_guard guard(lock_);
  rotate(now_s);
  const auto found = std::find_if(keys_.begin(), keys_.end(),
                                  [&](const Key& k) { return std::memcmp(k.name.data(), name, k.name.size()) == 0; });
  if (found == keys_.end()) return false;
  key = *found;
  newest = found == keys_.begin();
  return true;
}

int TicketKeys::seal_or_open(unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac,
                             bool seal) {
  const std::int64_t now_s = std::time(nullptr);
  Key key;
  bool newest = true;
  if (seal) {
    key = sealing(now_s);
    std::memcpy(name, key.name.data(), key.name.size());
    if (RAND_bytes(iv, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) != 1) return -1;
  } else if (!opening(name, now_s, key, newest)) {
    return 0;
  }
  char digest[] = "SHA256";
  const OSSL_PARAM params[] = {OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key.mac.data(), key.mac.size()),
                               OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                               OSSL_PARAM_construct_end()};
  const auto init = seal ? &EVP_EncryptInit_ex : &EVP_DecryptInit_ex;
  const bool fine =
      init(cipher, EVP_aes_256_cbc(), nullptr, key.aes.data(), iv) == 1 && EVP_MAC_CTX_set_params(mac, params) == 1;
  OPENSSL_cleanse(&key, sizeof key);
  if (!fine) return -1;
  return newest ? 1 : 2;
}

}  // namespace pontage::net

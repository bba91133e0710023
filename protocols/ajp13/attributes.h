// What a FORWARD_REQUEST says beside the request itself: the client, the connection, the balancer (ADAPTERS A4,
// A8-A13). Filled by RequestDecoder for the reference origin. Texts live in the arena given to the decoder.
#pragma once

#include <cstdint>
#include <string_view>

#include "protocols/message/header.h"

namespace pontage::ajp13 {

struct Attributes {
  std::string_view remote_addr;
  std::string_view remote_host;
  std::uint16_t remote_port = 0;  // AJP_REMOTE_PORT; 0 when absent or no port
  std::string_view local_addr;    // AJP_LOCAL_ADDR
  std::string_view server_name;
  std::uint16_t server_port = 0;
  bool is_tls = false;

  std::string_view context;
  std::string_view remote_user;
  std::string_view auth_type;
  std::string_view route;
  std::string_view secret;
  std::string_view activation;  // JK_LB_ACTIVATION
  std::string_view ssl_cert;
  std::string_view ssl_cipher;
  std::string_view ssl_session;
  std::string_view ssl_protocol;   // AJP_SSL_PROTOCOL
  std::uint16_t ssl_key_size = 0;  // bits
  message::HeaderList others;      // every other request attribute, in order; these are no HTTP fields and have no ids
};

}  // namespace pontage::ajp13

// Asio for the control thread: signals, timers, the admin listener and the control socket, where convenience counts and
// speed does not. Compiled once (asio.cc) and used only from this floor up.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace pontage::admin {

namespace asio = boost::asio;
// Errors come back as values.
inline constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

}  // namespace pontage::admin

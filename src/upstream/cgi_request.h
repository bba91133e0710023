// The CGI variables of an exchange (ADAPTERS section 3): what the FastCGI, SCGI, uwsgi and CGI adapters send, whichever
// encoding they send it in. Worker's thread.
#pragma once

#include "protocols/cgi/variables.h"
#include "src/config/config.h"
#include "src/http/exchange.h"
#include "src/upstream/script_path.h"

namespace pontage::upstream {

// Errors are the client's: a path or field that cannot be a variable is 400. CONTENT_LENGTH is the length of an exact
// body (F12), 0 for any other. The list and its texts live as long as the exchange and `mapping`.
util::Result<const cgi::VariableList*> make_cgi_variables(http::Exchange& exchange, const config::CgiMapping& mapping);

// The same for a script that somebody else has found, or will.
util::Result<const cgi::VariableList*> make_cgi_variables(http::Exchange& exchange, const config::CgiMapping& mapping,
                                                          const ScriptPath& script);

// Fields that say what the protocol says in places of its own, so that a server gets it once: X-Forwarded-For, -Host,
// -Port and -Proto.
bool is_carried_apart(const message::Header& field) noexcept;

}  // namespace pontage::upstream

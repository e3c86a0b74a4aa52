/* hub.h: the server's hub, /hubs/stream: SignalR's JSON protocol over a WebSocket. Private to cli. */
#ifndef SF_CLI_HUB_H
#define SF_CLI_HUB_H

#include "cli/remote.h"

/* Every message of the server but pings, as valid JSON. False ends the connection. */
typedef bool sf_cli_hub_message(void *arg, sf_str json);

/* Connects, invokes method(argument) and hands out what comes, until on_message says no (SF_OK) or
 * the connection ends (SF_UNAVAILABLE). A refused invocation is an error with the server's words. */
SF_MUST_USE sf_status sf_cli_hub_run(sf_cli_remote *remote, const char *method,
                                     const char *argument, sf_cli_hub_message *on_message,
                                     void *arg, sf_error *err);

#endif

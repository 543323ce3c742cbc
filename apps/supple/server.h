/* server.h - serves the files of one folder over HTTP on the loopback address. */
#ifndef APP_SERVER_H
#define APP_SERVER_H

#include <signal.h>
#include <stdbool.h>

typedef struct app_server app_server;

/* Listens on 127.0.0.1; `port` 0 picks a free one. Reads nothing outside `folder`: no "..", no hidden file, no symbolic
 * link in a path. Returns NULL and sets errno when the folder cannot be opened or the port is in use. */
app_server *app_server_open(const char *folder, int port);
void app_server_close(app_server *server);
int app_server_port(const app_server *server);

/* Answers GET and HEAD until *stop is set. Returns false when polling failed. */
bool app_server_run(app_server *server, const volatile sig_atomic_t *stop);

#endif

/* server.c - a small static file server: GET and HEAD of the regular files of one folder, on the loopback address.
 *
 * One thread with poll(): browsers open idle connections in advance, which must not block the others. A connection
 * serves one request and is closed. */
#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { CLIENT_LIMIT = 64, REQUEST_LIMIT = 8192, PATH_LIMIT = 1024, IDLE_LIMIT = 10 /* seconds */ };

typedef struct client {
    int socket;
    time_t since;
    size_t size;
    char request[REQUEST_LIMIT + 1];
} client;

struct app_server {
    int folder, socket, port, client_count;
    client clients[CLIENT_LIMIT];
};

static int set_close_on_exec(int descriptor)
{
    if (descriptor >= 0) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    return descriptor;
}

static bool listen_at(app_server *server, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t size = sizeof address;
    int yes = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server->socket = set_close_on_exec(socket(AF_INET, SOCK_STREAM, 0));
    if (server->socket < 0) return false;
    setsockopt(server->socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(server->socket, (struct sockaddr *)&address, sizeof address) != 0) return false;
    if (listen(server->socket, CLIENT_LIMIT) != 0) return false;
    if (getsockname(server->socket, (struct sockaddr *)&address, &size) != 0) return false;
    server->port = ntohs(address.sin_port);
    return true;
}

app_server *app_server_open(const char *folder, int port)
{
    app_server *server = calloc(1, sizeof *server);
    if (server == NULL) return NULL;
    server->socket = -1;
    server->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (server->folder >= 0 && listen_at(server, port)) return server;
    int reason = errno;
    app_server_close(server);
    errno = reason;
    return NULL;
}

void app_server_close(app_server *server)
{
    if (server == NULL) return;
    for (int i = 0; i < server->client_count; i++)
        close(server->clients[i].socket);
    if (server->socket >= 0) close(server->socket);
    if (server->folder >= 0) close(server->folder);
    free(server);
}

int app_server_port(const app_server *server)
{
    return server->port;
}

static bool send_all(int socket, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(socket, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0) return false;
        bytes += sent;
        size -= (size_t)sent;
    }
    return true;
}

static bool send_head(int socket, const char *status, const char *type, long long size)
{
    char head[600];
    int length = snprintf(head, sizeof head,
                          "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %lld\r\nConnection: close\r\n"
                          "Cache-Control: no-cache\r\nX-Content-Type-Options: nosniff\r\n"
                          "Content-Security-Policy: default-src 'self' blob: data:; "
                          "script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'\r\n%s\r\n",
                          status, type, size, strncmp(status, "405", 3) == 0 ? "Allow: GET, HEAD\r\n" : "");
    return send_all(socket, head, (size_t)length);
}

static void refuse(int socket, const char *status, bool head_only)
{
    char text[64];
    int length = snprintf(text, sizeof text, "%s\n", status);
    if (send_head(socket, status, "text/plain; charset=utf-8", length) && !head_only)
        send_all(socket, text, (size_t)length);
}

static const char *content_type(const char *path)
{
    static const char *const types[][2] = {
        {".html", "text/html; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".mjs", "text/javascript; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".wasm", "application/wasm"},
        {".json", "application/json"},
        {".svg", "image/svg+xml"},
        {".png", "image/png"},
        {".jpg", "image/jpeg"},
        {".glb", "model/gltf-binary"},
        {".txt", "text/plain; charset=utf-8"},
    };
    const char *ending = strrchr(path, '.');
    for (size_t i = 0; ending != NULL && i < sizeof types / sizeof types[0]; i++)
        if (strcasecmp(ending, types[i][0]) == 0) return types[i][1];
    return "application/octet-stream";
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Decodes a request target, "/a%20b?c" to "a b"; a folder becomes its index.html. Returns false when invalid. */
static bool decode_path(const char *target, size_t size, char path[PATH_LIMIT])
{
    static const char index[] = "index.html";
    size_t length = 0;
    if (size == 0 || target[0] != '/') return false;
    for (size_t i = 1; i < size && target[i] != '?' && target[i] != '#'; i++) {
        int value = (unsigned char)target[i];
        if (target[i] == '%') {
            int high = i + 2 < size ? hex_digit(target[i + 1]) : -1, low = i + 2 < size ? hex_digit(target[i + 2]) : -1;
            if (high < 0 || low < 0) return false;
            value = 16 * high + low;
            i += 2;
        }
        if (value < 0x20 || value == '\\' || length + sizeof index >= PATH_LIMIT) return false;
        path[length++] = (char)value;
    }
    path[length] = '\0';
    if (length == 0 || path[length - 1] == '/') memcpy(path + length, index, sizeof index);
    return true;
}

/* Opens `path` component by component, following no symbolic link; rejects empty components and hidden files. Modifies
 * `path`. Returns the descriptor of a regular file, or -1. */
static int open_below(int folder, char *path, struct stat *about)
{
    int at = folder;
    for (char *name = path, *next; name != NULL; name = next) {
        next = strchr(name, '/');
        if (next != NULL) *next++ = '\0';
        int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (next != NULL ? O_DIRECTORY : 0);
        int opened = name[0] == '\0' || name[0] == '.' ? -1 : openat(at, name, flags);
        if (at != folder) close(at);
        if (opened < 0) return -1;
        at = opened;
    }
    if (fstat(at, about) == 0 && S_ISREG(about->st_mode)) return at;
    close(at);
    return -1;
}

static void send_file(int socket, int file, long long size)
{
    static char block[65536];
    while (size > 0) {
        ssize_t got = read(file, block, size < (long long)sizeof block ? (size_t)size : sizeof block);
        if (got <= 0 || !send_all(socket, block, (size_t)got)) return;
        size -= got;
    }
}

/* Answers a complete request head: "GET /path HTTP/1.1". */
static void answer(int folder, int socket, const char *request)
{
    const char *target = strchr(request, ' '), *end = target != NULL ? strpbrk(target + 1, " \r\n") : NULL;
    char path[PATH_LIMIT];
    struct stat about;
    bool head_only = strncmp(request, "HEAD ", 5) == 0;
    if (target == NULL || end == NULL || strncmp(end, " HTTP/1.", 8) != 0) {
        refuse(socket, "400 Bad Request", false);
        return;
    }
    if (!head_only && strncmp(request, "GET ", 4) != 0) {
        refuse(socket, "405 Method Not Allowed", false);
        return;
    }
    if (!decode_path(target + 1, (size_t)(end - target - 1), path)) {
        refuse(socket, "400 Bad Request", head_only);
        return;
    }
    const char *type = content_type(path);
    int file = open_below(folder, path, &about);
    if (file < 0) {
        refuse(socket, "404 Not Found", head_only);
        return;
    }
    if (send_head(socket, "200 OK", type, (long long)about.st_size) && !head_only)
        send_file(socket, file, (long long)about.st_size);
    close(file);
}

static void accept_client(app_server *server)
{
    struct timeval send_timeout = {.tv_sec = IDLE_LIMIT};
    int socket = set_close_on_exec(accept(server->socket, NULL, NULL));
    if (socket < 0) return;
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &send_timeout, sizeof send_timeout);
    client *made = &server->clients[server->client_count++];
    made->socket = socket;
    made->since = time(NULL);
    made->size = 0;
}

/* Returns true when the connection is finished. */
static bool serve_client(app_server *server, client *from)
{
    ssize_t got = recv(from->socket, from->request + from->size, REQUEST_LIMIT - from->size, MSG_DONTWAIT);
    if (got < 0) return errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR;
    if (got == 0) return true;
    from->size += (size_t)got;
    from->request[from->size] = '\0';
    if (memchr(from->request, '\0', from->size) != NULL) {
        refuse(from->socket, "400 Bad Request", false);
        return true;
    }
    if (strstr(from->request, "\r\n\r\n") != NULL || strstr(from->request, "\n\n") != NULL) {
        answer(server->folder, from->socket, from->request);
        shutdown(from->socket, SHUT_WR);
        return true;
    }
    if (from->size < REQUEST_LIMIT) return false;
    refuse(from->socket, "431 Request Header Fields Too Large", false);
    return true;
}

/* Drains unread input: closing with unread data resets the connection, and the answer could be lost. */
static void end_client(const client *one)
{
    char rest[1024];
    for (int i = 0; i < 64 && recv(one->socket, rest, sizeof rest, MSG_DONTWAIT) > 0; i++) {
    }
    close(one->socket);
}

bool app_server_run(app_server *server, const volatile sig_atomic_t *stop)
{
    while (!*stop) {
        struct pollfd waits[CLIENT_LIMIT + 1];
        int count = server->client_count;
        for (int i = 0; i < count; i++)
            waits[i] = (struct pollfd){.fd = server->clients[i].socket, .events = POLLIN};
        waits[count] = (struct pollfd){.fd = count < CLIENT_LIMIT ? server->socket : -1, .events = POLLIN};
        if (poll(waits, (nfds_t)count + 1, 500) < 0) {
            if (errno == EINTR) continue;
            return false;
        }
        time_t now = time(NULL);
        for (int i = count - 1; i >= 0; i--) {
            client *one = &server->clients[i];
            if (waits[i].revents != 0 ? !serve_client(server, one) : now - one->since <= IDLE_LIMIT) continue;
            end_client(one);
            *one = server->clients[--server->client_count];
        }
        if ((waits[count].revents & POLLIN) != 0) accept_client(server);
    }
    return true;
}

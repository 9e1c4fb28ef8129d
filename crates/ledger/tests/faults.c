/* Loaded before the C library into a client of the ledger: counts the calls that touch files below LEDGER_FAULT_UNDER and, at the
 * LEDGER_FAULT_AT-th, does what LEDGER_FAULT_KIND says.
 *
 *   eio, enospc   the call fails, once
 *   full          this call and every later write fail with ENOSPC
 *   short         half of the bytes are written, every later write fails with ENOSPC
 *   kill          the process is killed before the call
 *   after         the process is killed after the call
 *   power         all that was written and not forced to disk is undone, and the process is killed
 *   unsafe-power  the same, and no call forces anything to disk: the twin that must lose charges
 *   count         nothing; at the end the number of calls is told
 *   nosync        nothing is forced to disk, which makes long tests short
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#define FDS 1024
#define REAL(name) ((__typeof__(&name))real(#name))

static char watched[FDS];
static long calls, reads, at = -1;
static int is_full;
static const char *kind = "", *under = "";

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

__attribute__((constructor)) static void begin(void) {
    const char *number = getenv("LEDGER_FAULT_AT");
    if (number) at = atol(number);
    if (getenv("LEDGER_FAULT_KIND")) kind = getenv("LEDGER_FAULT_KIND");
    if (getenv("LEDGER_FAULT_UNDER")) under = getenv("LEDGER_FAULT_UNDER");
}

static int is(const char *word) { return strcmp(kind, word) == 0; }
static int is_watched(int fd) { return fd >= 0 && fd < FDS && watched[fd]; }
static int is_under(const char *path) { return path && *under && strstr(path, under) != NULL; }

static void tell(const char *line) {
    ssize_t (*out)(int, const void *, size_t) = (ssize_t(*)(int, const void *, size_t))real("write");
    if (out(2, line, strlen(line)) < 0) _exit(99);
}

__attribute__((destructor)) static void end(void) {
    char line[96];
    if (is("count")) {
        snprintf(line, sizeof line, "calls %ld\nreads %ld\n", calls, reads);
        tell(line);
    }
}

/* What was written and not forced to disk: the bytes that were there before. */
struct undo { ino_t file; int fd; off_t place, size; size_t length; char *bytes; };
static struct undo *undos;
static size_t undone, room;

static void remember(int fd, off_t place, size_t length) {
    struct stat about;
    if (!(is("power") || is("unsafe-power")) || fstat(fd, &about)) return;
    if (undone == room) {
        room = room ? 2 * room : 256;
        undos = realloc(undos, room * sizeof *undos);
        if (!undos) _exit(98);
    }
    struct undo *one = &undos[undone++];
    one->file = about.st_ino, one->fd = dup(fd), one->place = place, one->size = about.st_size;
    one->length = 0, one->bytes = NULL;
    if (place < about.st_size) {
        one->length = (size_t)(about.st_size - place) < length ? (size_t)(about.st_size - place) : length;
        one->bytes = malloc(one->length + 1);
        ssize_t got = REAL(pread64)(one->fd, one->bytes, one->length, place);
        one->length = got < 0 ? 0 : (size_t)got;
    }
}

static void forced(int fd) {
    struct stat about;
    if (is("unsafe-power") || fstat(fd, &about)) return;
    size_t kept = 0;
    /* Copies of a handle stay open: to close one would give up the locks of the process. */
    for (size_t i = 0; i < undone; i++)
        if (undos[i].file != about.st_ino) undos[kept++] = undos[i];
    undone = kept;
}

static void lose_power(void) {
    while (undone-- > 0) {
        struct undo *one = &undos[undone];
        if (one->length && REAL(pwrite64)(one->fd, one->bytes, one->length, one->place) < 0) _exit(97);
        if (REAL(ftruncate64)(one->fd, one->size)) _exit(96);
    }
}

/* Whether this call is the one, and is not killed by it. */
static int hit(void) {
    calls++;
    if (calls != at || is("count") || is("nosync")) return 0;
    tell("fault hit\n");
    if (is("power") || is("unsafe-power")) lose_power();
    if (is("kill") || is("power") || is("unsafe-power")) kill(getpid(), SIGKILL);
    if (is("full") || is("short")) is_full = 1;
    return 1;
}

static void after(int was_hit) { if (was_hit && is("after")) kill(getpid(), SIGKILL); }
static int fails(int was_hit) {
    if (!was_hit || is("after") || is("short")) return 0;
    errno = is("eio") ? EIO : ENOSPC;
    return 1;
}

static int opened(int fd, const char *path) {
    if (fd >= 0 && fd < FDS) watched[fd] = is_under(path);
    return fd;
}

#define OPEN(name)                                                              \
    int name(const char *path, int flags, ...) {                                \
        va_list list;                                                           \
        va_start(list, flags);                                                  \
        mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;               \
        va_end(list);                                                           \
        int was_hit = is_under(path) ? hit() : 0;                               \
        if (fails(was_hit)) return -1;                                          \
        int fd = opened(((int (*)(const char *, int, ...))real(#name))(path, flags, mode), path); \
        after(was_hit);                                                         \
        return fd;                                                              \
    }
OPEN(open)
OPEN(open64)

static ssize_t put(int fd, const void *bytes, size_t length, off_t place, int is_placed) {
    ssize_t (*plain)(int, const void *, size_t) = (ssize_t(*)(int, const void *, size_t))real("write");
    if (!is_watched(fd)) return is_placed ? REAL(pwrite64)(fd, bytes, length, place) : plain(fd, bytes, length);
    if (is_full) { calls++; errno = ENOSPC; return -1; }
    int was_hit = hit();
    if (fails(was_hit)) return -1;
    if (was_hit && is("short") && length > 1) length /= 2;
    remember(fd, is_placed ? place : lseek(fd, 0, SEEK_CUR), length);
    ssize_t done = is_placed ? REAL(pwrite64)(fd, bytes, length, place) : plain(fd, bytes, length);
    after(was_hit);
    return done;
}
ssize_t write(int fd, const void *bytes, size_t length) { return put(fd, bytes, length, 0, 0); }
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t place) { return put(fd, bytes, length, place, 1); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t place) { return put(fd, bytes, length, place, 1); }

#define SYNC(name)                                     \
    int name(int fd) {                                 \
        if (!is_watched(fd)) return REAL(name)(fd);    \
        int was_hit = hit();                           \
        if (fails(was_hit)) return -1;                 \
        int done = is("nosync") ? 0 : REAL(name)(fd);  \
        forced(fd);                                    \
        after(was_hit);                                \
        return done;                                   \
    }
SYNC(fsync)
SYNC(fdatasync)

#define CUT(name, offset)                                       \
    int name(int fd, offset size) {                             \
        if (!is_watched(fd)) return REAL(name)(fd, size);       \
        int was_hit = hit();                                    \
        if (fails(was_hit)) return -1;                          \
        remember(fd, size, (size_t)1 << 30);                    \
        int done = REAL(name)(fd, size);                        \
        after(was_hit);                                         \
        return done;                                            \
    }
CUT(ftruncate, off_t)
CUT(ftruncate64, off64_t)

#define PATH(name)                                              \
    int name(const char *path) {                                \
        int was_hit = is_under(path) ? hit() : 0;               \
        if (fails(was_hit)) return -1;                          \
        int done = REAL(name)(path);                            \
        after(was_hit);                                         \
        return done;                                            \
    }
PATH(unlink)

#define TWO_PATHS(name)                                         \
    int name(const char *from, const char *to) {                \
        int was_hit = is_under(to) ? hit() : 0;                 \
        if (fails(was_hit)) return -1;                          \
        int done = REAL(name)(from, to);                        \
        after(was_hit);                                         \
        return done;                                            \
    }
TWO_PATHS(rename)
TWO_PATHS(link)

#define GET(name, offset)                                                         \
    ssize_t name(int fd, void *bytes, size_t length, offset place) {              \
        if (!is_watched(fd)) return REAL(name)(fd, bytes, length, place);         \
        reads++;                                                                  \
        int was_hit = hit();                                                      \
        if (fails(was_hit)) return -1;                                            \
        ssize_t done = REAL(name)(fd, bytes, length, place);                      \
        after(was_hit);                                                           \
        return done;                                                              \
    }
GET(pread, off_t)
GET(pread64, off64_t)

int close(int fd) {
    if (fd >= 0 && fd < FDS) watched[fd] = 0;
    return REAL(close)(fd);
}

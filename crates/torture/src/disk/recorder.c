/* The recorder: a preloaded library that writes down what a process does to the files below one
 * directory, and fails calls on request. How its log is read: log.rs.
 *
 *   EVENKEEL_DISK_ROOT    the directory
 *   EVENKEEL_DISK_LOG     where the log goes
 *   EVENKEEL_DISK_MARKS   a file; what is written there goes into the log and nowhere else
 *   EVENKEEL_DISK_DATA    0: the log has no content of files
 *   EVENKEEL_DISK_READS   1: reads are written down, and may be made to fail
 *   EVENKEEL_DISK_SHIFT   bytes that a journal claims to be longer than it is, so that it is soon full
 *   EVENKEEL_DISK_FAULT   SITE:NTH:ERRNO:MODE, the site in hexadecimal or 0 for any, MODE one or more of
 *                         o (once), l (lasting), s (half of a write succeeds before the failure)
 *   EVENKEEL_DISK_LIFTED  a file that ends a lasting fault by being there
 *
 * One lock is held around each call and its record, so the log has the order in which calls took
 * effect. Some libraries rename without the C library: a filter of system calls sends those here. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

enum { OPEN = 1, WRITE, TRUNCATE, ALLOCATE, SYNC, RENAME, LINK, UNLINK, MKDIR, RMDIR, MARK, READ };
enum { CREATED = 1, TRUNCATED = 2, FOLDER = 4, ZEROS = 8, INJECTED = 16, DATA_ONLY = 32, ELIDED = 64, SHORT = 128 };
enum { FDS = 65536, FRAMES = 11, LOG_FD = 60000, COOKIE = 0x5eed1e55 };

struct head {
    uint32_t magic, bytes;
    uint32_t kind, flags;
    int64_t result;
    uint32_t error, thread;
    uint64_t ino, offset, length, site;
    uint32_t path, path2, data, pad;
};

struct seen { uint64_t ino, site; char tracked, marks, append, writer, elided; };

static struct seen fds[FDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char root[4096], marks[4096], lifted[4096];
static size_t root_bytes;
static int log_fd = -1, with_data = 1, with_reads, ready;
static int64_t shift;
static void *own_base;
static uint64_t fault_site, fault_nth, fault_count;
static int fault_errno, fault_lasting, fault_short, fault_begun, fault_over, fault_next;
static __thread int inside;

static int below(const char *path) {
    return ready && !strncmp(path, root, root_bytes) && (path[root_bytes] == '/' || !path[root_bytes]);
}

static const char *relative(const char *path) {
    return path[root_bytes] ? path + root_bytes + 1 : path + root_bytes;
}

/* The full path of a name in a folder, in `out`. */
static const char *full(int folder, const char *name, char *out) {
    char link[64];
    ssize_t length;
    if (name[0] == '/') return name;
    if (folder == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
    else snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    length = syscall(SYS_readlink, link, out, 4000);
    if (length < 0) return name;
    snprintf(out + length, 4096 - length, "/%.1000s", name);
    return out;
}

static uint64_t site_here(void) {
    void *frames[FRAMES];
    uint64_t hash = 0xcbf29ce484222325ull;
    int count, i;
    if (inside) return 1;
    inside = 1;
    count = backtrace(frames, FRAMES);
    for (i = 0; i < count; i++) {
        Dl_info info;
        uint64_t at;
        if (!dladdr(frames[i], &info) || info.dli_fbase == own_base) continue;
        at = (char *)frames[i] - (char *)info.dli_fbase;
        hash = (hash ^ at) * 0x100000001b3ull;
        hash ^= hash >> 29;
    }
    inside = 0;
    return hash ? hash : 1;
}

static void put(struct head *head, const char *path, const char *path2, const struct iovec *data, int count) {
    struct iovec parts[1 + 2 + 64];
    int used = 0, i;
    head->magic = 0x4b534944;
    head->thread = syscall(SYS_gettid);
    head->path = path ? strlen(path) : 0;
    head->path2 = path2 ? strlen(path2) : 0;
    head->data = 0;
    parts[used++] = (struct iovec){head, sizeof *head};
    parts[used++] = (struct iovec){(void *)path, head->path};
    parts[used++] = (struct iovec){(void *)path2, head->path2};
    for (i = 0; i < count && i < 64; i++) {
        parts[used++] = data[i];
        head->data += data[i].iov_len;
    }
    head->bytes = sizeof *head + head->path + head->path2 + head->data;
    if (syscall(SYS_writev, log_fd, parts, used) != (long)head->bytes) _exit(97);
}

/* Whether this call fails, and with what. A full disk fails only what needs room. */
static int fault(uint64_t site, int needs_room) {
    struct stat found;
    if (!fault_errno || fault_over || (fault_errno == ENOSPC && !needs_room)) return 0;
    if (!fault_begun) {
        if (fault_site && site != fault_site) return 0;
        if (++fault_count < fault_nth) return 0;
        fault_begun = 1;
        if (!fault_lasting) fault_over = 1;
        return fault_errno;
    }
    if (!syscall(SYS_stat, lifted, &found)) {
        fault_over = 1;
        return 0;
    }
    return fault_errno;
}

static long fail(struct head *head, int error, const char *path, const char *path2) {
    head->flags |= INJECTED;
    head->result = -1;
    head->error = error;
    put(head, path, path2, NULL, 0);
    pthread_mutex_unlock(&lock);
    errno = error;
    return -1;
}

/* Ends a call that was really made. */
static long end(struct head *head, long result, const char *path, const char *path2) {
    int error = result < 0 ? errno : 0;
    head->result = result;
    head->error = error;
    put(head, path, path2, NULL, 0);
    pthread_mutex_unlock(&lock);
    errno = error;
    return result;
}

static int tracked(int fd) { return ready && fd >= 0 && fd < FDS && fds[fd].tracked; }

static int is_elided(const char *path) { return !strncmp(relative(path), "RESERVE", 7); }

static int do_open(int folder, const char *name, int flags, mode_t mode) {
    char space[5200];
    const char *path = full(folder, name, space);
    struct head head = {.kind = OPEN};
    struct stat found;
    int fd, existed, error;
    size_t length;
    if (ready && marks[0] && !strcmp(path, marks)) {
        fd = syscall(SYS_openat, folder, name, flags, mode);
        if (fd >= 0 && fd < FDS) fds[fd] = (struct seen){.tracked = 1, .marks = 1};
        return fd;
    }
    if (!below(path)) return syscall(SYS_openat, folder, name, flags, mode);
    head.site = site_here();
    pthread_mutex_lock(&lock);
    existed = !syscall(SYS_stat, path, &found);
    if (!existed && (flags & O_CREAT)) head.flags |= CREATED;
    if (existed && (flags & O_TRUNC)) head.flags |= TRUNCATED;
    error = fault(head.site, head.flags & CREATED);
    if (error) return fail(&head, error, relative(path), NULL);
    fd = syscall(SYS_openat, folder, name, flags, mode);
    if (fd < 0) return end(&head, fd, relative(path), NULL);
    syscall(SYS_fstat, fd, &found);
    head.ino = found.st_ino;
    if (S_ISDIR(found.st_mode)) head.flags |= FOLDER;
    length = strlen(path);
    if (fd < FDS)
        fds[fd] = (struct seen){
            .ino = found.st_ino, .tracked = 1, .append = !!(flags & O_APPEND),
            .writer = length > 4 && !strcmp(path + length - 4, ".jnl") && (flags & (O_APPEND | O_EXCL)),
            .elided = is_elided(path)};
    return end(&head, fd, relative(path), NULL);
}

static int is_zeros(const struct iovec *data, int count, size_t bytes) {
    int i;
    for (i = 0; i < count && bytes; i++) {
        const char *at = data[i].iov_base;
        size_t length = data[i].iov_len < bytes ? data[i].iov_len : bytes;
        if (length && (at[0] || memcmp(at, at + 1, length - 1))) return 0;
        bytes -= length;
    }
    return 1;
}

static ssize_t do_write(int fd, const struct iovec *data, int count, int64_t offset) {
    struct head head = {.kind = WRITE};
    struct iovec written[64];
    ssize_t result;
    size_t bytes = 0, left;
    int i, error, used = 0;
    for (i = 0; i < count; i++) bytes += data[i].iov_len;
    if (!tracked(fd)) {
        if (offset >= 0) return syscall(SYS_pwritev, fd, data, count, offset, 0);
        return syscall(SYS_writev, fd, data, count);
    }
    if (fds[fd].marks) {
        head.kind = MARK;
        pthread_mutex_lock(&lock);
        head.result = bytes;
        put(&head, NULL, NULL, data, count);
        pthread_mutex_unlock(&lock);
        return bytes;
    }
    if (count > 64) count = 64;
    /* What is left out of the log is written a thousand times over, and from one place. */
    if (fds[fd].elided && !fds[fd].site) fds[fd].site = site_here();
    head.site = fds[fd].elided ? fds[fd].site : site_here();
    pthread_mutex_lock(&lock);
    head.ino = fds[fd].ino;
    if (fds[fd].append) {
        struct stat found;
        syscall(SYS_fstat, fd, &found);
        head.offset = found.st_size;
    } else {
        head.offset = offset >= 0 ? offset : syscall(SYS_lseek, fd, 0, SEEK_CUR);
    }
    if (fault_next) {
        fault_next = 0;
        return fail(&head, fault_errno, NULL, NULL);
    }
    error = fault(head.site, 1);
    if (error && fault_short && data[0].iov_len > 1) {
        struct iovec half = {data[0].iov_base, data[0].iov_len / 2};
        fault_short = 0;
        fault_next = 1;
        head.flags |= SHORT;
        if (offset >= 0) result = syscall(SYS_pwritev, fd, &half, 1, offset, 0);
        else result = syscall(SYS_writev, fd, &half, 1);
    } else if (error) {
        return fail(&head, error, NULL, NULL);
    } else if (offset >= 0) {
        result = syscall(SYS_pwritev, fd, data, count, offset, 0);
    } else {
        result = syscall(SYS_writev, fd, data, count);
    }
    if (result < 0) return end(&head, result, NULL, NULL);
    head.result = result;
    head.length = result;
    left = result;
    if (!with_data || fds[fd].elided) head.flags |= ELIDED;
    else if (is_zeros(data, count, left)) head.flags |= ZEROS;
    else
        for (i = 0; i < count && left; i++) {
            size_t length = data[i].iov_len < left ? data[i].iov_len : left;
            written[used++] = (struct iovec){data[i].iov_base, length};
            left -= length;
        }
    put(&head, NULL, NULL, written, used);
    pthread_mutex_unlock(&lock);
    return result;
}

static ssize_t do_read(int fd, const struct iovec *data, int count, int64_t offset) {
    struct head head = {.kind = READ};
    ssize_t result;
    int error;
    if (with_reads && tracked(fd) && !fds[fd].marks) {
        head.site = site_here();
        pthread_mutex_lock(&lock);
        head.ino = fds[fd].ino;
        head.offset = offset;
        error = fault(head.site, 0);
        if (error) return fail(&head, error, NULL, NULL);
        result = offset >= 0 ? syscall(SYS_preadv, fd, data, count, offset, 0) : syscall(SYS_readv, fd, data, count);
        if (result > 0) head.length = result;
        return end(&head, result, NULL, NULL);
    }
    if (offset >= 0) return syscall(SYS_preadv, fd, data, count, offset, 0);
    return syscall(SYS_readv, fd, data, count);
}

static int do_resize(int fd, int64_t length) {
    struct head head = {.kind = TRUNCATE, .length = length};
    struct stat found;
    int error;
    if (!tracked(fd)) return syscall(SYS_ftruncate, fd, length);
    head.site = site_here();
    pthread_mutex_lock(&lock);
    head.ino = fds[fd].ino;
    syscall(SYS_fstat, fd, &found);
    error = fault(head.site, length > found.st_size);
    if (error) return fail(&head, error, NULL, NULL);
    return end(&head, syscall(SYS_ftruncate, fd, length), NULL, NULL);
}

static int do_allocate(int fd, int mode, int64_t offset, int64_t length) {
    struct head head = {.kind = ALLOCATE, .offset = offset, .length = length, .flags = 0};
    int error;
    if (!tracked(fd)) return syscall(SYS_fallocate, fd, mode, offset, length);
    if (mode) { errno = EOPNOTSUPP; return -1; }
    head.site = site_here();
    pthread_mutex_lock(&lock);
    head.ino = fds[fd].ino;
    error = fault(head.site, 1);
    if (error) return fail(&head, error, NULL, NULL);
    return end(&head, syscall(SYS_fallocate, fd, mode, offset, length), NULL, NULL);
}

static int do_sync(int fd, int data_only) {
    struct head head = {.kind = SYNC, .flags = data_only ? DATA_ONLY : 0};
    int error;
    if (!tracked(fd)) return syscall(data_only ? SYS_fdatasync : SYS_fsync, fd);
    head.site = site_here();
    pthread_mutex_lock(&lock);
    head.ino = fds[fd].ino;
    error = fault(head.site, 1);
    if (error) return fail(&head, error, NULL, NULL);
    return end(&head, syscall(data_only ? SYS_fdatasync : SYS_fsync, fd), NULL, NULL);
}

static int do_rename(int kind, int from, const char *name, int to, const char *name2, unsigned flags) {
    char space[5200], space2[5200];
    const char *path = full(from, name, space), *path2 = full(to, name2, space2);
    struct head head = {.kind = kind};
    long number = kind == RENAME ? SYS_renameat2 : SYS_linkat;
    int error;
    if (!below(path2)) return syscall(number, from, name, to, name2, flags, COOKIE);
    head.site = site_here();
    pthread_mutex_lock(&lock);
    error = fault(head.site, 1);
    if (error) return fail(&head, error, relative(path), relative(path2));
    return end(&head, syscall(number, from, name, to, name2, flags, COOKIE), relative(path), relative(path2));
}

static int do_unlink(int folder, const char *name, int flags) {
    char space[5200];
    const char *path = full(folder, name, space);
    struct head head = {.kind = flags & AT_REMOVEDIR ? RMDIR : UNLINK};
    int error;
    if (!below(path)) return syscall(SYS_unlinkat, folder, name, flags, 0, 0, COOKIE);
    head.site = site_here();
    pthread_mutex_lock(&lock);
    error = fault(head.site, 0);
    if (error) return fail(&head, error, relative(path), NULL);
    return end(&head, syscall(SYS_unlinkat, folder, name, flags, 0, 0, COOKIE), relative(path), NULL);
}

static int do_mkdir(int folder, const char *name, mode_t mode) {
    char space[5200];
    const char *path = full(folder, name, space);
    struct head head = {.kind = MKDIR};
    struct stat found;
    long result;
    int error;
    if (!below(path)) return syscall(SYS_mkdirat, folder, name, mode);
    head.site = site_here();
    pthread_mutex_lock(&lock);
    error = fault(head.site, 1);
    if (error) return fail(&head, error, relative(path), NULL);
    result = syscall(SYS_mkdirat, folder, name, mode);
    error = errno;
    if (!result && !syscall(SYS_stat, path, &found)) head.ino = found.st_ino;
    errno = error;
    return end(&head, result, relative(path), NULL);
}

static int64_t do_seek(int fd, int64_t offset, int whence) {
    int64_t at = syscall(SYS_lseek, fd, offset, whence);
    if (at >= 0 && tracked(fd) && fds[fd].writer && whence == SEEK_CUR && offset == 0) at += shift;
    return at;
}

static void copy_fd(int from, int to) {
    if (to >= 0 && to < FDS && from >= 0 && from < FDS) fds[to] = fds[from];
}

/* A system call that did not go through the C library. */
static void trapped(int signal, siginfo_t *info, void *context) {
    greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
    int saved = errno;
    long result = -1;
    (void)signal;
    switch (info->si_syscall) {
    case SYS_rename: result = do_rename(RENAME, AT_FDCWD, (char *)regs[REG_RDI], AT_FDCWD, (char *)regs[REG_RSI], 0); break;
    case SYS_renameat: result = do_rename(RENAME, regs[REG_RDI], (char *)regs[REG_RSI], regs[REG_RDX], (char *)regs[REG_R10], 0); break;
    case SYS_renameat2: result = do_rename(RENAME, regs[REG_RDI], (char *)regs[REG_RSI], regs[REG_RDX], (char *)regs[REG_R10], regs[REG_R8]); break;
    case SYS_unlink: result = do_unlink(AT_FDCWD, (char *)regs[REG_RDI], 0); break;
    case SYS_unlinkat: result = do_unlink(regs[REG_RDI], (char *)regs[REG_RSI], regs[REG_RDX]); break;
    default: errno = ENOSYS;
    }
    regs[REG_RAX] = result < 0 ? -errno : result;
    errno = saved;
}

static void trap_calls(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, COOKIE, 7, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rename, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unlink, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unlinkat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    struct sigaction action = {.sa_sigaction = trapped, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSYS, &action, NULL);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0)) _exit(96);
}

static void read_path(const char *name, char *out) {
    const char *value = getenv(name);
    if (value) snprintf(out, 4096, "%s", value);
}

__attribute__((constructor)) static void begin(void) {
    void *frames[4];
    Dl_info info;
    char path[4096] = "", mode[8] = "";
    const char *value;
    int fd;
    read_path("EVENKEEL_DISK_ROOT", root);
    read_path("EVENKEEL_DISK_MARKS", marks);
    read_path("EVENKEEL_DISK_LIFTED", lifted);
    read_path("EVENKEEL_DISK_LOG", path);
    if (!root[0] || !path[0]) return;
    root_bytes = strlen(root);
    if ((value = getenv("EVENKEEL_DISK_DATA"))) with_data = atoi(value);
    if ((value = getenv("EVENKEEL_DISK_READS"))) with_reads = atoi(value);
    if ((value = getenv("EVENKEEL_DISK_SHIFT"))) shift = atoll(value);
    if ((value = getenv("EVENKEEL_DISK_FAULT"))) {
        unsigned long long site = 0, nth = 0;
        if (sscanf(value, "%llx:%llu:%d:%7s", &site, &nth, &fault_errno, mode) != 4) _exit(95);
        fault_site = site;
        fault_nth = nth;
        fault_lasting = !!strchr(mode, 'l');
        fault_short = !!strchr(mode, 's');
    }
    backtrace(frames, 4);
    if (dladdr((void *)begin, &info)) own_base = info.dli_fbase;
    fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    log_fd = syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, LOG_FD);
    if (log_fd < 0) log_fd = fd;
    else syscall(SYS_close, fd);
    if (log_fd < 0) _exit(94);
    trap_calls();
    ready = 1;
}

static mode_t mode_of(int flags, va_list rest) {
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
}

#define OPENER(name) \
    int name(const char *path, int flags, ...) { \
        va_list rest; mode_t mode; va_start(rest, flags); mode = mode_of(flags, rest); va_end(rest); \
        return do_open(AT_FDCWD, path, flags, mode); }
#define OPENER_AT(name) \
    int name(int folder, const char *path, int flags, ...) { \
        va_list rest; mode_t mode; va_start(rest, flags); mode = mode_of(flags, rest); va_end(rest); \
        return do_open(folder, path, flags, mode); }
OPENER(open)
OPENER(open64)
OPENER_AT(openat)
OPENER_AT(openat64)
int creat(const char *path, mode_t mode) { return do_open(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return creat(path, mode); }

int close(int fd) {
    if (fd == log_fd && ready) { errno = EBADF; return -1; }
    if (fd >= 0 && fd < FDS) fds[fd].tracked = 0;
    return syscall(SYS_close, fd);
}

ssize_t write(int fd, const void *data, size_t bytes) {
    struct iovec one = {(void *)data, bytes};
    if (!tracked(fd)) return syscall(SYS_write, fd, data, bytes);
    return do_write(fd, &one, 1, -1);
}
ssize_t writev(int fd, const struct iovec *data, int count) { return do_write(fd, data, count, -1); }
ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset) {
    struct iovec one = {(void *)data, bytes};
    if (!tracked(fd)) return syscall(SYS_pwrite64, fd, data, bytes, offset);
    return do_write(fd, &one, 1, offset);
}
ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t offset) { return pwrite(fd, data, bytes, offset); }
ssize_t pwritev(int fd, const struct iovec *data, int count, off_t offset) { return do_write(fd, data, count, offset); }
ssize_t pwritev64(int fd, const struct iovec *data, int count, off64_t offset) { return do_write(fd, data, count, offset); }
ssize_t read(int fd, void *data, size_t bytes) {
    struct iovec one = {data, bytes};
    if (!with_reads || !tracked(fd)) return syscall(SYS_read, fd, data, bytes);
    return do_read(fd, &one, 1, -1);
}
ssize_t readv(int fd, const struct iovec *data, int count) { return do_read(fd, data, count, -1); }
ssize_t pread(int fd, void *data, size_t bytes, off_t offset) {
    struct iovec one = {data, bytes};
    if (!with_reads || !tracked(fd)) return syscall(SYS_pread64, fd, data, bytes, offset);
    return do_read(fd, &one, 1, offset);
}
ssize_t pread64(int fd, void *data, size_t bytes, off64_t offset) { return pread(fd, data, bytes, offset); }
ssize_t preadv(int fd, const struct iovec *data, int count, off_t offset) { return do_read(fd, data, count, offset); }
ssize_t preadv64(int fd, const struct iovec *data, int count, off64_t offset) { return do_read(fd, data, count, offset); }
int ftruncate(int fd, off_t length) { return do_resize(fd, length); }
int ftruncate64(int fd, off64_t length) { return do_resize(fd, length); }
int fallocate(int fd, int mode, off_t offset, off_t length) { return do_allocate(fd, mode, offset, length); }
int fallocate64(int fd, int mode, off64_t offset, off64_t length) { return do_allocate(fd, mode, offset, length); }
int posix_fallocate(int fd, off_t offset, off_t length) { return do_allocate(fd, 0, offset, length) ? errno : 0; }
int posix_fallocate64(int fd, off64_t offset, off64_t length) { return posix_fallocate(fd, offset, length); }
int fsync(int fd) { return do_sync(fd, 0); }
int fdatasync(int fd) { return do_sync(fd, 1); }
int rename(const char *from, const char *to) { return do_rename(RENAME, AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int from, const char *name, int to, const char *name2) { return do_rename(RENAME, from, name, to, name2, 0); }
int renameat2(int from, const char *name, int to, const char *name2, unsigned flags) { return do_rename(RENAME, from, name, to, name2, flags); }
int link(const char *from, const char *to) { return do_rename(LINK, AT_FDCWD, from, AT_FDCWD, to, 0); }
int linkat(int from, const char *name, int to, const char *name2, int flags) { return do_rename(LINK, from, name, to, name2, flags); }
int unlink(const char *path) { return do_unlink(AT_FDCWD, path, 0); }
int unlinkat(int folder, const char *path, int flags) { return do_unlink(folder, path, flags); }
int rmdir(const char *path) { return do_unlink(AT_FDCWD, path, AT_REMOVEDIR); }
int mkdir(const char *path, mode_t mode) { return do_mkdir(AT_FDCWD, path, mode); }
int mkdirat(int folder, const char *path, mode_t mode) { return do_mkdir(folder, path, mode); }
off_t lseek(int fd, off_t offset, int whence) { return do_seek(fd, offset, whence); }
off64_t lseek64(int fd, off64_t offset, int whence) { return do_seek(fd, offset, whence); }
int dup(int fd) { int to = syscall(SYS_dup, fd); copy_fd(fd, to); return to; }
int dup2(int fd, int to) { int result = fd == to ? to : (int)syscall(SYS_dup3, fd, to, 0); copy_fd(fd, result); return result; }
int dup3(int fd, int to, int flags) { int result = syscall(SYS_dup3, fd, to, flags); copy_fd(fd, result); return result; }

static int do_fcntl(int fd, int command, long argument) {
    int result = syscall(SYS_fcntl, fd, command, argument);
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) copy_fd(fd, result);
    return result;
}
int fcntl(int fd, int command, ...) {
    va_list rest; long argument; va_start(rest, command); argument = va_arg(rest, long); va_end(rest);
    return do_fcntl(fd, command, argument);
}
int fcntl64(int fd, int command, ...) {
    va_list rest; long argument; va_start(rest, command); argument = va_arg(rest, long); va_end(rest);
    return do_fcntl(fd, command, argument);
}

/* While a disk is made to seem full, it says so. */
static int do_statvfs(const char *path, struct statvfs *found) {
    static int (*real)(const char *, struct statvfs *);
    int result;
    if (!real) real = (int (*)(const char *, struct statvfs *))dlsym(RTLD_NEXT, "statvfs");
    result = real(path, found);
    pthread_mutex_lock(&lock);
    if (!result && below(path) && fault_begun && fault_lasting && fault(0, 1) == ENOSPC)
        found->f_bfree = found->f_bavail = 0;
    pthread_mutex_unlock(&lock);
    return result;
}
int statvfs(const char *path, struct statvfs *found) { return do_statvfs(path, found); }
int statvfs64(const char *path, struct statvfs64 *found) { return do_statvfs(path, (struct statvfs *)found); }

/* Copies inside the kernel would go unseen; without them programs read and write. */
ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *at2, size_t bytes, unsigned flags) {
    (void)from; (void)at; (void)to; (void)at2; (void)bytes; (void)flags;
    errno = ENOSYS;
    return -1;
}

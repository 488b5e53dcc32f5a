/* Tries one thing that a build has no business with. Exits with 0 if it was let. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static int reach(int family, const struct sockaddr *address, socklen_t length)
{
    int fd = socket(family, SOCK_STREAM, 0);
    return connect(fd, address, length);
}

static int local(const char *name, int is_abstract)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    strncpy(address.sun_path + is_abstract, name, sizeof address.sun_path - 2);
    socklen_t length = offsetof(struct sockaddr_un, sun_path) + is_abstract + strlen(name);
    return reach(AF_UNIX, (struct sockaddr *)&address, is_abstract ? length : sizeof address);
}

/* Whether a call that is wrong anyway was refused as such, and not for what is wrong with it. */
static int unless_forbidden(long done)
{
    return done < 0 && errno == EPERM ? -1 : 0;
}

static int tcp(const char *port)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(atoi(port)) };
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return reach(AF_INET, (struct sockaddr *)&address, sizeof address);
}

int main(int argc, char **argv)
{
    const char *what = argv[1], *with = argc > 2 ? argv[2] : "";
    long done = -1;
    if (!strcmp(what, "ptrace"))
        done = ptrace(PTRACE_SEIZE, atoi(with), 0, 0);
    if (!strcmp(what, "memory")) {
        char here;
        struct { void *at; size_t length; } ours = { &here, 1 }, theirs = { (void *)1, 1 };
        done = unless_forbidden(syscall(SYS_process_vm_readv, atoi(with), &ours, 1, &theirs, 1, 0));
    }
    if (!strcmp(what, "unix"))
        done = local(with, 0);
    if (!strcmp(what, "abstract"))
        done = local(with, 1);
    if (!strcmp(what, "tcp"))
        done = tcp(with);
    if (!strcmp(what, "unshare"))
        done = unshare(CLONE_NEWUSER);
    if (!strcmp(what, "clone"))
        done = syscall(SYS_clone, CLONE_NEWUSER | CLONE_VFORK, 0, 0, 0, 0);
    if (!strcmp(what, "mount"))
        done = mount("none", "/tmp", "tmpfs", 0, "");
    if (!strcmp(what, "unmount"))
        done = umount2(with, MNT_DETACH);
    if (!strcmp(what, "keys"))
        done = syscall(SYS_keyctl, 0, -3, 1, 0, 0);
    if (!strcmp(what, "bpf"))
        done = unless_forbidden(syscall(SYS_bpf, 0, 0, 0));
    if (!strcmp(what, "terminal"))
        done = ioctl(open("/dev/ptmx", O_RDWR), TIOCSTI, "x");
    return done < 0;
}

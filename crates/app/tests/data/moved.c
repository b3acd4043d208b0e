// The clock and a name of one process, as a test wants them: the clock is MOVED_CLOCK seconds ahead, and MOVED_NAME is found at
// the address that stands in the file MOVED_FILE. Loaded with LD_PRELOAD.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    long failed = syscall(SYS_clock_gettime, clock, now);
    const char *ahead = getenv("MOVED_CLOCK");
    if (!failed && clock == CLOCK_REALTIME && ahead) {
        now->tv_sec += atol(ahead);
    }
    return (int)failed;
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    const char *name = getenv("MOVED_NAME"), *path = getenv("MOVED_FILE");
    char address[64] = "";
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    if (node && name && path && !strcmp(node, name)) {
        FILE *file = fopen(path, "r");
        if (!file || fscanf(file, "%63s", address) != 1) {
            return EAI_FAIL;
        }
        fclose(file);
        node = address;
    }
    return real(node, service, hints, found);
}

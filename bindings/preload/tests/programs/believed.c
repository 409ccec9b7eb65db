/* Reads a pipe in a program with a library (LIBRARY) whose fstat reports every descriptor as /dev/urandom. */
#include "report.h"
#include <sys/stat.h>
#include <sys/sysmacros.h>

#ifdef LIBRARY
int fstat(int fd, struct stat *stat) {
    (void)fd;
    memset(stat, 0, sizeof *stat);
    stat->st_mode = S_IFCHR | 0666;
    stat->st_rdev = makedev(1, 9);
    return 0;
}
#else
int main(void) {
    int ends[2];
    struct stat stat;
    char bytes[10] = "";
    CHECK(pipe(ends) == 0 && write(ends[1], "in a pipe", 9) == 9 && close(ends[1]) == 0);
    CHECK(fstat(ends[0], &stat) == 0 && S_ISCHR(stat.st_mode));
    CHECK(read(ends[0], bytes, 9) == 9);
    printf("%s, and then ", bytes);
    printf("%zd\ncounted device 0 0\n", read(ends[0], bytes, 9));
    return 0;
}
#endif

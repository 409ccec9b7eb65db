/* A library whose fstat reports every descriptor as /dev/urandom. */
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

int fstat(int fd, struct stat *stat) {
    (void)fd;
    memset(stat, 0, sizeof *stat);
    stat->st_mode = S_IFCHR | 0666;
    stat->st_rdev = makedev(1, 9);
    return 0;
}

/* Reads more than its buffer holds, which _FORTIFY_SOURCE must notice. */
#include "report.h"

int main(int count, char **arguments) {
    volatile size_t length = 17;
    char bytes[16];
    int fd = open("/dev/urandom", O_RDONLY);
    printf("%s\n", arguments[count - 1]);
    fflush(stdout);
    ssize_t result = !strcmp(arguments[count - 1], "read") ? read(fd, bytes, length)
                                                           : pread(fd, bytes, length, 0);
    printf("read %zd\n", result);
    return 0;
}

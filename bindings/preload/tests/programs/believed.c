/* Reads a pipe, in a program whose fstat is a library's that lies. */
#include "said.h"
#include <sys/stat.h>

int main(void) {
    int ends[2];
    struct stat stat;
    char bytes[10] = "";
    MUST(pipe(ends) == 0 && write(ends[1], "in a pipe", 9) == 9 && close(ends[1]) == 0);
    MUST(fstat(ends[0], &stat) == 0 && S_ISCHR(stat.st_mode));
    MUST(read(ends[0], bytes, 9) == 9);
    printf("%s, and then ", bytes);
    printf("%zd\ncounted device 0 0\n", read(ends[0], bytes, 9));
    return 0;
}

// An NVM subsystem that sanitizes itself, with one controller, reached over TCP (NVM Express TCP Transport
// Specification). The kernel's driver connects to it, with one queue for I/O, and makes its namespaces block
// devices.
//
//     sanitizing_subsystem PORT DIRECTORY IMAGE...
//
// Each IMAGE holds the contents of a namespace. In DIRECTORY, `log` gets word 10 of every Sanitize command.
// While there is a file `hold`, an operation stays half done; with a file `fail` it fails. Each question
// about an operation takes it an eighth further; at its end the contents of all namespaces are zeros.

#include <arpa/inet.h>
#include <endian.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "directory.h"

#define MOST_NAMESPACES 4
#define MOST_DATA (128 << 10)

// Types of protocol data units.
enum { ICREQ = 0x00, ICRESP = 0x01, COMMAND = 0x04, RESPONSE = 0x05, DATA_TO_HOST = 0x07 };

// Status codes, and the bit that says that another try is useless.
enum {
    SUCCESS = 0x00,
    INVALID_OPCODE = 0x01,
    INVALID_FIELD = 0x02,
    SANITIZE_FAILED = 0x1c,
    SANITIZE_IN_PROGRESS = 0x1d,
    LBA_OUT_OF_RANGE = 0x80,
    INVALID_LOG_PAGE = 0x109,
    DO_NOT_RETRY = 0x4000,
    NO_RESPONSE = 0xffff,
};

static int images[MOST_NAMESPACES];
static uint64_t sectors[MOST_NAMESPACES];
static unsigned namespaces;

// Everything below is read and written under this lock.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct operation operation;
static uint32_t configuration;

// The data of a command: what came with it, and what goes back.
struct data {
    uint8_t in[MOST_DATA];
    size_t in_len;
    uint8_t out[MOST_DATA];
    size_t out_len;
};

static uint32_t word(const uint8_t *command, int number) {
    uint32_t value;
    memcpy(&value, command + 4 * number, sizeof value);
    return le32toh(value);
}

static void put(uint8_t *place, uint64_t value, size_t len) {
    value = htole64(value);
    memcpy(place, &value, len);
}

static void go_on(void) {
    if (goes_on_to_erase(&operation))
        for (unsigned i = 0; i < namespaces; i++)
            erase(images[i], sectors[i]);
}

static uint16_t sanitize(const uint8_t *command) {
    uint32_t asked = word(command, 10), action = asked & 7;
    char line[16];
    snprintf(line, sizeof line, "%08x", asked);
    note(line);
    if (operation.state == AT_WORK)
        return SANITIZE_IN_PROGRESS;
    if (action == 1) {
        if (operation.state == FAILED && !(operation.word10 & 8))
            return SANITIZE_FAILED;
        operation.state = IDLE;
        return SUCCESS;
    }
    if (action != 2 && action != 4)
        return INVALID_FIELD;
    if (operation.state == FAILED && !(operation.word10 & 8) && (asked & 8))
        return SANITIZE_FAILED;
    begin(&operation);
    operation.word10 = asked;
    return SUCCESS;
}

// The status of the last operation (SSTAT), which does not tell whether its failure was left.
static uint16_t told(void) {
    if (!operation.was_begun)
        return 0;
    if (operation.state == AT_WORK)
        return 2;
    return operation.succeeded ? 1 : 3;
}

static uint16_t log_page(const uint8_t *command, struct data *data) {
    size_t len = ((word(command, 10) >> 16) + 1) * 4;
    data->out_len = len < MOST_DATA ? len : MOST_DATA;
    switch (word(command, 10) & 0xff) {
    case 0x02: // SMART
        return SUCCESS;
    case 0x81:
        go_on();
        put(data->out, operation.state == AT_WORK ? operation.progress : 0xffff, 2);
        put(data->out + 2, told(), 2);
        put(data->out + 4, operation.word10, 4);
        memset(data->out + 8, 0xff, 24);
        return SUCCESS;
    default:
        return INVALID_LOG_PAGE;
    }
}

static void identify_controller(uint8_t *out) {
    memcpy(out + 4, "NVME-TCP            ", 20);
    memcpy(out + 24, "SANITIZING SUBSYSTEM                    ", 40);
    memcpy(out + 64, "1       ", 8);
    out[77] = 5;                 // the most data: 128 KiB (MDTS)
    put(out + 78, 1, 2);         // the controller's number
    put(out + 80, 0x10201, 4);   // the version
    out[111] = 1;                // a controller for I/O
    put(out + 320, 100, 2);      // keep-alive (KAS)
    put(out + 328, 0b011, 4);    // crypto erase and block erase (SANICAP)
    out[512] = 0x66;             // lengths of queue entries
    out[513] = 0x44;
    put(out + 514, 64, 2);       // commands at once
    put(out + 516, namespaces, 4);
    put(out + 536, 1, 4);        // scatter-gather lists
    put(out + 1792, (64 + MOST_DATA) / 16, 4); // a command with its data (IOCCSZ)
    put(out + 1796, 1, 4);       // a response
}

static uint16_t identify(const uint8_t *command, struct data *data) {
    uint32_t number = word(command, 1), at = 0;
    data->out_len = 4096;
    switch (word(command, 10) & 0xff) {
    case 0x00:
        if (number < 1 || number > namespaces)
            return INVALID_FIELD;
        for (int field = 0; field < 3; field++) // its size, capacity and use
            put(data->out + 8 * field, sectors[number - 1], 8);
        data->out[130] = 9; // sectors of 512 bytes
        return SUCCESS;
    case 0x01:
        identify_controller(data->out);
        return SUCCESS;
    case 0x02:
        while (++number <= namespaces)
            put(data->out + 4 * at++, number, 4);
        return SUCCESS;
    default:
        return INVALID_FIELD;
    }
}

// Connect, and the controller's registers.
static uint16_t fabrics(const uint8_t *command, uint64_t *result) {
    enum { CAP = 0x00, VS = 0x08, CC = 0x14, CSTS = 0x1c };
    uint32_t offset = word(command, 11);
    switch (command[4]) {
    case 0x00: // Property Set
        if (offset == CC)
            configuration = word(command, 12);
        return SUCCESS;
    case 0x01: // Connect
        *result = 1;
        return SUCCESS;
    case 0x04: // Property Get
        if (offset == CAP)
            *result = 127 | 1 << 16 | 20 << 24 | 1ull << 37;
        else if (offset == VS)
            *result = 0x10201;
        else if (offset == CC)
            *result = configuration;
        else if (offset == CSTS)
            *result = (configuration & 1) | (configuration & 0xc000 ? 2 << 2 : 0);
        return SUCCESS;
    default:
        return INVALID_FIELD;
    }
}

static uint16_t admin(const uint8_t *command, struct data *data, uint64_t *result) {
    switch (command[0]) {
    case 0x02:
        return log_page(command, data);
    case 0x06:
        return identify(command, data);
    case 0x09: // Set Features: one queue for I/O
        *result = 0;
        return SUCCESS;
    case 0x0c: // Asynchronous Event Request
        return NO_RESPONSE;
    case 0x18: // Keep Alive
        return SUCCESS;
    case 0x7f:
        return fabrics(command, result);
    case 0x84:
        return sanitize(command);
    default:
        return INVALID_OPCODE;
    }
}

static uint16_t io(const uint8_t *command, struct data *data, uint64_t *result) {
    if (command[0] == 0x7f)
        return fabrics(command, result);
    uint32_t number = word(command, 1);
    uint64_t lba = word(command, 10) | (uint64_t)word(command, 11) << 32;
    size_t count = (word(command, 12) & 0xffff) + 1, len = count * SECTOR;
    if (number < 1 || number > namespaces)
        return INVALID_FIELD;
    if (operation.state != IDLE)
        return operation.state == AT_WORK ? SANITIZE_IN_PROGRESS : SANITIZE_FAILED;
    int image = images[number - 1];
    switch (command[0]) {
    case 0x00: // Flush
        return SUCCESS;
    case 0x01: // Write
        if (lba + count > sectors[number - 1] || len != data->in_len)
            return LBA_OUT_OF_RANGE;
        if (pwrite(image, data->in, len, lba * SECTOR) != (ssize_t)len)
            err(1, "image");
        return SUCCESS;
    case 0x02: // Read
        if (lba + count > sectors[number - 1] || len > MOST_DATA)
            return LBA_OUT_OF_RANGE;
        if (pread(image, data->out, len, lba * SECTOR) != (ssize_t)len)
            err(1, "image");
        data->out_len = len;
        return SUCCESS;
    default:
        return INVALID_OPCODE;
    }
}

static bool receive(int connection, void *bytes, size_t len) {
    return recv(connection, bytes, len, MSG_WAITALL) == (ssize_t)len;
}

// Sends a unit: its header of `head_len` bytes, then data.
static void send_unit(int connection, uint8_t *head, uint8_t head_len, const void *data, size_t len) {
    head[2] = head_len;
    head[3] = len ? head_len : 0;
    put(head + 4, head_len + len, 4);
    if (send(connection, head, head_len, MSG_NOSIGNAL | (len ? MSG_MORE : 0)) < 0)
        return;
    if (len)
        send(connection, data, len, MSG_NOSIGNAL);
}

static void answer(int connection, const uint8_t *command, struct data *data, bool *is_for_io) {
    uint64_t result = 0;
    data->out_len = 0;
    memset(data->out, 0, sizeof data->out);
    if (command[0] == 0x7f && command[4] == 0x01)
        *is_for_io = (word(command, 10) >> 16) != 0; // the queue's number
    pthread_mutex_lock(&lock);
    uint16_t status = (*is_for_io ? io : admin)(command, data, &result);
    keep(&operation, sizeof operation);
    pthread_mutex_unlock(&lock);
    if (status == NO_RESPONSE)
        return;
    if (status == SUCCESS && data->out_len) {
        uint8_t head[24] = { DATA_TO_HOST, 0x04 };
        memcpy(head + 8, command + 2, 2);
        put(head + 16, data->out_len, 4);
        send_unit(connection, head, sizeof head, data->out, data->out_len);
    }
    uint8_t response[24] = { RESPONSE };
    put(response + 8, result, 8);
    memcpy(response + 20, command + 2, 2);
    put(response + 22, status ? (uint16_t)((status | DO_NOT_RETRY) << 1) : 0, 2);
    send_unit(connection, response, sizeof response, NULL, 0);
}

static void *serve(void *argument) {
    int connection = (int)(intptr_t)argument;
    struct data *data = malloc(sizeof *data);
    bool is_for_io = false;
    uint8_t head[8], rest[256];
    while (data && receive(connection, head, sizeof head)) {
        uint32_t whole = word(head, 1), head_len = head[2];
        if (head_len < 8 || head_len - 8 > sizeof rest || whole < head_len || whole - head_len > MOST_DATA)
            errx(1, "a unit of %u bytes with a header of %u", whole, head_len);
        data->in_len = whole - head_len;
        if (!receive(connection, rest, head_len - 8))
            break;
        if (data->in_len && !receive(connection, data->in, data->in_len))
            break;
        if (head[0] == ICREQ) {
            uint8_t response[128] = { ICRESP };
            put(response + 12, MOST_DATA, 4);
            send_unit(connection, response, sizeof response, NULL, 0);
        } else if (head[0] == COMMAND) {
            answer(connection, rest, data, &is_for_io);
        } else {
            errx(1, "a unit of type 0x%02x", head[0]);
        }
    }
    free(data);
    close(connection);
    return NULL;
}

int main(int count, char **arguments) {
    if (count < 4 || count > 3 + MOST_NAMESPACES)
        errx(2, "usage: %s PORT DIRECTORY IMAGE...", arguments[0]);
    directory = arguments[2];
    remember(&operation, sizeof operation);
    for (; namespaces < (unsigned)count - 3; namespaces++) {
        struct stat described;
        images[namespaces] = open(arguments[3 + namespaces], O_RDWR);
        if (images[namespaces] < 0 || fstat(images[namespaces], &described) < 0)
            err(1, "%s", arguments[3 + namespaces]);
        sectors[namespaces] = described.st_size / SECTOR;
    }
    int yes = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in place = {
        .sin_family = AF_INET,
        .sin_port = htons(atoi(arguments[1])),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (struct sockaddr *)&place, sizeof place) < 0 || listen(listener, 4) < 0)
        err(1, "port %s", arguments[1]);
    for (;;) {
        int connection = accept(listener, NULL, NULL);
        pthread_t thread;
        if (connection < 0)
            err(1, "accept");
        setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)connection) != 0)
            errx(1, "no thread");
        pthread_detach(thread);
    }
}

// A drive that sanitizes itself: a SCSI drive, or an ATA drive behind a translation. The kernel passes it the
// commands of one device (target_core_user).
//
//     sanitizing_drive scsi|ata UIO IMAGE DIRECTORY
//
// UIO is the device's number, IMAGE holds the drive's contents. In DIRECTORY, `log` gets the bytes of every
// command that begins an operation, leaves its failure, or puts the drive into standby. With a file `awake` the last of
// these is refused. While there is a file `hold`, an operation stays half
// done; with a file `fail` it fails; with a file `frozen` the ATA drive's commands are frozen. The serial number in the
// ATA drive's own IDENTIFY DEVICE is ONE; with a file `other` it is TWO, as of another drive in the same dock, whose own
// serial number stays; with a file `nameless` there is none. With a file `magnetic` the SCSI drive rotates and has no
// block erase, and tells what it has only while no operation is under way or has failed. Each question about an
// operation takes it an eighth further; at its end the contents are zeros.

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <linux/target_core_user.h>

#include "directory.h"

#define GOOD 0
#define CHECK_CONDITION 2

static bool is_ata;
static int image;
static uint64_t sectors;

static struct operation operation;

// Notes a command's bytes.
static void note_block(const uint8_t *cdb, size_t len) {
    char line[64] = "";
    for (size_t i = 0; i < len; i++)
        sprintf(line + strlen(line), i ? " %02x" : "%02x", cdb[i]);
    note(line);
}

static void go_on(void) {
    if (goes_on_to_erase(&operation))
        erase(image, sectors);
}

static bool may_begin(bool unrestricted) {
    if (operation.state == AT_WORK || (operation.state == FAILED && !operation.may_be_left && unrestricted))
        return false;
    begin(&operation);
    operation.may_be_left = unrestricted;
    return true;
}

// The data of a command, in pieces of the shared memory.
struct data {
    uint8_t *memory;
    struct iovec *pieces;
    size_t count;
};

// Copies `len` bytes at `at` in the data to or from `bytes`.
static void copy(const struct data *data, size_t at, void *bytes, size_t len, bool to_data) {
    uint8_t *next = bytes;
    for (size_t i = 0; i < data->count && len > 0; i++) {
        size_t size = data->pieces[i].iov_len;
        if (at >= size) {
            at -= size;
            continue;
        }
        uint8_t *piece = data->memory + (uintptr_t)data->pieces[i].iov_base + at;
        size_t part = size - at < len ? size - at : len;
        memcpy(to_data ? piece : next, to_data ? next : piece, part);
        next += part;
        len -= part;
        at = 0;
    }
}

static void give(const struct data *data, void *bytes, size_t len) {
    copy(data, 0, bytes, len, true);
}

// Sense data in the fixed format; with the progress of an operation that is under way.
static uint8_t check(uint8_t *sense, uint8_t key, uint8_t code, uint8_t qualifier) {
    memset(sense, 0, 18);
    sense[0] = 0x70;
    sense[2] = key;
    sense[7] = 10;
    sense[12] = code;
    sense[13] = qualifier;
    if (code == 0x04 && qualifier == 0x1b) {
        sense[15] = 0x80;
        sense[16] = operation.progress >> 8;
        sense[17] = operation.progress;
    }
    return CHECK_CONDITION;
}

// What an operation that is under way, or has failed, answers to other commands.
static uint8_t trouble(uint8_t *sense) {
    switch (operation.state) {
    case AT_WORK:
        return check(sense, 2, 0x04, 0x1b);
    case FAILED:
        return check(sense, 3, 0x31, 0x03);
    default:
        return GOOD;
    }
}

static uint8_t inquiry(const uint8_t *cdb, const struct data *data, uint8_t *sense) {
    uint8_t page[572] = { 0, cdb[2] };
    if (!(cdb[1] & 1)) {
        uint8_t standard[36] = { 0, 0, 6, 2, 31 };
        memcpy(standard + 8, is_ata ? "ATA     " : "SQUALL  ", 8);
        memcpy(standard + 16, "SANITIZING DRIVE0001", 20);
        give(data, standard, sizeof standard);
        return GOOD;
    }
    switch (cdb[2]) {
    case 0x00:
        page[3] = is_ata ? 4 : 3;
        page[5] = 0x80;
        page[6] = is_ata ? 0x89 : 0xb1;
        page[7] = 0xb1;
        break;
    case 0x80:
        page[3] = 8;
        memcpy(page + 4, is_ata ? "TCMU-ATA" : "TCMU-SAS", 8);
        break;
    case 0x89:
        if (!is_ata)
            return check(sense, 5, 0x24, 0);
        page[2] = 2;
        page[3] = 0x38;
        break;
    case 0xb1:
        page[3] = 0x3c;
        page[5] = 1; // not rotating
        if (is_set("magnetic")) {
            page[4] = 7200 >> 8;
            page[5] = 7200 & 0xff;
        }
        break;
    default:
        return check(sense, 5, 0x24, 0);
    }
    give(data, page, sizeof page);
    return GOOD;
}

static uint8_t transfer(uint64_t lba, uint32_t count, const struct data *data, bool is_write, uint8_t *sense) {
    uint8_t sector[SECTOR];
    if (operation.state != IDLE)
        return trouble(sense);
    if (lba + count > sectors)
        return check(sense, 5, 0x21, 0);
    for (uint32_t i = 0; i < count; i++) {
        off_t place = (lba + i) * SECTOR;
        if (is_write)
            copy(data, (size_t)i * SECTOR, sector, SECTOR, false);
        ssize_t done = is_write ? pwrite(image, sector, SECTOR, place) : pread(image, sector, SECTOR, place);
        if (done != SECTOR)
            return check(sense, 3, 0x11, 0);
        if (!is_write)
            copy(data, (size_t)i * SECTOR, sector, SECTOR, true);
    }
    return GOOD;
}

// Whether SANITIZE has a service action. There is no cryptographic erase.
static bool has_service(uint8_t service) {
    return service == 1 || (service == 2 && !is_set("magnetic")) || service == 0x1f;
}

static uint8_t sanitize(const uint8_t *cdb, uint8_t *sense) {
    note_block(cdb, 10);
    bool was_begun;
    switch (cdb[1] & 0x1f) {
    case 0x01:
    case 0x02:
        was_begun = has_service(cdb[1] & 0x1f) && may_begin(cdb[1] & 0x20);
        break;
    case 0x1f:
        was_begun = operation.state == FAILED && operation.may_be_left;
        if (was_begun)
            operation.state = IDLE;
        break;
    default:
        was_begun = false;
    }
    if (!was_begun)
        return operation.state == AT_WORK ? trouble(sense) : check(sense, 5, 0x24, 0);
    return GOOD;
}

// REPORT SUPPORTED OPERATION CODES, of one command with its service action.
static uint8_t supported(const uint8_t *cdb, const struct data *data, uint8_t *sense) {
    if (is_ata || (cdb[1] & 0x1f) != 0x0c || (cdb[2] & 7) != 2)
        return check(sense, 5, 0x20, 0);
    if (is_set("magnetic") && operation.state != IDLE)
        return trouble(sense);
    bool has = cdb[3] == 0x48 && has_service(cdb[5]);
    uint8_t answer[4] = { 0, has ? 3 : 1, 0, 10 };
    give(data, answer, sizeof answer);
    return GOOD;
}

// The registers of the ATA drive, in the descriptor format, or after an error in the fixed one.
static uint8_t registers(uint8_t *sense, uint8_t status, uint8_t error, uint16_t count, uint16_t lba) {
    if (status & 1) {
        check(sense, 0xb, 0, 0);
        sense[3] = error;
        sense[4] = status;
        sense[9] = lba;
        sense[10] = lba >> 8;
        return CHECK_CONDITION;
    }
    const uint8_t head[] = { 0x72, 1, 0, 0x1d, 0, 0, 0, 14, 9, 12, 1, error };
    memcpy(sense, head, sizeof head);
    sense[12] = count >> 8;
    sense[13] = count;
    sense[15] = lba;
    sense[17] = lba >> 8;
    sense[21] = status;
    return CHECK_CONDITION;
}

static uint8_t sanitize_status(uint8_t *sense) {
    bool is_frozen = is_set("frozen");
    uint16_t count = operation.succeeded << 15 | (operation.state == AT_WORK) << 14 | is_frozen << 13;
    return registers(sense, 0x50, 0, count, operation.state == AT_WORK ? operation.progress : 0xffff);
}

static uint8_t pass_through(const uint8_t *cdb, const struct data *data, uint8_t *sense) {
    if (!is_ata)
        return check(sense, 5, 0x20, 0);
    uint16_t feature = cdb[3] << 8 | cdb[4], count = cdb[5] << 8 | cdb[6];
    if (cdb[14] == 0xec) {
        uint16_t words[256] = { 0 };
        words[59] = htole16(0xb000); // sanitize, block erase and crypto scramble
        if (!is_set("nameless")) // The first of two characters is in the high byte.
            memcpy(words + 10, is_set("other") ? "WT O" : "NO E", 4);
        give(data, words, sizeof words);
        return GOOD;
    }
    if (cdb[14] == 0xe0 && !is_set("awake")) { // STANDBY IMMEDIATE
        note_block(cdb, 16);
        return registers(sense, 0x50, 0, 0, 0);
    }
    if (cdb[14] != 0xb4)
        return registers(sense, 0x51, 4, 0, 0);
    if (feature != 0) {
        note_block(cdb, 16);
        if (is_set("frozen"))
            return registers(sense, 0x51, 4, 0, 3);
        uint32_t meant = (uint32_t)cdb[7] << 24 | cdb[12] << 16 | cdb[10] << 8 | cdb[8];
        bool is_right = (feature == 0x11 && meant == 0x43727970) || (feature == 0x12 && meant == 0x426b4572);
        if (!is_right || !may_begin(count & 0x10))
            return registers(sense, 0x51, 4, 0, is_right ? 0 : 2);
        return sanitize_status(sense);
    }
    go_on();
    if (count & 1) {
        note_block(cdb, 16);
        if (operation.state != FAILED || !operation.may_be_left)
            return registers(sense, 0x51, 4, 0, 0);
        operation.state = IDLE;
    }
    if (operation.state == FAILED)
        return registers(sense, 0x51, 4, 0, 1);
    return sanitize_status(sense);
}

static uint8_t carry_out(const uint8_t *cdb, const struct data *data, uint8_t *sense) {
    uint8_t answer[32] = { 0 };
    uint64_t lba = be64toh(*(const uint64_t *)(cdb + 2));
    uint32_t short_lba = be32toh(*(const uint32_t *)(cdb + 2));
    switch (cdb[0]) {
    case 0x00: // TEST UNIT READY
        return trouble(sense);
    case 0x03: { // REQUEST SENSE
        uint8_t own[18];
        if (!is_ata)
            go_on();
        if (trouble(own) == GOOD)
            check(own, 0, 0, 0);
        give(data, own, sizeof own);
        return GOOD;
    }
    case 0x12:
        return inquiry(cdb, data, sense);
    case 0x1b: // START STOP UNIT
        if (is_ata || is_set("awake"))
            return check(sense, 5, 0x20, 0);
        note_block(cdb, 6);
        return GOOD;
    case 0x1a: // MODE SENSE (6)
        answer[0] = 3;
        give(data, answer, 4);
        return GOOD;
    case 0x25: // READ CAPACITY (10)
        *(uint32_t *)answer = htobe32(sectors - 1);
        *(uint32_t *)(answer + 4) = htobe32(SECTOR);
        give(data, answer, 8);
        return GOOD;
    case 0x9e: // READ CAPACITY (16)
        *(uint64_t *)answer = htobe64(sectors - 1);
        *(uint32_t *)(answer + 8) = htobe32(SECTOR);
        give(data, answer, 32);
        return GOOD;
    case 0x28: // READ (10) and WRITE (10)
    case 0x2a:
        return transfer(short_lba, cdb[7] << 8 | cdb[8], data, cdb[0] == 0x2a, sense);
    case 0x88: // READ (16) and WRITE (16)
    case 0x8a:
        return transfer(lba, be32toh(*(const uint32_t *)(cdb + 10)), data, cdb[0] == 0x8a, sense);
    case 0x35: // SYNCHRONIZE CACHE
    case 0x91:
        return trouble(sense);
    case 0x48:
        return is_ata ? check(sense, 5, 0x20, 0) : sanitize(cdb, sense);
    case 0x85:
        return pass_through(cdb, data, sense);
    case 0xa3:
        return supported(cdb, data, sense);
    default:
        return check(sense, 5, 0x20, 0);
    }
}

static void serve(struct tcmu_mailbox *mailbox) {
    uint8_t *memory = (uint8_t *)mailbox;
    while (mailbox->cmd_tail != __atomic_load_n(&mailbox->cmd_head, __ATOMIC_ACQUIRE)) {
        struct tcmu_cmd_entry *entry = (void *)(memory + mailbox->cmdr_off + mailbox->cmd_tail);
        uint32_t len = tcmu_hdr_get_len(entry->hdr.len_op);
        if (tcmu_hdr_get_op(entry->hdr.len_op) == TCMU_OP_CMD) {
            uint8_t cdb[16], sense[TCMU_SENSE_BUFFERSIZE] = { 0 };
            memcpy(cdb, memory + entry->req.cdb_off, sizeof cdb);
            struct data data = {
                .memory = memory,
                .pieces = (void *)((uint8_t *)entry + offsetof(struct tcmu_cmd_entry, req.iov)),
                .count = entry->req.iov_cnt,
            };
            uint8_t status = carry_out(cdb, &data, sense);
            keep(&operation, sizeof operation);
            memset(&entry->rsp, 0, sizeof entry->rsp);
            entry->rsp.scsi_status = status;
            memcpy(entry->rsp.sense_buffer, sense, sizeof sense);
        } else if (tcmu_hdr_get_op(entry->hdr.len_op) != TCMU_OP_PAD) {
            entry->hdr.uflags |= TCMU_UFLAG_UNKNOWN_OP;
        }
        __atomic_store_n(&mailbox->cmd_tail, (mailbox->cmd_tail + len) % mailbox->cmdr_size, __ATOMIC_RELEASE);
    }
}

int main(int count, char **arguments) {
    if (count != 5)
        errx(2, "usage: %s scsi|ata UIO IMAGE DIRECTORY", arguments[0]);
    is_ata = strcmp(arguments[1], "ata") == 0;
    directory = arguments[4];
    remember(&operation, sizeof operation);
    image = open(arguments[3], O_RDWR);
    struct stat described;
    if (image < 0 || fstat(image, &described) < 0)
        err(1, "%s", arguments[3]);
    sectors = described.st_size / SECTOR;

    char path[64];
    snprintf(path, sizeof path, "/sys/class/uio/uio%s/maps/map0/size", arguments[2]);
    FILE *told = fopen(path, "r");
    size_t size;
    if (!told || fscanf(told, "%zi", (ssize_t *)&size) != 1)
        err(1, "%s", path);
    fclose(told);
    snprintf(path, sizeof path, "/dev/uio%s", arguments[2]);
    int device = open(path, O_RDWR | O_CLOEXEC);
    if (device < 0)
        err(1, "%s", path);
    struct tcmu_mailbox *mailbox = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, device, 0);
    if (mailbox == MAP_FAILED)
        err(1, "mmap");
    for (;;) {
        uint32_t events = 0;
        serve(mailbox);
        if (write(device, &events, sizeof events) != sizeof events)
            err(1, "%s", path);
        if (read(device, &events, sizeof events) != sizeof events)
            err(1, "%s", path);
    }
}

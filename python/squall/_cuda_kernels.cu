// The kernels of squall.cuda: arrays of ChaCha20 (RFC 8439, with a counter and a nonce of 64 bits each) and of AES-256
// in counter mode (FIPS 197; NIST SP 800-38A section 6.5).
//
// Element i of an array depends on the key and on i alone, never on the grid: it is made of the 4, 8 or 16 bytes of the
// keystream with number i. NVRTC compiles this file at the first use, without headers. The tests compile it as C++ for
// the CPU (tests/with_cuda/driver_on_cpu.cpp). No arithmetic may be contracted (--fmad=false): then all numbers are the
// same on both.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned __int128 u128;

struct Job {
    u64 out;    // address of the first element, a multiple of its size
    u64 first;  // number of the first element
    u64 count;  // elements
    u64 low, span;  // integers: the lowest, and how many (0: 2^64); noise: numerator and denominator of its parameter
    u64 root;  // Gaussian noise: 1 + the square root of the variance, rounded down
    u64 slot;  // address of a Slot in the CPU's memory, for ChaCha20
    u32 number;  // of the slot
    u32 size;  // bytes of an element
};

struct AesJob {
    Job job;
    u32 keys[60];  // FIPS 197 section 5.2, little-endian. Parameters of a kernel are constant memory.
};

// A key on its way to the GPU. It is used once: the last block to read it erases it.
struct Slot {
    u32 key[8];
    u32 full;
    u32 padding[7];
};

enum Kind { BYTES, UNIFORM32, UNIFORM64, NORMAL32, NORMAL64, INTEGERS, WIDE_INTEGERS };

// Elements in 16 bytes of the keystream.
__device__ constexpr u32 elements_in_16(int kind) {
    return kind == BYTES ? 16 : kind == UNIFORM32 || kind == NORMAL32 ? 4 : kind == WIDE_INTEGERS ? 1 : 2;
}

// ---- ChaCha20

#define ROUND(a, b, c, d)                                                                                          \
    a += b, d ^= a, d = __funnelshift_l(d, d, 16), c += d, b ^= c, b = __funnelshift_l(b, b, 12);                  \
    a += b, d ^= a, d = __funnelshift_l(d, d, 8), c += d, b ^= c, b = __funnelshift_l(b, b, 7)

__device__ __forceinline__ void chacha20(const u32 *key, u64 counter, u64 nonce, u32 *x) {
    u32 counter_low = (u32)counter, counter_high = (u32)(counter >> 32);
    x[0] = 0x61707865, x[1] = 0x3320646e, x[2] = 0x79622d32, x[3] = 0x6b206574;
#pragma unroll
    for (int i = 0; i < 8; i++) x[4 + i] = key[i];
    x[12] = counter_low, x[13] = counter_high, x[14] = (u32)nonce, x[15] = (u32)(nonce >> 32);
#pragma unroll
    for (int twice = 0; twice < 10; twice++) {
        ROUND(x[0], x[4], x[8], x[12]);
        ROUND(x[1], x[5], x[9], x[13]);
        ROUND(x[2], x[6], x[10], x[14]);
        ROUND(x[3], x[7], x[11], x[15]);
        ROUND(x[0], x[5], x[10], x[15]);
        ROUND(x[1], x[6], x[11], x[12]);
        ROUND(x[2], x[7], x[8], x[13]);
        ROUND(x[3], x[4], x[9], x[14]);
    }
    x[0] += 0x61707865, x[1] += 0x3320646e, x[2] += 0x79622d32, x[3] += 0x6b206574;
#pragma unroll
    for (int i = 0; i < 8; i++) x[4 + i] += key[i];
    x[12] += counter_low, x[13] += counter_high, x[14] += (u32)nonce, x[15] += (u32)(nonce >> 32);
}

#define SLOTS 1024
__device__ u32 readers[SLOTS];  // blocks that have read the key of a slot

// Gets the job's key into shared memory. A slot that is not full has no key: a replay of a captured launch, for
// instance.
__device__ void take_key(const Job &job, u32 *key) {
    volatile Slot *slot = (volatile Slot *)job.slot;
    if (threadIdx.x < 8) key[threadIdx.x] = slot->key[threadIdx.x];
    if (threadIdx.x == 8 && !slot->full) __trap();
    __syncthreads();
    if (threadIdx.x != 0) return;
    __threadfence();
    if (atomicAdd(&readers[job.number], 1) != gridDim.x - 1) return;
    readers[job.number] = 0;
    for (int i = 0; i < 8; i++) slot->key[i] = 0;
    __threadfence_system();
    slot->full = 0;
}

__device__ void erase_key(u32 *key) {
    __syncthreads();
    if (threadIdx.x < 8) ((volatile u32 *)key)[threadIdx.x] = 0;
}

// Random words of one element: the keystream whose nonce is the element's number + 1. Arrays have the nonce 0.
struct Words {
    const u32 *key;
    u64 nonce, blocks;
    u32 left, words[16];
};

__device__ void begin(Words &from, const u32 *key, u64 element) {
    from.key = key, from.nonce = element + 1, from.blocks = 0, from.left = 0;
}

__device__ __noinline__ u32 next_word(Words &from) {
    if (from.left == 0) chacha20(from.key, from.blocks++, from.nonce, from.words), from.left = 16;
    return from.words[16 - from.left--];
}

// Words may be in device memory, which outlives the kernel.
__device__ void erase(Words &from) {
    for (int i = 0; i < 16; i++) ((volatile u32 *)from.words)[i] = 0;
}

__device__ u64 next_two_words(Words &from) {
    u64 low = next_word(from);
    return (u64)next_word(from) << 32 | low;
}

// An integer below `bound`, each as likely as another. Up to 64 bits by Lemire's method ("Fast Random Integer
// Generation in an Interval", 2019), beyond by drawing again.
__device__ u32 below(Words &from, u32 bound) {
    u64 product = (u64)next_word(from) * bound;
    if ((u32)product < bound)
        for (u32 least = (0 - bound) % bound; (u32)product < least;) product = (u64)next_word(from) * bound;
    return (u32)(product >> 32);
}

__device__ u128 below(Words &from, u128 bound) {
    int zeros = 0;
    while (!(bound << zeros >> 127)) zeros++;
    for (;;) {
        u128 low = next_two_words(from);
        u128 drawn = ((u128)next_two_words(from) << 64 | low) >> zeros;
        if (drawn < bound) return drawn;
    }
}

// ---- Numbers

__device__ __forceinline__ float uniform32(u32 word) { return (float)(word >> 8) * 0x1p-24f; }

__device__ __forceinline__ double uniform64(u64 word) { return (double)(word >> 11) * 0x1p-53; }

// The logarithm of a normal number below 1, as FreeBSD's e_log.c and the crate libm compute it.
__device__ double log64(double x) {
    u64 bits = (u64)__double_as_longlong(x) + ((u64)(0x3ff00000 - 0x3fe6a09e) << 32);
    double exponent = (double)((int)(bits >> 52) - 1023);
    bits = (bits & 0xfffffffffffffull) + ((u64)0x3fe6a09e << 32);
    double f = __longlong_as_double((long long)bits) - 1.0;
    double half = 0.5 * f * f, s = f / (2.0 + f), z = s * s, w = z * z;
    double even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    double odd = z * (6.666666666666735130e-01 + w * (2.857142874366239149e-01 +
                      w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    return s * (half + (odd + even)) + exponent * 1.90821492927058770002e-10 - half + f +
           exponent * 6.93147180369123816490e-01;
}

__device__ double ratio(double x, const double *above, const double *below) {
    double numerator = 0, denominator = 0;
#pragma unroll
    for (int i = 7; i >= 0; i--) numerator = numerator * x + above[i], denominator = denominator * x + below[i];
    return numerator / denominator;
}

// Wichura, "Algorithm AS 241: The Percentage Points of the Normal Distribution" (1988), PPND16: python/src/elements.rs.
__constant__ double CENTRE[2][8] = {
    {3.3871328727963665, 133.14166789178438, 1971.5909503065513, 13731.69376550946,
     45921.95393154987, 67265.7709270087, 33430.57558358813, 2509.0809287301227},
    {1.0, 42.31333070160091, 687.1870074920579, 5394.196021424751,
     21213.794301586597, 39307.89580009271, 28729.085735721943, 5226.495278852545}};
__constant__ double MIDDLE[2][8] = {
    {1.4234371107496835, 4.630337846156546, 5.769497221460691, 3.6478483247632045,
     1.2704582524523684, 0.2417807251774506, 0.022723844989269184, 7.745450142783414e-4},
    {1.0, 2.053191626637759, 1.6763848301838038, 0.6897673349851,
     0.14810397642748008, 0.015198666563616457, 5.475938084995345e-4, 1.0507500716444169e-9}};
__constant__ double FAR[2][8] = {
    {6.657904643501103, 5.463784911164114, 1.7848265399172913, 0.29656057182850487,
     0.026532189526576124, 0.0012426609473880784, 2.7115555687434876e-5, 2.0103343992922881e-7},
    {1.0, 0.599832206555888, 0.1369298809227358, 0.014875361290850615,
     7.868691311456133e-4, 1.8463183175100548e-5, 1.421511758316446e-7, 2.0442631033899398e-15}};

// As `normal` of python/src/elements.rs, to the bit: the quantile of one of 2^52 probabilities.
__device__ double normal64(u64 word) {
    double p = ((double)(word >> 12) + 0.5) * 0x1p-52, q = p - 0.5;
    if (fabs(q) <= 0.425) return q * ratio(0.180625 - q * q, CENTRE[0], CENTRE[1]);
    double r = sqrt(-log64(q < 0.0 ? p : 1.0 - p));
    double size = r <= 5.0 ? ratio(r - 1.6, MIDDLE[0], MIDDLE[1]) : ratio(r - 5.0, FAR[0], FAR[1]);
    return q < 0.0 ? -size : size;
}

// A normally distributed number of 32 bits: the upper one is the sign, the others are x, whose odd multiples of 2^-32
// are between 0 and 1. The size is x * P(-log(1 - x^2)), the form of Giles, "Approximating the erfinv function" (2010);
// the polynomials are fitted to it, to four parts in 10^7 (tests/with_cuda/test_kernels.py).
__device__ float normal32(u32 word) {
    u32 magnitude = word << 1 | 1;
    float x = (float)magnitude * 0x1p-32f, rest = (float)(0 - magnitude) * 0x1p-32f;
    // The logarithm of (1 - x) * (1 + x), between sqrt(1/2) and sqrt(2) by a polynomial.
    float product = rest * (1.0f + x);
    u32 bits = __float_as_uint(product) - 0x3f3504f3;
    float exponent = (float)((int)bits >> 23), f = __uint_as_float((bits & 0x7fffff) + 0x3f3504f3) - 1.0f;
    float p = 0.08734751f;
    p = fmaf(p, f, -0.14307483f), p = fmaf(p, f, 0.14917989f), p = fmaf(p, f, -0.16570514f);
    p = fmaf(p, f, 0.19962071f), p = fmaf(p, f, -0.25001755f), p = fmaf(p, f, 0.3333395f);
    p = fmaf(p, f, -0.4999999f);
    float w = -fmaf(exponent, 0.69314718f, fmaf(p * f, f, f));
    if (w < 5.0f) {
        w -= 2.5f, p = 4.0354287e-08f;
        p = fmaf(p, w, 4.861035e-07f), p = fmaf(p, w, -4.990561e-06f), p = fmaf(p, w, -6.2179874e-06f);
        p = fmaf(p, w, 0.0003091502f), p = fmaf(p, w, -0.0017730101f), p = fmaf(p, w, -0.005908171f);
        p = fmaf(p, w, 0.34880266f), p = fmaf(p, w, 2.1233137f);
    } else {
        w = sqrtf(w) - 3.25f, p = 5.713011e-05f;
        p = fmaf(p, w, -0.00010472447f), p = fmaf(p, w, -0.00036075717f), p = fmaf(p, w, 0.0014621569f);
        p = fmaf(p, w, -0.002515061f), p = fmaf(p, w, 0.0034803727f), p = fmaf(p, w, -0.00526393f);
        p = fmaf(p, w, 0.007602442f), p = fmaf(p, w, 1.4216474f), p = fmaf(p, w, 4.361273f);
    }
    return __uint_as_float(__float_as_uint(p * x) | (word & 0x80000000));
}

__device__ u64 integer(u64 word, const Job &job) {
    return job.low + (job.span ? __umul64hi(word, job.span) : word);
}

// Without bias, by Lemire's method: the words of its own are for one element in 2^64 / span.
__device__ u64 exact_integer(u64 word, const Job &job, const u32 *key, u64 element) {
    if (word * job.span < job.span) {
        u64 least = (0 - job.span) % job.span;
        if (word * job.span < least) {
            Words words;
            begin(words, key, element);
            do word = next_two_words(words);
            while (word * job.span < least);
            erase(words);
        }
    }
    return integer(word, job);
}

// The upper 64 bits of the product of 128 bits and the span.
__device__ u64 wide_integer(u64 low, u64 high, const Job &job) {
    u64 carried = __umul64hi(low, job.span), middle = high * job.span + carried;
    return job.low + __umul64hi(high, job.span) + (middle < carried);
}

// ---- Arrays

// Chunks are the keystream's parts of 16 bytes. Those from `begin` on, `count` of them, have elements of the job alone
// and are stored at once, chunk c at `base` + 16 * c.
struct Whole {
    u64 begin, count, base;
};

template <int KIND>
__device__ Whole whole_chunks(const Job &job) {
    const u32 per_chunk = elements_in_16(KIND), size = 16 / per_chunk;
    Whole whole = {job.first / per_chunk + (job.first % per_chunk != 0), 0, job.out - job.first * size};
    // The end of the elements may be 2^64.
    u64 last = job.first + (job.count - 1), end = last / per_chunk + (last % per_chunk == per_chunk - 1);
    bool fits = whole.base % 16 == 0 && (KIND != INTEGERS || job.size == 8) && KIND != WIDE_INTEGERS;
    if (fits && end > whole.begin) whole.count = end - whole.begin;
    return whole;
}

__device__ void store(const Job &job, u64 place, u64 value, u32 size) {
    u64 address = job.out + place * size;
    if (place >= job.count) return;
    if (size == 1) *(u8 *)address = (u8)value;
    if (size == 2) *(u16 *)address = (u16)value;
    if (size == 4) *(u32 *)address = (u32)value;
    if (size == 8) *(u64 *)address = value;
}

// Makes elements of a chunk, and stores those that belong to the job; `base` is that of whole chunks, or 0. `key` is
// null for AES.
template <int KIND>
__device__ __forceinline__ void make(const Job &job, u64 chunk, uint4 words, const u32 *key, u64 base) {
    const u32 per_chunk = elements_in_16(KIND);
    u64 element = chunk * per_chunk, place = element - job.first;
    u64 low = (u64)words.y << 32 | words.x, high = (u64)words.w << 32 | words.z;
    if (KIND == UNIFORM32) {
        words.x = __float_as_uint(uniform32(words.x)), words.y = __float_as_uint(uniform32(words.y));
        words.z = __float_as_uint(uniform32(words.z)), words.w = __float_as_uint(uniform32(words.w));
    } else if (KIND == NORMAL32) {
        words.x = __float_as_uint(normal32(words.x)), words.y = __float_as_uint(normal32(words.y));
        words.z = __float_as_uint(normal32(words.z)), words.w = __float_as_uint(normal32(words.w));
    } else if (KIND == UNIFORM64) {
        low = (u64)__double_as_longlong(uniform64(low)), high = (u64)__double_as_longlong(uniform64(high));
    } else if (KIND == NORMAL64) {
        low = (u64)__double_as_longlong(normal64(low)), high = (u64)__double_as_longlong(normal64(high));
    } else if (KIND == INTEGERS) {
        low = key ? exact_integer(low, job, key, element) : integer(low, job);
        high = key ? exact_integer(high, job, key, element + 1) : integer(high, job);
    } else if (KIND == WIDE_INTEGERS) {
        store(job, place, wide_integer(low, high, job), job.size);
        return;
    }
    if (KIND == UNIFORM64 || KIND == NORMAL64 || KIND == INTEGERS) {
        words.x = (u32)low, words.y = (u32)(low >> 32), words.z = (u32)high, words.w = (u32)(high >> 32);
    }
    const u32 size = 16 / per_chunk;
    if (base) {
        __stcs((uint4 *)(base + 16 * chunk), words);
    } else if (KIND == INTEGERS) {
        store(job, place, low, job.size), store(job, place + 1, high, job.size);
    } else {
        const u32 parts[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
        for (u32 i = 0; i < per_chunk; i++) {
            u64 part = parts[i * size / 4] >> i * size % 4 * 8;
            if (size == 8) part |= (u64)parts[(i * size / 4 + 1) % 4] << 32;
            store(job, place + i, part, size);
        }
    }
}

// A thread computes a block, a warp 32 blocks. Shared memory transposes them, so that neighbours store neighbouring 16
// bytes. A block has five times 16 bytes there, not four, or its threads would wait for the same banks.
#define CHACHA20_THREADS 256

template <int KIND>
__device__ __forceinline__ void chacha20_array(const Job &job) {
    __shared__ u32 key[8];
    __shared__ uint4 all_rows[CHACHA20_THREADS * 5];
    take_key(job, key);
    const u32 per_chunk = elements_in_16(KIND), lane = threadIdx.x % 32;
    const Whole whole = whole_chunks<KIND>(job);
    const u64 begin = job.first / per_chunk / 4, end = (job.first + (job.count - 1)) / per_chunk / 4 + 1;
    const u64 warps = (u64)gridDim.x * (CHACHA20_THREADS / 32);
    uint4 *rows = all_rows + threadIdx.x / 32 * 160;
    u64 block = begin + ((u64)blockIdx.x * (CHACHA20_THREADS / 32) + threadIdx.x / 32) * 32;
    for (; block < end; block += warps * 32) {
        u32 x[16];
        chacha20(key, block + lane, 0, x);
#pragma unroll
        for (int i = 0; i < 4; i++)
            rows[lane * 5 + i] = make_uint4(x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3]);
        __syncwarp();
        // Of all 128 chunks of the warp, so that no thread has to ask for its own.
        const u64 first = 4 * block;
        const bool all = first >= whole.begin && first - whole.begin + 128 <= whole.count;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            u32 chunk = 32 * i + lane;
            make<KIND>(job, first + chunk, rows[chunk / 4 * 5 + chunk % 4], key, all ? whole.base : 0);
        }
        __syncwarp();
    }
    erase_key(key);
}

// ---- AES-256

// MixColumns of SubBytes of a byte in row 0, little-endian (FIPS 197 sections 5.1.1 and 5.1.3); other rows are
// rotations.
struct Table {
    u32 of[256];
};

__device__ constexpr Table make_table() {
    Table table = {};
    u32 powers[256] = {1};  // of 3, which are all bytes but 0
    for (int i = 1; i < 256; i++) {
        u32 last = powers[i - 1];
        powers[i] = (last ^ last << 1 ^ (last >> 7) * 0x11b) & 0xff;
    }
    for (int i = 0; i <= 255; i++) {
        // The inverse of 3^i is 3^(255 - i), and that of 0 is 0, which comes last.
        u32 byte = i < 255 ? powers[i] : 0, inverse = i < 255 ? powers[255 - i] : 0;
        u32 twice = inverse << 8 | inverse;
        u32 s = (inverse ^ twice >> 7 ^ twice >> 6 ^ twice >> 5 ^ twice >> 4 ^ 0x63) & 0xff;
        u32 doubled = s << 1 ^ (s >> 7) * 0x11b;
        table.of[byte] = doubled | s << 8 | s << 16 | (doubled ^ s) << 24;
    }
    return table;
}

__constant__ Table TABLE = make_table();

#define AES_THREADS 512
// The table in shared memory has a row of 256 bytes for each byte: for each lane of a warp a copy of the entry in a bank
// of its own, and one rotated by two bytes.
#define AES_SHARED (256 * 256)
#ifndef DYNAMIC_SHARED
#define DYNAMIC_SHARED(name) extern __shared__ u32 name[]
#endif

// What a byte of a word contributes to a column, for the rows 0 and 1, and, rotated, for 2 and 3. One permutation makes
// the place in the table of the byte and the lane.
struct Lookup {
    const u8 *table;
    u32 lane;  // four times its number
    __device__ __forceinline__ u32 place(u32 word, int number) const {
        return __byte_perm(word, lane, 0x6604 | number << 4);
    }
    __device__ __forceinline__ u32 plain(u32 word, int number) const {
        return *(const u32 *)(table + place(word, number));
    }
    __device__ __forceinline__ u32 rotated(u32 word, int number) const {
        return *(const u32 *)(table + place(word, number) + 128);
    }
};

__device__ __forceinline__ u32 rotate(u32 word, u32 bits) { return __funnelshift_l(word, word, bits); }

// A column of SubBytes, ShiftRows and MixColumns of four columns, and a round key.
__device__ __forceinline__ u32 column(const Lookup &at, u32 a, u32 b, u32 c, u32 d, u32 key) {
    return at.plain(a, 0) ^ at.rotated(c, 2) ^ key ^ rotate(at.plain(b, 1) ^ at.rotated(d, 3), 8);
}

template <int KIND>
__device__ __forceinline__ void aes256_array(const AesJob &aes) {
    DYNAMIC_SHARED(table);
    for (u32 i = threadIdx.x; i < AES_SHARED / 4; i += AES_THREADS)
        table[i] = rotate(TABLE.of[i / 64], i % 64 / 32 * 16);
    __syncthreads();
    const Lookup at = {(const u8 *)table, threadIdx.x % 32 * 4};
    const Job &job = aes.job;
    const u32 *k = aes.keys, per_chunk = elements_in_16(KIND);
    const Whole whole = whole_chunks<KIND>(job);
    const u64 end = (job.first + (job.count - 1)) / per_chunk + 1;
    u64 block = job.first / per_chunk + (u64)blockIdx.x * AES_THREADS + threadIdx.x;
    // What the first round makes of all but the counter's low word.
    u32 fixed[4] = {}, high = ~(u32)(block >> 32);
    for (; block < end; block += (u64)gridDim.x * AES_THREADS) {
        if ((u32)(block >> 32) != high) {
            high = (u32)(block >> 32);
            u32 s2 = __byte_perm(high, 0, 0x0123) ^ k[2];
            fixed[0] = at.plain(k[0], 0) ^ rotate(at.plain(k[1], 1), 8) ^ at.rotated(s2, 2) ^ k[4];
            fixed[1] = at.plain(k[1], 0) ^ rotate(at.plain(s2, 1) ^ at.rotated(k[0], 3), 8) ^ k[5];
            fixed[2] = at.plain(s2, 0) ^ at.rotated(k[0], 2) ^ rotate(at.rotated(k[1], 3), 8) ^ k[6];
            fixed[3] = rotate(at.plain(k[0], 1) ^ at.rotated(s2, 3), 8) ^ at.rotated(k[1], 2) ^ k[7];
        }
        u32 s3 = __byte_perm((u32)block, 0, 0x0123) ^ k[3];
        u32 s[4] = {fixed[0] ^ rotate(at.rotated(s3, 3), 8), fixed[1] ^ at.rotated(s3, 2),
                    fixed[2] ^ rotate(at.plain(s3, 1), 8), fixed[3] ^ at.plain(s3, 0)}, t[4];
#pragma unroll
        for (int round = 2; round < 14; round++) {
#pragma unroll
            for (int i = 0; i < 4; i++)
                t[i] = column(at, s[i], s[(i + 1) % 4], s[(i + 2) % 4], s[(i + 3) % 4], k[4 * round + i]);
#pragma unroll
            for (int i = 0; i < 4; i++) s[i] = t[i];
        }
        // The last round has no MixColumns: the second byte of an entry is that of SubBytes alone.
#pragma unroll
        for (int i = 0; i < 4; i++) {
            u32 low = __byte_perm(at.plain(s[i], 0), at.plain(s[(i + 1) % 4], 1), 0x0051);
            u32 upper = __byte_perm(at.plain(s[(i + 2) % 4], 2), at.plain(s[(i + 3) % 4], 3), 0x0051);
            t[i] = __byte_perm(low, upper, 0x5410) ^ k[56 + i];
        }
        u64 base = block - whole.begin < whole.count ? whole.base : 0;
        make<KIND>(job, block, make_uint4(t[0], t[1], t[2], t[3]), nullptr, base);
    }
}

// ---- Exact noise: algorithms 1 to 3 of Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy"
// (2020).

// True with probability exp(-1).
__device__ bool bernoulli_exp_1(Words &words) {
    u32 k = 2;
    while (below(words, k) == 0) k++;
    return k % 2;
}

// True with probability exp(-above / under).
template <typename Number>
__device__ bool bernoulli_exp(Words &words, Number above, Number under) {
    for (; above > under; above -= under)
        if (!bernoulli_exp_1(words)) return false;
    u32 k = 1;
    while (below(words, under) < above && below(words, k) == 0) k++;
    return k % 2;
}

// An integer y with a probability proportional to exp(-abs(y) * s / t), for t and s below 2^32.
__device__ long long laplace(Words &words, u32 t, u32 s) {
    for (;;) {
        u32 u = below(words, t);
        if (!bernoulli_exp(words, u, t)) continue;
        u64 v = 0;
        while (bernoulli_exp_1(words)) v++;
        u64 size = (u + t * v) / s;
        bool negative = next_word(words) >> 31;
        if (!negative) return (long long)size;
        // Or 0 would come twice as often as it should.
        if (size) return -(long long)size;
    }
}

// An integer y with a probability proportional to exp(-y^2 / (2 * n / d)), for n and d below 2^40. No product
// overflows, unless `laplace` multiplies by more than 2^22, with the probability exp(-2^22).
__device__ long long gaussian(Words &words, u64 n, u64 d, u64 t) {
    for (;;) {
        long long y = laplace(words, (u32)t, 1);
        u64 scaled = (u64)(y < 0 ? -y : y) * d * t, distance = scaled < n ? n - scaled : scaled - n;
        if (bernoulli_exp(words, (u128)distance * distance, (u128)n * d * 2 * t * t)) return y;
    }
}

template <bool GAUSSIAN>
__device__ void noise(const Job &job) {
    __shared__ u32 key[8];
    take_key(job, key);
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < job.count; i += (u64)gridDim.x * blockDim.x) {
        Words words;
        begin(words, key, job.first + i);
        long long y = GAUSSIAN ? gaussian(words, job.low, job.span, job.root)
                               : laplace(words, (u32)job.low, (u32)job.span);
        erase(words);
        store(job, i, (u64)y, 8);
    }
    erase_key(key);
}

// ---- The kernels

#define CHACHA20(name, KIND)                                                                                       \
    extern "C" __global__ void __launch_bounds__(CHACHA20_THREADS) chacha20_##name(Job job) {                      \
        chacha20_array<KIND>(job);                                                                                 \
    }
#define AES256(name, KIND)                                                                                         \
    extern "C" __global__ void __launch_bounds__(AES_THREADS) aes256_##name(AesJob job) { aes256_array<KIND>(job); }
#define BOTH(name, KIND) CHACHA20(name, KIND) AES256(name, KIND)

BOTH(bytes, BYTES)
BOTH(uniform32, UNIFORM32)
BOTH(uniform64, UNIFORM64)
BOTH(normal32, NORMAL32)
BOTH(normal64, NORMAL64)
BOTH(integers, INTEGERS)
AES256(wide_integers, WIDE_INTEGERS)

extern "C" __global__ void __launch_bounds__(CHACHA20_THREADS) chacha20_laplace(Job job) { noise<false>(job); }
extern "C" __global__ void __launch_bounds__(CHACHA20_THREADS) chacha20_gaussian(Job job) { noise<true>(job); }

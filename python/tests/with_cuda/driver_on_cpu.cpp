// A simulated driver: the functions of libcuda that squall.cuda calls, over the CPU's memory, and the kernels compiled
// as C++. It runs block by block, warp by warp and thread by thread; a thread runs until its next
// barrier, and the last thread of a warp comes first, so that a barrier that is missing is noticed.
//
// conftest.py compiles it; KERNELS is the file of the kernels.

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

#define __global__
#define __device__
#define __constant__ static const
#define __shared__ static
#define DYNAMIC_SHARED(name) alignas(16) static u32 name[AES_SHARED / 4]
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(threads)

struct Place {
    unsigned x;
};
static Place threadIdx, blockIdx, blockDim, gridDim;

struct uint4 {
    unsigned x, y, z, w;
};
static uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
static void __stcs(uint4 *place, uint4 value) {
    if ((unsigned long)place % 16) std::abort();
    *place = value;
}
static unsigned __funnelshift_l(unsigned low, unsigned high, unsigned bits) {
    return (unsigned)((((unsigned long)high << 32 | low) << (bits % 32)) >> 32);
}
static constexpr unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
    unsigned result = 0;
    for (int i = 0; i < 4; i++)
        result |= (unsigned)((((unsigned long)high << 32 | low) >> (selector >> 4 * i & 7) * 8) & 0xff) << 8 * i;
    return result;
}
static unsigned long long __umul64hi(unsigned long long one, unsigned long long other) {
    return (unsigned long long)((unsigned __int128)one * other >> 64);
}
template <typename To, typename From> static To bits_as(From from) {
    To to;
    static_assert(sizeof to == sizeof from, "");
    std::memcpy(&to, &from, sizeof to);
    return to;
}
static unsigned __float_as_uint(float x) { return bits_as<unsigned>(x); }
static float __uint_as_float(unsigned x) { return bits_as<float>(x); }
static long long __double_as_longlong(double x) { return bits_as<long long>(x); }
static double __longlong_as_double(long long x) { return bits_as<double>(x); }
static unsigned atomicAdd(unsigned *place, unsigned number) { return (*place += number) - number; }
static void __threadfence() {}
static void __threadfence_system() {}
static void __trap() { std::_Exit(70); }

enum State { RUNS, AT_WARP, AT_BLOCK, ENDED };
struct Thread {
    ucontext_t context;
    State state;
    std::vector<char> stack;
};
static std::vector<Thread> threads;
static ucontext_t scheduler;
static void wait_at(State barrier) {
    Thread &thread = threads[threadIdx.x];
    thread.state = barrier;
    swapcontext(&thread.context, &scheduler);
}
static void __syncwarp() { wait_at(AT_WARP); }
static void __syncthreads() { wait_at(AT_BLOCK); }

#include KERNELS

static void (*entry)(const void *);
static const void *argument;
static void run_thread() {
    entry(argument);
    threads[threadIdx.x].state = ENDED;
}

static void run_block(unsigned size) {
    threads.resize(size);
    for (Thread &thread : threads) {
        thread.stack.resize(1 << 16);
        getcontext(&thread.context);
        thread.context.uc_stack.ss_sp = thread.stack.data();
        thread.context.uc_stack.ss_size = thread.stack.size();
        thread.context.uc_link = &scheduler;
        makecontext(&thread.context, run_thread, 0);
        thread.state = RUNS;
    }
    for (bool ended = false; !ended;) {
        ended = true;
        for (unsigned warp = 0; warp < size; warp += 32)
            for (bool waits = false; !waits;) {
                waits = true;
                for (unsigned lane = 32; lane-- > 0;) {
                    Thread &thread = threads[warp + lane];
                    if (thread.state == AT_BLOCK || thread.state == ENDED) continue;
                    threadIdx.x = warp + lane;
                    swapcontext(&scheduler, &thread.context);
                    waits = waits && thread.state != AT_WARP;
                }
                for (unsigned lane = 0; lane < 32; lane++) {
                    State &state = threads[warp + lane].state;
                    if (state == AT_WARP) state = RUNS;
                }
            }
        for (Thread &thread : threads)
            if (thread.state == AT_BLOCK) thread.state = RUNS, ended = false;
    }
}

struct Kernel {
    const char *name;
    void (*run)(const void *);
};
#define ON_CPU(name, JobType) {#name, [](const void *job) { name(*(const JobType *)job); }}
#define BOTH_ON_CPU(name) ON_CPU(chacha20_##name, Job), ON_CPU(aes256_##name, AesJob)
static Kernel kernels[] = {
    BOTH_ON_CPU(bytes), BOTH_ON_CPU(uniform32), BOTH_ON_CPU(uniform64), BOTH_ON_CPU(normal32), BOTH_ON_CPU(normal64),
    BOTH_ON_CPU(integers), ON_CPU(aes256_wide_integers, AesJob), ON_CPU(chacha20_laplace, Job),
    ON_CPU(chacha20_gaussian, Job)};

extern "C" {
// For the tests: whether a stream is being captured, launches fail or do not run yet; how many GPUs there are, for
// which CUDA; how often all, and a stream, was waited for; the last grid and stream, and a grid of the test's choice.
int capturing = 0, failing = 0, pending = 0, captures_late = 0, gpus = 1, version = 12090, synchronized = 0, waited = 0;
unsigned last_grid = 0, next_grid = 0;
void *last_stream = nullptr;
static pid_t initialized = 0;
static AesJob last_job;
// Of kernels that run when the program waits for them.
static std::vector<Slot *> queued;
static thread_local void *current = nullptr;
float normal32_of_word(unsigned word) { return normal32(word); }
double normal64_of_word(unsigned long long word) { return normal64(word); }

int cuInit(unsigned) {
    if (initialized && initialized != getpid()) return 3;  // CUDA_ERROR_NOT_INITIALIZED
    return initialized = getpid(), gpus ? 0 : 100;  // CUDA_ERROR_NO_DEVICE
}
int cuDriverGetVersion(int *newest) { return *newest = version, 0; }
int cuGetErrorString(int, const char **text) { return *text = "an error of the driver", 0; }
int cuDeviceGetCount(int *count) { return *count = gpus, 0; }
int cuDeviceGet(int *device, int number) { return *device = number, 0; }
int cuDevicePrimaryCtxRetain(void **context, int) { return *context = &scheduler, 0; }
int cuCtxGetCurrent(void **context) { return *context = current, 0; }
int cuCtxPushCurrent_v2(void *context) { return current = context, 0; }
int cuCtxPopCurrent_v2(void **) { return current = nullptr, 0; }
int cuCtxSynchronize() {
    for (Slot *slot : queued) std::memset(slot, 0, sizeof *slot);
    return queued.clear(), synchronized++, 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int) {
    return *value = attribute == 16 ? 2 : attribute == 75 ? 9 : 0, 0;
}
int cuModuleLoadData(void **module, const void *) { return *module = kernels, 0; }
int cuModuleGetFunction(void **function, void *, const char *name) {
    for (Kernel &kernel : kernels)
        if (!std::strcmp(kernel.name, name)) return *function = &kernel, 0;
    return 500;
}
int cuFuncSetAttribute(void *, int, int bytes) { return bytes != AES_SHARED; }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *, int threads, size_t) {
    return *blocks = 2048 / threads, 0;
}
int cuMemHostAlloc(void **memory, size_t length, unsigned) { return *memory = std::calloc(1, length), 0; }
int cuPointerGetAttribute(void *data, int, unsigned long long) {
    return *(int *)data = 0, initialized == getpid() ? 0 : 3;
}
int cuStreamIsCapturing(void *, int *status) { return *status = capturing, 0; }
int cuStreamSynchronize(void *stream) { return waited++, stream != last_stream; }
// Runs the last kernel again, with the same parameter.
void replay() {
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++) run_block(blockDim.x);
}
int cuLaunchKernel(void *function, unsigned grid, unsigned, unsigned, unsigned block, unsigned, unsigned,
                   unsigned shared, void *stream, void **parameters, void **) {
    static std::mutex one_at_a_time;
    std::lock_guard<std::mutex> guard(one_at_a_time);
    const bool is_aes = !std::strncmp(((Kernel *)function)->name, "aes", 3);
    if (failing || shared != (is_aes ? AES_SHARED : 0)) return 1;
    if (current != &scheduler) return 201;  // CUDA_ERROR_INVALID_CONTEXT
    last_stream = stream, last_grid = grid;
    if (pending || captures_late) {
        if (pending) queued.push_back((Slot *)((const Job *)parameters[0])->slot);
        return 0;
    }
    entry = ((Kernel *)function)->run, argument = &last_job;
    std::memcpy(&last_job, parameters[0], is_aes ? sizeof(AesJob) : sizeof(Job));
    gridDim.x = next_grid ? next_grid : grid, blockDim.x = block;
    replay();
    return 0;
}
}

// Estimates pi in several threads, and draws from a distribution of the standard library:
// c++ -std=c++17 -pthread simulation.cpp $(pkg-config --cflags --libs squall)
//
//   simulation [THREADS]

#include <squall.h>

#include <cstdlib>
#include <iostream>
#include <limits>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

// squall as a generator of the standard library. It needs no state: squall keeps one for each thread.
struct Squall {
    using result_type = std::uint64_t;
    static constexpr result_type min() { return 0; }
    static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
    result_type operator()() const noexcept { return squall_u64(); }
};

constexpr int points = 1000000;

// Counts the points of a square that lie within the quarter of a circle.
static int points_in_circle()
{
    std::uniform_real_distribution<double> side(0, 1);
    Squall squall;
    int count = 0;
    for (int point = 0; point < points; point++) {
        const double x = side(squall), y = side(squall);
        count += x * x + y * y <= 1;
    }
    return count;
}

int main(int count, char **arguments)
{
    const int threads_wanted = count > 1 ? std::atoi(arguments[1]) : 2;
    std::vector<int> counts(threads_wanted > 0 ? threads_wanted : 1);
    std::vector<std::thread> threads;

    for (int &own : counts)
        threads.emplace_back([&own] { own = points_in_circle(); });
    for (std::thread &thread : threads)
        thread.join();
    const double sum = std::accumulate(counts.begin(), counts.end(), 0.0);
    std::cout << "pi: " << 4 * sum / points / static_cast<double>(counts.size()) << '\n';

    Squall squall;
    std::normal_distribution<double> height(170, 10);
    std::cout << "height: " << height(squall) << " cm\n";
}

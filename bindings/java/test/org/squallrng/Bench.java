package org.squallrng;

import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** Compares squall with the JDK's generators: nanoseconds for a request, medians of rounds in which they take turns. */
public final class Bench {
    private static final int ROUNDS = 15;
    private static final String[] NAMES = {"Squall", "NativePRNG", "DRBG"};

    private interface Draw {
        void draw(SecureRandom random);
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println(System.getProperty("java.version") + ", " + Runtime.getRuntime().availableProcessors() + " CPUs; ns for a request");
        for (int threads : new int[] {1, 8}) {
            for (int length : new int[] {16, 256, 65536}) {
                print("nextBytes(" + length + ")", threads, random -> random.nextBytes(new byte[length]), length > 1000 ? 500 : 20_000);
            }
        }
    }

    private static void print(String what, int threads, Draw draw, int draws) throws Exception {
        SecureRandom[] randoms = {
            SecureRandom.getInstance("Squall", new SquallProvider()),
            SecureRandom.getInstance("NativePRNG", "SUN"),
            SecureRandom.getInstance("DRBG", "SUN")
        };
        double[][] times = new double[randoms.length][ROUNDS];
        for (int round = -5; round < ROUNDS; round++) {
            for (int at = 0; at < randoms.length; at++) {
                double time = time(randoms[at], threads, draw, draws);
                if (round >= 0) {
                    times[at][round] = time;
                }
            }
        }
        StringBuilder line = new StringBuilder(String.format("%-18s %d threads", what, threads));
        double ours = 0;
        for (int at = 0; at < randoms.length; at++) {
            Arrays.sort(times[at]);
            double median = times[at][ROUNDS / 2];
            ours = at == 0 ? median : ours;
            line.append(String.format("  %s %.0f (%.1f x)", NAMES[at], median, median / ours));
        }
        System.out.println(line);
    }

    /** Nanoseconds for each request of all threads together. */
    private static double time(SecureRandom random, int threads, Draw draw, int draws) throws Exception {
        CountDownLatch start = new CountDownLatch(1);
        List<Thread> running = new ArrayList<>();
        for (int number = 0; number < threads; number++) {
            Thread thread = new Thread(() -> {
                try {
                    start.await();
                } catch (InterruptedException error) {
                    return;
                }
                for (int at = 0; at < draws; at++) {
                    draw.draw(random);
                }
            });
            thread.start();
            running.add(thread);
        }
        long began = System.nanoTime();
        start.countDown();
        for (Thread thread : running) {
            thread.join();
        }
        return (System.nanoTime() - began) / (double) (draws * threads);
    }
}

package org.squallrng;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.DrbgParameters;
import java.security.DrbgParameters.Capability;
import java.security.KeyPairGenerator;
import java.security.NoSuchAlgorithmException;
import java.security.Provider;
import java.security.ProviderException;
import java.security.SecureRandom;
import java.security.Security;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import javax.crypto.KeyGenerator;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;

/**
 * Tests the jar as programs use it. Arguments: the jar, the folder of the tests, and a native library whose
 * generator and watch for clones fail. With one argument it runs this {@link Program}.
 */
public final class SquallTest {
    private static String jar;
    private static String tests;
    private static String failingLibrary;

    private interface Test {
        void run() throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments.length == 1) {
            Program.valueOf(arguments[0]).test.run();
            return;
        }
        jar = arguments[0];
        tests = arguments[1];
        failingLibrary = arguments[2];
        run("each way to install makes squall the first provider", SquallTest::testWaysToInstall);
        run("keys, UUIDs and TLS draw from squall by default", SquallTest::testDefaults);
        run("without the library a program does not start, or starts with a warning", SquallTest::testMissingLibrary);
        run("the agent takes no options", SquallTest::testWrongOption);
        run("an error of a listener or of the watch does not end notification for ever", SquallTest::testFailingWatch);
        Squall.install();
        run("the provider has the version of the library", SquallTest::testVersion);
        run("install() again keeps squall the first provider, at every moment", SquallTest::testInstallAgain);
        run("bytes fill arrays of every length", SquallTest::testLengths);
        run("algorithm names mean squall, and seeds do not make it repeat", SquallTest::testAlgorithmNames);
        run("parameters that squall cannot satisfy are refused", SquallTest::testParameters);
        run("a serialized object can be read back", SquallTest::testSerialization);
        run("threads share an object without a lock", SquallTest::testThreads);
        run("listeners are refused exactly if the generation is unknown", SquallTest::testClones);
    }

    private static void run(String name, Test test) throws Exception {
        test.run();
        System.out.println("ok: " + name);
    }

    private static void check(boolean condition, Object about) {
        if (!condition) {
            throw new AssertionError(about);
        }
    }

    private static void assertThrows(Class<? extends Exception> expected, Callable<?> act) {
        try {
            check(false, act.call());
        } catch (Exception error) {
            check(expected.isInstance(error), error);
        }
    }

    /** Programs that tests start in a Java virtual machine of their own. */
    private enum Program {
        /** Prints the providers of SecureRandom objects. */
        PROVIDERS(() -> {
            SecureRandom strong = SecureRandom.getInstanceStrong();
            System.out.print(new SecureRandom().getProvider().getName() + " " + strong.getProvider().getName());
        }),
        INSTALLED(() -> {
            Squall.install();
            PROVIDERS.test.run();
        }),
        /** Prints the results of draws that do not throw, because they do not use the failing library. */
        DRAWS(() -> {
            List<Callable<?>> draws = List.of(
                () -> new SecureRandom().nextLong(),
                UUID::randomUUID,
                () -> KeyGenerator.getInstance("AES").generateKey(),
                () -> KeyPairGenerator.getInstance("EC").generateKeyPair(),
                () -> KeyPairGenerator.getInstance("RSA").generateKeyPair(),
                SquallTest::clientHello);
            for (Callable<?> draw : draws) {
                try {
                    System.out.print(draw.call() + " ");
                } catch (Exception | ExceptionInInitializerError error) {
                    Throwable cause = error;
                    while (cause.getCause() != null) {
                        cause = cause.getCause();
                    }
                    check(cause.getMessage().contains("no source of randomness"), cause);
                }
            }
        }),
        /** Prints calls of listeners and of the uncaught exception handler, until a second watch has seen a clone. */
        CLONES(() -> {
            CountDownLatch registered = new CountDownLatch(1);
            CountDownLatch failed = new CountDownLatch(1);
            CountDownLatch ended = new CountDownLatch(1);
            Thread.setDefaultUncaughtExceptionHandler((thread, error) -> {
                System.out.print(error.getClass().getSimpleName() + " ");
                if (!(error instanceof IllegalStateException)) {
                    throw new AssertionError("of the handler");
                }
                failed.countDown();
            });
            Squall.onClone(() -> {
                awaitLatch(registered);
                System.out.print("first ");
                throw new AssertionError("of the listener");
            });
            Squall.onClone(() -> System.out.print("second "));
            registered.countDown();
            awaitLatch(failed);
            System.out.print("again ");
            Squall.onClone(() -> {
                System.out.print("third ");
                ended.countDown();
            });
            awaitLatch(ended);
        });

        final Test test;

        Program(Test test) {
            this.test = test;
        }
    }

    private static void awaitLatch(CountDownLatch latch) {
        try {
            check(latch.await(60, TimeUnit.SECONDS), "nothing happens");
        } catch (InterruptedException error) {
            throw new AssertionError(error);
        }
    }

    private static String clientHello() throws Exception {
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, null, null);
        SSLEngine engine = context.createSSLEngine("localhost", 443);
        engine.setUseClientMode(true);
        engine.wrap(ByteBuffer.allocate(0), ByteBuffer.allocate(1 << 16));
        return "TLS";
    }

    /** Runs a program with these options; returns its exit code and both outputs. */
    private static String runJava(Program program, String... options) throws Exception {
        List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin/java").toString()));
        if (Runtime.version().feature() >= 24) {
            command.add("--enable-native-access=ALL-UNNAMED");
        }
        command.addAll(List.of(options));
        command.addAll(List.of("-cp", tests + File.pathSeparator + jar, SquallTest.class.getName(), program.name()));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return process.waitFor() + " " + output;
    }

    private static void testWaysToInstall() throws Exception {
        String stock = runJava(Program.PROVIDERS);
        check(!stock.contains("Squall"), stock);
        String agent = "-javaagent:" + jar;
        Path security = Files.createTempFile("squall", ".security");
        StringBuilder providers = new StringBuilder("security.provider.1=Squall\n");
        Provider[] others = Security.getProviders();
        for (int at = 0; at < others.length; at++) {
            providers.append("security.provider.").append(at + 2).append('=').append(others[at].getName()).append('\n');
        }
        Files.writeString(security, providers);
        String first = "0 Squall Squall";
        check(runJava(Program.PROVIDERS, agent).equals(first), "the agent");
        check(runJava(Program.INSTALLED).equals(first), "install()");
        String listed = runJava(Program.PROVIDERS, "-Djava.security.properties=" + security);
        check(listed.startsWith("0 Squall "), listed);
        Files.delete(security);
    }

    private static void testDefaults() throws Exception {
        String path = "-Dsquall.library.path=" + failingLibrary;
        String drawn = runJava(Program.DRAWS, "-javaagent:" + jar, path);
        check(drawn.equals("0 "), drawn);
        // The control: they draw, but not from squall.
        check(runJava(Program.DRAWS, path).split(" ").length == 7, "without the agent");
    }

    private static void testMissingLibrary() throws Exception {
        String[] options = {"-javaagent:" + jar, "-Dsquall.library.path=/nonexistent", "-Dsquall.optional=true"};
        String message = "squall: the native library cannot be loaded: ";
        String refused = runJava(Program.PROVIDERS, Arrays.copyOf(options, 2));
        check(refused.startsWith("1 " + message) && refused.lines().count() == 1, refused);
        check(refused.contains("-Dsquall.library.path must name "), refused);
        String warned = runJava(Program.PROVIDERS, options);
        check(warned.startsWith("0 " + message) && !warned.contains("Squall"), warned);
        check(warned.contains("the program starts with the JDK's generators"), warned);
        String noFolder = runJava(Program.PROVIDERS, options[0], "-Djava.io.tmpdir=/nonexistent");
        // Java 25 has a warning of its own before.
        String lacks = message + "java.nio.file.NoSuchFileException: /nonexistent/";
        check(noFolder.startsWith("1 ") && noFolder.contains(lacks), noFolder);
    }

    private static void testWrongOption() throws Exception {
        String refused = runJava(Program.PROVIDERS, "-javaagent:" + jar + "=optional");
        check(refused.startsWith("1 squall: the agent takes no options, and got \"optional\": "), refused);
        check(refused.lines().count() == 1, refused);
    }

    private static void testFailingWatch() throws Exception {
        String called = runJava(Program.CLONES, "-Dsquall.library.path=" + failingLibrary);
        // The first clone may come before the second listener.
        String clone = "first AssertionError second ";
        String rest = clone + "IllegalStateException again " + clone + "third ";
        check(called.equals("0 " + clone + rest) || called.equals("0 first AssertionError " + rest), called);
    }

    private static void testVersion() {
        String version = Security.getProvider("Squall").getVersionStr();
        check(Squall.status().contains("\"version\":\"" + version + "\""), version + " " + Squall.status());
    }

    private static void testInstallAgain() throws Exception {
        Provider installed = Security.getProvider("Squall");
        Provider other = Security.getProvider("SunRsaSign");
        int count = Security.getProviders().length;
        FutureTask<Set<String>> drawing = new FutureTask<>(() -> {
            Set<String> algorithms = new HashSet<>();
            for (int made = 0; made < 10_000; made++) {
                algorithms.add(new SecureRandom().getAlgorithm());
                algorithms.add(SecureRandom.getInstanceStrong().getAlgorithm());
            }
            return algorithms;
        });
        new Thread(drawing).start();
        Squall.install();
        check(Security.getProvider("Squall") == installed, "it was the first already");
        do {
            Squall.install();
            Security.removeProvider(other.getName());
            Security.insertProviderAt(other, 1);
            Squall.install();
            check(Security.getProviders()[0].getName().equals("Squall"), "it was the second");
        } while (!drawing.isDone());
        check(drawing.get().equals(Set.of("Squall")), drawing.get());
        check(Security.getProviders().length == count, List.of(Security.getProviders()));
        String strong = Security.getProperty("securerandom.strongAlgorithms");
        check(strong.indexOf("Squall") == 0 && strong.lastIndexOf("Squall") == 0, strong);
    }

    private static void testLengths() {
        SecureRandom random = new SecureRandom();
        for (int length : new int[] {0, 1, 16, 4095, 4096, 4097, 100_000}) {
            byte[] changed = new byte[length];
            for (int call = 0; call < 64; call++) {
                byte[] bytes = new byte[length];
                random.nextBytes(bytes);
                for (int at = 0; at < length; at++) {
                    changed[at] |= bytes[at];
                }
            }
            for (byte each : changed) {
                check(each != 0, length);
            }
        }
    }

    private static void testAlgorithmNames() throws Exception {
        for (String name : List.of("Squall", "NativePRNG", "NativePRNGBlocking", "NativePRNGNonBlocking", "DRBG")) {
            SecureRandom[] same = new SecureRandom[2];
            for (int at = 0; at < 2; at++) {
                same[at] = SecureRandom.getInstance(name);
                check(same[at].getProvider().getName().equals("Squall"), name);
                same[at].setSeed(5);
                same[at].setSeed(new byte[32]);
            }
            check(same[0].nextLong() != same[1].nextLong(), name);
        }
        SecureRandom seeded = SecureRandom.getInstance("SHA1PRNG");
        check(!seeded.getProvider().getName().equals("Squall"), "SHA1PRNG");
        check(new SecureRandom().generateSeed(48).length == 48, "a seed");
        assertThrows(IllegalArgumentException.class, () -> new SecureRandom().generateSeed(-1));
    }

    private static void testParameters() throws Exception {
        for (Capability capability : new Capability[] {Capability.NONE, Capability.RESEED_ONLY}) {
            for (int strength : new int[] {-1, 128, 256}) {
                var wanted = DrbgParameters.instantiation(strength, capability, new byte[] {1});
                SecureRandom random = SecureRandom.getInstance("DRBG", wanted, "Squall");
                check(random.getParameters().toString().equals("256,reseed_only,null"), random.getParameters());
                random.nextBytes(new byte[8], DrbgParameters.nextBytes(256, false, new byte[] {2}));
                random.reseed();
                random.reseed(DrbgParameters.reseed(false, new byte[] {3}));
                check(random.nextLong() != random.nextLong(), "after a reseed");
                assertThrows(IllegalArgumentException.class, () -> {
                    random.nextBytes(new byte[8], DrbgParameters.nextBytes(512, false, null));
                    return "a strength of 512";
                });
                assertThrows(IllegalArgumentException.class, () -> {
                    random.nextBytes(new byte[8], DrbgParameters.nextBytes(-1, true, null));
                    return "prediction resistance";
                });
                assertThrows(IllegalArgumentException.class, () -> {
                    random.reseed(DrbgParameters.reseed(true, null));
                    return "prediction resistance";
                });
            }
        }
        for (var refused : List.of(
            DrbgParameters.instantiation(512, Capability.NONE, null),
            DrbgParameters.instantiation(128, Capability.PR_AND_RESEED, null))) {
            assertThrows(NoSuchAlgorithmException.class, () -> SecureRandom.getInstance("DRBG", refused, "Squall"));
            // Another provider has it.
            if (refused.getStrength() <= 256) {
                check(!SecureRandom.getInstance("DRBG", refused).getProvider().getName().equals("Squall"), refused);
            }
        }
    }

    private static void testSerialization() throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        SecureRandom random = new SecureRandom();
        new ObjectOutputStream(bytes).writeObject(random);
        Object read = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray())).readObject();
        check(random.nextLong() != ((SecureRandom) read).nextLong(), "copies differ");
        check(((SecureRandom) read).getProvider().getName().equals("Squall"), "its provider");
    }

    private static void testThreads() throws Exception {
        for (String name : List.of("Squall", "NativePRNG", "DRBG")) {
            SecureRandom random = SecureRandom.getInstance(name);
            Set<Long> seen = ConcurrentHashMap.newKeySet();
            List<Thread> threads = new ArrayList<>();
            for (int number = 0; number < 16; number++) {
                threads.add(new Thread(() -> {
                    for (int draw = 0; draw < 1000; draw++) {
                        seen.add(random.nextLong());
                    }
                }));
            }
            // SecureRandom locks the object, unless the provider says that threads may share it.
            synchronized (random) {
                threads.forEach(Thread::start);
                for (Thread thread : threads) {
                    thread.join(60_000);
                    check(!thread.isAlive(), name + " locks");
                }
            }
            check(seen.size() == 16_000, seen.size());
        }
    }

    private static void testClones() {
        check(Squall.status().contains("\"clone_guard\""), Squall.status());
        boolean isKnown = Squall.cloneGeneration().isPresent();
        try {
            Squall.onClone(() -> {});
            check(isKnown, "a watch");
        } catch (UnsupportedOperationException error) {
            check(!isKnown, error);
        }
    }
}

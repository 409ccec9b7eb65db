package org.squallrng;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.net.URL;
import java.net.URLClassLoader;
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
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import javax.crypto.KeyGenerator;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.tools.ToolProvider;

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
        run("a program for which squall is optional starts in every environment", SquallTest::testOptional);
        run("what fails to load is named, with the advice that helps", SquallTest::testAdvice);
        run("no file of /proc is needed that containers hide", SquallTest::testHiddenProc);
        run("the agent takes no options", SquallTest::testWrongOption);
        run("generators that an earlier agent has made are named", SquallTest::testEarlierAgent);
        run("an earlier agent may have broken a class of the JDK", SquallTest::testBrokenClass);
        run("an agent that fails ends the program with one line", SquallTest::testFailingAgent);
        run("any number of class loaders can load the jar", SquallTest::testClassLoaders);
        run("an error of a listener or of the watch does not end notification for ever", SquallTest::testFailingWatch);
        Squall.install();
        run("the provider has the version of the library", SquallTest::testVersion);
        run("install() again keeps squall the first provider, at every moment", SquallTest::testInstallAgain);
        run("bytes fill arrays of every length", SquallTest::testLengths);
        run("algorithm names mean squall, and seeds do not make it repeat", SquallTest::testAlgorithmNames);
        run("SHA1PRNG is squall, or the JDK's if it is seeded before it draws", SquallTest::testSha1Prng);
        run("null is refused", SquallTest::testNull);
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
                () -> SecureRandom.getInstance("SHA1PRNG").nextInt(), // As Tomcat makes its session identifiers.
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
        LOADERS(() -> {
            ofNewLoader(System.getProperty("jar"));
            ofNewLoader(System.getProperty("jar"));
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
        return run(new ProcessBuilder(command(program, options)));
    }

    private static List<String> command(Program program, String... options) {
        List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin/java").toString()));
        if (Runtime.version().feature() >= 24) {
            command.add("--enable-native-access=ALL-UNNAMED");
        }
        command.addAll(List.of(options));
        command.addAll(List.of("-cp", tests + File.pathSeparator + jar, SquallTest.class.getName(), program.name()));
        return command;
    }

    private static String run(ProcessBuilder builder) throws Exception {
        Process process = builder.redirectErrorStream(true).start();
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
        check(runJava(Program.DRAWS, path).split(" ").length == 8, "without the agent");
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

    private static void testOptional() throws Exception {
        boolean hasManager = Runtime.version().feature() < 24;
        String denied = hasManager ? "-Djava.security.manager" : "--illegal-native-access=deny";
        String missing = "-Dsquall.library.path=/nonexistent";
        // Java cannot name such a folder where characters are ASCII.
        String unnamable = "-Djava.io.tmpdir=/tmp/\u00e9";
        for (List<String> failing : List.of(List.of(denied, missing), List.of(unnamable), List.of(missing))) {
            List<String> options = new ArrayList<>(failing);
            options.add("-javaagent:" + jar);
            String refused = runAnywhere(options);
            check(refused.startsWith("1 ") && refused.contains("squall: the native library cannot be loaded: "), refused);
            check(!refused.contains("Exception in") && !refused.contains("SUN"), refused);
            options.add("-Dsquall.optional=true");
            String started = runAnywhere(options);
            check(started.startsWith("0 ") && started.contains("; with -Dsquall.optional=true the"), started);
            check(!started.contains("Squall") && started.contains("SUN"), started);
        }
        for (String working : hasManager ? new String[] {denied, "-Djava.io.tmpdir=."} : new String[] {"-Djava.io.tmpdir=."}) {
            String drawn = runAnywhere(List.of(working, "-javaagent:" + jar));
            check(drawn.startsWith("0 ") && drawn.endsWith("Squall Squall"), drawn);
        }
    }

    /** Runs a program in an empty folder, and where characters are ASCII. */
    private static String runAnywhere(List<String> options) throws Exception {
        List<String> command = command(Program.PROVIDERS, options.toArray(String[]::new));
        if (options.contains("--illegal-native-access=deny")) {
            command.remove("--enable-native-access=ALL-UNNAMED");
        }
        Path folder = Files.createTempDirectory("squall");
        ProcessBuilder builder = new ProcessBuilder(command).directory(folder.toFile());
        builder.environment().put("LC_ALL", "C");
        String output = run(builder);
        Files.delete(folder);
        return output;
    }

    private static void testAdvice() throws Exception {
        Path folder = Files.createTempDirectory("squall");
        Path broken = Files.writeString(folder.resolve("broken.so"), "no library");
        String agent = "-javaagent:" + jar;
        String named = runJava(Program.PROVIDERS, agent, "-Dsquall.library.path=" + broken);
        check(named.endsWith(": -Dsquall.library.path must name the jar's libsquall_java.so for this machine, unpacked\n"), named);
        String noFolder = runJava(Program.PROVIDERS, agent, "-Djava.io.tmpdir=" + broken);
        check(noFolder.endsWith(": java.io.tmpdir must be a folder in which the program may make files\n"), noFolder);
        String noMachine = runJava(Program.PROVIDERS, agent, "-Dos.arch=pdp11");
        check(noMachine.endsWith("(linux-pdp11/libsquall_java.so): it needs Linux with glibc on x86-64 or aarch64\n"), noMachine);
        if (Runtime.version().feature() >= 24) {
            String denied = runAnywhere(List.of("--illegal-native-access=deny", agent));
            check(denied.endsWith(": add --enable-native-access=ALL-UNNAMED\n"), denied);
        }
        if (Runtime.version().feature() < 24) {
            String forbidden = runJava(Program.INSTALLED, "-Djava.security.manager");
            check(forbidden.contains("\"read\"): the security manager must grant it to squall.jar"), forbidden);
        }
        String[] inFolder = {"sh", "-c", "mount -t tmpfs -o noexec none \"$0\" && exec \"$@\"", folder.toString()};
        String noRun = runIsolated(inFolder, "-Djava.io.tmpdir=" + folder);
        check(noRun.isEmpty() || noRun.contains(": java.io.tmpdir must be a folder from which programs may run; or "), noRun);
        Files.delete(broken);
        Files.delete(folder);
    }

    private static void testHiddenProc() throws Exception {
        String[] inFolder = {"sh", "-c", "mount -t proc -o subset=pid proc /proc && exec \"$0\" \"$@\""};
        String drawn = runIsolated(inFolder);
        check(drawn.isEmpty() || drawn.equals("0 Squall Squall"), drawn);
    }

    /** Runs a program after a command has mounted something for it alone; returns nothing without the right to. */
    private static String runIsolated(String[] mounting, String... options) throws Exception {
        List<String> command = new ArrayList<>(List.of("unshare", "--mount"));
        command.addAll(List.of(mounting));
        List<String> probe = new ArrayList<>(command);
        probe.add("true");
        if (!run(new ProcessBuilder(probe)).equals("0 ")) {
            System.out.println("ignored: a test for Java: it mounts, as root, which this machine does not allow");
            return "";
        }
        List<String> all = new ArrayList<>(List.of(options));
        all.add("-javaagent:" + jar);
        command.addAll(command(Program.PROVIDERS, all.toArray(String[]::new)));
        return run(new ProcessBuilder(command));
    }

    /** An agent, as of {@link #testEarlierAgent}; its argument is another class that it uses. */
    public static void premain(String arguments) throws ClassNotFoundException {
        UUID.randomUUID();
        if (arguments != null) {
            Class.forName(arguments);
        }
    }

    /** A jar with this class as an agent. */
    private static Path otherAgent() throws Exception {
        Path other = Files.createTempFile("other", ".jar");
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().putValue("Premain-Class", SquallTest.class.getName());
        new JarOutputStream(Files.newOutputStream(other), manifest).close();
        return other;
    }

    private static void testEarlierAgent() throws Exception {
        Path other = otherAgent();
        String[] agents = {"-javaagent:" + other, "-javaagent:" + jar};
        String warned = runJava(Program.PROVIDERS, agents);
        check(warned.startsWith("0 squall: an earlier agent ") && warned.endsWith("Squall Squall"), warned);
        check(warned.contains(": java.util.UUID: name -javaagent:squall.jar before other agents"), warned);
        String first = runJava(Program.PROVIDERS, agents[1], agents[0]);
        check(first.equals("0 Squall Squall"), first);
        Files.delete(other);
    }

    /** Some agents add fields to classes of the JDK, whose types may be missing. */
    private static void testBrokenClass() throws Exception {
        Path other = otherAgent();
        Path folder = Files.createTempDirectory("squall");
        Path source = folder.resolve("Broken.java");
        Files.writeString(source, "package java.util; class Broken { static Missing missing; } class Missing {}");
        String patched = "java.base=" + folder;
        int compiled = ToolProvider.getSystemJavaCompiler().run(null, null, null,
            "--patch-module", patched, "-d", folder.toString(), source.toString());
        check(compiled == 0, "a class of java.base");
        Path classes = folder.resolve("java/util");
        Files.delete(classes.resolve("Missing.class"));
        // Only where this class is loaded are others searched for generators.
        String generator = "-javaagent:" + other + "=java.security.SecureRandom";
        String drawn = runJava(Program.PROVIDERS, "--patch-module=" + patched, generator,
            "-javaagent:" + other + "=java.util.Broken", "-javaagent:" + jar);
        check(drawn.startsWith("0 ") && drawn.endsWith("Squall Squall"), drawn);
        for (Path each : List.of(classes.resolve("Broken.class"), classes, classes.getParent(), source, folder, other)) {
            Files.delete(each);
        }
    }

    /** Under a security manager the agent needs its jar, which a copy of its class outside of one hides. */
    private static void testFailingAgent() throws Exception {
        if (Runtime.version().feature() >= 24) {
            return;
        }
        Path folder = Files.createTempDirectory("squall");
        Path classes = Files.createDirectories(folder.resolve("org/squallrng"));
        Path copy = classes.resolve("Agent.class");
        try (var agent = Agent.class.getResourceAsStream("Agent.class")) {
            Files.copy(agent, copy);
        }
        List<String> command = command(Program.PROVIDERS, "-Djava.security.manager", "-javaagent:" + jar);
        int path = command.indexOf("-cp") + 1;
        command.set(path, folder + File.pathSeparator + command.get(path));
        String refused = run(new ProcessBuilder(command));
        check(refused.startsWith("1 ") && refused.contains("\nsquall: java.lang.ClassCastException: "), refused);
        check(!refused.contains("FATAL ERROR") && !refused.contains("Exception in"), refused);
        for (Path each : List.of(copy, classes, classes.getParent(), folder)) {
            Files.delete(each);
        }
    }

    private static void testClassLoaders() throws Exception {
        Set<Long> seen = new HashSet<>();
        for (int number = 0; number < 30; number++) {
            SecureRandom random = ofNewLoader(jar);
            FutureTask<Long> drawing = new FutureTask<>(random::nextLong);
            new Thread(drawing).start();
            seen.add(random.nextLong());
            seen.add(drawing.get());
        }
        check(seen.size() == 60, seen.size());
        String refused = runJava(Program.LOADERS, "-Dsquall.library.path=" + failingLibrary, "-Djar=" + jar);
        check(refused.contains("another classloader: without -Dsquall.library.path, each class loader "), refused);
    }

    private static SecureRandom ofNewLoader(String jar) throws Exception {
        URL[] place = {Path.of(jar).toUri().toURL()};
        try (var loader = new URLClassLoader(place, ClassLoader.getPlatformClassLoader())) {
            Class<?> provider = loader.loadClass("org.squallrng.SquallProvider");
            return SecureRandom.getInstance("Squall", (Provider) provider.getConstructor().newInstance());
        }
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
        check(new SecureRandom().generateSeed(48).length == 48, "a seed");
        assertThrows(IllegalArgumentException.class, () -> new SecureRandom().generateSeed(-1));
    }

    private static void testSha1Prng() throws Exception {
        SecureRandom[] drawn = new SecureRandom[2];
        SecureRandom[] seeded = new SecureRandom[3];
        for (int at = 0; at < 3; at++) {
            seeded[at] = at < 2 ? SecureRandom.getInstance("SHA1PRNG") : SecureRandom.getInstance("SHA1PRNG", "SUN");
            seeded[at].setSeed(5);
            seeded[at].setSeed(new byte[32]);
        }
        long same = seeded[0].nextLong();
        check(seeded[1].nextLong() == same && seeded[2].nextLong() == same, "seeded before the first draw");
        seeded[0].setSeed(6);
        seeded[2].setSeed(6);
        check(seeded[0].nextLong() == seeded[2].nextLong(), "seeded again");
        for (int at = 0; at < 2; at++) {
            drawn[at] = SecureRandom.getInstance("SHA1PRNG");
            check(drawn[at].getProvider().getName().equals("Squall"), "its provider");
            drawn[at].nextInt();
            drawn[at].setSeed(5);
        }
        check(drawn[0].nextLong() != drawn[1].nextLong(), "seeded after the first draw");
        assertThrows(NoSuchAlgorithmException.class,
            () -> SecureRandom.getInstance("SHA1PRNG", DrbgParameters.instantiation(-1, Capability.NONE, null)));
    }

    private static void testNull() throws Exception {
        for (String name : List.of("Squall", "SHA1PRNG")) {
            assertThrows(NullPointerException.class, () -> {
                SecureRandom.getInstance(name).setSeed(null);
                return name;
            });
        }
        assertThrows(NullPointerException.class, () -> {
            Squall.onClone(null);
            return "a listener";
        });
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
        for (String name : List.of("Squall", "NativePRNG", "DRBG", "SHA1PRNG")) {
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

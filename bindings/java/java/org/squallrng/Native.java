package org.squallrng;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Locale;
import java.util.Random;

/** Loads the native library, from the jar or from the file that the property squall.library.path names. */
final class Native {
    /** The message about a failed load; null if the library is loaded. */
    private static final String LOAD_ERROR = load();

    private Native() {}

    /** Throws an exception if the library could not be loaded. */
    static void check() {
        if (LOAD_ERROR != null) {
            throw new IllegalStateException(LOAD_ERROR);
        }
    }

    private static String load() {
        String path = null;
        try {
            path = System.getProperty("squall.library.path");
            if (path != null) {
                System.load(Path.of(path).toAbsolutePath().toString());
            } else {
                loadFromJar();
            }
            return null;
        } catch (IOException | RuntimeException | UnsatisfiedLinkError error) {
            // The message of a FileSystemException may be the file's name alone.
            String cause = error instanceof FileSystemException ? error.toString() : error.getMessage();
            return "squall: the native library cannot be loaded: " + cause + ": " + advice(error, cause, path);
        }
    }

    private static String advice(Throwable error, String cause, String path) {
        if (error instanceof IllegalCallerException) {
            return "add --enable-native-access=ALL-UNNAMED";
        }
        if (error instanceof SecurityException) {
            return "the security manager must grant it to squall.jar";
        }
        if (path != null) {
            return cause.contains("another classloader")
                ? "without -Dsquall.library.path, each class loader loads a copy"
                : "-Dsquall.library.path must name the jar's libsquall_java.so for this machine, unpacked";
        }
        if (!(error instanceof UnsatisfiedLinkError)) {
            return "java.io.tmpdir must be a folder in which the program may make files";
        }
        return cause.contains("failed to map segment")
            ? "java.io.tmpdir must be a folder from which programs may run; or set -Dsquall.library.path=FILE"
            : "it needs Linux with glibc on x86-64 or aarch64";
    }

    /** Copies the library into a folder that only this user can open, loads it, and removes both. */
    private static void loadFromJar() throws IOException {
        String resource = System.getProperty("os.name").toLowerCase(Locale.ROOT)
            + "-" + System.getProperty("os.arch") + "/libsquall_java.so";
        try (InputStream library = Native.class.getResourceAsStream(resource)) {
            if (library == null) {
                throw new UnsatisfiedLinkError("the jar has no library for this machine (" + resource + ")");
            }
            // Files.createTempDirectory would draw the name from a SecureRandom, which may be squall's.
            String name = "squall-" + Long.toHexString(new Random().nextLong());
            Path folder = Path.of(System.getProperty("java.io.tmpdir"), name).toAbsolutePath();
            var onlyOwner = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
            Files.createDirectory(folder, onlyOwner);
            Path file = folder.resolve("libsquall_java.so");
            try {
                Files.copy(library, file);
                System.load(file.toString());
            } finally {
                Files.deleteIfExists(file);
                Files.delete(folder);
            }
        }
    }

    /** Fills an array of this length, with `fresh` under a new seed. Returns false without a source of randomness. */
    static native boolean fill(byte[] bytes, int length, boolean fresh);

    /** The status as JSON; null without a source of randomness. */
    static native String status();

    /** The clone generation; 0 if it is unknown. */
    static native long cloneGeneration();

    /** A watch for awaitClone; 0 if this process cannot notice clones. */
    static native long newCloneWatch();

    /** Waits for the next clone. Returns false if the watch has failed, and frees it. */
    static native boolean awaitClone(long watch);
}

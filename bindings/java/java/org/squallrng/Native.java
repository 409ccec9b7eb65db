package org.squallrng;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Locale;

/** The native library: loads it from the jar, or from the file that the property squall.library.path names. */
final class Native {
    /** Why the library was not loaded; null if it was. */
    private static final String FAULT = load();

    private Native() {}

    /** Throws an exception that says what is missing, unless the library is loaded. */
    static void check() {
        if (FAULT != null) {
            throw new IllegalStateException(FAULT);
        }
    }

    private static String load() {
        String path = System.getProperty("squall.library.path");
        try {
            if (path != null) {
                System.load(Path.of(path).toAbsolutePath().toString());
            } else {
                loadFromJar();
            }
            return null;
        } catch (IOException | UnsatisfiedLinkError | SecurityException error) {
            // The message of a FileSystemException may be the file's name alone.
            String cause = error instanceof FileSystemException ? error.toString() : error.getMessage();
            return "squall: its native library cannot be loaded: " + cause + ": " + (path != null
                ? "-Dsquall.library.path must name the jar's libsquall_java.so for this machine, unpacked"
                : "it needs Linux with glibc on x86-64 or aarch64, and a java.io.tmpdir from which programs may run;"
                    + " or set -Dsquall.library.path=FILE");
        }
    }

    /** Copies the library into a folder that only this user can open, loads it, and removes both. */
    private static void loadFromJar() throws IOException {
        String name = System.getProperty("os.name").toLowerCase(Locale.ROOT)
            + "-" + System.getProperty("os.arch") + "/libsquall_java.so";
        try (InputStream library = Native.class.getResourceAsStream(name)) {
            if (library == null) {
                throw new IOException("the jar has none for this machine (" + name + ")");
            }
            // Files.createTempDirectory would draw its name from a SecureRandom, which may be ours.
            String random = Files.readString(Path.of("/proc/sys/kernel/random/uuid")).trim();
            Path folder = Path.of(System.getProperty("java.io.tmpdir"), "squall-" + random);
            var forOwner = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
            Files.createDirectory(folder, forOwner);
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

    /** Fills an array of this length; with `fresh`, from seeds of its own. False if there is no source of randomness. */
    static native boolean fill(byte[] bytes, int length, boolean fresh);

    /** The status as JSON; null if there is no source of randomness. */
    static native String status();

    /** The clone generation; 0 if it is unknown. */
    static native long cloneGeneration();

    /** A watch for awaitClone; 0 if nothing shows clones. */
    static native long watchClones();

    /** Waits for the next clone; false if the watch has failed. */
    static native boolean awaitClone(long watch);
}

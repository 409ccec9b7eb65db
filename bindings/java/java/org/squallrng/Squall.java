package org.squallrng;

import java.security.ProviderException;
import java.security.Security;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CopyOnWriteArrayList;

/** squall for Java: {@link #install} makes SecureRandom, UUID.randomUUID, TLS and key generation draw from it. */
public final class Squall {
    private static final List<Runnable> LISTENERS = new CopyOnWriteArrayList<>();
    private static boolean isWatching;

    private Squall() {}

    /**
     * Puts the provider first, also for {@link java.security.SecureRandom#getInstanceStrong}. SecureRandom objects that
     * exist already stay what they are.
     *
     * @throws IllegalStateException the native library cannot be loaded here
     */
    public static synchronized void install() {
        Native.check();
        Security.removeProvider(SquallProvider.NAME);
        Security.insertProviderAt(new SquallProvider(), 1);
        String property = "securerandom.strongAlgorithms";
        String first = SquallProvider.NAME + ":" + SquallProvider.NAME;
        String others = Security.getProperty(property);
        if (others == null || !others.startsWith(first)) {
            Security.setProperty(property, others == null ? first : first + "," + others);
        }
    }

    /** The protections of this process, as JSON: the keys are those of {@code squall status --json}. */
    public static String status() {
        Native.check();
        String status = Native.status();
        if (status == null) {
            throw new ProviderException("squall: no source of randomness: getrandom(2) and /dev/urandom were refused");
        }
        return status;
    }

    /**
     * A number that differs from the one before once this process may run in another copy of its machine; empty if
     * that is unknown. Compare it with earlier numbers of the same process only.
     */
    public static OptionalLong cloneGeneration() {
        Native.check();
        long generation = Native.cloneGeneration();
        return generation == 0 ? OptionalLong.empty() : OptionalLong.of(generation);
    }

    /**
     * Has the listener called, in a daemon thread, after each clone of the machine.
     *
     * @throws UnsupportedOperationException nothing on this machine shows clones: cloneGeneration is empty
     */
    public static synchronized void onClone(Runnable listener) {
        Native.check();
        LISTENERS.add(listener);
        if (isWatching) {
            return;
        }
        long watch = Native.watchClones();
        if (watch == 0) {
            LISTENERS.remove(listener);
            throw new UnsupportedOperationException("squall: nothing shows this process that its machine was cloned: give"
                + " the virtual machine a vmgenid or a vmclock, and install squall's kernel module"
                + " (squall-vmgenid-dkms) or let the process read /dev/kmsg (CAP_SYSLOG)");
        }
        Thread thread = new Thread(() -> callListeners(watch), "squall-clones");
        thread.setDaemon(true);
        thread.start();
        isWatching = true;
    }

    private static void callListeners(long watch) {
        while (Native.awaitClone(watch)) {
            for (Runnable listener : LISTENERS) {
                try {
                    listener.run();
                } catch (RuntimeException error) {
                    Thread thread = Thread.currentThread();
                    thread.getUncaughtExceptionHandler().uncaughtException(thread, error);
                }
            }
        }
    }
}

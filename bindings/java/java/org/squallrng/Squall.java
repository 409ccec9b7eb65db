package org.squallrng;

import java.security.Provider;
import java.security.ProviderException;
import java.security.Security;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.CopyOnWriteArrayList;

/** squall for Java: {@link #install} makes SecureRandom, UUID.randomUUID, TLS and key generation draw from it. */
public final class Squall {
    private static final List<Runnable> LISTENERS = new CopyOnWriteArrayList<>();
    private static boolean isWatching;

    private Squall() {}

    /**
     * Makes squall the first provider, also for {@link java.security.SecureRandom#getInstanceStrong}. SecureRandom
     * objects that exist already are not changed. Called again, it moves squall to the front if another provider is
     * there, and never lets another take squall's place meanwhile.
     *
     * @throws IllegalStateException if the native library cannot be loaded
     */
    public static synchronized void install() {
        Native.check();
        makeFirst();
        String property = "securerandom.strongAlgorithms";
        // Without the name of a provider, so that the stand-in serves too.
        String first = SquallProvider.NAME;
        String others = Security.getProperty(property);
        if (others == null || !others.startsWith(first)) {
            Security.setProperty(property, others == null ? first : first + "," + others);
        }
    }

    /**
     * Inserts the provider, or moves it to the front: Java can only remove it and insert it again. Meanwhile another one
     * stands in for it under another name. Only requests of a provider named "Squall" fail then.
     */
    private static void makeFirst() {
        boolean isNew = Security.insertProviderAt(new SquallProvider(), 1) != -1;
        if (isNew || Security.getProviders()[0].getName().equals(SquallProvider.NAME)) {
            return;
        }
        Provider standIn = new SquallProvider(SquallProvider.NAME + "-StandIn");
        Security.insertProviderAt(standIn, 1);
        Security.removeProvider(SquallProvider.NAME);
        Security.insertProviderAt(new SquallProvider(), 1);
        Security.removeProvider(standIn.getName());
    }

    /** Returns the protections of this process as JSON, with the keys of {@code squall status --json}. */
    public static String status() {
        Native.check();
        String status = Native.status();
        if (status == null) {
            throw new ProviderException("squall: no source of randomness: getrandom(2) and /dev/urandom were refused");
        }
        return status;
    }

    /**
     * Returns a number that changes when this process may be running in a clone of its machine, or was itself restored
     * from a checkpoint by CRIU; empty if this process cannot notice clones. Compare it with earlier numbers of the same
     * process only.
     */
    public static OptionalLong cloneGeneration() {
        Native.check();
        long generation = Native.cloneGeneration();
        return generation == 0 ? OptionalLong.empty() : OptionalLong.of(generation);
    }

    /**
     * Calls the listener, in a daemon thread, whenever the machine may have been cloned or the process was restored. What
     * a listener throws goes to that thread's uncaught exception handler, and the others are called nevertheless. So does
     * an IllegalStateException if the watch for clones fails. Then listeners are called again after the next call of this
     * method.
     *
     * @throws UnsupportedOperationException if this process cannot notice clones: cloneGeneration is empty
     */
    public static synchronized void onClone(Runnable listener) {
        Objects.requireNonNull(listener, "listener");
        Native.check();
        LISTENERS.add(listener);
        if (isWatching) {
            return;
        }
        long watch = Native.newCloneWatch();
        if (watch == 0) {
            LISTENERS.remove(listener);
            throw new UnsupportedOperationException("squall: this process cannot notice clones of its machine: give"
                + " the virtual machine a vmgenid or a vmclock, and install squall's kernel module"
                + " (squall-vmgenid-dkms) or let the process read /dev/kmsg (CAP_SYSLOG)");
        }
        Thread thread = new Thread(() -> callListeners(watch), "squall-clones");
        thread.setDaemon(true);
        thread.start();
        isWatching = true;
    }

    private static void callListeners(long watch) {
        try {
            while (Native.awaitClone(watch)) {
                LISTENERS.forEach(Squall::call);
            }
        } finally {
            synchronized (Squall.class) {
                isWatching = false;
            }
        }
        throw new IllegalStateException("squall: the watch for clones of this machine has failed");
    }

    private static void call(Runnable listener) {
        try {
            listener.run();
        } catch (Throwable error) {
            Thread thread = Thread.currentThread();
            try {
                thread.getUncaughtExceptionHandler().uncaughtException(thread, error);
            } catch (Throwable ignored) {
                // Java ignores what a handler throws.
            }
        }
    }
}

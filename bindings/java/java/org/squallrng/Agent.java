package org.squallrng;

/**
 * The Java agent of {@code java -javaagent:squall.jar}: installs the provider before the program starts. If that fails,
 * the program does not start, because it would draw from generators that clones repeat. With
 * {@code -Dsquall.optional=true} it starts with those.
 */
public final class Agent {
    private Agent() {}

    /** Called by the Java virtual machine. */
    public static void premain(String arguments) {
        try {
            Squall.install();
        } catch (IllegalStateException error) {
            System.err.println(error.getMessage());
            if (!Boolean.getBoolean("squall.optional")) {
                System.exit(1);
            }
        }
    }
}

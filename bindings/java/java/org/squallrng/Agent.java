package org.squallrng;

/**
 * The Java agent of {@code java -javaagent:squall.jar}: installs the provider before the program starts. If that fails,
 * the program does not start, because it would draw from generators that clones repeat. With
 * {@code -Dsquall.optional=true} it starts with those. The agent itself takes no options.
 */
public final class Agent {
    private Agent() {}

    /** Called by the Java virtual machine. */
    public static void premain(String arguments) {
        if (arguments != null && !arguments.isEmpty()) {
            System.err.println("squall: the agent takes no options, and got \"" + arguments
                + "\": use properties, such as -Dsquall.optional=true");
            System.exit(1);
        }
        try {
            Squall.install();
        } catch (IllegalStateException error) {
            if (!Boolean.getBoolean("squall.optional")) {
                System.err.println(error.getMessage());
                System.exit(1);
            }
            System.err.println(error.getMessage()
                + "; with -Dsquall.optional=true the program starts with the JDK's generators");
        }
    }
}

package org.squallrng;

import java.lang.instrument.Instrumentation;
import java.net.JarURLConnection;

/**
 * The Java agent of {@code java -javaagent:squall.jar}: installs the provider before the program starts. If that fails,
 * the program does not start, because it would draw from generators that clones repeat. With
 * {@code -Dsquall.optional=true} it starts with those. The agent itself takes no options.
 */
public final class Agent {
    private Agent() {}

    /** Called by the Java virtual machine. */
    @SuppressWarnings("exports") // Only the Java virtual machine has the second argument.
    public static void premain(String arguments, Instrumentation instrumentation) {
        Throwable failure = null;
        try {
            if (isUnderSecurityManager()) {
                var resource = (JarURLConnection) Agent.class.getResource("Agent.class").openConnection();
                instrumentation.appendToBootstrapClassLoaderSearch(resource.getJarFile());
            }
        } catch (Throwable error) {
            failure = error;
        }
        AgentStart.start(arguments, instrumentation, failure);
    }

    /**
     * Whether a security manager (of Java 23 and earlier) lets this class read neither properties nor files. It lets the
     * classes of the boot loader, so the other classes are loaded there.
     */
    private static boolean isUnderSecurityManager() {
        return Runtime.version().feature() < 24 && System.getSecurityManager() != null;
    }
}

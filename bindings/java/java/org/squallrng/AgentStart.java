package org.squallrng;

import java.lang.instrument.Instrumentation;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.security.AccessController;
import java.security.PrivilegedAction;
import java.security.SecureRandom;
import java.util.Set;
import java.util.TreeSet;

/**
 * What {@link Agent} does; public, because another class loader than the agent's may have loaded it. Streams and lambda
 * expressions would delay the start of each program by 25 milliseconds.
 */
public final class AgentStart implements PrivilegedAction<Void> {
    private final String arguments;
    private final Instrumentation instrumentation;
    private final Throwable failure;

    private AgentStart(String arguments, Instrumentation instrumentation, Throwable failure) {
        this.arguments = arguments;
        this.instrumentation = instrumentation;
        this.failure = failure;
    }

    /** Installs squall, or ends the program if that fails, or has failed already, and is not optional. */
    @SuppressWarnings("exports") // As of Agent.premain.
    public static void start(String arguments, Instrumentation instrumentation, Throwable failure) {
        AccessController.doPrivileged(new AgentStart(arguments, instrumentation, failure));
    }

    @Override
    public Void run() {
        if (arguments != null && !arguments.isEmpty()) {
            refuse("squall: the agent takes no options, and got \"" + arguments
                + "\": use properties, such as -Dsquall.optional=true");
        }
        try {
            if (failure != null) {
                throw failure;
            }
            install();
        } catch (Throwable error) {
            fail(error);
        }
        return null;
    }

    private void install() {
        Set<String> earlier = earlierGenerators();
        Squall.install();
        if (!earlier.isEmpty()) {
            System.err.println("squall: an earlier agent has used classes that keep a generator, and it stays the JDK's: "
                + String.join(", ", earlier) + ": name -javaagent:squall.jar before other agents");
        }
    }

    private static void fail(Throwable error) {
        String message = error instanceof IllegalStateException ? error.getMessage() : "squall: " + error;
        if (!isOptional()) {
            refuse(message);
        }
        System.err.println(message + "; with -Dsquall.optional=true the program starts with the JDK's generators");
    }

    private static boolean isOptional() {
        try {
            return Boolean.getBoolean("squall.optional");
        } catch (SecurityException error) {
            return false;
        }
    }

    /** The classes of the JDK that keep a SecureRandom object and have been used. */
    private Set<String> earlierGenerators() {
        Set<String> names = new TreeSet<>();
        Class<?>[] loaded = instrumentation.getAllLoadedClasses();
        if (!isSecureRandomAmong(loaded)) {
            return names;
        }
        for (Class<?> each : loaded) {
            boolean isOfJdk = each.getClassLoader() == null && each.getModule().isNamed();
            if (isOfJdk && each != SecureRandom.class && keepsGenerator(each)) {
                names.add(each.getName().split("\\$")[0]);
            }
        }
        return names;
    }

    /** Usually it is not, before the program starts, and no class needs to be searched. This does not load it. */
    private static boolean isSecureRandomAmong(Class<?>[] loaded) {
        for (Class<?> each : loaded) {
            if (each.getName().equals("java.security.SecureRandom")) {
                return true;
            }
        }
        return false;
    }

    private static boolean keepsGenerator(Class<?> holder) {
        try {
            for (Field field : holder.getDeclaredFields()) {
                if (field.getType() == SecureRandom.class && Modifier.isStatic(field.getModifiers())) {
                    return true;
                }
            }
        } catch (LinkageError error) {
            // An earlier agent has given it a field of a type that does not exist.
        }
        return false;
    }

    private static void refuse(String message) {
        System.err.println(message);
        System.exit(1);
    }
}

package org.squallrng;

import java.lang.reflect.Modifier;
import java.security.AccessController;
import java.security.PrivilegedAction;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.stream.Collectors;

/** What {@link Agent} does; public, because another class loader than the agent's may have loaded it. */
public final class AgentStart {
    private AgentStart() {}

    /** Installs squall, or ends the program if that fails and is not optional. */
    public static void start(String arguments, Class<?>[] loaded) {
        AccessController.doPrivileged((PrivilegedAction<Void>) () -> {
            if (arguments != null && !arguments.isEmpty()) {
                refuse("squall: the agent takes no options, and got \"" + arguments
                    + "\": use properties, such as -Dsquall.optional=true");
            }
            install(loaded);
            return null;
        });
    }

    private static void install(Class<?>[] loaded) {
        String earlier = earlierGenerators(loaded);
        try {
            Squall.install();
        } catch (RuntimeException | LinkageError error) {
            String message = error instanceof IllegalStateException ? error.getMessage() : "squall: " + error;
            if (!Boolean.getBoolean("squall.optional")) {
                refuse(message);
            }
            System.err.println(message + "; with -Dsquall.optional=true the program starts with the JDK's generators");
            return;
        }
        if (!earlier.isEmpty()) {
            System.err.println("squall: an earlier agent has had generators made, which stay the JDK's, in " + earlier
                + ": name -javaagent:squall.jar before other agents");
        }
    }

    /** Names the classes of the JDK that keep a SecureRandom object and have been used. */
    private static String earlierGenerators(Class<?>[] loaded) {
        return Arrays.stream(loaded)
            .filter(each -> each.getClassLoader() == null && each.getModule().isNamed() && keepsGenerator(each))
            .map(each -> each.getName().split("\\$")[0])
            .sorted()
            .collect(Collectors.joining(", "));
    }

    private static boolean keepsGenerator(Class<?> holder) {
        return Arrays.stream(holder.getDeclaredFields())
            .anyMatch(field -> field.getType() == SecureRandom.class && Modifier.isStatic(field.getModifiers()));
    }

    private static void refuse(String message) {
        System.err.println(message);
        System.exit(1);
    }
}

package org.squallrng;

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
    private final Class<?>[] loaded;

    private AgentStart(String arguments, Class<?>[] loaded) {
        this.arguments = arguments;
        this.loaded = loaded;
    }

    /** Installs squall, or ends the program if that fails and is not optional. */
    public static void start(String arguments, Class<?>[] loaded) {
        AccessController.doPrivileged(new AgentStart(arguments, loaded));
    }

    @Override
    public Void run() {
        if (arguments != null && !arguments.isEmpty()) {
            refuse("squall: the agent takes no options, and got \"" + arguments
                + "\": use properties, such as -Dsquall.optional=true");
        }
        install();
        return null;
    }

    private void install() {
        Set<String> earlier = earlierGenerators();
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
            System.err.println("squall: an earlier agent has used classes that keep a generator, and it stays the JDK's: "
                + String.join(", ", earlier) + ": name -javaagent:squall.jar before other agents");
        }
    }

    /** The classes of the JDK that keep a SecureRandom object and have been used. */
    private Set<String> earlierGenerators() {
        Set<String> names = new TreeSet<>();
        for (Class<?> each : loaded) {
            boolean isOfJdk = each.getClassLoader() == null && each.getModule().isNamed();
            if (isOfJdk && each != SecureRandom.class && keepsGenerator(each)) {
                names.add(each.getName().split("\\$")[0]);
            }
        }
        return names;
    }

    private static boolean keepsGenerator(Class<?> holder) {
        for (Field field : holder.getDeclaredFields()) {
            if (field.getType() == SecureRandom.class && Modifier.isStatic(field.getModifiers())) {
                return true;
            }
        }
        return false;
    }

    private static void refuse(String message) {
        System.err.println(message);
        System.exit(1);
    }
}

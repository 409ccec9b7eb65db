package org.squallrng;

import java.security.NoSuchAlgorithmException;
import java.security.Provider;
import java.security.SecureRandomParameters;
import java.security.SecureRandomSpi;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** The security provider "Squall". If it is the first provider, the JDK's names of generators mean squall too. */
public final class SquallProvider extends Provider {
    private static final long serialVersionUID = 1;
    private static final String TYPE = "SecureRandom";
    static final String NAME = "Squall";
    private static final List<String> ALIASES =
        List.of("NativePRNG", "NativePRNGBlocking", "NativePRNGNonBlocking", "DRBG");

    /** Creates a provider, for {@link java.security.Security#insertProviderAt}. */
    public SquallProvider() {
        this(NAME);
    }

    SquallProvider(String name) {
        super(name, Version.VERSION, "squall: random bytes that forks and clones of the machine do not repeat");
        putService(new RandomService(this, NAME, ALIASES, SquallRandom.class, SquallRandom::new));
        putService(new RandomService(this, SeedableRandom.NAME, null, SeedableRandom.class, SeedableRandom::new));
        // SecureRandom looks under the name that the program used whether it must lock.
        ALIASES.forEach(alias -> put(TYPE + "." + alias + " ThreadSafe", "true"));
    }

    /** Gives a deserialized SecureRandom a provider of this process. */
    private Object readResolve() {
        return new SquallProvider();
    }

    private static final class RandomService extends Service {
        private final Function<SecureRandomParameters, SecureRandomSpi> maker;

        RandomService(Provider provider, String algorithm, List<String> aliases, Class<?> made,
            Function<SecureRandomParameters, SecureRandomSpi> maker) {
            super(provider, TYPE, algorithm, made.getName(), aliases,
                Map.of("ThreadSafe", "true", "ImplementedIn", "Software"));
            this.maker = maker;
        }

        /** Parameters that squall cannot satisfy are left to other providers. */
        @Override
        public Object newInstance(Object parameters) throws NoSuchAlgorithmException {
            try {
                return maker.apply((SecureRandomParameters) parameters);
            } catch (IllegalArgumentException error) {
                throw new NoSuchAlgorithmException(error.getMessage(), error);
            }
        }
    }
}

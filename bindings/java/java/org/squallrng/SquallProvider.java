package org.squallrng;

import java.security.NoSuchAlgorithmException;
import java.security.Provider;
import java.security.SecureRandomParameters;
import java.util.List;
import java.util.Map;

/**
 * The security provider "Squall". If it is the first provider, NativePRNG and DRBG are squall too. SHA1PRNG stays the
 * JDK's, because a program may seed it to get the same numbers again.
 */
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
        putService(new RandomService(this));
        // SecureRandom looks under the name that the program used whether it must lock.
        ALIASES.forEach(alias -> put(TYPE + "." + alias + " ThreadSafe", "true"));
    }

    /** Gives a deserialized SecureRandom a provider of this process. */
    private Object readResolve() {
        return new SquallProvider();
    }

    private static final class RandomService extends Service {
        RandomService(Provider provider) {
            super(provider, TYPE, NAME, SquallRandom.class.getName(), ALIASES,
                Map.of("ThreadSafe", "true", "ImplementedIn", "Software"));
        }

        /** Parameters that squall cannot satisfy are left to other providers. */
        @Override
        public Object newInstance(Object parameters) throws NoSuchAlgorithmException {
            try {
                return new SquallRandom((SecureRandomParameters) parameters);
            } catch (IllegalArgumentException error) {
                throw new NoSuchAlgorithmException(error.getMessage(), error);
            }
        }
    }
}

package org.squallrng;

import java.security.NoSuchAlgorithmException;
import java.security.Provider;
import java.security.ProviderException;
import java.security.SecureRandom;
import java.security.SecureRandomParameters;
import java.security.Security;
import java.util.Objects;

/**
 * SHA1PRNG. A program may seed it before the first draw, to get the same numbers again: from then on the object is the
 * JDK's SHA1PRNG. Otherwise it is squall.
 */
final class SeedableRandom extends SquallRandom {
    static final String NAME = "SHA1PRNG";
    private static final long serialVersionUID = 1;

    private volatile boolean isUsed;

    /** The JDK's generator, if the program has seeded the object before it drew; null otherwise. */
    private volatile SecureRandom seeded;

    SeedableRandom(SecureRandomParameters parameters) {
        super(null);
        if (parameters != null) {
            throw new IllegalArgumentException("SHA1PRNG takes no parameters: " + parameters);
        }
    }

    @Override
    protected void engineNextBytes(byte[] bytes) {
        if (!isUsed) {
            use();
        }
        if (seeded == null) {
            super.engineNextBytes(bytes);
        } else {
            seeded.nextBytes(bytes);
        }
    }

    private synchronized void use() {
        isUsed = true;
    }

    @Override
    protected synchronized void engineSetSeed(byte[] seed) {
        Objects.requireNonNull(seed, "seed");
        if (seeded != null) {
            seeded.setSeed(seed);
        } else if (!isUsed) {
            SecureRandom random = unseeded();
            random.setSeed(seed);
            seeded = random;
            isUsed = true;
        }
    }

    private static SecureRandom unseeded() {
        for (Provider provider : Security.getProviders("SecureRandom." + NAME)) {
            if (!(provider instanceof SquallProvider)) {
                try {
                    return SecureRandom.getInstance(NAME, provider);
                } catch (NoSuchAlgorithmException error) {
                    throw new ProviderException(error);
                }
            }
        }
        throw new ProviderException("squall: no other provider has SHA1PRNG, which gives the numbers of a seed");
    }

    /** Not in the JDK's SHA1PRNG either. */
    @Override
    protected void engineReseed(SecureRandomParameters parameters) {
        throw new UnsupportedOperationException("SHA1PRNG cannot be reseeded");
    }
}

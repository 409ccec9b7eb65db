package org.squallrng;

import java.security.DrbgParameters;
import java.security.ProviderException;
import java.security.SecureRandomParameters;
import java.security.SecureRandomSpi;
import java.util.Objects;

/**
 * Makes {@link java.security.SecureRandom} draw from squall's generator of the calling thread, which checks its state
 * on every request. The object's only state is a flag. So threads share it without a lock, and it can be serialized.
 */
public class SquallRandom extends SecureRandomSpi {
    private static final long serialVersionUID = 1;
    private static final int STRENGTH = 256;

    /** Whether the program has called reseed. From then on, each request takes a new seed from the kernel. */
    private volatile boolean reseeded;

    /** Takes parameters of {@link java.security.SecureRandom#getInstance(String, SecureRandomParameters)}, or null. */
    SquallRandom(SecureRandomParameters parameters) {
        Native.check();
        if (parameters == null) {
            return;
        }
        if (!(parameters instanceof DrbgParameters.Instantiation)) {
            throw new IllegalArgumentException("squall takes DrbgParameters.Instantiation only: " + parameters);
        }
        DrbgParameters.Instantiation wanted = (DrbgParameters.Instantiation) parameters;
        checkStrength(wanted.getStrength());
        checkPredictionResistance(wanted.getCapability().supportsPredictionResistance());
    }

    private static void checkStrength(int strength) {
        if (strength > STRENGTH) {
            throw new IllegalArgumentException("squall has a strength of 256 bits, not " + strength);
        }
    }

    /** Prediction resistance of SP 800-90A takes fresh entropy for each request; squall has the kernel's generator. */
    private static void checkPredictionResistance(boolean isRequested) {
        if (isRequested) {
            throw new IllegalArgumentException("squall has no prediction resistance: request RESEED_ONLY");
        }
    }

    private void fill(byte[] bytes, boolean fresh) {
        if (!Native.fill(bytes, bytes.length, fresh)) {
            throw new ProviderException("squall: no source of randomness: getrandom(2) and /dev/urandom were refused");
        }
    }

    @Override
    protected void engineNextBytes(byte[] bytes) {
        fill(bytes, reseeded);
    }

    /** Additional input is not used, as SP 800-90A allows. */
    @Override
    protected void engineNextBytes(byte[] bytes, SecureRandomParameters parameters) {
        if (!(parameters instanceof DrbgParameters.NextBytes)) {
            throw new IllegalArgumentException("squall takes DrbgParameters.NextBytes only: " + parameters);
        }
        DrbgParameters.NextBytes wanted = (DrbgParameters.NextBytes) parameters;
        checkStrength(wanted.getStrength());
        checkPredictionResistance(wanted.getPredictionResistance());
        engineNextBytes(bytes);
    }

    @Override
    protected void engineReseed(SecureRandomParameters parameters) {
        if (parameters != null) {
            if (!(parameters instanceof DrbgParameters.Reseed)) {
                throw new IllegalArgumentException("squall takes DrbgParameters.Reseed only: " + parameters);
            }
            checkPredictionResistance(((DrbgParameters.Reseed) parameters).getPredictionResistance());
        }
        reseeded = true;
    }

    /** Does nothing: squall seeds itself, and SecureRandom lets a seed only supplement the existing one. */
    @Override
    protected void engineSetSeed(byte[] seed) {
        Objects.requireNonNull(seed, "seed");
    }

    @Override
    protected byte[] engineGenerateSeed(int length) {
        if (length < 0) {
            throw new IllegalArgumentException("a seed of " + length + " bytes");
        }
        byte[] seed = new byte[length];
        fill(seed, true);
        return seed;
    }

    /** Returns no personalization string, because squall uses none. */
    @Override
    protected SecureRandomParameters engineGetParameters() {
        return DrbgParameters.instantiation(STRENGTH, DrbgParameters.Capability.RESEED_ONLY, null);
    }

    @Override
    public String toString() {
        return "squall";
    }
}

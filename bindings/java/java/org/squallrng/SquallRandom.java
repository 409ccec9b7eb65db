package org.squallrng;

import java.security.DrbgParameters;
import java.security.ProviderException;
import java.security.SecureRandomParameters;
import java.security.SecureRandomSpi;

/**
 * What {@link java.security.SecureRandom} draws from: squall's generator of the calling thread, whose state is checked
 * on every request. The object has no state of its own but one flag, so threads share it without a lock, and it can be
 * serialized.
 */
public final class SquallRandom extends SecureRandomSpi {
    private static final long serialVersionUID = 1;
    private static final int STRENGTH = 256;

    /** Whether the program has asked for a reseed: from then on each request has seeds of its own. */
    private volatile boolean reseeded;

    /** For the parameters of {@link java.security.SecureRandom#getInstance(String, SecureRandomParameters)}, or null. */
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
        checkPrediction(wanted.getCapability().supportsPredictionResistance());
    }

    private static void checkStrength(int strength) {
        if (strength > STRENGTH) {
            throw new IllegalArgumentException("squall has a strength of 256 bits, not of " + strength);
        }
    }

    /** SP 800-90A asks for fresh entropy in each request; squall's comes from the kernel's generator. */
    private static void checkPrediction(boolean isWanted) {
        if (isWanted) {
            throw new IllegalArgumentException("squall has no prediction resistance: ask for RESEED_ONLY");
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
        checkPrediction(wanted.getPredictionResistance());
        engineNextBytes(bytes);
    }

    @Override
    protected void engineReseed(SecureRandomParameters parameters) {
        if (parameters != null) {
            if (!(parameters instanceof DrbgParameters.Reseed)) {
                throw new IllegalArgumentException("squall takes DrbgParameters.Reseed only: " + parameters);
            }
            checkPrediction(((DrbgParameters.Reseed) parameters).getPredictionResistance());
        }
        reseeded = true;
    }

    /** Never makes the output predictable: squall seeds itself, and a seed only supplements what is there. */
    @Override
    protected void engineSetSeed(byte[] seed) {}

    @Override
    protected byte[] engineGenerateSeed(int length) {
        if (length < 0) {
            throw new IllegalArgumentException("a seed of " + length + " bytes");
        }
        byte[] seed = new byte[length];
        fill(seed, true);
        return seed;
    }

    /** What it has: the personalization string is not used. */
    @Override
    protected SecureRandomParameters engineGetParameters() {
        return DrbgParameters.instantiation(STRENGTH, DrbgParameters.Capability.RESEED_ONLY, null);
    }

    @Override
    public String toString() {
        return "squall";
    }
}

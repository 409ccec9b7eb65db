import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.UUID;

/**
 * Gives 64 random bytes for each letter that it reads, until there are no more: Java in a sandbox that is cloned.
 *
 * <pre>
 *   s  a SecureRandom object
 *   d  a SecureRandom object that was asked for as "DRBG"
 *   u  four of UUID.randomUUID()
 *   m  Math.random, 32 bits at a time
 * </pre>
 */
class Draws {
    private static final int LENGTH = 64;

    public static void main(String[] arguments) throws GeneralSecurityException, IOException {
        SecureRandom secure = new SecureRandom();
        SecureRandom drbg = SecureRandom.getInstance("DRBG");
        for (int letter; (letter = System.in.read()) >= 0; ) {
            ByteBuffer answer = ByteBuffer.allocate(LENGTH);
            if (letter == 's') {
                secure.nextBytes(answer.array());
            } else if (letter == 'd') {
                drbg.nextBytes(answer.array());
            } else {
                while (answer.hasRemaining()) {
                    if (letter == 'u') {
                        UUID uuid = UUID.randomUUID();
                        answer.putLong(uuid.getMostSignificantBits()).putLong(uuid.getLeastSignificantBits());
                    } else {
                        answer.putInt((int) (long) (Math.random() * (1L << 32)));
                    }
                }
            }
            System.out.write(answer.array());
            System.out.flush();
        }
    }
}

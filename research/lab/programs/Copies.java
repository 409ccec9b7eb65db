import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.math.BigInteger;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;

/** Draws what each line of its input asks for: copies.c in Java, without forks. */
class Copies {
    public static void main(String[] arguments) throws GeneralSecurityException, IOException {
        SecureRandom random = SecureRandom.getInstance("DRBG");
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = input.readLine()) != null; ) {
            StringBuilder answer = new StringBuilder();
            for (String length : line.substring(line.indexOf(' ') + 1).split(" ")) {
                byte[] value = new byte[Integer.parseInt(length)];
                random.nextBytes(value);
                answer.append(String.format("%0" + 2 * value.length + "x ", new BigInteger(1, value)));
            }
            System.out.println(answer);
        }
    }
}

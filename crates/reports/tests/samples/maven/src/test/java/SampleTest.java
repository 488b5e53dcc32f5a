import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Test;

class SampleTest {
    static int tries = 0;

    @Test
    void passes() {}

    @Test
    void fails() {
        assertEquals(1, 2, "expected <a> & <b>\n  got: \u001b[31mred\u001b[0m übel ✗ 日本");
    }

    @Test
    void throwsOne() {
        throw new IllegalStateException("thrown & <lost>");
    }

    @Test
    @Disabled("not today & not <now>")
    void isSkipped() {}

    @Test
    void isFlaky() {
        tries += 1;
        assertTrue(tries > 1);
    }
}

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import org.junit.Ignore;
import org.junit.Test;

public class SampleTest {
    static int tries = 0;

    @Test
    public void passes() {}

    @Test
    public void fails() {
        assertEquals("expected <a> & <b>\n  got: \u001b[31mred\u001b[0m übel ✗ 日本", 1, 2);
    }

    @Test
    public void throwsOne() {
        throw new IllegalStateException("thrown & <lost>");
    }

    @Test
    @Ignore("not today & not <now>")
    public void isSkipped() {}

    @Test
    public void isFlaky() {
        tries += 1;
        assertTrue(tries > 1);
    }
}

<?php

use PHPUnit\Framework\TestCase;

final class SampleTest extends TestCase
{
    public function testPasses(): void
    {
        $this->assertTrue(true);
    }

    public function testFails(): void
    {
        $this->assertSame(1, 2, "expected <a> & <b>\n  got: \x1b[31mred\x1b[0m übel ✗ 日本");
    }

    public function testThrows(): void
    {
        throw new RuntimeException('thrown & <lost>');
    }

    public function testIsSkipped(): void
    {
        $this->markTestSkipped('not today & not <now>');
    }

    /** @dataProvider values */
    public function testValue(int $value): void
    {
        $this->assertLessThan(2, $value);
    }

    public function values(): array
    {
        return ['one' => [1], 'two' => [2]];
    }
}

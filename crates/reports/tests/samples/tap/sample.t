use strict;
use warnings;
use Test::More;

binmode STDOUT, ':raw';
binmode STDERR, ':raw';
pass('passes');
is(1, 2, 'fails & <loses>');
SKIP: {
    skip 'not today & not <now>', 1;
}
TODO: {
    local $TODO = 'not done';
    ok(0, 'is to do');
}
subtest 'inner' => sub {
    pass('one');
    ok(0, 'two');
};
subtest 'good inner' => sub { pass('three') };
done_testing();

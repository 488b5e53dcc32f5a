//! A table of expressions with what they come to. The packages are published without their own cases, so these are
//! written anew, in the same groups, and both sides have to agree with each.

/// What an expression comes to.
pub(crate) enum Expected {
    /// As JSON.
    Value(&'static str),
    /// The class of the refusal.
    Refused(&'static str),
}

use Expected::{Refused, Value};

type Group = (&'static str, &'static [(&'static str, Expected)]);

const TRUE: Expected = Value("true");
const FALSE: Expected = Value("false");
const NULL: Expected = Value("null");

#[rustfmt::skip]
pub(crate) const GROUPS: &[Group] = &[
    ("basic", &[
        ("1 == 1", TRUE), ("github.ref", Value("\"refs/heads/main\"")), ("GitHub.REF", Value("\"refs/heads/main\"")),
        ("nothing.here", Refused("context")), ("null", NULL), ("'it''s'", Value("\"it's\"")),
    ]),
    ("case", &[
        ("case(true, 'a', 'b')", Value("\"a\"")), ("case(1 > 2, 'a', 'b')", Value("\"b\"")),
        ("case(false, 1, true, 2, 3)", Value("2")), ("case('true', 1, 2)", Refused("case")),
        ("case(1, 2)", Refused("arity")), ("case(true, 1)", Refused("arity")), ("case(true, 1, false, 2)", Refused("arity")),
    ]),
    ("coercion to number", &[
        ("null == 0", TRUE), ("true == 1", TRUE), ("'' == 0", TRUE), ("' 1.5 ' == 1.5", TRUE), ("'0x1f' == 31", TRUE),
        ("'0o17' == 15", TRUE), ("'0b11' == 3", TRUE), ("'-1e-2' == -0.01", TRUE), ("'Infinity' == Infinity", TRUE),
        ("'abc' == NaN", FALSE), ("list == 0", FALSE), ("object == NaN", FALSE), ("'1_0' == 10", FALSE), ("'.' == 0", FALSE),
    ]),
    ("coercion to text", &[
        ("format('{0}', null)", Value("\"\"")), ("format('{0}', true)", Value("\"true\"")), ("format('{0}', list)", Value("\"Array\"")),
        ("format('{0}', object)", Value("\"Object\"")), ("format('{0}', -0)", Value("\"0\"")), ("format('{0}', 0.1)", Value("\"0.1\"")),
        ("format('{0}', 1e21)", Value("\"1e+21\"")), ("format('{0}', 1e-7)", Value("\"1e-7\"")), ("format('{0}', 1e-16)", Value("\"0\"")),
        ("format('{0}', 0.0000152587890625)", Value("\"0.000015258789063\"")), ("format('{0}', NaN)", Value("\"NaN\"")),
        ("format('{0}', 123456789012345678)", Value("\"123456789012345680\"")), ("format('{0}', 0x10)", Value("\"16\"")),
    ]),
    ("contains", &[
        ("contains('Hello', 'LL')", TRUE), ("contains('a1', 1)", TRUE), ("contains('x', null)", TRUE), ("contains(github.event.labels, 'X')", TRUE),
        ("contains(github.event.labels.*.name, 'ui')", TRUE), ("contains(matrix.v, '10')", TRUE), ("contains(object, 'a')", FALSE),
        ("contains('Array', list)", FALSE), ("contains(list, null)", FALSE), ("contains('ΟΔΟΣ', 'ς')", TRUE),
    ]),
    ("startsWith and endsWith", &[
        ("startsWith('Straße', 'STRASSE')", TRUE), ("endsWith('abc', 'BC')", TRUE), ("startsWith(123, 12)", TRUE), ("endsWith('x', '')", TRUE),
        ("startsWith(list, 'A')", FALSE), ("endsWith('i', 'İ')", FALSE), ("startsWith('ı', 'I')", FALSE), ("endsWith('ς', 'Σ')", TRUE),
    ]),
    ("format", &[
        ("format('{0} {1} {0}', 'a', 1)", Value("\"a 1 a\"")), ("format('{{{0}}}', 'x')", Value("\"{x}\"")), ("format('{{0}}')", Value("\"{0}\"")),
        ("format('{0:yyyy}', 'x')", Value("\"x\"")), ("format('{1}', 'x')", Refused("format")), ("format('{', 1)", Refused("format")),
        ("format('}', 1)", Refused("format")), ("format('{}', 1)", Refused("format")), ("format('{a}', 1)", Refused("format")), ("format()", Refused("arity")),
    ]),
    ("fromJSON", &[
        ("fromJSON('[1, \"a\", null]')", Value("[1, \"a\", null]")), ("fromJSON('{\"A\": 1, \"a\": 2}')", Value("{\"A\": 1}")),
        ("fromJSON(' true ')", TRUE), ("fromJSON('')", Refused("json")), ("fromJSON('[1,]')", Refused("json")), ("fromJSON('01')", Refused("json")),
        ("fromJSON(object)", Refused("json")), ("fromJSON('{\"a\": [{\"b\": 1}]}').A[0].B", Value("1")), ("fromJSON(null)", Refused("json")),
    ]),
    ("join", &[
        ("join(matrix.v)", Value("\"10,20,Array\"")), ("join(matrix.v, '-')", Value("\"10-20-Array\"")), ("join('x', '-')", Value("\"x\"")),
        ("join(object)", Value("\"\"")), ("join(fromJSON('[null, true, 1.50]'), list)", Value("\",true,1.5\"")), ("join(1, 2, 3)", Refused("arity")),
    ]),
    ("numbers", &[
        ("0xFf", Value("255")), ("0o17", Value("15")), ("-1.5e2", Value("-150")), (".5", Value("0.5")), ("5.", Value("5")), ("+1", Value("1")),
        ("1.2.3", Refused("syntax")), ("0xg", Refused("syntax")), ("1e", Refused("syntax")), ("08", Value("8")), ("- 1", Refused("syntax")),
    ]),
    ("and, or, not", &[
        ("'' && 1", Value("\"\"")), ("'x' && 1", Value("1")), ("0 || 'y'", Value("\"y\"")), ("null || false", FALSE), ("1 && 2 || 3", Value("2")),
        ("!''", TRUE), ("!list", FALSE), ("!!'0'", TRUE), ("!NaN", TRUE), ("true || fromJSON('')", TRUE), ("false && fromJSON('')", FALSE),
    ]),
    ("comparison", &[
        ("'B' > 'a'", TRUE), ("'a' == 'A'", TRUE), ("1 < '2'", TRUE), ("'a' < 1", FALSE), ("null >= 0", TRUE), ("null > null", FALSE), ("null <= null", TRUE),
        ("true > false", TRUE), ("list == list", TRUE), ("list == fromJSON('[]')", FALSE), ("object != object", FALSE), ("list < list", FALSE), ("list <= list", TRUE),
        ("NaN == NaN", FALSE), ("NaN != NaN", TRUE), ("'ß' == 'SS'", TRUE), ("'ı' == 'i'", FALSE), ("'Z' < '_'", TRUE), ("'😀' < '￿'", TRUE),
    ]),
    ("precedence", &[
        ("1 < 2 == true", TRUE), ("1 == 1 < 2", TRUE), ("!1 < 2", TRUE), ("false && false || true", TRUE), ("true || true && false", TRUE), ("3 > 2 > 1", FALSE),
        ("!github.empty", TRUE), ("(1 == 2) == false", TRUE),
    ]),
    ("property, index and star", &[
        ("matrix['OS']", Value("\"Linux\"")), ("matrix.v[1.9]", Value("20")), ("matrix.v['1']", Value("20")), ("matrix.v[true]", Value("20")), ("matrix.v[-1]", NULL),
        ("matrix.v[9]", NULL), ("matrix.v[NaN]", NULL), ("github.true", Value("\"t\"")), ("github.absent.more", NULL), ("github.dash-ed_name", TRUE), ("flag.x", NULL),
        ("github.event.labels.*.id", Value("[3]")), ("github.event.labels[*].ids[0]", Value("[1]")), ("github.event.labels.*[1]", Value("[8]")), ("flag.*", Value("[]")),
        ("needs.*.result", Value("[\"success\", \"failure\"]")), ("matrix.deep.*.b", Value("[{\"c\": [1]}, 2]")), ("matrix.v.*.*", Value("[30]")), ("object[list]", NULL),
        ("(matrix).os", Value("\"Linux\"")), ("fromJSON('[[1]]')[0][0]", Value("1")), ("'a'.b", Refused("syntax")), ("github.", Refused("syntax")), ("github.1", Refused("syntax")),
    ]),
    ("what is no expression", &[
        ("1 <", Refused("syntax")), ("1 2", Refused("syntax")), ("(1", Refused("syntax")), ("1)", Refused("syntax")), ("'open", Refused("syntax")), ("\"a\"", Refused("syntax")),
        ("a = b", Refused("syntax")), ("github & flag", Refused("syntax")), ("contains('a', 'a',)", TRUE), ("contains(, 'a')", Refused("syntax")), ("nope()", Refused("function")), ("contains(1)", Refused("arity")),
        ("toJSON()", Refused("arity")), ("fromJSON(1, 2)", Refused("arity")), ("*", Refused("syntax")), ("$a", Refused("syntax")), ("github[]", Refused("syntax")),
        ("((((((((((((((((((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))))))))))))))))))", Refused("depth")),
        ("github.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a", Refused("depth")),
        ("github.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a", NULL),
    ]),
    ("toJSON", &[
        ("toJSON(list)", Value("\"[]\"")), ("toJSON(object)", Value("\"{}\"")), ("toJSON('é\"')", Value("\"\\\"é\\\\\\\"\\\"\"")), ("toJSON(1.50)", Value("\"1.5\"")),
        ("toJSON(NaN)", Value("\"null\"")), ("toJSON(fromJSON('[1,{\"a\":[]}]'))", Value("\"[\\n  1,\\n  {\\n    \\\"a\\\": []\\n  }\\n]\"")),
    ]),
];

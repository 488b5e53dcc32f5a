#!/bin/sh
# Runs the sample tests of one producer and writes its reports, each with the counts of the
# producer's own summary beside it:
#
#   make.sh PRODUCER OUT    OUT/NAME-VERSION.xml or .log, and the same name with .counts
#   make.sh list            the producers
#   make.sh tools DIR       installs the producers from PyPI and npm into DIR
#
# SAMPLE_TOOLS names such a DIR. Exit code 3: the producer is not installed.
# A `.counts` file has one line: passed, failed and skipped.
set -u

here=$(cd "$(dirname "$0")" && pwd)
tools=${SAMPLE_TOOLS:-/nonexistent}
PATH=$tools/venv/bin:$tools/npm/node_modules/.bin:$PATH
NODE_PATH=$tools/npm/node_modules
export PATH NODE_PATH
# Producers ask these for colours, for their width and for a CI's own format.
unset CI GITHUB_ACTIONS FORCE_COLOR NO_COLOR RUST_BACKTRACE RUST_LOG
# A test that runs this has settings of its own runner, which are not meant for the samples.
unset NODE_OPTIONS NODE_TEST_CONTEXT PYTEST_ADDOPTS PYTEST_CURRENT_TEST
for name in $(env | grep -oE '^(NEXTEST[A-Z_]*|CARGO_(PKG|MANIFEST|TARGET|BIN|PRIMARY)[A-Z_]*|CARGO)='); do
    unset "${name%=}"
done
export COLUMNS=100 LC_ALL=C.UTF-8 TZ=UTC

needs() {
    for tool; do
        command -v "$tool" >/dev/null 2>&1 || { echo "$tool is not installed" >&2; exit 3; }
    done
}

# A copy of the sample, so that nothing is left beside it.
work=
begin() {
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cp -R "$here/$1/." "$work" && cd "$work" || exit 1
}

# The number before or after a word, in a text from a summary.
before() { printf '%s\n' "$2" | grep -oE "[0-9]+ $1" | head -n 1 | grep -oE '^[0-9]+' || echo 0; }
after() { printf '%s\n' "$2" | grep -oE "$1:? *[0-9]+" | head -n 1 | grep -oE '[0-9]+$' || echo 0; }

# emit NAME VERSION ENDING FILE PASSED FAILED SKIPPED
emit() {
    [ -s "$4" ] || { echo "$1 wrote no report" >&2; exit 1; }
    sed -e "s|/private$work|/tmp/sample|g" -e "s|$work|/tmp/sample|g" \
        -e "s|$(basename "$work")|sample|g" -e "s|$tools|/opt/tools|g" \
        -e "s|hostname=\"[^\"]*\"|hostname=\"localhost\"|g" -e "s|$HOME|/home/user|g" \
        "$4" >"$out/$1-$2.$3"
    echo "$5 $6 $7" >"$out/$1-$2.$3.counts"
}

pytest_() {
    needs pytest
    begin pytest
    version=$(pytest --version | grep -oE '[0-9.]+$')
    pytest -v --junitxml=report.xml >verbose.log 2>&1
    rm -f was-here; pytest >plain.log 2>&1
    rm -f was-here; pytest -q --color=yes >quiet.log 2>&1
    for kind in verbose plain quiet report; do
        case $kind in report) log=verbose.log; file=report.xml; ending=xml ;; *) log=$kind.log; file=$log; ending=log ;; esac
        said=$(tail -n 1 "$log" | sed 's/\x1b\[[0-9;]*m//g')
        # An error in a fixture is a test that failed; pytest counts what was expected to fail apart.
        emit "pytest-$kind" "$version" "$ending" "$file" \
            $(($(before passed "$said") + $(before xpassed "$said"))) \
            $(($(before failed "$said") + $(before error "$said"))) \
            $(($(before skipped "$said") + $(before xfailed "$said")))
    done
}

# unittest_summary FILE: passed, failed, skipped.
unittest_summary() {
    all=$(grep -oE '^Ran [0-9]+' "$1" | grep -oE '[0-9]+')
    said=$(tail -n 3 "$1" | tr '=' ' ')
    failed=$(($(after failures "$said") + $(after errors "$said")))
    skipped=$(($(after skipped "$said") + $(after 'expected failures' "$said")))
    echo $((all - failed - skipped)) $failed $skipped
}

unittest_xml_reporting() {
    needs python3
    python3 -c 'import xmlrunner' 2>/dev/null || exit 3
    begin unittest
    python3 -m xmlrunner --output-file report.xml test_sample >log 2>&1
    version=$(python3 -c 'from importlib.metadata import version; print(version("unittest-xml-reporting"))')
    # It reports what was expected to fail as skipped.
    emit unittest-xml-reporting "$version" xml report.xml $(unittest_summary log)
}

nose2_() {
    needs nose2
    begin unittest
    nose2 --plugin nose2.plugins.junitxml --junit-xml >log 2>&1
    version=$(python3 -c 'from importlib.metadata import version; print(version("nose2"))')
    emit nose2 "$version" xml nose2-junit.xml $(unittest_summary log)
}

robot_() {
    needs robot
    begin robot
    robot --xunit report.xml --output NONE --log NONE --report NONE sample.robot >log 2>&1
    said=$(grep -E '^[0-9]+ tests, ' log | tail -n 1)
    emit robot "$(robot --version | grep -oE '[0-9.]+' | head -n 1)" xml report.xml \
        "$(before passed "$said")" "$(before failed "$said")" "$(before skipped "$said")"
}

behave_() {
    needs behave
    begin behave
    behave --junit --tags='not @skip' --show-skipped . >log 2>&1
    said=$(grep -oE '[0-9]+ scenarios? passed.*' log)
    emit behave "$(behave --version | grep -oE '[0-9.]+')" xml reports/TESTS-sample.xml \
        "$(before 'scenarios? passed' "$said")" \
        $(($(before failed "$said") + $(before error "$said"))) \
        "$(before skipped "$said")"
}

jest_() {
    needs jest
    begin jest
    version=$(jest --version)
    # jest-junit takes what is only to do for passed, and counts it nowhere.
    jest --rootDir="$work" --testPathIgnorePatterns todo --reporters=default --reporters=jest-junit >log 2>&1
    said=$(grep '^Tests:' log)
    emit jest-junit "$(node -p 'require("jest-junit/package.json").version')" xml junit.xml \
        "$(before passed "$said")" "$(before failed "$said")" "$(before skipped "$said")"
    jest --rootDir="$work" >plain.log 2>&1
    jest --rootDir="$work" --verbose --color >verbose.log 2>&1
    said=$(grep '^Tests:' plain.log)
    set -- "$(before passed "$said")" "$(before failed "$said")" \
        $(($(before skipped "$said") + $(before todo "$said")))
    emit jest-plain "$version" log plain.log "$@"
    emit jest-verbose "$version" log verbose.log "$@"
}

mocha_() {
    needs mocha
    begin mocha
    version=$(mocha --version)
    mocha sample.js >spec.log 2>&1
    mocha --reporter tap sample.js >tap.log 2>&1
    said=$(cat spec.log)
    set -- "$(before passing "$said")" "$(before failing "$said")" "$(before pending "$said")"
    emit mocha-spec "$version" log spec.log "$@"
    emit mocha-tap "$version" log tap.log "$@"
    # The reporter does not work with Mocha 12.
    NODE_PATH=$tools/npm-mocha10/node_modules
    [ -d "$NODE_PATH" ] || return 0
    "$NODE_PATH/.bin/mocha" --reporter mocha-junit-reporter \
        --reporter-options includePending=true sample.js >/dev/null 2>&1
    version=$(node -p 'require("mocha-junit-reporter/package.json").version')
    emit mocha-junit-reporter "$version" xml test-results.xml "$@"
}

vitest_() {
    needs vitest
    begin vitest
    ln -s "$tools/npm/node_modules" node_modules
    vitest run --reporter=default --reporter=junit --outputFile.junit=report.xml >log 2>&1
    said=$(sed 's/\x1b\[[0-9;]*m//g' log | grep -E '^ +Tests ')
    emit vitest "$(vitest --version | grep -oE '[0-9]+\.[0-9.]+' | head -n 1)" xml report.xml \
        "$(before passed "$said")" "$(before failed "$said")" "$(before skipped "$said")"
}

playwright_() {
    needs playwright
    begin playwright
    ln -s "$tools/npm/node_modules" node_modules
    version=$(playwright --version | grep -oE '[0-9.]+')
    PLAYWRIGHT_JUNIT_OUTPUT_FILE=report.xml PLAYWRIGHT_JUNIT_INCLUDE_RETRIES=1 \
        playwright test --reporter=line,junit >log 2>&1
    said=$(tail -n 12 log)
    emit playwright "$version" xml report.xml \
        $(($(before passed "$said") + $(before flaky "$said"))) \
        "$(before failed "$said")" "$(before skipped "$said")"
}

node_() {
    needs node
    begin node
    version=$(node --version | tr -d v)
    for reporter in spec tap junit; do
        node --test --test-reporter=$reporter --test-reporter-destination=$reporter.out \
            --test-reporter=tap --test-reporter-destination=summary sample.test.js >/dev/null 2>&1
        said=$(cat summary)
        # In its XML a test with subtests, of which there is one, is a suite.
        case $reporter in junit) ending=xml parents=1 ;; *) ending=log parents=0 ;; esac
        emit node-$reporter "$version" $ending $reporter.out \
            $(($(after '# pass' "$said") - parents)) "$(after '# fail' "$said")" \
            $(($(after '# skipped' "$said") + $(after '# todo' "$said")))
    done
}

cargo_() {
    needs cargo
    begin cargo
    export CARGO_TARGET_DIR=$work/target
    cargo test --no-fail-fast >log 2>&1
    passed=0 failed=0 skipped=0
    for number in $(grep '^test result:' log | grep -oE '[0-9]+ passed' | grep -oE '[0-9]+'); do passed=$((passed + number)); done
    for number in $(grep '^test result:' log | grep -oE '[0-9]+ failed' | grep -oE '[0-9]+'); do failed=$((failed + number)); done
    for number in $(grep '^test result:' log | grep -oE '[0-9]+ ignored' | grep -oE '[0-9]+'); do skipped=$((skipped + number)); done
    emit cargo-test "$(cargo --version | cut -d' ' -f2)" log log $passed $failed $skipped
}

nextest_() {
    needs cargo cargo-nextest
    begin cargo
    export CARGO_TARGET_DIR=$work/target
    version=$(cargo nextest --version | head -n 1 | cut -d' ' -f2)
    cargo nextest run --color always >log 2>&1
    said=$(sed 's/\x1b\[[0-9;]*m//g' log | grep -E '^ +Summary ')
    # A skipped test is in the log's summary, and not in the report. Tests that a signal ended failed.
    set -- "$(before passed "$said")" $(($(before failed "$said") + $(before 'timed out' "$said"))) "$(before skipped "$said")"
    emit nextest "$version" log log "$@"
    emit nextest "$version" xml target/nextest/default/junit.xml "$1" "$2" 0
}

gtest_() {
    needs g++
    begin gtest
    g++ sample.cc -o sample -lgtest -lgtest_main -pthread >/dev/null 2>&1 || exit 3
    ./sample --gtest_output=xml:report.xml >log 2>&1
    said=$(cat log)
    passed=$(grep -E '^\[  PASSED  \]' log | grep -oE '[0-9]+')
    failed=$(grep -oE '^ *[0-9]+ FAILED TESTS?' log | grep -oE '[0-9]+')
    skipped=$(grep -E '^\[  SKIPPED \] [0-9]+ test' log | grep -oE '[0-9]+')
    disabled=$(grep -oE 'YOU HAVE [0-9]+ DISABLED' log | grep -oE '[0-9]+')
    version=$(pkg-config --modversion gtest 2>/dev/null || echo unknown)
    emit googletest "$version" xml report.xml "$passed" "$failed" $((skipped + disabled))
}

catch2_() {
    needs g++
    begin catch2
    g++ sample.cc -o sample >/dev/null 2>&1 || exit 3
    ./sample >log 2>&1
    ./sample --reporter junit --out report.xml
    said=$(grep '^test cases:' log)
    emit catch2 "$(./sample --help | grep -oE '[0-9]+\.[0-9.]+' | head -n 1)" xml report.xml \
        "$(before passed "$said")" "$(before failed "$said")" 0
}

ctest_() {
    needs cmake ctest
    begin ctest
    cmake -B build . >/dev/null 2>&1 || exit 1
    (cd build && ctest --output-junit "$work/report.xml") >log 2>&1
    # `3 tests failed out of 4` counts neither what was skipped nor what is disabled.
    failed=$(grep -oE '[0-9]+ tests failed out of' log | grep -oE '[0-9]+')
    skipped=$(grep -cE '\*\*\*Skipped|\*\*\*Not Run' log)
    all=$(grep -cE '^ *[0-9]+/[0-9]+ Test' log)
    emit ctest "$(ctest --version | grep -oE '[0-9.]+' | head -n 1)" xml report.xml \
        $((all - failed - skipped)) "$failed" "$skipped"
}

bats_() {
    needs bats
    begin bats
    version=$(bats --version | grep -oE '[0-9.]+')
    bats --formatter junit sample.bats >report.xml 2>/dev/null
    bats --formatter tap13 sample.bats >tap.log 2>/dev/null
    bats --formatter pretty sample.bats >pretty.log 2>/dev/null
    said=$(sed 's/\x1b\[[0-9;]*[a-zA-Z]//g' pretty.log | grep -E '^[0-9]+ tests')
    failed=$(before failure "$said"); skipped=$(before skipped "$said")
    passed=$(($(before tests "$said") - failed - skipped))
    emit bats "$version" xml report.xml "$passed" "$failed" "$skipped"
    emit bats-tap "$version" log tap.log "$passed" "$failed" "$skipped"
}

surefire_() {
    needs mvn java
    begin maven
    # Debian has the plugins as packages; elsewhere they come from Maven's own repository.
    debian=/usr/share/maven-repo/org/apache/maven/plugins/maven-surefire-plugin
    if [ -d "$debian" ]; then
        mvn -B -s /etc/maven/settings-debian.xml \
            -Dsurefire.version="$(ls "$debian" | sort -V | tail -n 1)" test >log 2>&1
    else
        mvn -B test >log 2>&1
    fi
    grep -q 'T E S T S' log || { echo 'the plugins cannot be had' >&2; exit 3; }
    said=$(grep -E 'Tests run: .*Flakes' log | tail -n 1)
    failed=$(($(after Failures "$said") + $(after Errors "$said")))
    skipped=$(after Skipped "$said")
    # Its properties tell of the machine.
    sed '/<property /d' target/surefire-reports/TEST-SampleTest.xml >report.xml
    emit surefire "$(grep -oE 'surefire-plugin:[0-9.]+' log | head -n 1 | cut -d: -f2)" xml report.xml \
        $(($(after 'Tests run' "$said") - failed - skipped)) "$failed" "$skipped"
}

phpunit_() {
    needs phpunit
    begin phpunit
    phpunit --log-junit report.xml SampleTest.php >log 2>&1
    said=$(grep '^Tests: ' log)
    failed=$(($(after Failures "$said") + $(after Errors "$said")))
    skipped=$(after Skipped "$said")
    emit phpunit "$(phpunit --version | grep -oE '[0-9]+\.[0-9.]+')" xml report.xml \
        $(($(after Tests "$said") - failed - skipped)) "$failed" "$skipped"
}

rspec_() {
    needs rspec
    ruby -e 'require "rspec_junit_formatter"' 2>/dev/null || exit 3
    begin rspec
    rspec --format progress --format RspecJunitFormatter --out report.xml sample_spec.rb >log 2>&1
    said=$(grep -E '^[0-9]+ examples' log)
    failed=$(before failures "$said"); skipped=$(before pending "$said")
    emit rspec "$(rspec --version | grep core | grep -oE '[0-9.]+')" xml report.xml \
        $(($(before examples "$said") - failed - skipped)) "$failed" "$skipped"
}

go_() {
    needs go
    begin go
    version=$(go version | grep -oE 'go[0-9.]+' | head -n 1 | tr -d go)
    export GOFLAGS=-count=1 GOCACHE=$work/cache
    go test -json ./... >log 2>&1
    # Its text names each test, parents of subtests as well.
    go test -v ./... >text 2>&1
    # A package that does not build is one failure more.
    emit go "$version" log log "$(grep -c -- '--- PASS: ' text)" \
        "$(grep -cE -- '--- FAIL: |build failed' text)" "$(grep -c -- '--- SKIP: ' text)"
}

perl_() {
    needs perl
    begin tap
    perl sample.t >log 2>&1
    # Subtests count, and their parents do not.
    version=$(perl -MTest::More -e 'print $Test::More::VERSION')
    emit perl-tap "$version" log log "$(grep -cE '^ *ok .*(passes|one|three)$' log)" \
        "$(grep -cE '^ *not ok .*(loses>|two)$' log)" "$(grep -cE '# (skip|TODO)' log)"
}

all='pytest unittest_xml_reporting nose2 robot behave jest mocha vitest playwright node cargo nextest
gtest catch2 ctest bats surefire phpunit rspec go perl'

case ${1-} in
list) printf '%s\n' $all ;;
tools)
    mkdir -p "$2/npm" "$2/npm-mocha10" && cd "$2" || exit 1
    python3 -m venv venv
    venv/bin/pip install -q pytest pytest-rerunfailures unittest-xml-reporting nose2 robotframework behave
    npm --prefix npm install --no-audit --no-fund \
        jest jest-junit mocha vitest @playwright/test
    npm --prefix npm-mocha10 install --no-audit --no-fund mocha@10 mocha-junit-reporter
    ;;
*)
    case " $(echo $all) " in *" ${1-} "*) ;; *) sed -n '2,10p' "$0"; exit 2 ;; esac
    mkdir -p "$2" && out=$(cd "$2" && pwd)
    case $1 in unittest_xml_reporting) "$1" ;; *) "$1"_ ;; esac
    ;;
esac

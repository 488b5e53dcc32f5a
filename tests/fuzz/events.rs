//! Streams: whatever a command prints, and however it is cut, arrives byte for byte, in order, and is
//! never taken for an event. A parser that shares nothing with the writer reads it back.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use branchyard::http::{Events, Format, GroupOutput, Text};
use branchyard_journal::{AnsiFilter, CHUNK, Cursor, FrameKind, Sink, Stream};
use branchyard_model::{BranchName, Event, Member, Problem, RunId};
use serde_json::Value;

use crate::fuzzer::{LONG, SHORT, Target, time};
use crate::script::{self, Script, Step, frame};

mod plain;

const TARGET: Target = Target {
    name: "events",
    words: script::WORDS,
    make: script::make,
};

#[test]
fn fuzz_events() {
    TARGET.run(time(SHORT), check);
}

#[test]
#[ignore = "ten minutes: make soak"]
fn soak_fuzz_events() {
    TARGET.run(time(LONG), check);
}

/// What a viewer was told, in order: output with the stream that it came from, and events.
#[derive(Debug, Clone, PartialEq)]
enum Told {
    Output(String, Vec<u8>),
    Event(Value),
}

/// Something told, and the cursor after it.
type Item = (Told, Option<String>);

fn check(input: &[u8]) -> (usize, usize, usize, bool) {
    let mut script = Script(input);
    let cut = script.number();
    let steps = script.steps();
    let said = joined(steps.iter().filter_map(said).collect());
    let sse = parse_sse(&rendered(
        &mut Events::new(Format::Sse),
        &steps,
        Cursor::START,
    ));
    let ndjson = parse_ndjson(&rendered(
        &mut Events::new(Format::Ndjson),
        &steps,
        Cursor::START,
    ));
    assert_eq!(sse, ndjson);
    for format in [Format::Sse, Format::Ndjson] {
        let rendered = rendered(&mut Events::new(format), &steps, Cursor::START);
        let plain = plain::rendered(&steps, format);
        assert!(rendered == plain.as_bytes(), "{plain}");
    }
    assert_eq!(
        joined(sse.iter().map(|item| item.0.clone()).collect()),
        said
    );
    if !sse.is_empty() {
        resumes(&steps, &sse, cut % sse.len(), &said);
    }
    texts(&steps);
    groups(&steps, &said);
    let events = said
        .iter()
        .filter(|told| matches!(told, Told::Event(_)))
        .count();
    let pieces = sse.len().saturating_sub(said.len());
    (
        said.len().min(8),
        events.min(4),
        pieces.min(64),
        input.len() > 256,
    )
}

fn said(step: &Step) -> Option<Told> {
    match step {
        Step::Frame(FrameKind::Output(stream), bytes) => {
            Some(Told::Output(stream.as_str().to_owned(), bytes.clone()))
        }
        Step::Frame(FrameKind::Event, json) => {
            Some(Told::Event(serde_json::from_slice(json).unwrap()))
        }
        _ => None,
    }
}

/// Output that follows on output of the same stream is one.
fn joined(told: Vec<Told>) -> Vec<Told> {
    let mut joined: Vec<Told> = Vec::new();
    for told in told {
        match (joined.last_mut(), told) {
            (_, Told::Output(_, bytes)) if bytes.is_empty() => {}
            (Some(Told::Output(before, all)), Told::Output(stream, bytes)) if *before == stream => {
                all.extend(bytes);
            }
            (_, told) => joined.push(told),
        }
    }
    joined
}

/// What the sink makes of the steps for a viewer that goes on at `from`.
fn rendered(sink: &mut impl Sink, steps: &[Step], from: Cursor) -> Vec<u8> {
    let (mut bytes, mut start) = (Vec::new(), Cursor::START.frame);
    for step in steps {
        match step {
            Step::Frame(kind, payload) => {
                let (frame, end) = frame(start, *kind, payload);
                if start >= from.frame {
                    let within = usize::try_from(from.within).unwrap();
                    let mut at = if start == from.frame { within } else { 0 };
                    loop {
                        let through = sink.frame(&frame, at);
                        if through == payload.len() {
                            break;
                        }
                        // The rest of the frame comes again, once there is room for it.
                        let is_full = sink.buffered() >= CHUNK;
                        assert!(is_full || through > at, "{at} of {}", payload.len());
                        if is_full {
                            bytes.extend(sink.take());
                        }
                        at = through;
                    }
                }
                start = end;
            }
            Step::Flush if sink.has_pending() => sink.flush(),
            Step::KeepAlive => sink.keep_alive(),
            Step::Take => bytes.extend(sink.take()),
            Step::Flush => {}
        }
    }
    sink.finish();
    bytes.extend(sink.take());
    bytes
}

/// A viewer that saw the stream up to any event, and then goes on from there, saw all of it once.
fn resumes(steps: &[Step], all: &[Item], last: usize, said: &[Told]) {
    let cursor = Cursor::parse(all[last].1.as_ref().expect("an event has an id")).unwrap();
    let rest = parse_sse(&rendered(&mut Events::new(Format::Sse), steps, cursor));
    let both = all[..=last].iter().chain(&rest).map(|item| item.0.clone());
    assert_eq!(joined(both.collect()), said, "after {cursor}");
}

fn texts(steps: &[Step]) {
    let mut printed = Vec::new();
    for step in steps {
        if let Step::Frame(FrameKind::Output(_), bytes) = step {
            printed.extend_from_slice(bytes);
        }
    }
    assert_eq!(rendered(&mut Text::exact(), steps, Cursor::START), printed);
    let mut stripped = Vec::new();
    AnsiFilter::default().pass(&printed, &mut stripped);
    assert_eq!(
        rendered(&mut Text::exact().without_ansi(), steps, Cursor::START),
        stripped
    );
    ends(steps, printed);
}

/// What is said of the end stands on a line of its own, behind all that was printed.
fn ends(steps: &[Step], printed: Vec<u8>) {
    let end = Event::Error(Problem::bad("args", "fuzzed"));
    let end = Step::Frame(FrameKind::Event, serde_json::to_vec(&end).unwrap());
    let steps = [steps, &[end]].concat();
    let mut expected = printed;
    let note = match expected.last() {
        Some(last) if *last != b'\n' => {
            expected.push(b'\n');
            " [no newline at end of output]"
        }
        _ => "",
    };
    expected.extend(format!("branchyard: rejected: fuzzed{note}\n").bytes());
    let mut text = Text::with_end();
    assert_eq!(rendered(&mut text, &steps, Cursor::START), expected);
}

/// Among the runs of a group each event, and each line of text, says whose it is.
fn groups(steps: &[Step], said: &[Told]) {
    let member = Member {
        branch: BranchName::parse("feature/\"x").unwrap(),
        run_id: RunId::new(),
    };
    let output = |told: &Told| matches!(told, Told::Output(..));
    let said = joined(said.iter().filter(|told| output(told)).cloned().collect());
    let sse = rendered(
        &mut GroupOutput::of(&member, Format::Sse),
        steps,
        Cursor::START,
    );
    for (event, value, _) in sse_events(&sse) {
        assert_eq!(value["run_id"], member.run_id.to_string());
        assert_eq!(value["branch"], member.branch.as_str());
        assert!(event == Stream::Stdout.as_str() || event == Stream::Stderr.as_str());
    }
    assert_eq!(
        joined(parse_sse(&sse).into_iter().map(|item| item.0).collect()),
        said
    );
    let text = rendered(
        &mut GroupOutput::of(&member, Format::Text),
        steps,
        Cursor::START,
    );
    let mut lines: Vec<_> = text.split(|byte| *byte == b'\n').collect();
    assert_eq!(lines.pop(), Some(&b""[..]), "the last line is ended");
    let label = format!("{} | ", member.branch);
    assert!(lines.iter().all(|line| line.starts_with(label.as_bytes())));
}

/// Events as a browser reads them: their type, data and id, by the letter of the standard.
fn sse_events(bytes: &[u8]) -> Vec<(String, Value, Option<String>)> {
    let text = std::str::from_utf8(bytes).expect("a stream of events is text");
    let (mut events, mut last_id) = (Vec::new(), None);
    let (mut event, mut data) = (String::new(), Vec::new());
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    assert!(
        lines.is_empty() || lines.ends_with("\n\n"),
        "the last event is ended"
    );
    for line in lines.split_terminator('\n') {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" if line.is_empty() => {
                let (event, data) = (std::mem::take(&mut event), std::mem::take(&mut data));
                if !data.is_empty() {
                    let value = serde_json::from_str(&data.join("\n")).expect("JSON");
                    events.push((event, value, last_id.clone()));
                }
            }
            "" => {}
            "event" => event = value.to_owned(),
            "data" => data.push(value.to_owned()),
            "id" => last_id = Some(value.to_owned()),
            other => panic!("a field {other:?}"),
        }
    }
    events
}

fn parse_sse(bytes: &[u8]) -> Vec<Item> {
    let events = sse_events(bytes).into_iter();
    let items = events.map(|(event, value, id)| {
        assert_eq!(value["type"], event);
        (told(value), id)
    });
    items.collect()
}

fn parse_ndjson(bytes: &[u8]) -> Vec<Item> {
    let text = std::str::from_utf8(bytes).expect("NDJSON is text");
    let lines = text.split_terminator('\n').filter(|line| !line.is_empty());
    let items = lines.map(|line| {
        let mut value: Value = serde_json::from_str(line).expect("JSON");
        let id = value.as_object_mut().unwrap().remove("id").unwrap();
        (told(value), Some(id.as_str().unwrap().to_owned()))
    });
    items.collect()
}

fn told(value: Value) -> Told {
    let stream = value["type"].as_str().unwrap().to_owned();
    if stream != "stdout" && stream != "stderr" {
        return Told::Event(value);
    }
    let mut bytes = match (value.get("line"), value.get("b64")) {
        (Some(line), None) => line.as_str().unwrap().as_bytes().to_vec(),
        (None, Some(base64)) => STANDARD.decode(base64.as_str().unwrap()).unwrap(),
        both => panic!("{both:?}"),
    };
    bytes.extend(
        value
            .get("eol")
            .map_or("\n", |eol| eol.as_str().unwrap())
            .bytes(),
    );
    Told::Output(stream, bytes)
}

use super::*;
use serde_json::json;

fn now() -> Timestamp {
    "2026-01-01T00:01:00Z".parse().unwrap()
}

fn id(number: usize) -> RunId {
    RunId::parse(&format!("0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5{number:03}")).unwrap()
}

/// Runs in these states, the earliest first.
fn state(states: &[&str]) -> TopState {
    let mut state = TopState::default();
    for (number, run_state) in states.iter().enumerate() {
        let run = json!({"type": "run", "run": {"run_id": id(number), "state": run_state, "repo": "app",
            "branch": format!("branch-{number}"), "kind": "make", "argv": ["make", number.to_string()], "timeout_ms": 1,
            "sync": "auto", "stale": false, "on_disconnect": "cancel", "principal": "session",
            "created_at": "2026-01-01T00:00:00Z", "duration_ms": null, "exit_code": 2, "diagnostics": {"errors": 1,
            "warnings": 0, "first": {"file": "a.c", "line": number, "severity": "error", "message": "no"}}}});
        assert!(!state.take(&run));
    }
    state
}

fn text(view: &mut View, state: &TopState, size: (u16, u16)) -> String {
    let lines = view.lines(state, size, false, now());
    assert_eq!(lines.len(), usize::from(size.1), "{lines:#?}");
    for line in &lines {
        assert!(letters(line) <= usize::from(size.0), "{line}");
    }
    lines.join("\n")
}

fn press(view: &mut View, state: &TopState, keys: &[Key]) -> Option<TopAction> {
    let pressed = keys.iter().map(|key| view.press(*key, state, 12));
    pressed.last().flatten()
}

#[test]
fn runs_under_way_stand_before_those_that_ended() {
    let mut state = state(&["running", "succeeded", "queued", "failed"]);
    assert!(!state.take(&json!({"type": "queue", "running": 1, "waiting": 1})));
    assert!(state.take(&json!({"type": "reset"})));
    for width in [80, 100, 120] {
        let text = text(&mut View::new(true), &state, (width, 24));
        assert!(text.starts_with("1 running, 1 waiting"), "{text}");
        let places = ["branch-0 ", "branch-2 ", "branch-3 ", "branch-1 "];
        let places: Vec<_> = places.iter().map(|name| text.find(name).unwrap()).collect();
        assert!(places.is_sorted(), "{text}");
        assert!(text.contains("1m00s"), "{text}");
        assert!(text.contains("a.c:3: error: no"), "{text}");
        // Of one that succeeded it was not meant.
        assert!(!text.contains("a.c:1: error: no"), "{text}");
    }
}

#[test]
fn the_head_stays_and_the_selected_run_is_on_the_screen() {
    let state = state(&["running"; 40]);
    let mut view = View::new(true);
    let first = text(&mut view, &state, (80, 12));
    assert!(first.starts_with("0 running"), "{first}");
    assert!(
        first.lines().nth(2).unwrap().starts_with("  STATE "),
        "{first}"
    );
    assert!(
        first.lines().nth(3).unwrap().starts_with("> running "),
        "{first}"
    );
    assert!(first.ends_with("1-7 of 40"), "{first}");

    press(&mut view, &state, &[Key::Letter('j'); 7]);
    let moved = text(&mut view, &state, (80, 12));
    assert_eq!(moved.lines().next(), first.lines().next(), "{moved}");
    assert_eq!(moved.lines().nth(2), first.lines().nth(2), "{moved}");
    assert!(moved.lines().nth(9).unwrap().starts_with("> "), "{moved}");
    assert!(moved.ends_with("2-8 of 40"), "{moved}");

    press(&mut view, &state, &[Key::End]);
    assert!(text(&mut view, &state, (80, 12)).ends_with("34-40 of 40"));
    press(&mut view, &state, &[Key::PageUp, Key::Down]);
    let action = press(&mut view, &state, &[Key::Letter('o')]);
    assert_eq!(action, Some(TopAction::Open(id(33))));
    press(&mut view, &state, &[Key::Home, Key::Up]);
    let action = press(&mut view, &state, &[Key::Enter]);
    assert_eq!(action, Some(TopAction::Follow(id(0))));
}

#[test]
fn a_run_is_cancelled_only_after_asking() {
    let state = state(&["running", "failed"]);
    let mut view = View::new(true);
    assert_eq!(press(&mut view, &state, &[Key::Letter('c')]), None);
    let asked = text(&mut view, &state, (80, 12));
    assert!(asked.contains("cancel make 0 on app branch-0"), "{asked}");
    assert_eq!(press(&mut view, &state, &[Key::Letter('n')]), None);
    let keys = [Key::Letter('c'), Key::Letter('y')];
    let cancel = press(&mut view, &state, &keys);
    assert_eq!(cancel, Some(TopAction::Cancel(id(0))));
    let keys = [Key::Down, Key::Letter('c'), Key::Letter('y')];
    assert_eq!(press(&mut view, &state, &keys), None, "it has ended");
    assert_eq!(
        press(&mut view, &state, &[Key::Letter('q')]),
        Some(TopAction::Quit)
    );
}

#[test]
fn a_filter_leaves_the_runs_that_have_its_text() {
    let state = state(&["running", "failed", "running"]);
    let mut view = View::new(true);
    let typed = "/A.C:1x".chars().map(Key::Letter);
    let keys: Vec<_> = typed.chain([Key::Backspace, Key::Enter]).collect();
    press(&mut view, &state, &keys);
    let filtered = text(&mut view, &state, (100, 12));
    assert!(filtered.contains("filter: A.C:1"), "{filtered}");
    assert!(filtered.contains("branch-1"), "{filtered}");
    assert!(!filtered.contains("branch-0"), "{filtered}");
    press(&mut view, &state, &[Key::Escape]);
    let all = text(&mut view, &state, (100, 12));
    assert!(
        all.contains("branch-0") && !all.contains("filter:"),
        "{all}"
    );
    press(&mut view, &state, &[Key::Letter('?')]);
    let help = text(&mut view, &state, (80, 24));
    assert!(help.contains("cancel the selected run"), "{help}");
    assert_eq!(press(&mut view, &state, &[Key::Letter('q')]), None);
    assert!(text(&mut view, &state, (80, 24)).contains("branch-0"));
}

#[test]
fn without_keys_nothing_is_selected() {
    let state = state(&["running"]);
    let text = text(&mut View::new(false), &state, (80, 12));
    assert!(
        !text.contains("> ") && text.contains("Ctrl-C leaves"),
        "{text}"
    );
}

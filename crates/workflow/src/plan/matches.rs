//! Whether a workflow has anything to do with an event.

use crate::event::{EventKind, WorkflowEvent};
use crate::glob::takes;
use crate::read::{TextAt, TriggerModel};

pub(super) fn matches(triggers: &[TriggerModel], event: &WorkflowEvent) -> bool {
    let mut of_kind = triggers.iter().filter(|trigger| trigger.kind == event.kind);
    if event.is_asked {
        return of_kind.next().is_some();
    }
    of_kind.any(|trigger| match event.kind {
        EventKind::Push => is_push(trigger, event),
        EventKind::PullRequest => {
            let is_default =
                |activity: &str| matches!(activity, "opened" | "synchronize" | "reopened");
            has_type(trigger, event, is_default)
                && is_for_base(trigger, event)
                && changes(trigger, event)
        }
        EventKind::MergeGroup => {
            has_type(trigger, event, |activity| activity == "checks_requested")
                && is_for_base(trigger, event)
        }
        EventKind::Schedule => {
            let is_due = |cron: &String| trigger.crons.iter().any(|(other, _)| other == cron);
            event.cron.as_ref().is_none_or(is_due)
        }
        EventKind::WorkflowDispatch => true,
    })
}

fn is_push(trigger: &TriggerModel, event: &WorkflowEvent) -> bool {
    let of_branches = trigger.branches.is_some() || trigger.branches_ignore.is_some();
    let of_tags = trigger.tags.is_some() || trigger.tags_ignore.is_some();
    if let Some(tag) = event.git_ref.strip_prefix("refs/tags/") {
        // A filter of branches alone leaves out tags, and the other way round. Paths are not asked for tags.
        return (of_tags || !of_branches) && is_named(tag, &trigger.tags, &trigger.tags_ignore);
    }
    let branch = event
        .git_ref
        .strip_prefix("refs/heads/")
        .unwrap_or(&event.git_ref);
    (of_branches || !of_tags)
        && is_named(branch, &trigger.branches, &trigger.branches_ignore)
        && changes(trigger, event)
}

fn is_for_base(trigger: &TriggerModel, event: &WorkflowEvent) -> bool {
    let base = event.base_ref.as_deref().unwrap_or_default();
    is_named(base, &trigger.branches, &trigger.branches_ignore)
}

fn has_type(
    trigger: &TriggerModel,
    event: &WorkflowEvent,
    is_default: impl Fn(&str) -> bool,
) -> bool {
    let Some(activity) = event.activity.as_deref() else {
        return true;
    };
    match &trigger.types {
        Some(types) => types.iter().any(|other| other.text == activity),
        None => is_default(activity),
    }
}

fn is_named(name: &str, only: &Option<Vec<TextAt>>, ignored: &Option<Vec<TextAt>>) -> bool {
    only.as_ref().is_none_or(|only| takes(texts(only), name))
        && ignored
            .as_ref()
            .is_none_or(|ignored| !takes(texts(ignored), name))
}

fn changes(trigger: &TriggerModel, event: &WorkflowEvent) -> bool {
    let Some(changed) = &event.changed_paths else {
        return true;
    };
    let takes_any = |only: &Vec<TextAt>| changed.iter().any(|path| takes(texts(only), path));
    let takes_all = |ignored: &Vec<TextAt>| changed.iter().all(|path| takes(texts(ignored), path));
    trigger.paths.as_ref().is_none_or(takes_any)
        && !trigger.paths_ignore.as_ref().is_some_and(takes_all)
}

fn texts(patterns: &[TextAt]) -> impl Iterator<Item = &str> {
    patterns.iter().map(|pattern| pattern.text.as_str())
}

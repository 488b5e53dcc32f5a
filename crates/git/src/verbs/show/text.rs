//! An object in lines, much as `git show` prints it.

use super::{CommitDetails, Entries, FileAt, Shown, TagDetails};
use crate::verbs::person::Person;
use crate::verbs::verb::Render;

impl Render for Shown {
    fn text(&self) -> String {
        let mut text = self.tag.as_ref().map_or_else(String::new, TagDetails::text);
        if let Some(details) = &self.details {
            // A tag's own id is not that of what it stands for.
            let id = self.tag.as_ref().map_or(&self.id, |tag| &tag.target);
            text += &format!("commit {id}\n{}", details.text());
        }
        text.extend(self.directory.as_ref().map(Entries::text));
        text.extend(self.file.as_ref().map(FileAt::text));
        text
    }

    fn page(&mut self, room: usize) -> bool {
        if let Some(details) = &mut self.details
            && let Some(changed) = &mut details.changed
        {
            let beside = details.subject.len() + details.body.as_ref().map_or(0, String::len);
            changed.cut(room.saturating_sub(beside));
        }
        if let Some(directory) = &mut self.directory {
            directory.cut(room);
        }
        if let Some(file) = &mut self.file {
            file.cut(room);
        }
        true
    }
}

impl TagDetails {
    fn text(&self) -> String {
        let tagger = self.tagger.as_ref().map(|who| line("Tagger", who));
        let tagger = tagger.unwrap_or_default();
        format!("tag {}\n{tagger}\n{}\n", self.name, self.message.trim_end())
    }
}

impl CommitDetails {
    fn text(&self) -> String {
        let mut text = line("Author", &self.author);
        if self.parents.len() > 1 {
            text += &format!("Merge: {}\n", self.parents.join(" "));
        }
        text += &format!("\n    {}\n", self.subject);
        if let Some(body) = self.body.as_ref().filter(|body| !body.is_empty()) {
            text += &format!("\n{body}\n");
        }
        if let Some(changed) = &self.changed {
            text += &format!("\n{}", changed.text());
        }
        text
    }
}

fn line(role: &str, person: &Person) -> String {
    let Person { name, email, date } = person;
    format!("{role}: {name} <{email}> {date}\n")
}

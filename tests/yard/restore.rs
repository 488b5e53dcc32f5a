//! What a salvage brings back is what was there: no less, nowhere else, and for nobody else's eyes.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::{Value, json};

use crate::support::work::{commit_in, snapshot, write};
use crate::support::{Yard, git, json_of, problem_of};

const MAIN: &str = "/api/repos/demo/branches/main";

/// Pushes a `main` whose `make all` does this, and makes its workspace.
async fn yard_that_makes(recipe: &str) -> Yard {
    let yard = Yard::new().await;
    yard.origin.at("main");
    let makefile = format!("all:\n\t{recipe}\nwho:\n\t@echo me\n");
    yard.origin.write("Makefile", makefile);
    yard.origin.write(".gitignore", "ignored\n");
    yard.origin.commit("another way to build");
    yard.origin.push("main");
    yard.make("main", &["who"]).await;
    yard
}

/// Removes the workspace of main, by force, and tells where its salvage is.
async fn saved(yard: &Yard) -> String {
    let gone = json_of(yard.delete(&format!("{MAIN}?force=true")).await).await;
    let id = gone["salvage"]["id"].as_str().expect("something was saved");
    format!("/api/salvage/{id}")
}

async fn restore(yard: &Yard, salvage: &str) -> Value {
    yard.post_json(&format!("{salvage}/restore"), json!({}))
        .await
}

fn mode_of(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

fn close(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_a_build_made_is_output_until_somebody_works_in_it() {
    let recipe =
        "@git init -q ignored/lib && echo 1 > ignored/lib/file && git -C ignored/lib add file";
    let mut yard = yard_that_makes(recipe).await;
    yard.make("main", &["all"]).await;
    assert_eq!(yard.get_json(MAIN).await["pins"], json!([]));
    let lib = yard.workspace("main").join("ignored/lib");
    commit_in(&lib, "mine");
    let commit = git(&lib, &["rev-parse", "HEAD"]);
    let refused = problem_of(yard.delete(MAIN).await).await;
    assert_eq!(refused.1["code"], "workspace_has_work", "{refused:?}");
    let salvage = saved(&yard).await;
    restore(&yard, &salvage).await;
    assert_eq!(git(&lib, &["rev-parse", "HEAD"]), commit);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_link_leads_a_restore_out_of_the_workspace() {
    let outside = tempfile::tempdir().unwrap();
    let recipe = format!("@ln -s {} ignored", outside.path().display());
    let mut yard = yard_that_makes(&recipe).await;
    let workspace = yard.workspace("main");
    git(&workspace, &["init", "-q", "ignored/nested"]);
    write(&workspace, "ignored/nested/file", "mine\n");
    fs::create_dir_all(workspace.join("ignored/hollow/inner")).unwrap();
    let before = snapshot(&yard, "main");
    let salvage = saved(&yard).await;
    yard.make("main", &["all"]).await;
    assert!(workspace.join("ignored").is_symlink());
    restore(&yard, &salvage).await;
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    assert_eq!(snapshot(&yard, "main"), before);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_comes_back_as_it_was_where_a_build_made_another() {
    let recipe = "@git init -q ignored/lib && echo other > ignored/lib/other";
    let mut yard = yard_that_makes(recipe).await;
    let workspace = yard.workspace("main");
    git(&workspace, &["init", "-q", "ignored/lib"]);
    commit_in(&workspace.join("ignored/lib"), "mine");
    let before = snapshot(&yard, "main");
    let salvage = saved(&yard).await;
    yard.make("main", &["all"]).await;
    restore(&yard, &salvage).await;
    assert_eq!(snapshot(&yard, "main"), before);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_closed_to_others_stays_so_wherever_it_lies() {
    let mut yard = yard_that_makes("@true").await;
    let workspace = yard.workspace("main");
    write(&workspace, "keys/private/key", "secret\n");
    close(&workspace.join("keys"), 0o700);
    write(&workspace, "sealed/file", "mine\n");
    close(&workspace.join("sealed"), 0o500);
    git(&workspace, &["init", "-q", "nested"]);
    write(&workspace, "nested/key", "secret\n");
    close(&workspace.join("nested/key"), 0o600);
    let salvage = saved(&yard).await;
    // The objects of the files, and the archive.
    assert_eq!(mode_of(&yard.store()) & 0o077, 0);
    let home = yard.store().parent().unwrap().parent().unwrap().to_owned();
    let archives = fs::read_dir(home.join(".branchyard/salvage")).unwrap();
    for archive in archives {
        assert_eq!(mode_of(&archive.unwrap().path()), 0o600);
    }
    restore(&yard, &salvage).await;
    for (path, mode) in [("keys", 0o700), ("sealed", 0o500), ("nested/key", 0o600)] {
        assert_eq!(mode_of(&workspace.join(path)), mode, "{path}");
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_salvage_that_lost_its_archive_is_not_restored_as_if_it_were_whole() {
    let mut yard = yard_that_makes("@true").await;
    let workspace = yard.workspace("main");
    git(&workspace, &["init", "-q", "nested"]);
    write(&workspace, "nested/file", "mine\n");
    symlink("nowhere", workspace.join("link")).unwrap();
    let before = snapshot(&yard, "main");
    let salvage = saved(&yard).await;
    let id = salvage.rsplit('/').next().unwrap();
    let home = yard.store().parent().unwrap().parent().unwrap().to_owned();
    let archive = home.join(format!(".branchyard/salvage/{id}.tar"));
    let elsewhere = home.join(".branchyard/elsewhere");
    fs::rename(&archive, &elsewhere).unwrap();
    let answer = yard.post(&format!("{salvage}/restore"), json!({})).await;
    let refused = problem_of(answer).await;
    assert_eq!(refused.1["code"], "salvage_incomplete", "{refused:?}");
    fs::rename(&elsewhere, &archive).unwrap();
    restore(&yard, &salvage).await;
    assert_eq!(snapshot(&yard, "main"), before);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_stays_while_its_salvage_cannot_be_read() {
    let mut yard = yard_that_makes("@true").await;
    let workspace = yard.workspace("main");
    git(&workspace, &["init", "-q", "nested"]);
    write(&workspace, "nested/file", "mine\n");
    let before = snapshot(&yard, "main");
    let salvage = saved(&yard).await;
    let id = salvage.rsplit('/').next().unwrap().to_owned();
    yard.stop().await;
    // As a daemon leaves it that is killed once the salvage has its name; and its commit is damaged.
    let home = yard.store().parent().unwrap().parent().unwrap().to_owned();
    let settled = home.join(format!(".branchyard/salvage/{id}.tar"));
    let fresh = home.join(format!(".branchyard/salvage/{id}.tar.new"));
    fs::rename(&settled, &fresh).unwrap();
    let name = format!("refs/branchyard/salvage/{id}");
    let commit = git(&yard.store(), &["rev-parse", &name]);
    let object = yard
        .store()
        .join("objects")
        .join(&commit[..2])
        .join(&commit[2..]);
    let away = home.join(".branchyard/away");
    fs::rename(&object, &away).unwrap();
    yard.start().await;
    for answer in [
        yard.get(&salvage).await,
        yard.post(&format!("{salvage}/restore"), json!({})).await,
    ] {
        let refused = problem_of(answer).await;
        assert_eq!(refused.1["code"], "salvage_damaged", "{refused:?}");
    }
    yard.stop().await;
    assert!(settled.exists() || fresh.exists(), "the archive is gone");
    fs::rename(&away, &object).unwrap();
    yard.start().await;
    restore(&yard, &salvage).await;
    assert_eq!(snapshot(&yard, "main"), before);
    yard.stop().await;
}

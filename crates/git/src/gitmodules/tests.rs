use git2::Signature;

use super::*;

const BASE: &str = "https://h/team/a.git";

/// A store with one commit: this file, and submodules at `sub` and `deep/er`.
fn store(file: &str, mode: i32) -> (tempfile::TempDir, CommitId) {
    let dir = tempfile::tempdir().unwrap();
    let repo = Repository::init_bare(dir.path()).unwrap();
    let repo = repo.git2();
    let gitlink = Oid::from_str(&"1".repeat(40)).unwrap();
    let mut deep = repo.treebuilder(None).unwrap();
    deep.insert("er", gitlink, 0o160_000).unwrap();
    let mut root = repo.treebuilder(None).unwrap();
    root.insert("sub", gitlink, 0o160_000).unwrap();
    root.insert("deep", deep.write().unwrap(), 0o040_000)
        .unwrap();
    let blob = repo.blob(file.as_bytes()).unwrap();
    root.insert("file", blob, 0o100_644).unwrap();
    root.insert(FILE, blob, mode).unwrap();
    let tree = repo.find_tree(root.write().unwrap()).unwrap();
    let who = Signature::now("Test", "test@localhost").unwrap();
    let commit = repo.commit(None, &who, &who, "one", &tree, &[]).unwrap();
    (dir, CommitId::parse(&commit.to_string()).unwrap())
}

async fn declared(file: &str) -> Vec<(String, Result<String, String>)> {
    let (dir, commit) = store(file, 0o100_644);
    let git = Git::for_tests(&dir);
    let found = declared_submodules(&git, dir.path(), &commit, BASE).await;
    let found = found.unwrap().into_iter();
    found
        .map(|it| (it.path.to_str().unwrap().to_owned(), it.url))
        .collect()
}

fn section(name: &str, path: &str, url: &str, more: &str) -> String {
    format!("[submodule \"{name}\"]\n\tpath = {path}\n\turl = {url}\n{more}\n")
}

#[tokio::test]
async fn what_the_tree_has_is_found_with_its_url() {
    let file = section("one", "sub", "../b.git", "branch = x")
        + &section("Two.x", "deep/er", "https://o/c", "update = rebase")
        + &section("three", "gone", "../d", "")
        + &section("four", "file", "../e", "");
    assert_eq!(
        declared(&file).await,
        [
            ("deep/er".to_owned(), Ok("https://o/c".to_owned())),
            ("sub".to_owned(), Ok("https://h/team/b.git".to_owned())),
        ]
    );
    assert_eq!(declared("").await, []);
}

#[tokio::test]
async fn what_git_was_once_tricked_by_is_refused() {
    for (name, url, more) in [
        ("../x", "../b", ""),
        ("a/../../hooks", "../b", ""),
        ("a\\\\..\\\\b", "../b", ""),
        ("-x", "../b", ""),
        ("one", "--upload-pack=touch", ""),
        ("one", "-x", ""),
        ("one", "\"https://h/\\n[x]\"", ""),
        ("one", "../../../b", ""),
        ("one", "\"\"", ""),
        ("one", "../b", "update = !touch canary"),
        ("one", "../b", "update = none"),
    ] {
        let file = section(name, "sub", url, more);
        let found = declared(&file).await;
        let [(path, refused)] = &found[..] else {
            panic!("{file}: {found:?}");
        };
        assert_eq!(path, "sub");
        assert!(refused.is_err(), "{file}: {refused:?}");
    }
    // These paths are none of a submodule.
    for path in [
        "../sub",
        "/sub",
        "sub/../sub",
        "-sub",
        ".git/sub",
        "\"su\\nb\"",
    ] {
        assert_eq!(
            declared(&section("one", path, "../b", "")).await,
            [],
            "{path}"
        );
    }
    let twice = section("one", "sub", "../b", "") + &section("two", "sub", "../c", "");
    assert!(declared(&twice).await[0].1.is_err());
}

#[tokio::test]
async fn the_file_includes_no_other_and_is_no_link() {
    let other = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(other.path(), section("one", "sub", "../b", "")).unwrap();
    let include = format!("[include]\n\tpath = {}\n", other.path().display());
    assert_eq!(declared(&include).await, []);
    let (dir, commit) = store("elsewhere", 0o120_000);
    let git = Git::for_tests(&dir);
    let refused = declared_submodules(&git, dir.path(), &commit, BASE).await;
    assert!(refused.unwrap_err().to_string().contains(".gitmodules"));
}

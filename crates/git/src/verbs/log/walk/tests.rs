use std::time::Duration;

use super::*;

/// A line of commits, the last one first.
fn line(repo: &Repository, count: i64) -> Vec<Oid> {
    let tree = repo.git2().treebuilder(None).unwrap().write().unwrap();
    let tree = repo.git2().find_tree(tree).unwrap();
    let mut ids: Vec<Oid> = Vec::new();
    for n in 0..count {
        let who = git2::Signature::new("A", "a@b", &git2::Time::new(n, 0)).unwrap();
        let parent = ids.first().map(|id| repo.git2().find_commit(*id).unwrap());
        let parents: Vec<_> = parent.iter().collect();
        let id = repo.git2().commit(None, &who, &who, "x", &tree, &parents);
        ids.insert(0, id.unwrap());
    }
    ids
}

#[test]
fn who_gives_up_says_where() {
    let dir = tempfile::tempdir().unwrap();
    let repo = Repository::init_bare(dir.path()).unwrap();
    let ids = line(&repo, 9);
    let steps = |hidden: &[Oid], budget| {
        let ends = Ends {
            shown: vec![ids[0]],
            hidden: hidden.to_vec(),
            is_symmetric: false,
        };
        let mut walk = Walk::new(&repo, &ends, false, budget).unwrap();
        [(); 3].map(|()| walk.step().unwrap())
    };
    let few = Budget::new(2, Duration::from_secs(3600));
    let [one, two, end] = steps(&[], few);
    assert_eq!(
        [one, two],
        [LogStep::Commit(ids[0]), LogStep::Commit(ids[1])]
    );
    assert_eq!(end, LogStep::GaveUp(ids[2]));
    assert_eq!(steps(&[ids[8]], few)[2], LogStep::GaveUp(ids[2]));
    assert_eq!(steps(&[ids[2]], Budget::of_a_look())[2], LogStep::End);
    let late = Budget::new(65, Duration::ZERO);
    assert_eq!(steps(&[], late)[0], LogStep::GaveUp(ids[0]));
}

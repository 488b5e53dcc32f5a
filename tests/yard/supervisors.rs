//! Supervisors that are kept from their work: stopped by a signal, on a disk that is read-only for a while, under a limit
//! on the size of files. The run has its own end all the same.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Options, Yard, events_of, kill, processes_in, until};

/// With a command that waits for `open` beside the workspaces, and ends with a code of its own.
fn options() -> Options {
    Options {
        timeouts: "grace = \"500ms\"\ndrain = \"500ms\"\n".to_owned(),
        ..Options::default()
    }
}

fn write_makefile(yard: &Yard) {
    let dir = yard.dir.path().display();
    let makefile = format!(
        "who:\n\t@cat name.txt\n\
         gate:\n\t@echo waiting; while [ ! -e {dir}/open ]; do sleep 0.02; done; echo passed; exit 3\n\
         chatter:\n\t@yes $$(printf '%01000d' 7) | head -c 5000000; exit 3\n"
    );
    yard.origin.write("Makefile", makefile);
    yard.origin.commit("gate");
    yard.origin.push("main");
}

async fn yard() -> Yard {
    let mut yard = Yard::asleep(options());
    write_makefile(&yard);
    yard.start().await;
    yard
}

async fn waiting(yard: &Yard, timeout: &str) -> (String, i32) {
    let asked = json!({"args": ["gate"], "timeout": timeout});
    let run = yard.start_detached("main", asked).await;
    yard.follow(&run).await.until_line("waiting").await;
    let supervisor = yard.supervisor_of(&run);
    (run, supervisor)
}

async fn cancel(yard: &Yard, run: &str) -> Value {
    yard.post_json(&format!("/api/runs/{run}/cancel"), json!({}))
        .await;
    yard.ended(run).await
}

fn state_of(pid: i32) -> char {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    fields.trim_start().chars().next().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_stopped_still_heeds_a_cancel() {
    let mut yard = yard().await;
    let (run, supervisor) = waiting(&yard, "10m").await;
    kill(supervisor, Signal::STOP);
    until("it is stopped", || state_of(supervisor) == 'T').await;
    let record = cancel(&yard, &run).await;
    assert_eq!(record["state"], "cancelled", "{record}");
    assert_eq!(record["reason"], "cancelled by session", "{record}");
    assert_eq!(processes_in(&yard.workspace("main")), [""; 0]);
    yard.stop().await;
}

/// The daemon wakes it, and something stops it again: the daemon ends it, and the run counts as cancelled.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_stopped_again_and_again_is_ended_with_its_command() {
    let mut yard = yard().await;
    let (run, supervisor) = waiting(&yard, "10m").await;
    let stopping = tokio::spawn(async move {
        while std::path::Path::new(&format!("/proc/{supervisor}")).exists() {
            kill(supervisor, Signal::STOP);
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
    });
    let record = cancel(&yard, &run).await;
    stopping.await.unwrap();
    assert_eq!(record["state"], "cancelled", "{record}");
    assert_eq!(processes_in(&yard.workspace("main")), [""; 0]);
    yard.make("main", &["who"]).await;
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_stopped_does_not_outlive_its_time() {
    let mut yard = yard().await;
    let (run, supervisor) = waiting(&yard, "2s").await;
    kill(supervisor, Signal::STOP);
    let record = yard.ended(&run).await;
    assert_eq!(record["state"], "timed_out", "{record}");
    assert_eq!(processes_in(&yard.workspace("main")), [""; 0]);
    yard.stop().await;
}

/// The command ends while nothing can be written: the end is told once it can.
#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_cannot_be_written_is_not_lost() {
    let mut yard = Yard::asleep(options());
    write_makefile(&yard);
    // To root no directory is closed.
    let mut daemon = yard.start_ordinary().await;
    let (run, supervisor) = waiting(&yard, "10m").await;
    let home = yard.run_dir(&run);
    let close = |mode| std::fs::set_permissions(&home, PermissionsExt::from_mode(mode)).unwrap();
    close(0o500);
    std::fs::write(yard.dir.path().join("open"), "").unwrap();
    let workspace = yard.workspace("main");
    until("the command has ended", || {
        processes_in(&workspace).is_empty()
    })
    .await;
    // Written beside, it cannot be given its name.
    until("the supervisor has tried to write the end", || {
        let fresh = std::fs::read_to_string(home.join("exit.json.new"));
        fresh.is_ok_and(|text| text.starts_with('{'))
    })
    .await;
    let record = yard.get_json(&format!("/api/runs/{run}")).await;
    assert_eq!(record["state"], "running", "{record}");
    daemon.kill().await;
    assert_eq!(state_of(supervisor), 'S');
    close(0o700);
    let mut daemon = yard.start_ordinary().await;
    let record = yard.ended(&run).await;
    assert_eq!(
        (&record["state"], &record["exit_code"]),
        (&json!("failed"), &json!(2)),
        "{record}"
    );
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_on_the_size_of_files_costs_output_and_not_the_run() {
    let mut yard = Yard::asleep(options());
    write_makefile(&yard);
    let program = yard.dir.path().join("limited");
    // In blocks of 512 bytes.
    let script = format!(
        "#!/bin/sh\nulimit -f 2000\nexec {} \"$@\"\n",
        crate::support::PROGRAM
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut daemon = yard.start_program(program.to_str().unwrap(), &[]).await;
    let run = yard
        .start_detached("main", json!({"args": ["chatter"]}))
        .await;
    let record = yard.ended(&run).await;
    assert_eq!(
        (&record["state"], &record["exit_code"]),
        (&json!("failed"), &json!(2)),
        "{record}"
    );
    let events = events_of(yard.get(&format!("/stream/runs/{run}")).await).await;
    assert_eq!(events.last().unwrap().data["exit_code"], 2);
    let kept: usize = events.iter().map(|event| event.bytes().len()).sum();
    let gaps = events.iter().filter(|event| event.kind == "gap");
    let missing: u64 = gaps.map(|gap| gap.data["bytes"].as_u64().unwrap()).sum();
    assert!(kept > 400_000, "{kept}");
    let all = 5_000_000 + "make: *** [Makefile:6: chatter] Error 3\n".len() as u64;
    assert_eq!(kept as u64 + missing, all);
    yard.make("main", &["who"]).await;
    assert!(daemon.is_alive());
    daemon.stop().await;
}

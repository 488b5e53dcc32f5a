//! Git as the configuration wants it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::THIS_PROGRAM;
use branchyard_config::Config;
use branchyard_git::{BEARER, Git, Settings, Signing, lacks_bearer, lfs, ssh_command};
use branchyard_process::{Confinement, find_program, own_program};
use branchyard_runtime::disk::Trash;

/// Git by the settings of `config`, confined where this machine allows it.
pub(super) async fn open(config: &Config, program: &Path, trash: Trash) -> anyhow::Result<Git> {
    let confinement = match config.wants_sandbox() {
        true => Confinement::probe(&config.path, &["git", "--version"]).await,
        false => Err("no build is to have a sandbox".to_owned()),
    };
    if let Err(why) = &confinement {
        tracing::warn!(
            why,
            "git looks at worktrees without a sandbox of its own: what a build left there it may run"
        );
    }
    let git = Git::new(settings(config, program), confinement, trash);
    check(&git, config).await?;
    Ok(git)
}

/// Refuses to start where every use of a credential would fail.
async fn check(git: &Git, config: &Config) -> anyhow::Result<()> {
    let Some(setting) = config.access.bearer() else {
        return Ok(());
    };
    if let Some(found) = lacks_bearer(git).await? {
        anyhow::bail!(
            "{setting} says scheme = \"bearer\", which needs git {BEARER} or later, and this is {found:?}: \
             install that, or use scheme = \"basic\" where the remote takes it"
        );
    }
    Ok(())
}

fn machine_memory() -> u64 {
    let system = rustix::system::sysinfo();
    u64::from(system.mem_unit) * system.totalram
}

fn settings(config: &Config, program: &Path) -> Settings {
    let text = |value: &OsStr| value.to_string_lossy().into_owned();
    let path_text = |path: &PathBuf| text(path.as_os_str());
    let (git, ssh, http) = (&config.git, config.access.ssh(), config.access.http());
    let no_proxy: Vec<_> = http.no_proxy.iter().map(|host| host.as_str()).collect();
    let agent = config.ssh_auth_sock.as_deref().filter(|_| ssh.agent);
    let key = git.signing_key.as_ref();
    let allowed_signers = git.allowed_signers.as_ref();
    Settings {
        path: text(&config.path),
        home: config.home.as_ref().map_or("/".to_owned(), path_text),
        ssh_auth_sock: agent.map(text),
        ssh_command: ssh_command(ssh),
        proxy: http.proxy.as_ref().map(ToString::to_string),
        no_proxy: (!no_proxy.is_empty()).then(|| no_proxy.join(",")),
        ca_file: http.ca_file.as_ref().map(path_text),
        program: match program == Path::new(THIS_PROGRAM) {
            // For git that would be git.
            true => own_program(),
            false => program.to_owned(),
        },
        user_name: git.user_name.as_str().to_owned(),
        user_email: git.user_email.as_str().to_owned(),
        protocols: git.allowed_protocols_env(),
        lfs: find_program(lfs::PROGRAM, &config.path).is_some(),
        freshness: git.freshness,
        remote_timeout: config.timeouts.remote,
        stall_timeout: config.timeouts.fetch_stall,
        fetch_timeout: config.timeouts.fetch,
        checkout_workers: config.limits.max_concurrent_checkouts,
        memory: machine_memory(),
        signing: Signing {
            key: key.map(|key| key.as_str().to_owned()),
            format: git.signing_format,
            allowed_signers: allowed_signers.map(|file| file.as_str().into()),
        },
    }
}

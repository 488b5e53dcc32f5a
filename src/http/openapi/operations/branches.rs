//! Branches, the files of their workspaces, and what was saved of them.

use super::{BRANCHES, FILES, IF_RANGE, RANGE, SALVAGE, text};
use crate::app::{
    EnvironmentReport, GitOutput, QuickRequest, RestoreRequest, SalvageDetail, SalvageFilter,
    SalvageItem,
};
use crate::http::branches::{
    ListParams, PrepareBody, Ready, RemoveParams, Removed, Shown, Workspaces,
};
use crate::http::files::{LsBody, Said};
use crate::http::listed::Listed;
use crate::http::openapi::operation::{Header, Operation, delete, get, post, put};
use crate::http::reap::PinBody;
use crate::http::salvage::FileParams;
use branchyard_workspace::{Description, FileText, GrepRequest, Listing, Matches, ReadRequest};

const BRANCH: &str = "/api/repos/{repo}/branches/{branch}";
const PIN: &str = "/api/repos/{repo}/branches/{branch}/pin";
const RAW: &[&str] = &[
    "application/octet-stream",
    "text/plain",
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
];
const IF_NONE_MATCH: Header = ("If-None-Match", "The `ETag` of what the caller has.", text);
const ONE: &str = "/api/salvage/{salvage}";

pub(super) fn operations() -> Vec<Operation> {
    [branches(), files(), salvage()]
        .into_iter()
        .flatten()
        .collect()
}

fn branches() -> Vec<Operation> {
    vec![
        get(BRANCHES, "/api/repos/{repo}/branches", "listBranches", "List workspaces")
            .says("By name. `remote` adds the branches that only the remote has. `unavailable` names workspaces that do not answer or are damaged.")
            .asks::<ListParams>()
            .gives::<Workspaces>(200, "A page of them."),
        get(BRANCHES, BRANCH, "showBranch", "Describe a workspace")
            .says("It never makes one.")
            .gives::<Shown>(200, "The workspace, and how it was last built."),
        put(BRANCHES, BRANCH, "prepareBranch", "Make a workspace ready")
            .says("Makes it if there is none, and the branch too where `from` says so; brings it up to date.")
            .takes::<PrepareBody>()
            .gives::<Ready>(200, "The workspace."),
        delete(BRANCHES, BRANCH, "removeBranch", "Remove a workspace")
            .says("Refused where there is work in it, unless `force` has that saved. The remote branch is not touched.")
            .asks::<RemoveParams>()
            .gives::<Removed>(200, "It is gone, and something of it was saved.")
            .only(204, "It is gone, and there was nothing to save."),
        put(BRANCHES, PIN, "pinBranch", "Keep a workspace from being reaped or removed")
            .takes::<PinBody>()
            .gives::<Description>(200, "The workspace."),
        delete(BRANCHES, PIN, "unpinBranch", "Let a workspace go again")
            .only(204, "It is not pinned, whether it was or not."),
    ]
}

fn files() -> Vec<Operation> {
    let at = |what| format!("{BRANCH}/{what}");
    vec![
        get(
            FILES,
            at("env"),
            "showEnvironment",
            "Machine, tools and environment of a build",
        )
        .gives::<Said<EnvironmentReport>>(200, "What a build there finds."),
        post(FILES, at("ls"), "listFiles", "List files")
            .takes::<LsBody>()
            .gives::<Said<Listing>>(200, "The entries of the directory, or the one file."),
        post(FILES, at("read_file"), "readFile", "Read lines of a file")
            .takes::<ReadRequest>()
            .gives::<Said<FileText>>(200, "The lines."),
        get(
            FILES,
            at("raw/{*path}"),
            "readRawFile",
            "A whole file, byte for byte",
        )
        .says(
            "Of any size, as a download. It is told by its content whether it is text or an image.",
        )
        .headers(&[RANGE, IF_RANGE, IF_NONE_MATCH])
        .writes(200, "Its bytes.", RAW)
        .writes(206, "The bytes of the range.", RAW)
        .only(304, "It is what `If-None-Match` names."),
        post(FILES, at("grep"), "searchFiles", "Search files")
            .takes::<GrepRequest>()
            .gives::<Said<Matches>>(200, "The lines that match."),
        post(FILES, at("git/quick"), "gitQuick", "A short git answer")
            .says("One of `status`, `log`, `branch`, `diff` and `show`, within 30 seconds.")
            .takes::<QuickRequest>()
            .gives::<Said<GitOutput>>(200, "What git printed."),
    ]
}

fn salvage() -> Vec<Operation> {
    vec![
        get(SALVAGE, "/api/salvage", "listSalvage", "List work that was saved")
            .asks::<SalvageFilter>()
            .gives::<Listed<SalvageItem>>(200, "The newest first."),
        get(SALVAGE, ONE, "showSalvage", "Show a salvage with its files")
            .gives::<SalvageDetail>(200, "The salvage."),
        delete(SALVAGE, ONE, "dropSalvage", "Let go of a salvage for good")
            .only(204, "It is gone."),
        get(SALVAGE, format!("{ONE}/file"), "readSalvagedFile", "One file of a salvage")
            .asks::<FileParams>()
            .writes(200, "Its bytes.", &["application/octet-stream"]),
        post(SALVAGE, format!("{ONE}/restore"), "restoreSalvage", "Bring saved work back")
            .says("Files, modes, index, HEAD, an operation under way, dropped stashes. The salvage is kept.")
            .takes::<RestoreRequest>()
            .gives::<Ready>(200, "The workspace."),
    ]
}

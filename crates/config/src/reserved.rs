//! Variables that decide which program is run, what is loaded into it, where it finds its configuration,
//! or how a shell or `make` reads its input. Nobody sets them by the way: no caller, and no secret.

/// Whole families, by how the name starts.
const PREFIXES: &[&str] = &[
    OWN_PREFIX,
    "BASH_FUNC",
    "DYLD_",
    "GIT_",
    "LD_",
    "LUA_INIT",
    "MALLOC_",
    "SSH_",
    "XDG_",
];

/// What a run knows about itself; never anybody's to say, whatever the operator allows.
const OWN_PREFIX: &str = "BRANCHYARD_";

const NAMES: &[&str] = &[
    // Who and where the run is: the yard says that.
    "HOME",
    "LOGNAME",
    "PATH",
    "TMPDIR",
    "USER",
    // How a shell starts, splits words and reports.
    "BASHOPTS",
    "BASH_ENV",
    "BASH_LOADABLES_PATH",
    "BASH_XTRACEFD",
    "CDPATH",
    "ENV",
    "FPATH",
    "IFS",
    "POSIXLY_CORRECT",
    "PROMPT_COMMAND",
    "PS4",
    "SHELL",
    "SHELLOPTS",
    "ZDOTDIR",
    // How make runs; MAKE_COMMAND in the environment is what $(MAKE) becomes.
    "GNUMAKEFLAGS",
    "MAKE",
    "MAKEFILES",
    "MAKEFLAGS",
    "MAKELEVEL",
    "MAKEOVERRIDES",
    "MAKESHELL",
    "MAKE_COMMAND",
    "MAKE_RESTARTS",
    "MFLAGS",
    // Code and options that an interpreter or compiler loads unasked.
    "CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER",
    "CARGO_BUILD_RUSTC_WRAPPER",
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PERL5DB",
    "PERL5LIB",
    "PERL5OPT",
    "PERLLIB",
    "PYTHONBREAKPOINT",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "RUBYLIB",
    "RUBYOPT",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "_JAVA_OPTIONS",
    // Programs that others start.
    "EDITOR",
    "LESSCLOSE",
    "LESSOPEN",
    "PAGER",
    "VISUAL",
    // Files and settings that the C library reads; it ignores them itself in set-uid programs.
    "GCONV_PATH",
    "GETCONF_DIR",
    "GLIBC_TUNABLES",
    "HOSTALIASES",
    "LOCALDOMAIN",
    "LOCPATH",
    "NIS_PATH",
    "NLSPATH",
    "RESOLV_HOST_CONF",
    "RES_OPTIONS",
    "TZDIR",
];

/// Whether a variable of this name changes what runs rather than what it is told.
pub fn is_reserved_variable(name: &str) -> bool {
    NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether not even the operator can let this name through.
pub fn is_own_variable(name: &str) -> bool {
    name.starts_with(OWN_PREFIX)
}

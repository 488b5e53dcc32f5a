//! Seccomp: calls into the kernel that no build needs and that attacks on it begin with.

use std::collections::BTreeMap;
use std::io;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter, sock_filter,
};

/// Refused whatever they are called with.
const REFUSED: [libc::c_long; 35] = [
    // Into other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    // Other views of the file system.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_quotactl,
    // Keys are not kept apart by any namespace.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Programs in the kernel, and doors that attacks on it come through.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
];

/// Memory, semaphores and messages that processes of the machine share by number or name.
const IPC: [libc::c_long; 5] = [
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_semget,
    libc::SYS_msgget,
    libc::SYS_mq_open,
];

/// What builds talk by. Others, such as the one to the machine that hosts this one (vsock), heed no network namespace.
const FAMILIES: [libc::c_int; 4] = [
    libc::AF_UNIX,
    libc::AF_INET,
    libc::AF_INET6,
    libc::AF_NETLINK,
];

/// A new namespace comes with rights that its maker lacks outside.
const NAMESPACES: [libc::c_int; 8] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    // CLONE_NEWTIME, which not every libc names.
    0x80,
];

/// Type on somebody's terminal.
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541c;

/// From now on this process and its children get `EPERM` for what they may not call.
pub(super) fn restrict() -> io::Result<()> {
    for filter in [refusing(&[])?, without_clone3()?] {
        apply_filter(&filter).map_err(io::Error::other)?;
    }
    Ok(())
}

/// The same for a command without an IPC namespace of its own.
pub(super) fn confining() -> io::Result<[BpfProgram; 2]> {
    Ok([refusing(&IPC)?, without_clone3()?])
}

fn refusing(more: &[libc::c_long]) -> io::Result<BpfProgram> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = REFUSED
        .iter()
        .chain(more)
        .map(|call| (*call, Vec::new()))
        .collect();
    let flags = NAMESPACES.map(|flag| u64::from(flag.cast_unsigned()));
    let has = |flag| when(0, Length::Qword, SeccompCmpOp::MaskedEq(flag), flag);
    // In `clone` the low byte is a signal.
    let of_clone = flags.into_iter().filter(|flag| *flag > 0xff).map(has);
    let of_unshare = flags.into_iter().map(has);
    let is = |request| when(1, Length::Dword, SeccompCmpOp::Eq, request);
    let of_ioctl = [TIOCSTI, TIOCLINUX].into_iter().map(is);
    let is_other = FAMILIES.map(|family| {
        let family = u64::from(family.cast_unsigned());
        SeccompCondition::new(0, Length::Dword, SeccompCmpOp::Ne, family)
    });
    let is_other = is_other.into_iter().collect::<Result<_, _>>();
    let of_socket = is_other.and_then(SeccompRule::new);
    rules.insert(libc::SYS_socket, vec![of_socket.map_err(io::Error::other)?]);
    rules.insert(libc::SYS_clone, of_clone.collect::<io::Result<_>>()?);
    rules.insert(libc::SYS_unshare, of_unshare.collect::<io::Result<_>>()?);
    rules.insert(libc::SYS_ioctl, of_ioctl.collect::<io::Result<_>>()?);
    let mut program = compiled(rules, libc::EPERM)?;
    if cfg!(target_arch = "x86_64") {
        program.splice(0..0, without_x32());
    }
    Ok(program)
}

/// Its flags are behind a pointer, where no filter sees them. Every libc falls back to `clone`.
fn without_clone3() -> io::Result<BpfProgram> {
    compiled(
        BTreeMap::from([(libc::SYS_clone3, Vec::new())]),
        libc::ENOSYS,
    )
}

/// The same calls by other numbers, which the rules do not know.
fn without_x32() -> [sock_filter; 3] {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const X32: u32 = 0x4000_0000;
    let refusal = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();
    let step = |code, jf, k| sock_filter { code, jt: 0, jf, k };
    [
        // The call's number stands first.
        step(LOAD_WORD, 0, 0),
        step(JUMP_IF_AT_LEAST, 1, X32),
        step(RETURN, 0, refusal),
    ]
}

fn when(argument: u8, length: Length, op: SeccompCmpOp, value: u64) -> io::Result<SeccompRule> {
    let condition = SeccompCondition::new(argument, length, op, value).map_err(io::Error::other)?;
    SeccompRule::new(vec![condition]).map_err(io::Error::other)
}

fn compiled(rules: BTreeMap<i64, Vec<SeccompRule>>, errno: i32) -> io::Result<BpfProgram> {
    let machine = TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?;
    let refusal = SeccompAction::Errno(errno.cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refusal, machine);
    filter
        .and_then(BpfProgram::try_from)
        .map_err(io::Error::other)
}

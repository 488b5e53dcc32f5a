//! `whoami`: what one's own credential is good for.

use super::Context;
use super::exit::Failure;
use super::token::in_words;
use branchyard::app::WhoAmI;

/// Say who you are to the daemon, and what you may do there
///
/// The name goes to stdout, what it is good for to stderr.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard whoami
  branchyard --key-file screen.key whoami --json")]
pub(crate) struct Args {}

pub(super) async fn run(context: &Context) -> Result<u8, Failure> {
    let answer = context.client.get("/api/whoami").await?;
    context.show(&answer, |me: WhoAmI| {
        let good = in_words(me.role.as_deref(), &me.good);
        context.console.note(&good);
        context.console.print_line(&me.name)
    })
}

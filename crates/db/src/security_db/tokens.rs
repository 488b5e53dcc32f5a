//! Tokens, as they are kept.

use jiff::Timestamp;
use rusqlite::{Connection, ErrorCode, Row, named_params};

use super::{Error, SecurityDb};

pub(super) const INSERT: &str = "INSERT INTO tokens (id, name, hash, role, grant_json, parent,
        account, created_by, created_at, expires_at, revoked_at, last_used_at)
    VALUES (:id, :name, :hash, :role, :grant, :parent,
        :account, :created_by, :created_at, :expires_at, :revoked_at, :last_used_at)";

/// One token. What its grant means is for those who check credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    pub id: String,
    pub name: String,
    /// SHA-256 of the secret.
    pub hash: [u8; 32],
    pub role: Option<String>,
    pub grant_json: String,
    /// The token that it was made with.
    pub parent: Option<String>,
    /// The principal by whose limits its use counts, where those are not its own.
    pub account: Option<String>,
    pub created_by: String,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    pub last_used_at: Option<Timestamp>,
}

impl SecurityDb {
    /// Keeps a new token; `false` where another has its name or id, or had it once.
    pub async fn add_token(&self, token: TokenRow) -> Result<bool, Error> {
        let added = self.0.database.write(move |to| token.write(to)).await;
        match added {
            Err(Error::Sqlite { source, .. }) if is_taken(&source) => Ok(false),
            added => added.map(|()| true),
        }
    }

    /// Takes note that these are good for nothing from now on. The first time counts.
    pub async fn revoke_tokens(&self, ids: Vec<String>, at: Timestamp) -> Result<(), Error> {
        let revoke = move |to: &Connection| {
            let mut revoke = to.prepare_cached(
                "UPDATE tokens SET revoked_at = ?1 WHERE id = ?2 AND revoked_at IS NULL",
            )?;
            for id in &ids {
                revoke.execute((at.as_microsecond(), id))?;
            }
            Ok(())
        };
        self.0.database.write(revoke).await
    }

    /// Takes note of a use; returns at once.
    pub fn note_token_use(&self, id: &str, at: Timestamp) {
        let id = id.to_owned();
        self.0.database.note(move |to| {
            let sql = "UPDATE tokens SET last_used_at = ?1 WHERE id = ?2";
            let mut update = to.prepare_cached(sql)?;
            update.execute((at.as_microsecond(), &id)).map(drop)
        });
    }

    /// Those that are in use or were at `since`, in the order in which they were made. One that cannot be
    /// read is logged and left out. Blocks.
    pub fn tokens(&self, since: Timestamp) -> Result<Vec<TokenRow>, Error> {
        self.0.database.read(|from| {
            let mut select = from.prepare(
                "SELECT * FROM tokens
                WHERE (revoked_at IS NULL OR revoked_at >= ?1)
                    AND (expires_at IS NULL OR expires_at >= ?1)
                ORDER BY rowid",
            )?;
            let mut rows = select.query([since.as_microsecond()])?;
            let mut tokens = Vec::new();
            while let Some(row) = rows.next()? {
                match TokenRow::read(row) {
                    Ok(token) => tokens.push(token),
                    Err(error) => tracing::error!(%error, "a token cannot be read, and is refused"),
                }
            }
            Ok(tokens)
        })
    }

    /// Lets go of what nobody gave a name and was over `before`; returns at once.
    pub fn forget_tokens(&self, before: Timestamp) {
        self.0.database.note(move |to| {
            let sql = "DELETE FROM tokens WHERE name = id AND (revoked_at < ?1 OR expires_at < ?1)";
            to.execute(sql, [before.as_microsecond()]).map(drop)
        });
    }
}

impl TokenRow {
    fn write(&self, to: &Connection) -> rusqlite::Result<()> {
        let micros = |time: Option<Timestamp>| time.map(Timestamp::as_microsecond);
        to.prepare_cached(INSERT)?.execute(named_params! {
            ":id": self.id,
            ":name": self.name,
            ":hash": self.hash,
            ":role": self.role,
            ":grant": self.grant_json,
            ":parent": self.parent,
            ":account": self.account,
            ":created_by": self.created_by,
            ":created_at": self.created_at.as_microsecond(),
            ":expires_at": micros(self.expires_at),
            ":revoked_at": micros(self.revoked_at),
            ":last_used_at": micros(self.last_used_at),
        })?;
        Ok(())
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let optional = |name| row.get::<_, Option<i64>>(name)?.map(time).transpose();
        Ok(Self {
            id: row.get("id")?,
            name: row.get("name")?,
            hash: row.get("hash")?,
            role: row.get("role")?,
            grant_json: row.get("grant_json")?,
            parent: row.get("parent")?,
            account: row.get("account")?,
            created_by: row.get("created_by")?,
            created_at: time(row.get("created_at")?)?,
            expires_at: optional("expires_at")?,
            revoked_at: optional("revoked_at")?,
            last_used_at: optional("last_used_at")?,
        })
    }
}

fn time(micros: i64) -> rusqlite::Result<Timestamp> {
    Timestamp::from_microsecond(micros)
        .map_err(|_| rusqlite::Error::IntegralValueOutOfRange(0, micros))
}

fn is_taken(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation)
}

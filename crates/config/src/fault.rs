//! What is wrong with a value, before it is known where in the file that stands.

/// A value that is wrong only beside others: the keys to blame, the first that the file has being shown.
pub(super) struct Fault {
    keys: Vec<Vec<String>>,
    message: String,
}

impl Fault {
    pub(crate) fn new(key: &[&str], message: impl Into<String>) -> Self {
        let message = message.into();
        let keys = Vec::new();
        Self { keys, message }.or_at(key)
    }

    #[must_use]
    pub(crate) fn or_at(mut self, key: &[&str]) -> Self {
        self.keys
            .push(key.iter().map(|part| (*part).to_owned()).collect());
        self
    }

    pub(crate) fn keys(&self) -> &[Vec<String>] {
        &self.keys
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }
}

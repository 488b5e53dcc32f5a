//! A certificate authority that nobody else trusts.

use std::path::{Path, PathBuf};
use std::process::Command;

pub struct Authority {
    home: PathBuf,
}

impl Authority {
    pub fn new(dir: &Path) -> Self {
        let home = dir.join("authority");
        std::fs::create_dir_all(&home).unwrap();
        std::fs::write(home.join("san"), "subjectAltName=IP:127.0.0.1\n").unwrap();
        let authority = Self { home };
        authority.openssl("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=tests -keyout ca.key -out ca.pem");
        authority
    }

    pub fn ca_file(&self) -> String {
        self.path("ca.pem")
    }

    pub fn path(&self, name: &str) -> String {
        self.home.join(name).to_str().unwrap().to_owned()
    }

    /// A certificate for 127.0.0.1 and its key, as `NAME.pem` and `NAME.key`.
    pub fn issue(&self, name: &str, serial: u32) {
        self.openssl(&format!("req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=127.0.0.1 -keyout {name}.key -out {name}.req"));
        self.openssl(&format!("x509 -req -days 2 -in {name}.req -CA ca.pem -CAkey ca.key -set_serial {serial} -extfile san -out {name}.pem"));
    }

    /// Puts a certificate and its key where the daemon looks, as a renewal does.
    pub fn install(&self, name: &str) {
        for (from, to) in [
            (format!("{name}.key"), "key.pem"),
            (format!("{name}.pem"), "cert.pem"),
        ] {
            let fresh = self.home.join("fresh");
            std::fs::copy(self.home.join(from), &fresh).unwrap();
            std::fs::rename(fresh, self.home.join(to)).unwrap();
        }
    }

    /// The `[tls]` of a daemon that shows what is installed.
    pub fn section(&self) -> String {
        let (cert, key) = (self.path("cert.pem"), self.path("key.pem"));
        format!("[tls]\ncert_file = {cert:?}\nkey_file = {key:?}\n")
    }

    /// The serial number of the certificate that is shown at `address`.
    pub fn serial_at(&self, address: &str) -> u32 {
        let shown = self.openssl(&format!(
            "s_client -connect {address} -CAfile ca.pem -verify_return_error -showcerts"
        ));
        let begin = shown.find("-----BEGIN").unwrap();
        let end = shown.find("-----END CERTIFICATE-----").unwrap();
        std::fs::write(
            self.home.join("shown.pem"),
            format!("{}-----END CERTIFICATE-----\n", &shown[begin..end]),
        )
        .unwrap();
        let serial = self.openssl("x509 -in shown.pem -noout -serial");
        u32::from_str_radix(serial.trim().strip_prefix("serial=").unwrap(), 16).unwrap()
    }

    fn openssl(&self, args: &str) -> String {
        let done = Command::new("openssl")
            .args(args.split(' '))
            .current_dir(&self.home)
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        let words = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "openssl {args}: {words}");
        String::from_utf8_lossy(&done.stdout).into_owned()
    }
}

//! HTTPS in front of a remote, with a certificate by an authority that nobody else trusts. Python has the
//! TLS; the bytes go on to the remote as they are.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::server::Server;

pub struct TlsFront {
    server: Server,
    pub ca_file: PathBuf,
}

impl TlsFront {
    pub async fn start(dir: &Path, to: SocketAddr) -> Self {
        let home = dir.join("tls");
        std::fs::create_dir_all(&home).unwrap();
        std::fs::write(home.join("san"), "subjectAltName=IP:127.0.0.1\n").unwrap();
        for args in [
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=tests -keyout ca.key -out ca.pem",
            "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=127.0.0.1 -keyout key.pem -out request.pem",
            "x509 -req -days 2 -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -extfile san -out cert.pem",
        ] {
            let made = Command::new("openssl")
                .args(args.split(' '))
                .current_dir(&home)
                .output()
                .unwrap();
            assert!(
                made.status.success(),
                "{}",
                String::from_utf8_lossy(&made.stderr)
            );
        }
        let server = Server::start(|port| {
            let mut command = Command::new("python3");
            command
                .args(["-c", FRONT])
                .arg(&home)
                .args([port.to_string(), to.port().to_string()]);
            command
        });
        Self {
            server: server.await,
            ca_file: home.join("ca.pem"),
        }
    }

    pub fn url(&self) -> String {
        format!("https://{}/origin.git", self.host())
    }

    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.server.port)
    }
}

const FRONT: &str = r#"
import asyncio, ssl, sys
home, port, to = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
context.load_cert_chain(home + "/cert.pem", home + "/key.pem")
async def pump(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()
async def serve(reader, writer):
    theirs, ours = await asyncio.open_connection("127.0.0.1", to)
    await asyncio.gather(pump(reader, ours), pump(theirs, writer))
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", port, ssl=context)
    await server.serve_forever()
asyncio.run(main())
"#;

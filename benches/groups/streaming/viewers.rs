//! Many viewers of one run: each has every byte, and all of them together are as fast as the machine's
//! loopback is.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::measure::{Aim, Report, Row, Series, Unit, interleave};
use crate::setting::{Answer, Asker, Served};

pub async fn measure(report: &mut Report, served: &Served) {
    let count = report.scale.of(1_000, 5);
    let payload: String = (0..report.scale.of(40_000, 200))
        .map(|n| {
            format!(
                "{n:08} cc -O2 -Wall -c -o build/objects/file{n}.o src/some/directory/file{n}.c\n"
            )
        })
        .collect();
    let payload: Arc<[u8]> = payload.into_bytes().into();
    let dir = served.workspace("main");
    std::fs::write(dir.join("payload"), &payload).unwrap();
    let (mut waiting, mut peak) = (Series::default(), Series::default());
    // Once, before any viewer came: memory that the first ones left behind would hide what later ones take.
    let before = served.memory();
    let [loopback, yard] = interleave(report.scale.rounds(3), async |method, _| {
        let took = match method {
            0 => over_loopback(count, &payload).await,
            _ => {
                served.forget_peak();
                let run = served.make_detached("main", &["gate"]).await;
                let mut viewers = Viewers::of(served, &run, count, &payload).await;
                waiting.push((served.memory() - before) / count as f64);
                let began = Instant::now();
                std::fs::write(dir.join("open"), "").unwrap();
                viewers.end().await;
                let took = began.elapsed().as_secs_f64();
                served.ended(&run).await;
                std::fs::remove_file(dir.join("open")).unwrap();
                peak.push((served.peak_memory() - before) / count as f64);
                took
            }
        };
        (count * payload.len()) as f64 / took
    })
    .await;
    report.add(
        Row::new(
            format!("{count} viewers of one run, in all"),
            Unit::BytesPerSecond,
            &yard,
        )
        .beside("bare sockets", &loopback)
        .aiming(Aim::AtLeastOrRatio(1e9, 0.9)),
    );
    let name = "memory per viewer";
    let most = Aim::AtMost(65536.0);
    report.add(Row::new(format!("{name}, waiting"), Unit::Bytes, &waiting).aiming(most));
    report.add(Row::new(format!("{name}, at the peak"), Unit::Bytes, &peak).aiming(most));
}

/// The same bytes to as many readers, from a server that does nothing else. It has threads of its own, as
/// the daemon has: on a busy machine, who has more of them gets more done.
async fn over_loopback(count: usize, payload: &Arc<[u8]>) -> f64 {
    let server = tokio::runtime::Runtime::new().unwrap();
    let (bound, address) = oneshot::channel();
    let (go, gone) = oneshot::channel();
    server.spawn(serve(count, Arc::clone(payload), bound, gone));
    let address = address.await.unwrap();
    let mut readers = JoinSet::new();
    for _ in 0..count {
        let mut reader = TcpStream::connect(address).await.unwrap();
        let payload = Arc::clone(payload);
        readers.spawn(async move {
            let (mut buffer, mut seen) = (vec![0; 65536], 0);
            loop {
                let read = reader.read(&mut buffer).await.unwrap();
                if read == 0 {
                    break;
                }
                assert!(payload[seen..seen + read] == buffer[..read]);
                seen += read;
            }
            assert_eq!(seen, payload.len());
        });
    }
    let began = Instant::now();
    go.send(()).unwrap();
    while let Some(reader) = readers.join_next().await {
        reader.unwrap();
    }
    let took = began.elapsed().as_secs_f64();
    server.shutdown_background();
    took
}

/// Takes so many connections, and once it is told to, sends each the same.
async fn serve(
    count: usize,
    payload: Arc<[u8]>,
    bound: oneshot::Sender<SocketAddr>,
    go: oneshot::Receiver<()>,
) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    bound.send(listener.local_addr().unwrap()).unwrap();
    let mut sockets = Vec::new();
    for _ in 0..count {
        sockets.push(listener.accept().await.unwrap().0);
    }
    go.await.unwrap();
    for mut socket in sockets {
        let payload = Arc::clone(&payload);
        tokio::spawn(async move { socket.write_all(&payload).await.unwrap() });
    }
}

/// Viewers that follow a run as text, and compare each byte.
pub struct Viewers(JoinSet<()>);

impl Viewers {
    /// Returns once each of them has been answered.
    pub async fn of(asker: &Asker, run: &str, count: usize, payload: &Arc<[u8]>) -> Self {
        let mut viewers = JoinSet::new();
        let (begun, mut all_begun) = mpsc::channel(count);
        let line = format!("GET /stream/runs/{run}");
        for _ in 0..count {
            let request = Answer::request(&asker.url, &asker.key, &line, "text/plain", "");
            let address = asker.url.strip_prefix("http://").unwrap();
            let connection = TcpStream::connect(address).await.unwrap();
            viewers.spawn(view(
                connection,
                request,
                begun.clone(),
                Arc::clone(payload),
            ));
        }
        for _ in 0..count {
            all_begun.recv().await.expect("each of them begins");
        }
        Self(viewers)
    }

    /// Waits until all have seen the end of the run.
    pub async fn end(&mut self) {
        while let Some(viewer) = self.0.join_next().await {
            viewer.unwrap();
        }
    }
}

async fn view(
    mut connection: TcpStream,
    request: String,
    begun: mpsc::Sender<()>,
    payload: Arc<[u8]>,
) {
    connection.write_all(request.as_bytes()).await.unwrap();
    let (mut answer, mut buffer) = (Answer::default(), vec![0; 65536]);
    let (mut seen, mut end, mut ended) = (0, Vec::new(), false);
    let mut begun = Some(begun);
    while !ended {
        let read = connection.read(&mut buffer).await.unwrap();
        assert!(read > 0, "the stream was cut off");
        ended = answer.feed(&buffer[..read], |piece| {
            let (output, rest) = piece.split_at(piece.len().min(payload.len() - seen));
            assert!(payload[seen..seen + output.len()] == *output, "at {seen}");
            seen += output.len();
            end.extend_from_slice(rest);
        });
        if answer.has_begun()
            && let Some(begun) = begun.take()
        {
            begun.send(()).await.unwrap();
        }
    }
    assert_eq!(seen, payload.len());
    assert!(end.starts_with(b"branchyard: succeeded"));
}

use super::*;

fn places(max_connections: usize, max_connections_per_address: usize) -> Arc<ConnectionLimits> {
    ConnectionLimits::new(&Limits {
        max_connections,
        max_connections_per_address,
        ..Limits::default()
    })
}

fn is_told_to_close(place: &ConnectionPlace) -> bool {
    place.0.state.close.is_cancelled()
}

fn network(last: u8) -> Peer {
    std::net::IpAddr::from([10, 0, 0, last]).into()
}

#[test]
fn a_place_is_given_back_to_all_and_to_its_peer() {
    let places = places(3, 2);
    let one = places.take(Peer::Loopback);
    one.handle().authenticated().unwrap();
    let two = places.take(Peer::Socket);
    drop((one, two));
    let taken = places.taken.lock();
    for crowd in [&taken.authenticated, &taken.unauthenticated] {
        assert_eq!((crowd.connections.len(), crowd.by_peer.len()), (0, 0));
    }
    assert_eq!(taken.closing, 0);
}

#[test]
fn the_oldest_silent_connection_goes_for_the_next() {
    let places = places(1000, 8);
    let most = places.unauthenticated.of_peer;
    assert_eq!(most, LEAST_UNAUTHENTICATED);
    let mut silent: Vec<_> = (0..most).map(|_| places.take(Peer::Loopback)).collect();
    // One that is being answered is spared, one that has shown a credential is not among them.
    let answering = silent[0].handle().answering();
    silent[1].handle().authenticated().unwrap();
    let other = places.take(Peer::Socket);
    let next = places.take(Peer::Loopback);
    assert!(
        !silent.iter().any(is_told_to_close),
        "there was one place left"
    );
    silent.push(next);
    silent.push(places.take(Peer::Loopback));
    let closed: Vec<_> = (0..silent.len())
        .filter(|at| is_told_to_close(&silent[*at]))
        .collect();
    assert_eq!(closed, [2], "the oldest idle one");
    assert!(!is_told_to_close(&other), "another address");
    drop(answering);
    silent.push(places.take(Peer::Loopback));
    assert!(is_told_to_close(&silent[0]), "its answer has ended");

    // Where all are at work, the oldest of them.
    let busy: Vec<_> = silent
        .iter()
        .map(|place| place.handle().answering())
        .collect();
    silent.push(places.take(Peer::Loopback));
    assert!(is_told_to_close(&silent[3]));
    drop(busy);
}

#[test]
fn the_address_with_the_most_connections_gives_one_up() {
    let places = places(LEAST_UNAUTHENTICATED, 1_000_000);
    let modest = places.take(network(1));
    let many: Vec<_> = (1..LEAST_UNAUTHENTICATED)
        .map(|_| places.take(network(2)))
        .collect();
    let next = places.take(network(3));
    assert!(is_told_to_close(&many[0]));
    assert!(!is_told_to_close(&modest) && !is_told_to_close(&next));
}

#[test]
fn callers_with_a_credential_share_the_configured_places() {
    for places in [places(2, 100), places(100, 2)] {
        let known = |_| {
            let place = places.take(Peer::Loopback);
            place.handle().authenticated().map(|()| place)
        };
        let one = known(()).unwrap();
        let two = known(()).unwrap();
        let (first, second) = (one.handle().answering(), two.handle().answering());
        // All are at work.
        let problem = known(()).unwrap_err();
        assert_eq!(problem.code, "too_many_connections");
        assert!(
            problem.detail.contains("limits.max_connections"),
            "{problem}"
        );
        assert!(problem.retry_after.is_some());
        drop(second);
        let three = known(()).unwrap();
        assert!(is_told_to_close(&two) && !is_told_to_close(&one));
        drop(first);
        // To be told twice changes nothing.
        three.handle().authenticated().unwrap();
        assert!(!is_told_to_close(&one));
    }
}

#[tokio::test]
async fn a_connection_that_says_nothing_is_given_up() {
    let places = places(10, 10);
    let patience = Duration::from_millis(20);
    let stays = async |place: &ConnectionPlace| {
        let given_up = place.given_up(patience);
        tokio::time::timeout(patience * 5, given_up).await.is_err()
    };
    let place = places.take(Peer::Loopback);
    place.given_up(patience).await;

    // Time counts from the end of an answer.
    let place = places.take(Peer::Loopback);
    let answering = place.handle().answering();
    assert!(stays(&place).await);
    drop(answering);
    place.given_up(patience).await;

    let place = places.take(Peer::Loopback);
    place.handle().authenticated().unwrap();
    assert!(stays(&place).await);
    places.taken.lock().close(place.0.id);
    place.given_up(patience).await;
}

//! Requests to instances that are written down.

use super::*;

#[tokio::test]
async fn takes_turns_among_the_instances() {
    let servers = [Server::start().await, Server::start().await, Server::start().await];
    let service = open(settings_of(static_of(&servers.each_ref()))).unwrap();
    for _ in 0..9 {
        call(&*service).await.unwrap();
    }
    for server in &servers {
        assert_eq!((server.requests().len(), server.connections()), (3, 1));
        assert_eq!(server.last().header("host"), Some(server.address().to_string().as_str()));
    }
    service.health(&context(Duration::from_secs(5))).await.unwrap();
}

#[tokio::test]
async fn asks_up_to_two_others_when_one_cannot_be_connected_to() {
    let server = Server::start().await;
    let (first, second) = (dead_address().await.to_string(), dead_address().await.to_string());
    let endpoints = json!([first, second, server.address().to_string()]);
    let service = open(settings_of(json!({ "type": "static", "endpoints": endpoints }))).unwrap();
    for _ in 0..3 {
        call(&*service).await.unwrap();
    }
    assert_eq!(server.requests().len(), 3);
}

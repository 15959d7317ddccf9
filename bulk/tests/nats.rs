//! The queue in NATS, its workers and its coordinator, against a real server that is killed and loses its data.

#[cfg(test)]
mod nats {
    mod cluster;
    mod credentials;
    mod distributed;
    mod faults;
    mod faulty;
    mod job;
    mod queue;
    mod server;
    mod service;
    mod throughput;
}

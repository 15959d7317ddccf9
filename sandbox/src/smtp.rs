//! The SMTP listener (RFC 5321), for programs that send email by SMTP.
//!
//! With `AUTH`, it is the service's submission server: a message becomes a sent email of the tenant whose API key is the password, with the
//! validation of `POST /emails`. With the user `inbound`, it becomes a received email of that tenant; without `AUTH`, a received email of the tenant
//! of [`Options::key`]. TLS is available for clients that require it, through `STARTTLS` (RFC 3207) or implicitly (RFC 8314). Like the rest of the
//! sandbox, the listener uses only the machine's own address.

mod data;
mod http;
mod login;
mod reply;
mod session;
mod submission;

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

use self::reply::Reply;
use self::session::{Security, Session, Step};
use crate::tls::Tls;
use idempost_reference_server::service::Service;
use idempost_reference_server::state::faults::Wire;

/// The maximum number of connections; further ones are rejected with 421.
const MAX_CONNECTIONS: usize = 100;
/// The timeout for the next reply or [`CHUNK`] bytes of a message (RFC 5321, 4.5.3.2.7), and for writing.
const IDLE_TIMEOUT: Duration = Duration::from_mins(5);
/// The timeout for a TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long open connections may take to finish after `stop`.
const GRACE: Duration = Duration::from_secs(2);
/// Messages of at least this size are handled on a blocking thread.
const LARGE: usize = 256 << 10;
/// The size of a read from the socket.
const CHUNK: usize = 16 << 10;

/// The options of the SMTP listener.
#[derive(Clone, Debug)]
pub struct Options {
    /// The API key of the tenant that receives messages without `AUTH`.
    pub key: String,
    /// The certificate. `None` disables TLS.
    pub tls: Option<Tls>,
    /// Uses implicit TLS instead of `STARTTLS`.
    pub implicit_tls: bool,
}

impl Options {
    /// Creates options without TLS. The tenant of this API key receives messages without `AUTH`.
    pub fn new(key: impl Into<String>) -> Self {
        Self { key: key.into(), tls: None, implicit_tls: false }
    }
}

/// Serves until `stop` is ready.
///
/// # Errors
/// Currently none; a failed `accept` is retried.
pub async fn serve(
    listener: TcpListener,
    service: Arc<Service>,
    options: Options,
    stop: impl Future<Output = ()> + Send,
) -> io::Result<()> {
    let mut stop = pin!(stop);
    let options = Arc::new(options);
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let (stopping, stopped) = watch::channel(false);
    loop {
        tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let permit = Arc::clone(&permits).try_acquire_owned().ok();
                    let (service, options) = (Arc::clone(&service), Arc::clone(&options));
                    let stopped = stopped.clone();
                    tokio::spawn(async move {
                        // A client that disconnects without `QUIT` isn't an error.
                        let _ = match permit {
                            Some(_) => {
                                let _ = stream.set_nodelay(true);
                                handle_session(Box::new(stream), service, &options, stopped).await
                            }
                            // The client couldn't read a plain-text reply before the handshake.
                            None if options.implicit_tls => Ok(()),
                            None => reject(stream).await,
                        };
                    });
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
        }
    }
    drop(stopped);
    // Every connection holds a receiver, so the last one closes the channel.
    let _ = stopping.send(true);
    let _ = tokio::time::timeout(GRACE, stopping.closed()).await;
    Ok(())
}

async fn reject(mut stream: TcpStream) -> io::Result<()> {
    let mut out = Vec::new();
    Reply::BUSY.write(&mut out);
    send(&mut stream, &mut out).await?;
    stream.shutdown().await
}

/// A connection, with or without TLS.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

async fn encrypt(stream: Box<dyn Stream>, tls: &Tls) -> io::Result<Box<dyn Stream>> {
    Ok(Box::new(tokio::time::timeout(HANDSHAKE_TIMEOUT, tls.acceptor.accept(stream)).await??))
}

/// Serves one connection, from the greeting to its end.
///
/// # Errors
/// The connection fails.
pub async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    service: Arc<Service>,
    options: &Options,
) -> io::Result<()> {
    let (_running, stopped) = watch::channel(false);
    handle_session(Box::new(stream), service, options, stopped).await
}

/// Handles one connection from the greeting to its end.
async fn handle_session(
    stream: Box<dyn Stream>,
    service: Arc<Service>,
    options: &Options,
    mut stopped: watch::Receiver<bool>,
) -> io::Result<()> {
    let (mut stream, security) = match &options.tls {
        Some(tls) if options.implicit_tls => (encrypt(stream, tls).await?, Security::Encrypted),
        Some(_) => (stream, Security::StartTls),
        None => (stream, Security::Plain),
    };
    let mut session = Session::new(service, options.key.as_str().into(), security);
    let mut out = Vec::new();
    let mut input = BytesMut::with_capacity(CHUNK);
    let mut step = session.greet(&mut out);
    // A client that sends a few bytes at a time must not hold its connection forever.
    let (mut deadline, mut received) = (Instant::now(), CHUNK);
    loop {
        match step {
            Step::Go => {}
            Step::Mail(mail) => {
                let (outcome, wire) = if mail.size() < LARGE {
                    mail.deliver()
                } else {
                    let delivered = tokio::task::spawn_blocking(|| mail.deliver()).await;
                    delivered.unwrap_or_else(|_| (Reply::FAILED, Wire::default()))
                };
                if wire.stalled {
                    return stall(stream, stopped).await;
                }
                if wire.cut.is_some() {
                    return Ok(());
                }
                if !wait_for(wire.delay, &mut stopped).await {
                    return Ok(());
                }
                session.delivered(&outcome, &mut out);
            }
            Step::Delay(by) => {
                if !wait_for(by, &mut stopped).await {
                    return Ok(());
                }
            }
            Step::Stall => {
                send(&mut stream, &mut out).await?;
                return stall(stream, stopped).await;
            }
            Step::StartTls => {
                let Some(tls) = &options.tls else { break };
                send(&mut stream, &mut out).await?;
                // Pipelined plain-text commands may have been injected (RFC 3207, 5).
                input.clear();
                received = CHUNK;
                stream = encrypt(stream, tls).await?;
                session = session.restart_after_tls(options.key.as_str().into());
            }
            Step::Read => {
                if received >= CHUNK || !out.is_empty() {
                    (deadline, received) = (Instant::now() + IDLE_TIMEOUT, 0);
                }
                // Pipelined commands are answered together (RFC 2920, 3.2).
                send(&mut stream, &mut out).await?;
                input.reserve(CHUNK);
                tokio::select! {
                    read = tokio::time::timeout_at(deadline, stream.read_buf(&mut input)) => match read {
                        Ok(Ok(0)) => return Ok(()),
                        Ok(read) => received += read?,
                        Err(_) => {
                            Reply::TIMEOUT.write(&mut out);
                            break;
                        }
                    },
                    _ = stopped.wait_for(|stopped| *stopped) => {
                        Reply::CLOSING.write(&mut out);
                        break;
                    }
                }
            }
            Step::Bye => break,
        }
        step = session.advance(&mut input, &mut out);
    }
    send(&mut stream, &mut out).await?;
    stream.shutdown().await
}

/// Waits for this time. Returns false if the listener stops first.
async fn wait_for(by: Duration, stopped: &mut watch::Receiver<bool>) -> bool {
    tokio::select! {
        () = tokio::time::sleep(by) => true,
        _ = stopped.wait_for(|stopped| *stopped) => false,
    }
}

/// Reads without replying until the client disconnects or the listener stops.
async fn stall(mut stream: Box<dyn Stream>, mut stopped: watch::Receiver<bool>) -> io::Result<()> {
    let mut sink = tokio::io::sink();
    tokio::select! {
        read = tokio::io::copy(&mut stream, &mut sink) => read.map(drop),
        _ = stopped.wait_for(|stopped| *stopped) => Ok(()),
    }
}

async fn send(stream: &mut (impl AsyncWrite + Unpin), out: &mut Vec<u8>) -> io::Result<()> {
    let written = async {
        stream.write_all(out).await?;
        // TLS may buffer some of it.
        stream.flush().await
    };
    tokio::time::timeout(IDLE_TIMEOUT, written).await??;
    out.clear();
    Ok(())
}

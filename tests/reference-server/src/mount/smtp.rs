//! The door for mail that comes in: SMTP (RFC 5321), so that whatever can send mail can write to the sandbox.
//!
//! A mail becomes a received email of the tenant whose API key is the password of `AUTH`, with any user name; without `AUTH` of a tenant
//! that the caller of [`serve`] names. There is no TLS: this listens on the machine's own address only, as everything of the sandbox.

mod data;
mod http;
mod login;
mod reply;
mod session;

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use self::reply::Reply;
use self::session::{Session, Step};
use crate::service::Service;

/// Connections at a time; one more is answered 421.
const MOST_CONNECTIONS: usize = 100;
/// How long a client may be silent (RFC 5321, 4.5.3.2.7), or not take an answer.
const PATIENCE: Duration = Duration::from_mins(5);
/// How long open connections may take to finish after `stop`.
const FAREWELL: Duration = Duration::from_secs(2);
/// A mail from this size on is read away from the tasks that serve the sockets.
const LARGE: usize = 256 << 10;
/// What is taken from a socket at a time.
const CHUNK: usize = 16 << 10;

/// Takes mail in until `stop` is ready. `key` is the API key of the tenant that gets what comes without `AUTH`.
///
/// # Errors
/// Never so far; a failed `accept` is waited out.
pub async fn serve(
    listener: TcpListener,
    service: Arc<Service>,
    key: &str,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let mut stop = pin!(stop);
    let key: Arc<str> = key.into();
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let (stopping, stopped) = watch::channel(false);
    loop {
        tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let place = Arc::clone(&room).try_acquire_owned().ok();
                    let session = Session::new(Arc::clone(&service), Arc::clone(&key));
                    let stopped = stopped.clone();
                    tokio::spawn(async move {
                        // A client that goes away without a word is no news to anybody.
                        let _ = match place {
                            Some(_) => converse(stream, session, stopped).await,
                            None => turn_away(stream).await,
                        };
                    });
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
        }
    }
    drop(stopped);
    // Every connection holds a receiver: when the last is gone, all are done.
    let _ = stopping.send(true);
    let _ = tokio::time::timeout(FAREWELL, stopping.closed()).await;
    Ok(())
}

async fn turn_away(mut stream: TcpStream) -> io::Result<()> {
    let mut out = Vec::new();
    Reply::BUSY.write(&mut out);
    send(&mut stream, &mut out).await?;
    stream.shutdown().await
}

/// One connection, from the greeting to its end.
async fn converse(
    mut stream: TcpStream,
    mut session: Session,
    mut stopped: watch::Receiver<bool>,
) -> io::Result<()> {
    let _ = stream.set_nodelay(true);
    let mut out = Vec::new();
    let mut input = BytesMut::with_capacity(CHUNK);
    session.greet(&mut out);
    send(&mut stream, &mut out).await?;
    loop {
        match session.advance(&mut input, &mut out) {
            Step::Go => {}
            Step::Mail(mail) => {
                let outcome = if mail.size() < LARGE {
                    mail.deliver()
                } else {
                    tokio::task::spawn_blocking(|| mail.deliver()).await.unwrap_or(Reply::FAILED)
                };
                session.delivered(&outcome, &mut out);
            }
            Step::Read => {
                // Everything that was sent in one go is answered in one go (RFC 2920, 3.2).
                send(&mut stream, &mut out).await?;
                input.reserve(CHUNK);
                tokio::select! {
                    read = tokio::time::timeout(PATIENCE, stream.read_buf(&mut input)) => match read {
                        Ok(Ok(0)) => return Ok(()),
                        Ok(read) => drop(read?),
                        Err(_) => {
                            Reply::SILENCE.write(&mut out);
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
    }
    send(&mut stream, &mut out).await?;
    stream.shutdown().await
}

async fn send(stream: &mut TcpStream, out: &mut Vec<u8>) -> io::Result<()> {
    tokio::time::timeout(PATIENCE, stream.write_all(out)).await??;
    out.clear();
    Ok(())
}

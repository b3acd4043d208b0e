//! A minimal HTTP/1.1 connection for both ends. It costs little CPU, so that neither the load client
//! nor the backend becomes what is measured.
use std::io::{self, ErrorKind};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub struct Conn {
    sock: TcpStream,
    rbuf: Vec<u8>,
    /// The last message read.
    pub head: Head,
    pub body: Vec<u8>,
}

#[derive(Default)]
pub struct Head {
    pub start: String,
    pub sse: bool,
    pub session: Option<String>,
    pub close: bool,
    length: Option<usize>,
    chunked: bool,
}

impl Head {
    pub fn status(&self) -> u16 {
        self.start.get(9..12).and_then(|s| s.parse().ok()).unwrap_or(0)
    }
}

pub fn find(hay: &[u8], needle: &[u8]) -> Option<usize> {
    hay.windows(needle.len()).position(|w| w == needle)
}

fn bad() -> io::Error {
    ErrorKind::InvalidData.into()
}

impl Conn {
    pub fn new(sock: TcpStream) -> io::Result<Conn> {
        sock.set_nodelay(true)?;
        Ok(Conn { sock, rbuf: Vec::with_capacity(8192), head: Head::default(), body: Vec::new() })
    }

    pub async fn connect(addr: &str) -> io::Result<Conn> {
        Conn::new(TcpStream::connect(addr).await?)
    }

    pub async fn write(&mut self, wire: &[u8]) -> io::Result<()> {
        self.sock.write_all(wire).await
    }

    /// Client side: one request, one response (interim 1xx ones are skipped).
    pub async fn call(&mut self, wire: &[u8]) -> io::Result<u16> {
        self.write(wire).await?;
        loop {
            self.read().await?;
            let status = self.head.status();
            if status >= 200 {
                return Ok(status);
            }
        }
    }

    /// Reads one request or response, with its body, into `head` and `body`.
    pub async fn read(&mut self) -> io::Result<()> {
        let end = self.until(0, b"\r\n\r\n").await? + 4;
        self.head = parse_head(&self.rbuf[..end])?;
        self.body.clear();
        let mut pos = end;
        if self.head.chunked {
            loop {
                let eol = self.until(pos, b"\r\n").await?;
                let size = std::str::from_utf8(&self.rbuf[pos..eol]).map_err(|_| bad())?;
                let n = usize::from_str_radix(size.split(';').next().unwrap_or("").trim(), 16)
                    .map_err(|_| bad())?;
                pos = self.take(eol + 2, n).await? + 2;
                if n == 0 {
                    break;
                }
            }
        } else if let Some(n) = self.head.length {
            pos = self.take(end, n).await?;
        } else if self.head.start.starts_with("HTTP") && !matches!(self.head.status(), 100..200 | 204 | 304) {
            while self.fill().await.is_ok() {}
            pos = self.take(end, self.rbuf.len() - end).await?;
            self.head.close = true;
        }
        self.rbuf.drain(..pos.min(self.rbuf.len()));
        Ok(())
    }

    async fn fill(&mut self) -> io::Result<()> {
        match self.sock.read_buf(&mut self.rbuf).await? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    async fn until(&mut self, from: usize, mark: &[u8]) -> io::Result<usize> {
        loop {
            match self.rbuf.get(from..).and_then(|b| find(b, mark)) {
                Some(p) => return Ok(from + p),
                None => self.fill().await?,
            }
        }
    }

    /// Moves `n` bytes at `pos` to the body; a chunk's own line end is read along with it.
    async fn take(&mut self, pos: usize, n: usize) -> io::Result<usize> {
        while self.rbuf.len() < pos + n + if self.head.chunked { 2 } else { 0 } {
            self.fill().await?;
        }
        self.body.extend_from_slice(&self.rbuf[pos..pos + n]);
        Ok(pos + n)
    }
}

fn parse_head(h: &[u8]) -> io::Result<Head> {
    let mut lines = std::str::from_utf8(h).map_err(|_| bad())?.split("\r\n");
    let mut head = Head { start: lines.next().unwrap_or("").into(), ..Head::default() };
    for (k, v) in lines.filter_map(|l| l.split_once(':')) {
        let v = v.trim();
        if k.eq_ignore_ascii_case("content-length") {
            head.length = Some(v.parse().map_err(|_| bad())?);
        } else if k.eq_ignore_ascii_case("transfer-encoding") {
            head.chunked = true;
        } else if k.eq_ignore_ascii_case("content-type") {
            head.sse = v.starts_with("text/event-stream");
        } else if k.eq_ignore_ascii_case("connection") {
            head.close = v.eq_ignore_ascii_case("close");
        } else if k.eq_ignore_ascii_case("mcp-session-id") {
            head.session = Some(v.into());
        }
    }
    Ok(head)
}

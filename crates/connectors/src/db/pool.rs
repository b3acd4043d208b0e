//! Sessions that wait for their next call, and those that are in use.

use super::connect::Opener;
use super::engine::{Described, Interrupt, Origin, Session, Statement};
use super::failure;
use super::rows::{Cut, Finished, Limits, Rows, needs_memory, too_large};
use super::settings::DbType;
use super::sql::Access;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::error::Elapsed;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use tool::{Error, Reason, Result};

/// A session that rested longer is asked whether it is still there before it is used.
const TRUSTED: Duration = Duration::from_secs(30);
/// Sessions that nobody used for so long are closed.
const RESTED: Duration = Duration::from_secs(300);
/// How long it may take to end a statement or a session.
const GOODBYE: Duration = Duration::from_secs(5);
/// The server is to end a statement itself; we do so a little later.
const GRACE: Duration = Duration::from_millis(500);

const TOO_LONG: &str = "the statement took longer than 'statement_timeout_ms' of the service and was ended";

/// The sessions of one database: at most `size`, for readers and writers together.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) opener: Opener,
    size: usize,
    permits: Arc<Semaphore>,
    resting: Mutex<Vec<Resting>>,
    tasks: TaskTracker,
}

struct Resting {
    session: Box<dyn Session>,
    access: Access,
    since: Instant,
}

impl std::fmt::Debug for Resting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resting")
            .field("access", &self.access)
            .field("since", &self.since)
            .finish_non_exhaustive()
    }
}

/// Whether a session that rested is used as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    /// Whoever reads can begin again on another session.
    IfOld,
    /// Whoever writes cannot, and neither whoever has begun again.
    Always,
    /// Whoever must meet nothing of others takes a new one.
    Unused,
}

impl Pool {
    pub(super) fn new(opener: Opener, size: usize, tasks: TaskTracker) -> Self {
        Self { opener, size, permits: Arc::new(Semaphore::new(size)), resting: Mutex::default(), tasks }
    }

    /// The right to use a session; those who wait get it in their order.
    pub(super) async fn permit(&self) -> Result<OwnedSemaphorePermit> {
        self.permits.clone().acquire_owned().await.map_err(|_| Error::internal("the pool is closed"))
    }

    /// A session that rested, if there is one that still answers.
    pub(super) async fn rested(&self, access: Access, check: Check) -> Option<Box<dyn Session>> {
        while let Some(mut resting) = (check != Check::Unused).then(|| self.take(access)).flatten() {
            let is_trusted = check == Check::IfOld && resting.since.elapsed() < TRUSTED;
            if is_trusted || resting.session.ping().await.is_ok() {
                return Some(resting.session);
            }
        }
        self.make_room();
        None
    }

    /// Makes the session somebody's.
    pub(super) fn lease(
        self: &Arc<Self>,
        session: Box<dyn Session>,
        access: Access,
        permit: OwnedSemaphorePermit,
    ) -> Lease {
        let held = LeasedSession { session, permit };
        Lease { pool: self.clone(), access, held: Some(held), is_running: false, is_spent: false }
    }

    /// Closes what nobody has used for long.
    pub(super) fn sweep(&self) {
        self.resting().retain(|resting| resting.since.elapsed() < RESTED);
    }

    /// Closes the sessions for writing that rest.
    fn forget_writers(&self) {
        self.resting().retain(|resting| resting.access != Access::Write);
    }

    fn take(&self, access: Access) -> Option<Resting> {
        let mut resting = self.resting();
        let at = resting.iter().rposition(|resting| resting.access == access)?;
        Some(resting.remove(at))
    }

    /// A session of the other kind goes, where the new one would be one too many.
    fn make_room(&self) {
        let mut resting = self.resting();
        let in_use = self.size - self.permits.available_permits();
        if resting.len() + in_use > self.size && !resting.is_empty() {
            resting.remove(0);
        }
    }

    fn resting(&self) -> MutexGuard<'_, Vec<Resting>> {
        self.resting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct LeasedSession {
    session: Box<dyn Session>,
    permit: OwnedSemaphorePermit,
}

/// A session in use. One that is dropped is closed, and what runs in it is ended on the server.
pub(super) struct Lease {
    pool: Arc<Pool>,
    access: Access,
    held: Option<LeasedSession>,
    is_running: bool,
    /// The session cannot be used again.
    is_spent: bool,
}

impl Lease {
    /// Reads the rows of a statement, as many as there is room for.
    pub(super) async fn read(&mut self, statement: &Statement, limits: Limits) -> Result<Finished> {
        let mut rows = Rows::new(limits);
        self.read_into(statement, &mut rows).await?;
        rows.finish()
    }

    /// The same, for rows whose columns are known already.
    pub(super) async fn read_into(&mut self, statement: &Statement, rows: &mut Rows) -> Result<()> {
        let (session, time) = self.begin()?;
        let begun = Instant::now();
        let done = timeout(time, session.fetch(statement, rows)).await;
        self.end(done)?;
        // MariaDB ends some functions when the time is over, e.g. benchmark, and answers as if they were done.
        let opener = &self.pool.opener;
        if opener.db_type == DbType::Mysql && begun.elapsed() >= opener.statement_timeout {
            return Err(Error::timeout(TOO_LONG).retryable());
        }
        // The server goes on sending what nobody reads, until it is told to stop. Statements of ours ask for one
        // row too many at the most.
        let is_over = match (rows.cut(), statement.origin) {
            (None, _) | (Some(Cut::Rows), Origin::Ours) => true,
            (Some(_), _) => false,
        };
        if !is_over {
            self.is_running = true;
            self.is_spent = true;
        }
        Ok(())
    }

    /// Runs a statement and says how many rows it touched.
    pub(super) async fn execute(&mut self, statement: &Statement) -> Result<u64> {
        let (session, time) = self.begin()?;
        let done = timeout(time, session.execute(statement)).await;
        self.end(done)
    }

    /// Runs words of our own.
    pub(super) async fn command(&mut self, sql: &'static str) -> Result<()> {
        let (session, time) = self.begin()?;
        let done = timeout(time, session.command(sql)).await;
        self.end(done)
    }

    /// Asks what a statement of somebody else gives and takes.
    pub(super) async fn describe(&mut self, sql: &str) -> Result<Described> {
        let (session, time) = self.begin()?;
        let done = timeout(time, session.describe(sql)).await;
        self.end(done)
    }

    /// Begins a transaction in which nothing can be changed.
    pub(super) async fn begin_reading(&mut self) -> Result<()> {
        let (session, time) = self.begin()?;
        let done = timeout(time, session.begin_reading()).await;
        self.end(done)
    }

    /// Takes everything back that was done since the transaction began, and forgets what the session was told.
    pub(super) async fn take_back(&mut self) {
        if !self.is_spent() && self.command("ROLLBACK").await.is_err() {
            self.spend();
        }
        self.reset().await;
    }

    /// Forgets what the session was told; one that cannot is not used again.
    pub(super) async fn reset(&mut self) {
        if self.is_spent() {
            return;
        }
        let Ok((session, time)) = self.begin() else { return };
        let done = timeout(time, session.reset()).await;
        if self.end(done).is_err() {
            self.spend();
        }
    }

    fn begin(&mut self) -> Result<(&mut dyn Session, Duration)> {
        let time = self.pool.opener.statement_timeout + GRACE;
        let Some(held) = &mut self.held else {
            return Err(Error::internal("a session is used after its end"));
        };
        self.is_running = true;
        Ok((&mut *held.session, time))
    }

    fn end<T>(&mut self, done: Result<sqlx::Result<T>, Elapsed>) -> Result<T> {
        let Ok(done) = done else {
            let error = Error::timeout(TOO_LONG).retryable().in_doubt();
            // A server ends statements by itself, so one that did not is out of order; a file is merely busy.
            let is_server = matches!(self.interrupt(), Some(Interrupt::Statement(_)));
            return Err(if is_server { error.because(Reason::AttemptTimedOut) } else { error });
        };
        self.is_running = false;
        done.map_err(|error| {
            self.is_spent |= failure::is_broken(&error);
            if self.access == Access::Write && failure::is_read_only(&error) {
                // Whoever comes next connects anew, perhaps to the server that writes now.
                self.is_spent = true;
                self.pool.forget_writers();
            }
            let is_outgrown = self.held.as_ref().is_some_and(|held| held.session.is_outgrown());
            match self.interrupt() {
                _ if !is_outgrown => failure::of(&error),
                Some(Interrupt::Flag(_)) => needs_memory(),
                Some(Interrupt::Statement(_)) | None => too_large(self.pool.opener.limits),
            }
        })
    }

    fn interrupt(&self) -> Option<Interrupt> {
        self.held.as_ref().map(|held| held.session.interrupt())
    }

    /// The session broke, or holds what nobody will read.
    pub(super) fn is_spent(&self) -> bool {
        self.is_spent || self.is_running
    }

    /// Not to be used again, for a reason of the caller's.
    pub(super) fn spend(&mut self) {
        self.is_spent = true;
    }

    /// Gives the session back, if it can be used again.
    pub(super) fn release(mut self) {
        if self.is_spent() {
            return;
        }
        if let Some(LeasedSession { session, permit }) = self.held.take() {
            let resting = Resting { session, access: self.access, since: Instant::now() };
            self.pool.resting().push(resting);
            drop(permit);
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(held) = self.held.take() else { return };
        // Without a runtime nothing can be said any more; the socket closes all the same.
        let Ok(runtime) = Handle::try_current() else { return };
        let interrupt = self.is_running.then(|| held.session.interrupt());
        if let Some(Interrupt::Flag(flag)) = &interrupt {
            flag.store(true, Ordering::Relaxed);
        }
        let pool = self.pool.clone();
        self.pool.tasks.spawn_on(
            async move {
                if let Some(Interrupt::Statement(sql)) = &interrupt {
                    pool.interrupt(sql.clone()).await;
                }
                // Only now its place is free, so that no more sessions are open than there may be. A function of SQLite
                // that cannot be interrupted keeps it for as long as it runs.
                match interrupt {
                    Some(Interrupt::Flag(_)) => held.session.close().await,
                    _ => drop(timeout(GOODBYE, held.session.close()).await),
                }
                drop(held.permit);
            },
            &runtime,
        );
    }
}

impl Pool {
    /// Ends a statement on the server, from a session of its own.
    async fn interrupt(&self, sql: String) {
        let ending = async {
            let mut session = Box::pin(self.opener.open(Access::Read)).await?;
            let statement = Statement { sql, values: Vec::new(), origin: Origin::Somebody };
            let done = session.execute(&statement).await.map_err(|error| failure::of(&error));
            session.close().await;
            done
        };
        match timeout(GOODBYE, ending).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                tracing::debug!(%error, "a statement could not be ended on its server: {error}")
            }
            Err(_) => tracing::debug!("a statement could not be ended on its server in time"),
        }
    }
}

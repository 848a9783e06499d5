//! Everything that can go wrong between a client and the database, and PostgreSQL's code for it.

use std::io;
use std::path::PathBuf;

use keys::Type;

/// The result of every fallible function of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database refused.
    #[error(transparent)]
    Database(#[from] db::Error),
    /// The socket, the terminal or a file failed.
    #[error(transparent)]
    Io(#[from] io::Error),

    /// A parameter in text format that is no value of its type.
    #[error(transparent)]
    TextValue(keys::Error),
    /// A parameter in binary format that is no value of its type.
    #[error("{bytes} bytes are no binary value of type {oid}: {reason}")]
    BinaryValue {
        /// PostgreSQL's number of the type.
        oid: u32,
        /// How many bytes came.
        bytes: usize,
        /// What is wrong with them.
        reason: &'static str,
    },
    /// A number or time that the type on the other side cannot hold.
    #[error("`{value}` is out of range for {kind}")]
    OutOfRange {
        /// The value.
        value: String,
        /// The type that cannot hold it.
        kind: Type,
    },
    /// Text that is not UTF-8, or has a zero byte in it.
    #[error("{thing} is not UTF-8 text without zero bytes")]
    NotUtf8 {
        /// What was to be text.
        thing: &'static str,
    },

    /// A message whose inside does not follow the protocol.
    #[error("malformed {message} message: {reason}")]
    Malformed {
        /// Which message.
        message: &'static str,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A byte where a message should begin.
    #[error("no message begins with byte {0}: send PostgreSQL's protocol version 3")]
    MessageUnknown(u8),
    /// A message that is too long, or shorter than its own length field.
    #[error("message of {bytes} bytes is outside 4 to {limit} bytes")]
    MessageLength {
        /// The length it states.
        bytes: u32,
        /// The longest that is read.
        limit: u32,
    },
    /// A message that has no place here.
    #[error("message {message} is out of place: {reason}")]
    MessageUnexpected {
        /// Which message.
        message: &'static str,
        /// What to do instead.
        reason: &'static str,
    },
    /// A format that is neither text nor binary.
    #[error("format code {0} is neither 0 (text) nor 1 (binary)")]
    FormatUnknown(i16),
    /// More or fewer things than the statement has.
    #[error("bind names {found} {things}, and the statement has {expected}")]
    BindCount {
        /// What is counted.
        things: &'static str,
        /// How many came.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// A name that no prepared statement has.
    #[error("prepared statement `{0}` does not exist")]
    NoSuchStatement(String),
    /// A name that a prepared statement has already.
    #[error("prepared statement `{0}` exists already: close it first")]
    StatementExists(String),
    /// A name that no portal has.
    #[error("portal `{0}` does not exist")]
    NoSuchPortal(String),
    /// A name that a portal has already.
    #[error("portal `{0}` exists already: close it first")]
    PortalExists(String),
    /// A portal without rows, run a second time.
    #[error("portal `{0}` has run already: bind it again")]
    PortalDone(String),
    /// FETCH or MOVE that would go back in a portal.
    #[error("portal `{0}` goes forward only: DECLARE a cursor with SCROLL")]
    PortalForward(String),
    /// Several statements where the protocol has room for one.
    #[error("a prepared statement is one statement, and this text has {0}")]
    SeveralStatements(usize),
    /// A parameter in a statement that came without parameters.
    #[error("there is no parameter $1: parameters need a prepared statement")]
    ParameterUnbound,
    /// More of something than one connection may have.
    #[error("more than {limit} {things} on one connection: {remedy}")]
    TooMany {
        /// What there is too much of.
        things: &'static str,
        /// How many there may be.
        limit: usize,
        /// What a client can do.
        remedy: &'static str,
    },

    /// Bytes of a copy that do not follow its form.
    #[error("{reason}")]
    CopyFormat {
        /// What is wrong with them.
        reason: &'static str,
    },
    /// A row of a copy that cannot be taken.
    #[error("{source} (COPY {table}, line {line}{column})")]
    CopyPlace {
        /// The table.
        table: String,
        /// Which line, or which row of the binary form, counted from one.
        line: u64,
        /// Which column, after a comma, if it is about one.
        column: String,
        /// What is wrong.
        source: Box<Error>,
    },
    /// The client gave up in the middle of a copy.
    #[error("COPY was given up by the client: {0}")]
    CopyFailed(String),

    /// The client asked to stop the statement.
    #[error("statement cancelled at the client's request")]
    Cancelled,
    /// The client went away in the middle of a statement.
    #[error("the client went away")]
    ClientGone,
    /// The client took too long to say who it is.
    #[error("no whole start-up message came within {0} seconds")]
    StartupTimeout(u64),
    /// A client that asks for settings it cannot have.
    #[error("{0}")]
    Startup(db::Error),
    /// All places are taken.
    #[error("{limit} connections are open already, which is the limit: try again later")]
    TooManyConnections {
        /// How many there may be.
        limit: usize,
    },
    /// The server is going down.
    #[error("the server is stopping")]
    Stopping,

    /// The data directory cannot be opened.
    #[error("cannot open the database in {}: {source}", path.display())]
    Open {
        /// The directory.
        path: PathBuf,
        /// Why not.
        source: db::Error,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address as given.
        address: String,
        /// Why not.
        source: io::Error,
    },
    /// No server answers at a URL, or it turns us away.
    #[error("cannot connect to {url}: {source}")]
    Connect {
        /// The URL as given.
        url: String,
        /// Why not.
        source: tokio_postgres::Error,
    },
    /// A log cannot be imported.
    #[error(transparent)]
    Import(#[from] advisor::Error),
    /// The connection to a server broke, or it did not answer as asked.
    #[error("the server did not answer: {0}")]
    Answer(#[from] tokio_postgres::Error),
    /// A data directory that is to be read is not there.
    #[error("there is no data in {}: name its directory with --data, or a server with --url", path.display())]
    NoData {
        /// The directory.
        path: PathBuf,
    },
    /// What the server at the other end said.
    #[error("{message}")]
    Server {
        /// Its message, and the place it is about.
        message: String,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The database refused, because of what stands at one place of a text.
    #[error("{source}")]
    At {
        /// Which character of the text, counted from one.
        position: usize,
        /// What is wrong.
        source: db::Error,
    },
    /// A statement is wrong at a place that can be shown.
    #[error("{source}\n{place}")]
    Statement {
        /// The line with a mark under the place.
        place: String,
        /// What is wrong.
        source: db::Error,
    },
    /// A backslash command that the shell does not know.
    #[error("unknown command `{0}`: \\? lists them")]
    CommandUnknown(String),
    /// The terminal does not work.
    #[error("the terminal failed: {0}")]
    Terminal(#[from] rustyline::error::ReadlineError),
}

impl Error {
    /// PostgreSQL's five characters for it.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            Self::Database(error)
            | Self::Startup(error)
            | Self::At { source: error, .. }
            | Self::Statement { source: error, .. } => error.sqlstate(),
            Self::TextValue(_) => "22P02",
            Self::BinaryValue { .. } => "22P03",
            Self::OutOfRange { .. } => "22003",
            Self::NotUtf8 { .. } => "22021",
            Self::Malformed { .. }
            | Self::MessageUnknown(_)
            | Self::MessageUnexpected { .. }
            | Self::FormatUnknown(_)
            | Self::BindCount { .. } => "08P01",
            Self::MessageLength { .. } => "54000",
            Self::NoSuchStatement(_) => "26000",
            Self::StatementExists(_) => "42P05",
            Self::NoSuchPortal(_) => "34000",
            Self::PortalExists(_) => "42P03",
            Self::PortalDone(_) | Self::PortalForward(_) => "55000",
            Self::SeveralStatements(_) => "42601",
            Self::ParameterUnbound => "42P02",
            Self::TooMany { .. } => "53400",
            Self::CopyFormat { .. } => "22P04",
            Self::CopyPlace { source, .. } => source.sqlstate(),
            Self::Cancelled | Self::CopyFailed(_) => "57014",
            Self::ClientGone => "08006",
            Self::StartupTimeout(_) => "08P01",
            Self::TooManyConnections { .. } => "53300",
            Self::Stopping => "57P01",
            Self::Open { .. }
            | Self::Connect { .. }
            | Self::Answer(_)
            | Self::Import(_)
            | Self::NoData { .. }
            | Self::Server { .. }
            | Self::Listen { .. }
            | Self::File { .. }
            | Self::CommandUnknown(_)
            | Self::Terminal(_)
            | Self::Io(_) => "58000",
        }
    }

    /// Whether the conversation is over: the bytes that follow mean nothing, or nobody reads.
    pub fn is_fatal(&self) -> bool {
        matches!(
            self,
            Self::Io(_)
                | Self::MessageUnknown(_)
                | Self::MessageLength { .. }
                | Self::ClientGone
                | Self::Startup(_)
                | Self::StartupTimeout(_)
                | Self::TooManyConnections { .. }
                | Self::Stopping
        )
    }

    /// Whether it is about the form of a copy and not about one value.
    pub(crate) fn is_copy_format(&self) -> bool {
        matches!(self, Self::CopyFormat { .. })
    }

    /// What the database said, if it is that.
    pub fn database(&self) -> Option<&db::Error> {
        match self {
            Self::Database(error)
            | Self::At { source: error, .. }
            | Self::Statement { source: error, .. } => Some(error),
            Self::CopyPlace { source, .. } => source.database(),
            _ => None,
        }
    }

    /// Which character of the text it is about, counted from one.
    pub fn position(&self) -> Option<usize> {
        match self {
            Self::At { position, .. } => Some(*position),
            _ => None,
        }
    }

    /// What the database said about a text, with its place counted in characters, as people and
    /// PostgreSQL's clients do.
    pub fn in_text(error: db::Error, text: &str) -> Self {
        match error.position_in(text) {
            Some(offset) => {
                let before = text.char_indices().take_while(|(at, _)| *at < offset);
                Self::At {
                    position: before.count() + 1,
                    source: error,
                }
            }
            None => Self::Database(error),
        }
    }
}

//! A read-only mirror: folders of built kernels, with the part of the Hub's API from which clients
//! load. Not how kernels get into the folders.

mod api;
mod connection;
mod content;
mod error;
mod folder;
mod http;
mod server;

pub use self::connection::Exchange;
pub use self::error::MirrorError;
pub use self::folder::MirrorFolder;
pub use self::server::MirrorServer;

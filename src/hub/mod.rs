//! The Hugging Face Hub: publishing built kernels there, and getting those of others. Not how
//! kernels are built.

pub mod api;
mod build_folder;
mod client;
mod download;
mod error;
pub mod lock;
pub mod requirement;
pub mod resolve;
mod settings;
mod upload;
mod upload_plan;

pub use self::build_folder::BuildFolder;
pub use self::client::HubClient;
pub use self::download::{download, snapshot};
pub use self::error::HubError;
pub use self::settings::{HubSettings, HubToken};
pub use self::upload::upload;
pub use self::upload_plan::{UploadOptions, UploadPlan, UploadResult, UploadStatus, plan_upload};

//! `serve`: built kernels of a folder, as a Hub that clients load from.

use serde_json::json;

use super::{CommandError, count, print};
use crate::cli::ServeArgs;
use crate::hub::HubError;
use crate::hub::api::HubRepository;
use crate::kernel::Kernel;
use crate::manifest::locate;
use crate::matrix::table;
use crate::mirror::{Exchange, MirrorFolder, MirrorServer};
use crate::terminal::{detail, note, print_event, start_events, status};

pub fn run(arguments: &ServeArgs) -> Result<(), CommandError> {
    if arguments.json {
        start_events();
    }
    let folder = MirrorFolder::open(&arguments.folder, name_of_kernel(arguments)?)?;
    status(format_args!("reading the kernels in {}", arguments.folder));
    let kernels = folder.read_all()?;
    let server = MirrorServer::bind(folder, arguments.listen)?;
    let address = server.address()?;
    let url = format!("http://{address}");
    if !address.ip().is_loopback() {
        note(format_args!(
            "every machine that reaches {address} may read these kernels, and the connection is not encrypted"
        ));
    }
    for (name, kernel) in &kernels {
        let refs: Vec<&str> = kernel.refs.iter().map(|own| own.name.as_str()).collect();
        status(format_args!("  {name}: {}", refs.join(", ")));
    }
    let number = count(kernels.len(), "kernel");
    status(format_args!("serving {number}; Ctrl-C ends. For clients:"));
    let names: Vec<&String> = kernels.keys().collect();
    print_event(&json!({ "event": "listening", "url": url, "kernels": names }));
    if !arguments.json {
        print(&format!("export HF_ENDPOINT={url}\n"))?;
    }
    server.serve(log)?;
    print_event(&json!({ "event": "ended" }));
    status("ended");
    Ok(())
}

/// The name of the kernel whose folder is served; `None` for a folder of kernels.
fn name_of_kernel(arguments: &ServeArgs) -> Result<Option<HubRepository>, CommandError> {
    let folder = &arguments.folder;
    let name = match &arguments.repo_id {
        Some(name) => name.clone(),
        None if !MirrorFolder::is_kernel(folder) => return Ok(None),
        None => {
            let (_, manifest) = locate(folder);
            let name = match manifest.is_file() {
                false => None,
                true => Kernel::load(folder, &table().toolkits)?.kernel.hub.repo_id,
            };
            name.ok_or(HubError::NoRepository)?
        }
    };
    Ok(Some(name.parse()?))
}

fn log(exchange: &Exchange) {
    let Exchange {
        request,
        status,
        sent,
        is_complete,
    } = exchange;
    print_event(&json!({
        "event": "request", "request": request, "status": status, "bytes": sent, "complete": is_complete,
    }));
    let cut = if *is_complete { "" } else { ", cut off" };
    detail(format_args!("{request} {status} {sent} bytes{cut}"));
}

//! Where the Hub is, who asks, and where its files are cached: the environment variables of
//! huggingface_hub and of the `kernels` client.

use std::fmt;

use camino::{Utf8Path, Utf8PathBuf};

/// A secret. It is sent to the Hub and never printed.
#[derive(Clone)]
pub struct HubToken(String);

impl HubToken {
    /// The value of the header that carries it.
    pub(super) fn header(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// A text with the token blotted out.
    pub(super) fn blot_out(&self, text: &str) -> String {
        text.replace(&self.0, "***")
    }
}

impl fmt::Debug for HubToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("HubToken(***)")
    }
}

/// The settings of one run.
#[derive(Clone, Debug)]
pub struct HubSettings {
    /// The URL of the Hub, without a slash at its end.
    pub endpoint: String,
    pub token: Option<HubToken>,
    /// The folder in which the `kernels` client looks for downloaded kernels.
    pub cache: Utf8PathBuf,
    /// Whether the user forbids the network.
    pub is_offline: bool,
}

impl HubSettings {
    /// The settings of the environment.
    pub fn of_environment() -> Self {
        Self::new(&|name| std::env::var(name).ok())
    }

    /// The settings that variables give. Empty variables count as absent.
    fn new(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let path = |name: &str| variable(name).map(Utf8PathBuf::from);
        let home = path("HF_HOME").unwrap_or_else(|| {
            let cache = path("XDG_CACHE_HOME");
            let home = || path("HOME").unwrap_or_default().join(".cache");
            cache.unwrap_or_else(home).join("huggingface")
        });
        let file = path("HF_TOKEN_PATH").unwrap_or_else(|| home.join("token"));
        let token = ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"]
            .into_iter()
            .find_map(variable)
            .or_else(|| read_token(&file));
        let endpoint = variable("HF_ENDPOINT");
        let endpoint = endpoint.unwrap_or_else(|| "https://huggingface.co".to_owned());
        let caches = ["KERNELS_CACHE", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"];
        let is_set =
            |value: String| matches!(value.to_uppercase().as_str(), "1" | "ON" | "YES" | "TRUE");
        Self {
            endpoint: endpoint.trim_end_matches('/').to_owned(),
            token: token
                .map(|text| text.trim().to_owned())
                .filter(|text| !text.is_empty())
                .map(HubToken),
            cache: caches
                .into_iter()
                .find_map(path)
                .unwrap_or_else(|| home.join("hub")),
            is_offline: variable("HF_HUB_OFFLINE").is_some_and(is_set),
        }
    }
}

/// The token that `hf auth login` wrote.
fn read_token(file: &Utf8Path) -> Option<String> {
    const LARGEST: u64 = 10_000;
    let bytes = crate::file::read_at_most(file, LARGEST).ok()?;
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> HubSettings {
        HubSettings::new(&|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn variables_of_the_hubs_own_client_count() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let home = dir.path().to_str().expect("UTF-8");
        std::fs::write(dir.path().join("token"), "hf_file\n").expect("written");
        let of_file = settings(&[("HF_HOME", home), ("HF_ENDPOINT", "http://a:1/")]);
        assert_eq!(of_file.endpoint, "http://a:1");
        assert_eq!(of_file.cache, format!("{home}/hub"));
        let header = |settings: &HubSettings| settings.token.as_ref().map(HubToken::header);
        assert_eq!(header(&of_file).as_deref(), Some("Bearer hf_file"));
        let own = settings(&[
            ("HF_HOME", home),
            ("HF_TOKEN", " hf_own\n"),
            ("KERNELS_CACHE", "/k"),
            ("HF_HUB_CACHE", "/h"),
        ]);
        assert_eq!(header(&own).as_deref(), Some("Bearer hf_own"));
        assert_eq!(own.cache, "/k");
        assert!(
            settings(&[("HOME", home), ("HF_TOKEN", "")])
                .token
                .is_none()
        );
    }

    #[test]
    fn a_token_is_not_shown() {
        let token = HubToken("hf_secret".to_owned());
        assert_eq!(format!("{token:?}"), "HubToken(***)");
        assert_eq!(token.blot_out("bad hf_secret"), "bad ***");
    }
}

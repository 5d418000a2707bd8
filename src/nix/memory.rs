//! How much memory this process and its children may still take.

use camino::{Utf8Path, Utf8PathBuf};

/// Bytes, or nothing where the system does not say: what the machine has to spare, or less where a control group
/// (version 2) has a limit.
pub fn available() -> Option<u64> {
    let machine = machine(&std::fs::read_to_string("/proc/meminfo").ok()?)?;
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let left = group(&groups).into_iter().flat_map(|group| {
        let root = Utf8Path::new("/sys/fs/cgroup");
        let dirs = group.ancestors().map(|dir| root.join(dir));
        dirs.filter_map(|dir| left(&dir)).collect::<Vec<_>>()
    });
    Some(left.fold(machine, u64::min))
}

fn machine(meminfo: &str) -> Option<u64> {
    let mut lines = meminfo.lines();
    let line = lines.find(|line| line.starts_with("MemAvailable:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// The group of this process, relative to the root of all.
fn group(groups: &str) -> Option<Utf8PathBuf> {
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    Some(path.into())
}

/// What a group's own limit leaves. What the kernel can drop does not count as taken.
fn left(dir: &Utf8Path) -> Option<u64> {
    let read = |name| std::fs::read_to_string(dir.join(name)).ok();
    let number = |name| read(name)?.trim().parse::<u64>().ok();
    let stat = read("memory.stat").unwrap_or_default();
    let droppable: u64 = stat
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(name, _)| ["inactive_file", "active_file"].contains(name))
        .filter_map(|(_, bytes)| bytes.parse::<u64>().ok())
        .sum();
    let taken = number("memory.current")?.saturating_sub(droppable);
    Some(number("memory.max")?.saturating_sub(taken))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_is_read() {
        let meminfo = "MemTotal:       24 kB\nMemAvailable:   20 kB\n";
        assert_eq!(machine(meminfo), Some(20 * 1024));
        assert_eq!(machine("MemTotal: 24 kB\n"), None);
        assert_eq!(group("1:name=x:/a\n0::/b/c\n"), Some("b/c".into()));
        assert_eq!(group("1:name=x:/a\n"), None);
        let dir = tempfile::tempdir().expect("a temporary folder");
        let dir = Utf8Path::from_path(dir.path()).expect("UTF-8");
        assert_eq!(left(dir), None);
        for (name, text) in [
            ("memory.max", "1000\n"),
            ("memory.current", "700\n"),
            (
                "memory.stat",
                "anon 500\nactive_file 50\ninactive_file 150\n",
            ),
        ] {
            std::fs::write(dir.join(name), text).expect("written");
        }
        assert_eq!(left(dir), Some(500));
        std::fs::write(dir.join("memory.max"), "max\n").expect("written");
        assert_eq!(left(dir), None);
    }
}

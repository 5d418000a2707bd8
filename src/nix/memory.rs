//! The memory that this process and its children may still take.

use camino::{Utf8Path, Utf8PathBuf};

/// The files and names of one version of control groups.
struct CgroupVersion {
    /// The folder of the groups.
    root: &'static str,
    /// Whether groups limit memory in the hierarchy of these controllers (second field of
    /// /proc/self/cgroup).
    limits: fn(&str) -> bool,
    limit: &'static str,
    taken: &'static str,
    /// Keys of memory.stat for memory that the kernel can drop.
    droppable: [&'static str; 2],
}

const VERSIONS: [CgroupVersion; 2] = [
    CgroupVersion {
        root: "/sys/fs/cgroup",
        limits: str::is_empty,
        limit: "memory.max",
        taken: "memory.current",
        droppable: ["inactive_file", "active_file"],
    },
    CgroupVersion {
        root: "/sys/fs/cgroup/memory",
        limits: |names| names.split(',').any(|name| name == "memory"),
        limit: "memory.limit_in_bytes",
        taken: "memory.usage_in_bytes",
        droppable: ["total_inactive_file", "total_active_file"],
    },
];

/// Bytes that are available: the free memory of the machine, or less if a control group (of either
/// version) has a limit. `None` if the system does not say.
pub fn available() -> Option<u64> {
    let machine = available_on_machine(&std::fs::read_to_string("/proc/meminfo").ok()?)?;
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let left = VERSIONS.iter().flat_map(|version| {
        let group = version.group(&groups).unwrap_or_default();
        let dirs = group
            .ancestors()
            .map(|dir| Utf8Path::new(version.root).join(dir));
        dirs.filter_map(|dir| version.free_bytes(&dir))
            .collect::<Vec<_>>()
    });
    Some(left.fold(machine, u64::min))
}

fn available_on_machine(meminfo: &str) -> Option<u64> {
    let mut lines = meminfo.lines();
    let line = lines.find(|line| line.starts_with("MemAvailable:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

impl CgroupVersion {
    /// The group of this process, relative to the root of all groups.
    fn group(&self, groups: &str) -> Option<Utf8PathBuf> {
        groups.lines().find_map(|line| {
            let (_, line) = line.split_once(':')?;
            let (controllers, path) = line.split_once(":/")?;
            (self.limits)(controllers).then(|| path.into())
        })
    }

    /// Bytes that a group's own limit leaves. Memory that the kernel can drop does not count as
    /// taken.
    fn free_bytes(&self, dir: &Utf8Path) -> Option<u64> {
        let read = |name| std::fs::read_to_string(dir.join(name)).ok();
        let number = |name| read(name)?.trim().parse::<u64>().ok();
        let stat = read("memory.stat").unwrap_or_default();
        let droppable: u64 = stat
            .lines()
            .filter_map(|line| line.split_once(' '))
            .filter(|(name, _)| self.droppable.contains(name))
            .filter_map(|(_, bytes)| bytes.parse::<u64>().ok())
            .sum();
        let taken = number(self.taken)?.saturating_sub(droppable);
        Some(number(self.limit)?.saturating_sub(taken))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_is_read() {
        let meminfo = "MemTotal:       24 kB\nMemAvailable:   20 kB\n";
        assert_eq!(available_on_machine(meminfo), Some(20 * 1024));
        assert_eq!(available_on_machine("MemTotal: 24 kB\n"), None);
        let groups = "4:cpu,memory:/d\n1:name=x:/a\n0::/b/c\n";
        assert_eq!(VERSIONS[0].group(groups), Some("b/c".into()));
        assert_eq!(VERSIONS[1].group(groups), Some("d".into()));
        assert_eq!(VERSIONS[0].group("1:name=x:/a\n"), None);
        for version in &VERSIONS {
            let dir = tempfile::tempdir().expect("a temporary folder");
            let dir = Utf8Path::from_path(dir.path()).expect("UTF-8");
            assert_eq!(version.free_bytes(dir), None);
            let [inactive, active] = version.droppable;
            for (name, text) in [
                (version.limit, "1000\n".to_owned()),
                (version.taken, "700\n".to_owned()),
                (
                    "memory.stat",
                    format!("anon 500\n{active} 50\n{inactive} 150\n"),
                ),
            ] {
                std::fs::write(dir.join(name), text).expect("written");
            }
            assert_eq!(version.free_bytes(dir), Some(500));
            std::fs::write(dir.join(version.limit), "max\n").expect("written");
            assert_eq!(version.free_bytes(dir), None);
        }
    }
}

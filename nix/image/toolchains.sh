# The closure of a listing -> $out, a layer with these store paths and with Nix's database of them.
# shellcheck source=nix/image/chroot.sh
. "$chroot"
python3 "$program" restore "$userland" root
python3 "$program" registration .attrs.json >root/registration
# NB: Nix registers a path with the current time.
in_root root /bin/sh -euc '
    nix-store --load-db </registration
    python3 - <<EOF
import sqlite3
database = sqlite3.connect("/nix/var/nix/db/db.sqlite")
database.execute("UPDATE ValidPaths SET registrationTime = 1")
database.commit()
database.execute("VACUUM")
EOF
'
state=layer/nix/var/nix
mkdir -p "$state/db" "$state/gcroots"
cp root/nix/var/nix/db/{db.sqlite,schema} "$state/db"
# Nix removes no path that the listing names.
ln -s "$listing" "$state/gcroots/image"
trees=(layer:)
while read -r path; do trees+=("$path:${path#/}"); done < <(grep "^$NIX_STORE/" root/registration | sort -u)
python3 "$program" layer "$out" "the toolchains of $variants" "${trees[@]}"

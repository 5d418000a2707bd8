# A script with its values filled in -> $out/bin/<name>, and a link of another name to it.
text=$(<"$program")
for key in "${!values[@]}"; do text=${text//"@$key@"/"${values[$key]}"}; done
[[ $text != *@[a-z]*@* ]] || fail "no value for a key of $program"
mkdir -p "$out/bin"
printf '#!%s/bin/bash\n%s\n' "${values[seed]}" "$text" >"$out/bin/$name"
chmod 755 "$out/bin/$name"
[ -z "$alias" ] || ln -s "$name" "$out/bin/$alias"

# Bash, and a script of each name in $scriptNames -> $out. Each sets $variables, the PATH of the
# tools among them, and goes on as run.sh does with the file of that name. NB: run.sh has started
# the shell that runs this file, and taken $toolPath for its PATH.
toolPath=$PATH
mkdir "$out"
ln -s "$builder" "$out/bash"
for ((i = 0; i < ${#scriptNames[@]}; i++)); do
    {
        declare -p toolPath privateRoot "${variables[@]}"
        printf 'set -- %q\n. %q\n' "${scriptFiles[i]}" "$start"
    } >"$out/${scriptNames[i]}"
done

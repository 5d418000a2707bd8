# An archive, whose name is $file -> $out, its content.
mkdir "$out"
case $file in
*.whl | *.zip) unzip -q "$archive" -d "$out" ;;
*.tar) tar -xf "$archive" -C "$out" ;;
*.tar.gz | *.tgz) tar -xzf "$archive" -C "$out" ;;
*.tar.bz2) tar -xjf "$archive" -C "$out" ;;
*.tar.xz | *.txz) tar -xJf "$archive" -C "$out" ;;
*) fail "$file: an archive of an unknown kind" ;;
esac
for folder in "${include[@]}"; do
    [ -d "$out/$folder" ] || {
        (cd "$out" && find . -type d -name include | sed 's|^./||' | head -n 20) >folders
        fail "dependencies.$dependency.include of build.toml: $file has no folder $folder" \
            "(its folders called include: $(paste -sd ' ' folders))"
    }
done

# What clang calls as ptxas for a part of a unit: keeps the PTX that it is given, which is what a whole unit would hold.
for argument; do
    case $argument in *.s) cp "$argument" "$KEPT_PTX" ;; esac
done
exec "$PTXAS" "$@"

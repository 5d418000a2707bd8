# The ptxas that clang calls for a part of a unit: keeps the PTX that it is given, which a whole
# unit would hold.
for argument; do
    case $argument in *.s) cp "$argument" "$KEPT_PTX" ;; esac
done
exec "$PTXAS" "$@"

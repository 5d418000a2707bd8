# A value as JSON text, indented by two spaces: metadata.json is read by people too.
let
  render =
    indent: value:
    let
      inner = indent + "  ";
      block =
        open: close: items:
        if items == [ ] then
          open + close
        else
          "${open}\n${inner}${builtins.concatStringsSep ",\n${inner}" items}\n${indent}${close}";
    in
    if builtins.isAttrs value then
      block "{" "}" (
        map (key: "${builtins.toJSON key}: ${render inner value.${key}}") (builtins.attrNames value)
      )
    else if builtins.isList value then
      block "[" "]" (map (render inner) value)
    else
      builtins.toJSON value;
in
render ""

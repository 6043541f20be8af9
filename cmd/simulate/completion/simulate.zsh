#compdef simulate
# zsh completion for simulate: source <(simulate completion zsh)
_simulate() {
    local -a found fields
    local line
    for line in "${(@f)$("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        [[ -n $line ]] || continue
        if [[ ${line%%$'\t'*} == *= ]]; then
            fields+=("${line%%$'\t'*}")
        else
            found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
        fi
    done
    (( $#fields )) && compadd -S '' -- $fields
    (( $#found )) && _describe simulate found
    (( $#fields + $#found )) || _files
}
compdef _simulate simulate

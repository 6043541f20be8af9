# bash completion for simulate: eval "$(simulate completion bash)"
_simulate() {
    local IFS=$'\n'
    COMPREPLY=($("${COMP_WORDS[0]}" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
    # bash takes --flag=value for three words, and completes the last one.
    if [[ ${COMP_WORDS[COMP_CWORD]} == = || ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
        COMPREPLY=("${COMPREPLY[@]#*=}")
    fi
}
complete -o default -F _simulate simulate

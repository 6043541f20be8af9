# fish completion for simulate: simulate completion fish | source
function __simulate_complete
    set -l words (commandline -opc) (commandline -ct)
    $words[1] complete -- $words[2..-1] 2>/dev/null
end
complete -c simulate -a '(__simulate_complete)'

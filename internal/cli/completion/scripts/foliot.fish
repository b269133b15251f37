# fish completion of foliot, printed by: foliot completion fish
function __foliot_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l lines ($words[1] complete -- $words[2..-1] 2>/dev/null)
    set -l before (string match -r -- '^--[^=]+=' $words[-1])
    set -l typed (string replace -r -- '^--[^=]+=' '' $words[-1])
    switch "$lines[1]"
        case files
            for path in (__fish_complete_path $typed)
                echo "$before$path"
            end
        case directories
            for path in (__fish_complete_directories $typed)
                echo "$before$path"
            end
        case words
            printf '%s\n' $lines[2..-1]
    end
end
complete -c foliot -f -k -a '(__foliot_complete)'

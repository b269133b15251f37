#compdef foliot
# zsh completion of foliot, printed by: foliot completion zsh
_foliot() {
	local -a lines described
	local line kind
	lines=("${(@f)$("${words[1]}" complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
	kind=$lines[1]
	case $kind in
	files)
		compset -P '--*='
		_files
		;;
	directories)
		compset -P '--*='
		_files -/
		;;
	words)
		for line in "${(@)lines[2,-1]}"; do
			described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
		done
		_describe -V foliot described
		;;
	esac
}
if [[ $funcstack[1] == _foliot ]]; then
	_foliot "$@"
else
	compdef _foliot foliot
fi

# bash completion of foliot, printed by: foliot completion bash
_foliot() {
	local cur=${COMP_WORDS[COMP_CWORD]} word whole line kind='' glue=''
	local -a words=()
	for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
		if [[ ${#words[@]} -gt 0 && $word =~ ^[=:]+$ ]]; then
			words[${#words[@]}-1]+=$word glue=1
		elif [[ $glue ]]; then
			words[${#words[@]}-1]+=$word glue=''
		else
			words+=("$word")
		fi
	done
	[[ $cur =~ ^[=:]+$ ]] && cur=''
	whole=${words[${#words[@]}-1]}
	COMPREPLY=()
	while IFS= read -r line; do
		if [[ ! $kind ]]; then
			kind=$line
		else
			line=${line%%$'\t'*}
			COMPREPLY+=("${line#"${whole%"$cur"}"}")
		fi
	done < <("${COMP_WORDS[0]}" complete -- "${words[@]}" 2>/dev/null)
	case $kind in
	files | directories)
		compopt -o filenames 2>/dev/null
		local option=-f
		[[ $kind == directories ]] && option=-d
		while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen $option -- "$cur")
		;;
	esac
}
complete -F _foliot foliot

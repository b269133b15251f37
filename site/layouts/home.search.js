{{- /* One entry for each part of a page: its heading, its address, its text. The pages of the menu come
       first, in its order. */ -}}
{{- $entries := slice -}}
{{- $pages := slice -}}
{{- range partialCached "menu.html" site }}{{ range .pages }}{{ $pages = $pages | append . }}{{ end }}{{ end -}}
{{- range union $pages site.RegularPages }}{{ if .IsHome }}{{ continue }}{{ end }}
  {{- $page := . }}{{ $title := partial "title.html" . -}}
  {{- $parts := partial "parts.html" . -}}
  {{- range $i, $part := $parts }}
    {{- $head := index (split $part "\n") 0 -}}
    {{- $text := $part | replaceRE `(?s)<!--.*?-->` "" | replaceRE `<[^>]+>` "" | replaceRE `\]\([^)]*\)` "" | replaceRE "[\\[`*|#]+|:?---+:?" " " | replaceRE `\s+` " " -}}
    {{- $anchor := cond (eq $i 0) "" (printf "#%s" ($head | anchorize)) -}}
    {{- $heading := cond (eq $i 0) "" ($head | replaceRE "`" "") -}}
    {{- $entries = $entries | append (dict "page" $title "heading" $heading "address" (printf "%s%s" (strings.TrimPrefix "/" $page.RelPermalink) $anchor) "text" $text) -}}
  {{- end }}
{{- end -}}
window.foliotPages = {{ $entries | jsonify }};

{{- /* One entry for each part of a page: its heading, its address, its text. */ -}}
{{- $entries := slice -}}
{{- range where site.Pages "Kind" "in" (slice "page" "section") }}
  {{- $page := . }}{{ $title := partial "title.html" . -}}
  {{- $parts := split .RawContent "\n## " -}}
  {{- range $i, $part := $parts }}
    {{- $head := index (split $part "\n") 0 -}}
    {{- $text := $part | replaceRE `(?s)<!--.*?-->` "" | replaceRE `<[^>]+>` "" | replaceRE `\]\([^)]*\)` "" | replaceRE "[\\[`*|#]+|:?---+:?" " " | replaceRE `\s+` " " -}}
    {{- $anchor := cond (eq $i 0) "" (printf "#%s" ($head | anchorize)) -}}
    {{- $name := cond (eq $i 0) $title (printf "%s: %s" $title ($head | replaceRE "`" "")) -}}
    {{- $entries = $entries | append (dict "title" $name "address" (printf "%s%s" (strings.TrimPrefix "/" $page.RelPermalink) $anchor) "text" $text) -}}
  {{- end }}
{{- end -}}
window.foliotPages = {{ $entries | jsonify }};

package api

// RenderPage returns the page of a Markdown file.
func RenderPage(file, text string) string {
	return string(renderPage(map[string]string{file: text}, file).plain)
}

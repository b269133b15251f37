package api

import "github.com/danielgtaylor/huma/v2"

// Document returns the OpenAPI document.
func (s *Server) Document() *huma.OpenAPI { return s.documentOf(routes()) }

// RenderPage returns the page of a Markdown file.
func RenderPage(file, text string) string {
	return string(renderPage(map[string]string{file: text}, file).plain)
}

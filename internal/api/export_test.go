package api

import "github.com/danielgtaylor/huma/v2"

// Document returns the OpenAPI document.
func (s *Server) Document() *huma.OpenAPI { return s.documentOf(routes()) }

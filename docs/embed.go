// Package docs holds the pages of this folder. A server serves them, so links
// from problems and alerts work without another site.
package docs

import "embed"

// Pages has the pages by their paths in this folder.
//
//go:embed *.md runbooks/*.md
var Pages embed.FS

// Package snippets holds the code of docs/idle.md, so that it is compiled and
// tested. Code between the lines
//
//	//doc:show NAME
//	//doc:end
//
// is in the page below the line <!-- NAME -->. A test compares them, and also
// those of docs/embedding.md and README.md, which show code of ../embed.
// `UPDATE_GOLDEN=1 go test ./snippets` rewrites the pages.
package snippets

// Package snippets holds the code that docs/idle.md shows, so that it is compiled and tested. What stands between the lines
//
//	//doc:show NAME
//	//doc:end
//
// is in the document after the line <!-- NAME -->. A test compares them; `UPDATE_GOLDEN=1 go test ./snippets` rewrites the document.
package snippets

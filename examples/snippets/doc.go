// Package snippets holds the code of docs/idle.md, so that it is compiled and
// tested. Code between the lines
//
//	//doc:show NAME
//	//doc:end
//
// is in the document below the line <!-- NAME -->. A test compares them.
// `UPDATE_GOLDEN=1 go test ./snippets` rewrites the document.
package snippets

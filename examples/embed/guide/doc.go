// Package guide holds the code of docs/embedding.md that is not in an example
// program, so that this code is compiled and tested. The test of package
// snippets compares the code with the page.
package guide

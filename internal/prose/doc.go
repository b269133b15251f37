// Package prose measures how far the repository's texts are from plain English.
//
// It counts a list of words that plain technical English hardly uses, per 1,000
// words, in comments, Markdown and the strings that users read. Its test holds
// each package and page at or below 3, or below its row in
// testdata/figures.txt. Rows may only fall.
//
// All functions are pure except Read, which walks a tree. A low figure proves
// nothing: read the text aloud.
package prose

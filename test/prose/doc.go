// Package prose counts the dialect words in the repository's texts: words that
// plain technical English hardly uses, per 1,000 words, in comments, Markdown
// and the strings that users read. Its test fails if a package or page has more
// than 3. A low figure proves nothing: read the text aloud.
package prose

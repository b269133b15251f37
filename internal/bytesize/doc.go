// Package bytesize writes numbers of bytes for people.
package bytesize

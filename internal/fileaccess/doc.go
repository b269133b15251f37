// Package fileaccess checks which users may read and write the files and
// directories that Foliot trusts, and names the command that corrects them.
package fileaccess

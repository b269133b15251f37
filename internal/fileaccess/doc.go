// Package fileaccess checks which users may read and write the files and
// directories that Foliot trusts. Its errors name the command that corrects the
// access.
package fileaccess

package main

import (
	"fmt"
	"regexp"
)

// heading matches the heading of a release in the changelog.
var heading = regexp.MustCompile(`(?m)^## \[([0-9]+\.[0-9]+\.[0-9]+[^\]\s]*)\]`)

// release returns the version of the latest release in the changelog, which is
// the server's tag without the v. Before the first release it returns "0.0.0".
func release(changelog []byte) string {
	if found := heading.FindSubmatch(changelog); found != nil {
		return string(found[1])
	}
	return "0.0.0"
}

// The lines with the version: one in package.json, two in its lock file, two in
// the chart.
var (
	lockVersion    = regexp.MustCompile(`(?m)^( +"version": ")[^"]*`)
	packageVersion = regexp.MustCompile(`(?m)^(  "version": ")[^"]*`)
	chartVersion   = regexp.MustCompile(`(?m)^((?:version|appVersion): ).*`)
)

// withVersion returns text with version in all lines that match. The number of
// these lines must be count.
func withVersion(text []byte, lines *regexp.Regexp, count int, version string) ([]byte, error) {
	if found := len(lines.FindAll(text, -1)); found != count {
		return nil, fmt.Errorf("%d lines match %s, want %d", found, lines, count)
	}
	return lines.ReplaceAll(text, []byte("${1}"+version)), nil
}

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

// field matches the version in package.json.
var field = regexp.MustCompile(`(?m)^  "version": "[^"]*"`)

// withVersion returns package.json with another version.
func withVersion(manifest []byte, version string) ([]byte, error) {
	if len(field.FindAll(manifest, 2)) != 1 {
		return nil, fmt.Errorf("%s has no line with its version", typescriptPackage)
	}
	return field.ReplaceAll(manifest, []byte(`  "version": "`+version+`"`)), nil
}

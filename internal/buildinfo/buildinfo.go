package buildinfo

import (
	"runtime/debug"
	"time"
)

const module = "github.com/foliot/foliot"

// Version returns the version of Foliot in this program that the Go tool
// recorded, or "devel". The program can be another one that links Foliot.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	version := info.Main.Version
	for _, dep := range info.Deps {
		if dep.Path == module {
			version = dep.Version
		}
	}
	if version == "" || version == "(devel)" {
		return "devel"
	}
	return version
}

// Commit returns the first 12 characters of the commit of this build, or "" if it
// is unknown.
func Commit() string { return setting("vcs.revision", 12) }

// Date returns the day of that commit in UTC, such as November 27, 2026, or "" if
// it is unknown.
func Date() string {
	t, err := time.Parse(time.RFC3339, setting("vcs.time", len(time.RFC3339)))
	if err != nil {
		return ""
	}
	return t.UTC().Format("January 2, 2006")
}

// setting returns at most n characters of a setting that the Go tool recorded.
func setting(key string, n int) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value[:min(n, len(s.Value))]
		}
	}
	return ""
}

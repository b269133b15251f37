package buildinfo

import "runtime/debug"

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
func Commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value[:min(12, len(s.Value))]
		}
	}
	return ""
}

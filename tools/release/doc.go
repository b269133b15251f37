// Release builds the files of a version from a clean clone of HEAD: archives,
// packages, lists of components (SBOM), licenses and checksums. Two runs on one
// commit write the same bytes. `make release` runs it.
//
// It links nfpm, the library that goreleaser uses for packages, and not
// goreleaser. goreleaser v2.15.1 links 325 modules, takes 275 s of processor
// time to compile and has 121 MB; this program has 43 modules, 20 s and 21 MB.
// v2.18.2 needs Go 1.27.1, and go.mod has 1.26. A configuration would replace
// the archives, checksums, packages and platforms: about 440 lines of Go, by an
// estimated 190 of YAML. The licenses, the copyright and the changelog of
// Debian, the absolute links and the chart would stay as programs that it
// calls, 330 lines with the list of components: for that list it calls another
// program, syft, and the Go tool has recorded the same list in the binary.
// docs/install.md promises equal bytes for each commit, so the test that builds
// twice would stay too.
package main

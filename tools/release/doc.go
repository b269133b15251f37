// Release builds the files of a version from a clean clone of HEAD: archives,
// packages, lists of components (SBOM), licenses and checksums. Two runs on one
// commit write the same bytes. `make release` runs it.
//
// It links nfpm, the library that goreleaser uses for packages, and not
// goreleaser. goreleaser v2.15.1 links 325 modules, takes 275 s of processor time
// to compile and has 121 MB; this program has 43 modules, 20 s and 21 MB. v2.18.2
// cannot be compiled with the Go version of go.mod. A configuration would save
// the code of archives, checksums and platforms, about 300 lines. The licenses,
// the copyright and the changelog of Debian, the absolute links and the chart
// would stay as programs that it calls. For the list of components it calls
// another program, syft; the Go tool has recorded the same list in the binary.
package main

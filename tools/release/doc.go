// Release builds the files of a version from a clean clone of HEAD: archives,
// packages, lists of components (SBOM), licenses and checksums. Two runs on one
// commit write the same bytes. `make release` runs it.
package main

package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// components writes the list of components (SBOM) of a binary in the format
// CycloneDX: the modules that the Go tool recorded in it, the standard library,
// and the libraries of the web page.
func (r *release) components(binary string, p platform) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	list := []cdx.Component{{
		Type: cdx.ComponentTypeLibrary, BOMRef: "std", Name: "std",
		Version: info.GoVersion, PackageURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"),
	}}
	for _, dep := range info.Deps {
		list = append(list, libraryOf(dep))
	}
	page, err := r.pageLibraries()
	if err != nil {
		return err
	}
	list = append(list, page...)
	refs := make([]string, 0, len(list))
	for _, c := range list {
		refs = append(refs, c.BOMRef)
	}
	sum := sha256.Sum256(content)
	bom := cdx.NewBOM()
	bom.SerialNumber = serialNumber(sum)
	bom.Metadata = &cdx.Metadata{
		Timestamp: r.made.Format("2006-01-02T15:04:05Z"),
		Component: &cdx.Component{
			Type: cdx.ComponentTypeApplication, BOMRef: "foliot", Name: filepath.Base(binary), Version: info.Main.Version,
			PackageURL: "pkg:golang/" + info.Main.Path + "@" + info.Main.Version,
			Hashes:     &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
			Licenses:   &cdx.Licenses{{License: &cdx.License{ID: "MIT"}}},
		},
	}
	bom.Components = &list
	bom.Dependencies = &[]cdx.Dependency{{Ref: "foliot", Dependencies: &refs}}
	f, err := os.Create(r.file(p, ".cdx.json"))
	if err != nil {
		return err
	}
	return errors.Join(cdx.NewBOMEncoder(f, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6), f.Close())
}

func libraryOf(m *debug.Module) cdx.Component {
	if m.Replace != nil {
		m = m.Replace
	}
	url := "pkg:golang/" + m.Path + "@" + m.Version
	return cdx.Component{Type: cdx.ComponentTypeLibrary, BOMRef: url, Name: m.Path, Version: m.Version, PackageURL: url}
}

// pageLibraries reads the table of the libraries that are bundled into the web
// page.
func (r *release) pageLibraries() ([]cdx.Component, error) {
	file := filepath.Join(r.source, "internal", "page", "third_party", "README.md")
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var list []cdx.Component
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.Contains(cells[1], "`") {
			continue
		}
		name, version := strings.Split(cells[2], "`")[1], strings.TrimSpace(cells[3])
		url := "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + version
		list = append(list, cdx.Component{Type: cdx.ComponentTypeLibrary, BOMRef: url, Name: name, Version: version, PackageURL: url})
	}
	folders, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	folders = slices.DeleteFunc(folders, func(e os.DirEntry) bool { return !e.IsDir() })
	if len(list) != len(folders) {
		return nil, fmt.Errorf("%s names %d libraries, and there are %d", file, len(list), len(folders))
	}
	return list, nil
}

// serialNumber returns a UUID of version 8 that depends on the binary alone.
func serialNumber(sum [32]byte) string {
	sum[6] = sum[6]&0x0f | 0x80
	sum[8] = sum[8]&0x3f | 0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

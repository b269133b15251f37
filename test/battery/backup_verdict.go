package main

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"os"

	"github.com/foliot/foliot/test/battery/verify"
)

// readManifest returns what a backup says of itself, in its last entry.
func readManifest(path string) (r verify.BackupReport, err error) {
	f, err := os.Open(path)
	if err != nil {
		return r, fmt.Errorf("read a backup: %w", err)
	}
	defer f.Close()
	archive := tar.NewReader(f)
	for {
		entry, err := archive.Next()
		if err != nil {
			return r, fmt.Errorf("find the manifest in a backup: %w", err)
		}
		if entry.Name == "BACKUP.json" {
			err := json.NewDecoder(archive).Decode(&r)
			return r, err
		}
	}
}

package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// architectures are those of the image, all for Linux.
var architectures = []string{"amd64", "arm64"}

func main() {
	root := flag.String("root", "../..", "the root of the repository")
	out := flag.String("out", "dist", "the folder for the image, below the root")
	version := flag.String("version", "", "the version, such as 1.2.3 (default: the commit)")
	flag.Parse()
	if err := run(*root, filepath.Join(*root, *out), *version); err != nil {
		fmt.Fprintf(os.Stderr, "image: %v\n", err)
		os.Exit(1)
	}
}

// run writes the image as an OCI layout, and for each architecture as an
// archive that docker load and podman load read.
func run(root, out, version string) error {
	commit, made, err := head(root)
	if err != nil {
		return err
	}
	if version == "" {
		version = "0.0.0-" + commit[:12]
	}
	tag, err := name.NewTag("foliot:" + version)
	if err != nil {
		return fmt.Errorf("-version: %w", err)
	}
	dir := filepath.Join(out, "foliot-image")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	list := mutate.IndexMediaType(empty.Index, indexType)
	for _, arch := range architectures {
		binary, err := build(root, arch)
		if err != nil {
			return err
		}
		image, err := assemble(content{binary: binary, certs: authorities(), arch: arch, version: version, commit: commit, made: made})
		if err != nil {
			return err
		}
		list = mutate.AppendManifests(list, mutate.IndexAddendum{Add: image, Descriptor: platform(arch)})
		archive := filepath.Join(out, "foliot-image-"+arch+".tar")
		if err := tarball.WriteToFile(archive, tag, image); err != nil {
			return err
		}
		fmt.Println("written:", archive)
	}
	path, err := layout.Write(dir, empty.Index)
	if err == nil {
		err = path.AppendIndex(list) // one entry, which skopeo copies
	}
	if err != nil {
		return err
	}
	digest, err := list.Digest()
	if err != nil {
		return err
	}
	fmt.Println("written:", dir, digest)
	return nil
}

// head returns the commit of the work tree and its time.
func head(root string) (commit string, made time.Time, err error) {
	text, err := exec.Command("git", "-C", root, "log", "-1", "--format=%H %ct").Output()
	if err != nil {
		return "", made, fmt.Errorf("git log: %w", err)
	}
	commit, seconds, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	n, err := strconv.ParseInt(seconds, 10, 64)
	return commit, time.Unix(n, 0).UTC(), err
}

// build returns the static binary for an architecture.
func build(root, arch string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "foliot-image-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "foliot")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", file, "./cmd/foliot")
	cmd.Dir = root
	// The settings of the person who builds must not change the bytes.
	// GOENV=off ignores the file of go env -w.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0",
		"GOENV=off", "GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("build for %s: %w", arch, err)
	}
	return os.ReadFile(file)
}

package main

import (
	"archive/tar"
	"bytes"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const indexType = types.OCIImageIndex

// user is the user and the group of the server. Images without a shell often use
// this number, and Kubernetes needs a number for runAsNonRoot.
const (
	user   = 65532
	userID = "65532:65532"
)

// dataDir is the data directory. It is a directory of its own below the volume,
// because Kubernetes and some volume drivers open the mode of a volume's root.
const (
	volume  = "/var/lib/foliot"
	dataDir = volume + "/data"
)

// content holds the files and the description of an image.
type content struct {
	binary, certs         []byte
	arch, version, commit string
	made                  time.Time
}

// assemble returns the image.
func assemble(c content) (v1.Image, error) {
	text, err := files(c)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: c.made}, CreatedBy: "tools/image"}})
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, configOf(image, c))
}

// configOf returns the configuration of the image: that of its layers, with how
// to run it.
func configOf(image v1.Image, c content) *v1.ConfigFile {
	config, err := image.ConfigFile()
	if err != nil {
		panic(err) // the image is in memory
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", c.arch, v1.Time{Time: c.made}
	if c.arch == "arm64" {
		config.Variant = "v8"
	}
	config.Config = v1.Config{
		User: userID, Entrypoint: []string{"/usr/bin/foliot"}, Cmd: []string{"serve"}, WorkingDir: "/",
		Env:          []string{"PATH=/usr/bin", "FOLIOT_DATA=" + dataDir, "FOLIOT_LISTEN=0.0.0.0:8750"},
		ExposedPorts: map[string]struct{}{"8750/tcp": {}}, Volumes: map[string]struct{}{volume: {}}, StopSignal: "SIGTERM",
		Healthcheck: &v1.HealthConfig{Test: []string{"CMD", "/usr/bin/foliot", "health"}, Interval: 10 * time.Second, Timeout: 6 * time.Second, StartPeriod: 30 * time.Second, Retries: 3},
		Labels: map[string]string{
			"org.opencontainers.image.title":         "Foliot",
			"org.opencontainers.image.description":   "Calls a URL at a time: durable, to the millisecond, cancellable until the last moment.",
			"org.opencontainers.image.source":        "https://github.com/foliot/foliot",
			"org.opencontainers.image.documentation": "https://github.com/foliot/foliot/blob/main/docs/install.md",
			"org.opencontainers.image.licenses":      "MIT",
			"org.opencontainers.image.version":       c.version,
			"org.opencontainers.image.revision":      c.commit,
			"org.opencontainers.image.created":       c.made.Format(time.RFC3339),
		},
	}
	return config
}

func platform(arch string) v1.Descriptor {
	p := &v1.Platform{OS: "linux", Architecture: arch}
	if arch == "arm64" {
		p.Variant = "v8"
	}
	return v1.Descriptor{Platform: p}
}

// entry is a file of the image, or a directory if its name ends with a slash.
type entry struct {
	name  string
	mode  int64
	owner int
	data  []byte
}

// files returns the only layer, a tar archive.
func files(c content) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range []entry{
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, data: []byte("root:x:0:\nfoliot:x:65532:\n")},
		{name: "etc/passwd", mode: 0o644, data: []byte("root:x:0:0:root:/:/sbin/nologin\nfoliot:x:65532:65532:Foliot:" + volume + ":/sbin/nologin\n")},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: c.certs},
		{name: "tmp/", mode: 0o1777},
		{name: "usr/", mode: 0o755},
		{name: "usr/bin/", mode: 0o755},
		{name: "usr/bin/foliot", mode: 0o755, data: c.binary},
		{name: "var/", mode: 0o755},
		{name: "var/lib/", mode: 0o755},
		{name: "var/lib/foliot/", mode: 0o700, owner: user},
	} {
		h := &tar.Header{Name: e.name, Mode: e.mode, Uid: e.owner, Gid: e.owner, Size: int64(len(e.data)), ModTime: c.made, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if e.name[len(e.name)-1] == '/' {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.data); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), w.Close()
}

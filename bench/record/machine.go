package record

import (
	"bufio"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Machine describes the machine of a run.
type Machine struct {
	CPU       string  `json:"cpu"`
	Cores     int     `json:"cores"`
	MemoryGiB float64 `json:"memory_gib"`
	System    string  `json:"system"`
	Kernel    string  `json:"kernel"`
	Arch      string  `json:"arch"`
}

// ThisMachine describes this machine. Unknown values are "unknown" or 0.
func ThisMachine() Machine {
	return Machine{
		CPU:       field("/proc/cpuinfo", "model name", ":"),
		Cores:     runtime.NumCPU(),
		MemoryGiB: memory("MemTotal"),
		System:    strings.Trim(field("/etc/os-release", "PRETTY_NAME", "="), `"`),
		Kernel:    firstLine("/proc/sys/kernel/osrelease"),
		Arch:      runtime.GOOS + "/" + runtime.GOARCH,
	}
}

// FreeMemoryGiB returns the amount of available memory, or 0 if it is unknown.
func FreeMemoryGiB() float64 { return memory("MemAvailable") }

func memory(name string) float64 {
	kb, err := strconv.ParseFloat(strings.TrimSuffix(field("/proc/meminfo", name, ":"), " kB"), 64)
	if err != nil {
		return 0
	}
	return kb / (1 << 20)
}

// field returns the value in the first line with the given name.
func field(path, name, separator string) string {
	f, err := os.Open(path)
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		key, value, ok := strings.Cut(lines.Text(), separator)
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func firstLine(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return line
}

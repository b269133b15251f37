package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// pyright checks the types of the Python package, in Python 3.10.
const pyright = "pyright@1.1.414"

func TestThePythonPackageWorksAsInstalled(t *testing.T) {
	python := builder(t)
	source, out := sources(t, "python"), t.TempDir()
	build := "from setuptools import build_meta; print(build_meta.build_sdist('" + out + "'), build_meta.build_wheel('" + out + "'))"
	command(t, source, nil, python, "-c", build)
	wheel := one(t, out, "foliot-*-py3-none-any.whl")

	project := t.TempDir()
	command(t, project, nil, python, "-m", "venv", "venv")
	venv := filepath.Join(project, "venv", "bin", "python")
	pip := []string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", wheel}
	command(t, project, nil, venv, pip...)
	if err := os.Rename(filepath.Join(source, "tests"), filepath.Join(project, "tests")); err != nil {
		t.Fatal(err)
	}
	// -W error: the package leaves no connection open.
	command(t, project, []string{"FOLIOT_BINARY=" + binary}, venv, "-W", "error", "-m", "unittest", "discover", "-t", ".", "-s", "tests")

	program, want := example(t, "python", "python")
	save(t, filepath.Join(project, "program.py"), program)
	checkTypes(t, project)
	env := serve(t)
	for range 2 { // a reader runs it again, on the same server
		if got := command(t, project, env, venv, "-u", "program.py"); got != want {
			t.Errorf("the program of the README prints\n%s\nand not\n%s", got, want)
		}
	}
	version := command(t, project, nil, venv, "-c", "import foliot; from importlib.metadata import version, requires; print(foliot.__version__, version('foliot'), requires('foliot'))")
	words := strings.Fields(version)
	if words[0] != words[1] || words[2] != "None" {
		t.Errorf("version of the code, version of the package, dependencies: %s", version)
	}
}

func TestTheSourceDistributionBuildsTheSameWheel(t *testing.T) {
	python := builder(t)
	source, out, again := sources(t, "python"), t.TempDir(), t.TempDir()
	command(t, source, nil, python, "-c", "from setuptools import build_meta; build_meta.build_sdist('"+out+"'); build_meta.build_wheel('"+out+"')")
	unpacked := t.TempDir()
	command(t, unpacked, nil, python, "-m", "tarfile", "-e", one(t, out, "foliot-*.tar.gz"), ".")
	command(t, one(t, unpacked, "foliot-*"), nil, python, "-c", "from setuptools import build_meta; build_meta.build_wheel('"+again+"')")
	names := func(dir string) string {
		return command(t, dir, nil, python, "-c", "import sys, zipfile; print(*sorted(f'{i.filename} {i.CRC}' for i in zipfile.ZipFile(sys.argv[1]).infolist() if 'RECORD' not in i.filename), sep='\\n')", one(t, dir, "foliot-*.whl"))
	}
	got, want := names(again), names(out)
	if got != want {
		t.Errorf("the wheel of the source distribution has\n%s\nand not\n%s", got, want)
	}
	for _, file := range []string{"foliot/py.typed", "foliot/types.py", "LICENSE"} {
		if !strings.Contains(want, file) {
			t.Errorf("the wheel has no %s:\n%s", file, want)
		}
	}
}

// builder returns a Python that can build a wheel without downloads.
func builder(t *testing.T) string {
	t.Helper()
	tool(t, "python3", "install Python 3.10 or newer")
	const check = "import sys, setuptools.build_meta, venv, ensurepip; assert sys.version_info >= (3, 10)\ntry:\n import wheel.bdist_wheel\nexcept ImportError: import setuptools.command.bdist_wheel"
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), python, "-c", check).Run() == nil {
			return python
		}
	}
	t.Skip("python3 cannot build a wheel, so this package is not tested: install setuptools, wheel and venv (apt-get install python3-setuptools python3-wheel python3-venv)")
	return ""
}

// checkTypes checks the types of the program and the tests in a project. Without
// npm it only compiles them.
func checkTypes(t *testing.T, project string) {
	t.Helper()
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Log("npm is not on PATH: the files are compiled, and their types are not checked")
		command(t, project, nil, filepath.Join("venv", "bin", "python"), "-m", "compileall", "-q", "program.py", "tests")
		return
	}
	command(t, project, nil, npm, "install", "--silent", "--no-audit", "--no-fund", "--no-save", pyright)
	save(t, filepath.Join(project, "pyrightconfig.json"), `{"include": ["program.py", "tests"], "venvPath": ".", "venv": "venv", "pythonVersion": "3.10", "typeCheckingMode": "strict"}`)
	t.Log(command(t, project, nil, filepath.Join("node_modules", ".bin", "pyright")))
}

package namespaces

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/foliot/foliot/test/battery/harness/system"
)

// attackProcess is an attacker's process.
type attackProcess struct{ *system.Child }

// startAttack starts an attacker, which prepares its attack at once. The
// process has a lower priority than the server, because a real attacker would
// not run on the machine of the server.
func startAttack(order attackOrder) (*attackProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start the attacker: %w", err)
	}
	args := []string{self, Command}
	if nice, err := exec.LookPath("nice"); err == nil {
		args = append([]string{nice, "-n", "10"}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.SysProcAttr = system.ChildAttributes()
	c, err := system.StartChild("the attacker", cmd)
	if err != nil {
		return nil, err
	}
	p := &attackProcess{c}
	if err := json.NewEncoder(p.In).Encode(order); err != nil {
		return nil, errors.Join(fmt.Errorf("send the order: %w", err), p.Close())
	}
	return p, nil
}

// prepared waits until the attack is prepared.
func (p *attackProcess) prepared() (ready attackReady, err error) {
	if err := p.Out.Decode(&ready); err != nil {
		return ready, fmt.Errorf("prepare the attack: %w", errors.Join(err, p.Close()))
	}
	return ready, nil
}

// strike starts the attack.
func (p *attackProcess) strike() error {
	if _, err := io.WriteString(p.In, "{}\n"); err != nil {
		return fmt.Errorf("start the attack: %w", err)
	}
	return nil
}

// end ends the attack and its process, and returns the attacker's counts.
func (p *attackProcess) end() (counts attackCounts, err error) {
	p.In.Close()
	if err := p.Out.Decode(&counts); err != nil {
		return counts, fmt.Errorf("end the attack: %w", errors.Join(err, p.Close()))
	}
	return counts, p.Close()
}

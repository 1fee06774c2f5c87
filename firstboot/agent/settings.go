package agent

import (
	"context"
	"strings"

	"grove/firstboot/node"
	"grove/internal/spec"
)

// settled is what the node was told to be, once that is known.
type settled struct {
	known chan struct{} // closed when value stands; it does not change after that
	value spec.Settings

	secrets spec.Secrets
}

// readNode reads node.yaml, from which the settings and the node's name follow.
func (a *Agent) readNode(ctx context.Context) {
	found, err := node.Look(a.Machine, a.Root, a.medium, a.presence.Cloud(ctx))
	if err != nil {
		a.voice.Problem("node", err.Error())
		a.voice.Say("node", "%v", err)
	}
	if len(found.Faults) > 0 {
		sentence := "node.yaml is refused: " + strings.ReplaceAll(found.Faults.Error(), "\n", "; ")
		a.voice.Problem("node", sentence)
		a.voice.Say("node", "%s", sentence)
	}
	a.settle(found)
	a.presence.Take(ctx, found, a.settled.value.Network)
}

// settle lays what node.yaml says over what the image says. A node.yaml that is refused says nothing.
func (a *Agent) settle(found node.Found) {
	a.settled.secrets = found.Personal.Secrets
	a.settled.value = found.Personal.Settings.Over(a.image.Settings)
	close(a.settled.known)
}

// settings waits until node.yaml was looked for, which takes until PID 1 has found the medium. False means that ctx has ended before.
func (a *Agent) settings(ctx context.Context) (spec.Settings, bool) {
	select {
	case <-a.settled.known:
		return a.settled.value, true
	case <-ctx.Done():
		return spec.Settings{}, false
	}
}

// state is the state partition, as parts wait for it that keep something there.
type state struct {
	tried   chan struct{} // closed when it was tried to mount it
	mounted bool          // it is; it does not change after that
}

// stateIs is called once.
func (a *Agent) stateIs(mounted bool) {
	a.state.mounted = mounted
	close(a.state.tried)
}

// hasState waits until it was tried to mount the state. Not known means that ctx has ended before.
func (a *Agent) hasState(ctx context.Context) (mounted, known bool) {
	select {
	case <-a.state.tried:
		return a.state.mounted, true
	case <-ctx.Done():
		return false, false
	}
}

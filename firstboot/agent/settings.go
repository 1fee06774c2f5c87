package agent

import (
	"context"

	"grove/firstboot/node"
	"grove/internal/spec"
)

// settled is what the node was told to be, once that is known.
type settled struct {
	known chan struct{} // closed when value stands; it does not change after that
	value spec.Settings

	secrets spec.Secrets
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

// raise has the firewall's rules as soon as the settings are known.
func (a *Agent) raise(ctx context.Context) {
	if s, known := a.settings(ctx); known {
		a.wall.Raise(ctx, s)
	}
}

package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"grove/firstboot/node"
)

// cloudMay is how long the network may take before the instance's user data is done without.
const cloudMay = time.Minute

// cloud is where node.yaml may come from on EC2; nil elsewhere.
func (a *Agent) cloud(ctx context.Context) func() ([]byte, error) {
	if !a.naming.ec2 {
		return nil
	}
	return func() ([]byte, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, cloudMay, errors.New("no address within a minute"))
		defer cancel()
		if err := a.online(ctx); err != nil {
			return nil, err
		}
		return node.UserData(ctx, a.Wire.Metadata)
	}
}

// online waits for the first address.
func (a *Agent) online(ctx context.Context) error {
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for {
		a.naming.mu.Lock()
		on := len(a.naming.leases) > 0
		a.naming.mu.Unlock()
		if on {
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// instanceKey is what the cloud has for who logs in.
func (a *Agent) instanceKey(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, cloudMay)
	defer cancel()
	if err := a.online(ctx); err != nil {
		return nil, fmt.Errorf("no address within %s", cloudMay)
	}
	return node.PublicKey(ctx, a.Wire.Metadata)
}

package presence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"grove/firstboot/node"
)

// cloudMay is how long the network may take before the instance's user data is done without.
const cloudMay = time.Minute

// Cloud is where node.yaml may come from on EC2; nil elsewhere.
func (s *Site) Cloud(ctx context.Context) func() ([]byte, error) {
	if !s.EC2 {
		return nil
	}
	return func() ([]byte, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, cloudMay, errors.New("no address within a minute"))
		defer cancel()
		if err := s.online(ctx); err != nil {
			return nil, err
		}
		return node.UserData(ctx, s.Metadata)
	}
}

// online waits for the first address.
func (s *Site) online(ctx context.Context) error {
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for {
		s.naming.mu.Lock()
		on := len(s.naming.leases) > 0
		s.naming.mu.Unlock()
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

// Keys is what the cloud has for who logs in.
func (s *Site) Keys(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, cloudMay)
	defer cancel()
	if err := s.online(ctx); err != nil {
		return nil, fmt.Errorf("no address within %s", cloudMay)
	}
	return node.PublicKey(ctx, s.Metadata)
}

package facts

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sync/errgroup"

	"grove/firstboot/facts/superblock"
	"grove/firstboot/facts/tool"
	"grove/firstboot/facts/zeros"
)

// content says what is on a device.
func (l *look) content(ctx context.Context, t target) (Content, *superblock.Table, *superblock.Group) {
	f, err := os.Open(t.dev)
	if err != nil {
		return Content{Fault: err.Error()}, nil, nil
	}
	defer f.Close()
	d, err := superblock.Read(f, t.size)
	if err != nil {
		return Content{Fault: err.Error()}, nil, nil
	}
	c, group := understood(d)
	if clear := len(d.Found) == 1 && d.Table == nil && !d.Other || len(d.Found) == 0 && d.Table != nil; clear || t.quick {
		return c, d.Table, group
	}
	c = l.ask(ctx, t.dev, c)
	if c.Fault == "" && !c.Known() && len(d.Found) == 0 {
		c.Sampled = true
		at, found, err := zeros.Find(ctx, f, t.size)
		switch {
		case err != nil:
			c.Fault = err.Error()
		case found:
			c.Data = "at " + at.String()
		}
	}
	return c, d.Table, group
}

// understood turns the first superblock into the content; the others are among the signatures.
func understood(d superblock.Device) (c Content, group *superblock.Group) {
	for n, f := range d.Found {
		c.Signatures = append(c.Signatures, fmt.Sprintf("%s at %#x", f.Type, f.Offset))
		if n > 0 {
			c.Ambivalent = true
			continue
		}
		c.Type, c.UUID, c.Label, c.Unfinished = f.Type, f.UUID, f.Label, f.Unfinished
		if m := f.Member; m != nil {
			c.Member = &Member{Array: f.UUID, Name: m.Name, Level: m.Level, Disks: m.Disks, Role: m.Role, Events: m.Events}
		}
		if group = f.Group; group != nil {
			c.Group, c.GroupID = group.Name, group.UUID
		}
	}
	if d.Table != nil {
		c.Table, c.TableID = d.Table.Kind, d.Table.ID
		c.Ambivalent = c.Ambivalent || len(d.Found) > 0
	}
	return c, group
}

// ask has blkid and wipefs judge, beside each other. What was understood before is kept: it had checksums to prove it.
func (l *look) ask(ctx context.Context, dev string, c Content) Content {
	var theirs tool.Blkid
	var signatures []string
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) { theirs, err = tool.Probe(ctx, l.machine, dev); return err })
	g.Go(func() (err error) { signatures, err = tool.Signatures(ctx, l.machine, dev); return err })
	if err := g.Wait(); err != nil {
		c.Fault = err.Error()
		return c
	}
	if len(signatures) > 0 {
		c.Signatures = signatures
	}
	c.Ambivalent = c.Ambivalent || theirs.Ambivalent
	if c.Type == "" && c.Table == "" {
		c.Type, c.UUID, c.Label, c.Table, c.TableID = theirs.Type, theirs.UUID, theirs.Label, theirs.Table, theirs.TableID
	}
	return c
}

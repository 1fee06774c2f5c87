package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"grove/builder/lab"
)

// setVerbs are the operator's, on a set of the lab.
func setVerbs(ctx context.Context, b *bench) (figure string, err error) {
	l, err := b.setOf(ctx, 3, nil)
	if err != nil {
		return "", err
	}
	defer func() { err = blamed(err, l.Dir()) }()
	defer l.Close(context.WithoutCancel(ctx))
	out := filepath.Dir(filepath.Dir(l.Dir()))
	set := func(args ...string) result {
		return b.run(ctx, nil, append(append([]string{"set"}, args...), "-o", out)...)
	}
	first, err := gathered(ctx, l)
	if err != nil {
		return "", err
	}
	if err := set("status").wants(0, "rs0: primary "+first.Primary+":27017, 3 votes", "SECONDARY"); err != nil {
		return "", err
	}
	if err := set("remove", first.Primary).wants(4, first.Primary+":27017 is the primary; have it step down first: grove set stepdown"); err != nil {
		return "", err
	}
	if err := set("remove", "db9").wants(1, "db9 is no member of rs0; it has db1:27017, db2:27017, db3:27017"); err != nil {
		return "", err
	}
	if err := set("stepdown").wants(0, first.Primary+":27017 has stepped down"); err != nil {
		return "", err
	}
	second, err := gathered(ctx, l)
	if err != nil || second.Primary == first.Primary {
		return "", fmt.Errorf("%s is primary again, %w", second.Primary, err)
	}
	gone := second.Secondaries[0]
	removed := set("remove", gone)
	if err := removed.wants(0, gone+" is out; take it out of replica_set.members too", "rs0 has 2 votes now, an even number", "2 votes"); err != nil {
		return "", err
	}
	i := slices.IndexFunc(l.Nodes(), func(n lab.Status) bool { return n.Name == gone })
	if err := onPage(ctx, l, i, "the node was taken out of rs0"); err != nil {
		return "", err
	}
	rest := slices.DeleteFunc(slices.Clone(second.Secondaries), func(name string) bool { return name == gone })
	if err := l.Kill(second.Primary); err != nil {
		return "", err
	}
	if err := eventually(ctx, func() error {
		return set("remove", rest[0]).wants(1, "rs0 has no primary now, and only a primary can do this")
	}); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s stepped down for %s; %s taken out, and says so", first.Primary, second.Primary, gone), nil
}

// eventually waits until it holds: a secondary notices after 10 s that its primary is gone.
func eventually(ctx context.Context, holds func() error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := holds()
		if err == nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
		}
	}
}

// healthyWithin is from QEMU's start to a set of three that is whole.
const healthyWithin = 60 * time.Second

// setFigures is from QEMU's start to a set that is whole, on two processors for all.
func setFigures(ctx context.Context, b *bench) (string, error) {
	var told []string
	for _, n := range []int{1, 3, 5} {
		r := b.run(ctx, nil, "lab", "test", "demo", "--nodes", fmt.Sprint(n), "--within", "3m", "-o", b.folder("figures"), "--json")
		var v struct {
			Set   struct{ After time.Duration }
			Nodes []struct {
				Times struct{ Kernel, Init, Mongod, Answer time.Duration }
			}
		}
		if r.code != 0 || json.Unmarshal([]byte(r.out[strings.Index(r.out, "\n{")+1:]), &v) != nil {
			return "", fmt.Errorf("%d nodes: exit code %d: %s", n, r.code, r.out)
		}
		var kernel, init, mongod, answer time.Duration
		for _, one := range v.Nodes {
			kernel, init, mongod, answer = max(kernel, one.Times.Kernel), max(init, one.Times.Init), max(mongod, one.Times.Mongod), max(answer, one.Times.Answer)
		}
		if n == 3 && v.Set.After > healthyWithin {
			return "", fmt.Errorf("three nodes were whole after %.1f s; want at most %s", v.Set.After.Seconds(), healthyWithin)
		}
		told = append(told, fmt.Sprintf("%d nodes: whole after %.1f s: the last kernel started at %.1f, its init at %.1f, mongod at %.1f, answered at %.1f; then %.1f s of founding, joining, initial sync and votes",
			n, v.Set.After.Seconds(), kernel.Seconds(), init.Seconds(), mongod.Seconds(), answer.Seconds(), (v.Set.After-answer).Seconds()))
	}
	return strings.Join(told, "\n"), nil
}

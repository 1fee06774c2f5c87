package main

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"grove/internal/host"
)

// a4: nodes become one replica set by their hostnames, and never two.
func a4() []check {
	const minutes = "minutes of real mongods"
	replset := "./firstboot/replset"
	return []check{
		{name: "a4.1", says: "three blank nodes: one primary, two secondaries, access control on, a majority's write read back from each; verdict, JUnit, serial logs", within: 10 * time.Minute, run: setByCommand("demo")},
		{name: "a4.2", says: "20 orders of start, all at once and up to half a minute apart, with real mongods: each ends in one set, same members, odd votes", within: 30 * time.Minute, notCI: minutes,
			run: withMongodAnd(nil, replset, "TestAnyOrder", "TestAnyOrderOfStartsEndsInOneSet")},
		{name: "a4.3.disk", says: "the first node loses its disk, with others up, down and cut off: never a second set", within: 15 * time.Minute, notCI: minutes,
			run: withMongodAnd(nil, replset, "TestTheFirstNodeLoses", "TestTheFirstNodeLosesItsDisk")},
		{name: "a4.3.foreign", says: "another set's name, data of others, another hostname, key or password: named and left alone", within: 15 * time.Minute, notCI: minutes,
			run: withMongodAnd(nil, replset, "TestWhatDoesNotBelong", "TestWhatDoesNotBelongIsNamedAndLeftAlone")},
		{name: "a4.3.sizes", says: "one, two, four, seven and eight nodes; a priority, an arbiter, a hidden member with tags", within: 15 * time.Minute, notCI: minutes,
			run: withMongodAnd(nil, replset, "TestSetsOfAllSizes", "TestSetsOfAllSizes")},
		{name: "a4.3.way", says: "two add themselves at once, a stale version, a primary that steps down in the middle, a quorum lost: the right end state", within: 15 * time.Minute, notCI: minutes,
			run: withMongodAnd(nil, replset, "TestNodesInEachOthersWay", "TestNodesInEachOthersWay")},
		{name: "a4.3.address", says: "each node moves to another address: the same member", within: 10 * time.Minute, notCI: minutes, run: moved},
		{name: "a4.3.kills", says: "kill -9 of agent, mongod and both at each step of the join: one set in the end", within: 30 * time.Minute, notCI: minutes,
			run: withMongodAnd(nil, replset, "TestKilledAtEachStep", "TestKilledAtEachStep")},
		{name: "a4.3.old", says: "stand-ins of MongoDB 3.0 and 3.2 become one set, with an arbiter too", within: 5 * time.Minute, run: tests(nil, replset, "TestOldServers", "TestOldServersBecomeOneSet")},
		{name: "a4.4", says: "each row of the table of errors, on a real mongod where it can be had, on the stand-in else", within: 10 * time.Minute,
			run: withMongodAnd(nil, "./firstboot/replset/member", ".", "TestARealServersErrorsAreThoseOfTheTable")},
		{name: "a4.5.users", says: "the first users, wherever a crash has left them; the exception used up, wrong passwords: named; each may do what it should and no more", within: 10 * time.Minute,
			run: withMongodAnd(nil, "./firstboot/replset/user", ".", "TestUsersAreMadeWhereverACrashHasLeftThem")},
		{name: "a4.5.key", says: "a keyFile that others can read: mongod comes back with one that they cannot; another key on one node: named on its page, and mended", within: 15 * time.Minute, run: keys},
		{name: "a4.6.restarts", says: "all at once, one after the other: the same set, nothing acknowledged is lost", within: 10 * time.Minute, notCI: minutes, run: withMongodAnd(nil, replset, "TestRestarts", "TestRestarts")},
		{name: "a4.6", says: "10 minutes of writes with majority concern while each node's power is cut in turn: no acknowledged write is lost", within: 40 * time.Minute, notCI: "a quarter of an hour", run: writesThroughFailures},
		{name: "a4.7", says: "no secret in image, manifest, logs, page, process arguments", within: 10 * time.Minute, run: noSecrets},
		{name: "a4.8", says: "the decider, in every interleaving of three nodes to a depth, and in 100,000 random walks of five and of seven: never two sets; with a guard taken out there are", within: 40 * time.Minute,
			notCI: "ten minutes; go test walks 500 of each", run: tests([]string{"GROVE_WALKS=100000", "GROVE_STATES=400000"}, "./firstboot/replset/join", ".", "TestRandomWalksOfFiveAndOfSeven")},
		{name: "a4.set", says: "grove set status, stepdown and remove, on a set of the lab; what would cost the majority is refused", within: 15 * time.Minute, run: setVerbs},
		{name: "a4.versions", says: "join, users, errors, restarts and a lost disk on MongoDB 4.2.6, 4.4.2, 5.0.4, 5.0.32, 6.0.5 and 6.0.27", within: 60 * time.Minute, notCI: "a quarter of an hour", run: versions},
		{name: "a4.figures", says: "from blank to a healthy set, by phase, with 1, 3 and 5 nodes; three within 60 s of QEMU's start", within: 20 * time.Minute, notCI: "CI's machine is shared; a4.1 prints three nodes", run: setFigures},
	}
}

// tests runs some of a package's, none of which may be left out, and wants one by name.
func tests(env []string, pkg, pattern, must string) func(context.Context, *bench) (string, error) {
	return func(ctx context.Context, b *bench) (string, error) { return b.tests(ctx, env, pkg, pattern, must) }
}

func (b *bench) tests(ctx context.Context, env []string, pkg, pattern, must string) (string, error) {
	r := b.program(ctx, host.Command{Path: "go", Args: []string{"test", "-count=1", "-timeout", "50m", "-v", "-run", pattern, pkg}, Env: env})
	if r.code != 0 || strings.Contains(r.out, "--- SKIP") || !strings.Contains(r.out, "--- PASS: "+must) {
		return "", errors.New(r.out)
	}
	return strings.Join(regexp.MustCompile(`(?m)^ *--- PASS: .*$|^.*_test\.go:\d+: .*$`).FindAllString(r.out, -1), "\n"), nil
}

// withMongodAnd runs them with the image's own mongod.
func withMongodAnd(env []string, pkg, pattern, must string) func(context.Context, *bench) (string, error) {
	return func(ctx context.Context, b *bench) (string, error) {
		m, err := b.mongod(ctx)
		if err != nil {
			return "", err
		}
		return b.tests(ctx, append(env, "GROVE_TEST_MONGOD="+m.command()), pkg, pattern, must)
	}
}

// command starts it on this machine, by its own loader.
func (s server) command() string {
	return strings.Join([]string{filepath.Join(s.usr, "lib64/ld-linux-x86-64.so.2"), "--library-path", filepath.Join(s.usr, "lib/x86_64-linux-gnu"), filepath.Join(s.usr, "bin/mongod")}, " ")
}

// moved has a hosts file of its own, in a mount namespace.
func moved(ctx context.Context, b *bench) (string, error) {
	m, err := b.mongod(ctx)
	if err != nil {
		return "", err
	}
	dir := b.folder("moved")
	hosts, binary := filepath.Join(dir, "hosts"), filepath.Join(dir, "replset.test")
	if err := os.WriteFile(hosts, []byte("127.0.0.1 localhost\n"), 0o644); err != nil {
		return "", err
	}
	if r := b.program(ctx, host.Command{Path: "go", Args: []string{"test", "-c", "-o", binary, "./firstboot/replset"}}); r.code != 0 {
		return "", errors.New(r.out)
	}
	script := `mount --bind "$1" /etc/hosts && exec "$2" -test.v -test.run AnotherAddress`
	r := b.program(ctx, host.Command{Path: "unshare", Args: []string{"-rm", "sh", "-c", script, "sh", hosts, binary}, Env: []string{"GROVE_TEST_HOSTS=1", "GROVE_TEST_MONGOD=" + m.command()}})
	if r.code != 0 || !strings.Contains(r.out, "--- PASS: TestANodeIsTheSameMemberAtAnotherAddress") {
		return "", errors.New(r.out)
	}
	return "127.0.0.x to 127.0.1.x, one node after the other", nil
}

// cameIn is on a node's console when it founds the set or joins it.
var cameIn = regexp.MustCompile(`set: (found|reconfigure): `)

// setByCommand is what make demo does, with this recipe.
func setByCommand(recipe string) func(context.Context, *bench) (string, error) {
	return func(ctx context.Context, b *bench) (string, error) {
		out := b.folder("demo")
		r := b.run(ctx, nil, "lab", "test", "recipes/"+recipe+".yaml", "--nodes", "3", "-o", out, "--json")
		dirs, _ := filepath.Glob(filepath.Join(out, "lab", recipe+"-*"))
		dir := strings.Join(dirs, "")
		if r.code != 0 {
			return "", blamed(fmt.Errorf("exit code %d: %s", r.code, r.out), dir)
		}
		if err := keep(dir, recipe); err != nil {
			return "", err
		}
		return asASet(r)
	}
}

// asASet reads the verdict.
func asASet(r result) (string, error) {
	var v struct {
		Passed bool
		JUnit  string
		Set    struct {
			Primary     string
			Secondaries []string
			Voters      int
			After       time.Duration
		}
		Checks []struct{ Node, Name, Fault string }
		Nodes  []struct {
			Serial string
			Times  struct{ Kernel, Init, Mongod, Answer time.Duration }
		}
	}
	if err := json.Unmarshal([]byte(r.out[strings.Index(r.out, "\n{")+1:]), &v); err != nil {
		return "", fmt.Errorf("%w: %s", err, r.out)
	}
	read := 0
	for _, c := range v.Checks {
		if c.Name == "the document is read back" && c.Fault == "" {
			read++
		}
	}
	if !v.Passed || len(v.Set.Secondaries) != 2 || v.Set.Voters != 3 || read != 3 {
		return "", fmt.Errorf("the verdict is %+v", v)
	}
	var suite struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
	}
	data, err := os.ReadFile(v.JUnit)
	if err == nil {
		err = xml.Unmarshal(data, &suite)
	}
	if err != nil || suite.Tests != len(v.Checks) || suite.Failures != 0 {
		return "", fmt.Errorf("junit.xml: %+v, %w", suite, err)
	}
	answers := time.Duration(0)
	for _, n := range v.Nodes {
		log, err := os.ReadFile(n.Serial)
		if err != nil {
			return "", err
		}
		if !cameIn.Match(log) {
			return "", fmt.Errorf("%s does not say how the node came into the set", n.Serial)
		}
		answers = max(answers, n.Times.Answer)
	}
	return fmt.Sprintf("whole after %.1f s, the last mongod answered after %.1f s; %d checks in junit.xml", v.Set.After.Seconds(), answers.Seconds(), suite.Tests), nil
}

// versions runs what differs between servers on each of them.
func versions(ctx context.Context, b *bench) (string, error) {
	r := b.program(ctx, host.Command{Path: "scripts/fetch-mongods", Args: []string{filepath.Join(b.dir, "mongods")}})
	if r.code != 0 {
		return "", errors.New(r.out)
	}
	lines := regexp.MustCompile(`(?m)^(\d+\.\d+\.\d+)\t(.+)$`).FindAllStringSubmatch(r.out, -1)
	if len(lines) != 6 {
		return "", fmt.Errorf("want six versions: %s", r.out)
	}
	var told []string
	for _, l := range lines {
		env, passed := []string{"GROVE_TEST_MONGOD=" + l[2], "GROVE_TEST_ORDERS=2"}, 0
		for _, run := range []struct{ pkg, pattern, must string }{
			{"./firstboot/replset/member", ".", "TestARealServersErrorsAreThoseOfTheTable"},
			{"./firstboot/replset/user", ".", "TestUsersAreMadeWhereverACrashHasLeftThem"},
			{"./firstboot/replset", "TestAnyOrder|TestRestarts|TestTheFirstNodeLosesItsDisk/^while_the_others_run|TestSetsOfAllSizes/a_priority", "TestRestarts"},
		} {
			figure, err := b.tests(ctx, env, run.pkg, run.pattern, run.must)
			if err != nil {
				return "", fmt.Errorf("%s: %w", l[1], err)
			}
			passed += strings.Count(figure, "--- PASS")
		}
		told = append(told, fmt.Sprintf("%s: %d tests", l[1], passed))
	}
	return strings.Join(told, "\n"), nil
}

package tuning

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"grove/firstboot/status"
)

// The states of a value, in the words of the status page.
const (
	set, same, absent, refused, waits = "set", "same", "absent", "refused", "waits"
)

// Apply brings each value to what is wanted and tells of each. before is what an earlier call has told: what was found then counts, not what was set since. Limits and
// environment are read from mongod's process, 0 while none runs.
func Apply(root string, values []Value, pid int, before []status.Tuned) []status.Tuned {
	all := make([]status.Tuned, 0, len(values))
	for _, v := range values {
		now := v.apply(root, pid)
		at := slices.IndexFunc(before, func(b status.Tuned) bool { return b.Path == now.Path && b.Name == now.Name })
		if at >= 0 && now.State == same && before[at].State == set && before[at].After == now.After {
			now.Before, now.State = before[at].Before, set
		}
		all = append(all, now)
	}
	return all
}

func (v Value) apply(root string, pid int) status.Tuned {
	now := status.Tuned{Name: v.Name, Path: v.Path, Want: v.Want, AtLeast: v.rule == least, Source: v.Source, State: same}
	if v.rule == limited || v.rule == environment {
		return v.process(root, pid, now)
	}
	have, err := read(root + v.Path)
	now.Before, now.After = have, have
	switch {
	case errors.Is(err, fs.ErrNotExist):
		now.State = absent
		if v.rule == gone {
			now.Why = "gone since Linux 4.12: it dropped connections from behind one address (commit 4396e46187ca)"
		}
		return now
	case v.rule == gone:
		now.State, now.Why = refused, "not written: it drops connections from behind one address, which is why Linux 4.12 has it no more"
		return now
	case err != nil:
		now.State, now.Why = refused, err.Error()
		return now
	case v.met(have):
		return now
	}
	now.State = set
	err = write(root+v.Path, v.Want)
	now.After, _ = read(root + v.Path)
	if !v.met(now.After) {
		now.State = refused
		if now.Why = "the kernel took it and has another value"; err != nil {
			now.Why = err.Error()
		}
	}
	return now
}

// process looks at what mongod was started with.
func (v Value) process(root string, pid int, now status.Tuned) status.Tuned {
	var err error
	if v.rule == limited {
		resource := strings.TrimPrefix(v.Name, "limit ")
		now.Before, _ = limitOf(root, "self", resource)
		now.After, err = limitOf(root, strconv.Itoa(pid), resource)
	} else {
		now.After, err = variable(root, pid, strings.TrimPrefix(v.Name, "environment "))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		now.State = waits // there is no mongod, or it has just ended
	case now.After == v.Want && now.Before != v.Want:
		now.State = set
	case now.After != v.Want:
		now.State, now.Why = refused, "mongod runs without it"
	}
	return now
}

// Problems are sentences about what is not as it was wanted.
func Problems(values []Value, tuned []status.Tuned) (all []string) {
	for _, t := range tuned {
		at := slices.IndexFunc(values, func(v Value) bool { return v.Path == t.Path && v.Name == t.Name })
		switch {
		case at < 0 || values[at].rule == gone:
		case t.State == refused:
			all = append(all, fmt.Sprintf("%s: want %s, have %q: %s", t.Name, t.Want, t.After, t.Why))
		case t.State == absent && values[at].own:
			all = append(all, fmt.Sprintf("%s: want %s, but this kernel has no such setting", t.Name, t.Want))
		}
	}
	return all
}

// Present reads values again, and writes nothing. A state is then same, absent, or refused for a value that is not as wanted.
func Present(root string, tuned []status.Tuned, pid int) []status.Tuned {
	all := slices.Clone(tuned)
	for i := range all {
		t := &all[i]
		resource, isLimit := strings.CutPrefix(t.Name, "limit ")
		name, isVariable := strings.CutPrefix(t.Name, "environment ")
		var err error
		switch {
		case isLimit:
			t.After, err = limitOf(root, strconv.Itoa(pid), resource)
		case isVariable:
			t.After, err = variable(root, pid, name)
		default:
			t.After, err = read(root + t.Path)
		}
		r := exact
		if t.AtLeast {
			r = least
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			t.State = absent
		case (Value{Want: t.Want, rule: r}).met(t.After):
			t.State = same
		default:
			t.State = refused
		}
	}
	return all
}

func (v Value) met(have string) bool {
	if v.rule == least {
		h, err := strconv.ParseInt(have, 10, 64)
		w, bad := strconv.ParseInt(v.Want, 10, 64)
		return err == nil && bad == nil && h >= w
	}
	return have == v.Want
}

// read gives a file's one line with single spaces between its words; of a choice, as `always [madvise] never`, the word that is chosen.
func read(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	words := strings.Fields(string(data))
	for _, w := range words {
		if strings.HasPrefix(w, "[") && strings.HasSuffix(w, "]") {
			return w[1 : len(w)-1], nil
		}
	}
	return strings.Join(words, " "), nil
}

// write writes a file of the kernel's, which is there.
func write(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

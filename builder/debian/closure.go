package debian

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"pault.ag/go/debian/dependency"

	"grove/internal/diag"
)

// Closure gives the roots and all that they depend on, by name. Of alternatives a root is preferred, then the first that there is; a virtual package is met by
// a package already chosen, else by the first that provides it. without names packages, also as patterns such as perl*, that are taken to be there: neither
// they nor their alternatives are chosen. A root may be virtual if one package alone provides it.
func (x *Index) Closure(roots, without []string) ([]Package, error) {
	c := closure{index: x, without: without, roots: map[string]bool{}, taken: map[string]Package{}}
	for _, name := range roots {
		c.roots[name] = true
	}
	for _, name := range roots {
		if err := c.root(name); err != nil {
			return nil, err
		}
	}
	for len(c.queue) > 0 {
		p := c.queue[0]
		c.queue = c.queue[1:]
		if err := c.follow(p); err != nil {
			return nil, err
		}
	}
	all := make([]Package, 0, len(c.taken))
	for _, p := range c.taken {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b Package) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// closure grows from its roots; queue holds what is taken and not yet followed.
type closure struct {
	index   *Index
	without []string
	roots   map[string]bool
	taken   map[string]Package
	queue   []Package
}

func (c *closure) root(name string) error {
	versions, err := c.index.versions(name)
	if err != nil {
		return err
	}
	if len(versions) > 0 {
		c.take(versions[0])
		return nil
	}
	var names []string
	for _, p := range c.index.providers(name) {
		names = append(names, p.Name)
	}
	switch names = slices.Compact(names); len(names) {
	case 0:
		o := c.index.client.Origin
		return fmt.Errorf("package %q: there is none in %s for %s%s", name, o.Suite, o.Arch, diag.Meant(name, c.index.names()))
	case 1:
		return c.root(names[0])
	}
	return fmt.Errorf("package %q: it is virtual; name one of %s", name, strings.Join(names, ", "))
}

func (c *closure) take(p Package) {
	if _, known := c.taken[p.Name]; !known {
		c.taken[p.Name] = p
		c.queue = append(c.queue, p)
	}
}

func (c *closure) follow(p Package) error {
	needs, err := dependency.Parse(p.depends)
	if err != nil {
		return fmt.Errorf("dependencies of %s: %w", p, err)
	}
	for _, need := range needs.Relations {
		if err := c.meet(need.Possibilities); err != nil {
			return fmt.Errorf("package %s needs %s: %w", p, words(need.Possibilities), err)
		}
	}
	return nil
}

// meet takes what satisfies one of the alternatives.
func (c *closure) meet(alternatives []dependency.Possibility) error {
	for _, a := range alternatives {
		if c.excluded(a.Name) {
			return nil
		}
	}
	// Two rounds: what was asked for by name goes before what merely comes first.
	for _, rooted := range []bool{true, false} {
		for _, a := range alternatives {
			if rooted && !c.roots[a.Name] {
				continue
			}
			if met, err := c.try(a); met || err != nil {
				return err
			}
		}
	}
	return c.lacking(alternatives)
}

// try meets one alternative if it can be met: by the package itself, then by a provider.
func (c *closure) try(a dependency.Possibility) (bool, error) {
	if p, taken := c.taken[a.Name]; taken && fits(p.Version, a.Version) {
		return true, nil
	} else if !taken {
		versions, err := c.index.versions(a.Name)
		if err != nil {
			return false, err
		}
		for _, p := range versions {
			if fits(p.Version, a.Version) {
				c.take(p)
				return true, nil
			}
		}
	}
	return c.provide(a)
}

func (c *closure) provide(a dependency.Possibility) (bool, error) {
	var best *Package
	for _, provider := range c.index.providers(a.Name) {
		if a.Version != nil && (provider.As == "" || !fits(provider.As, a.Version)) {
			continue
		}
		if c.excluded(provider.Name) || c.taken[provider.Name].Version == provider.Version {
			return true, nil
		}
		if best != nil && best.Name != provider.Name || c.taken[provider.Name].Name != "" {
			continue // one is at hand, or another version of it is taken
		}
		versions, err := c.index.versions(provider.Name)
		if err != nil {
			return false, err
		}
		i := slices.IndexFunc(versions, func(p Package) bool { return p.Version == provider.Version })
		if i >= 0 && (best == nil || compare(versions[i].Version, best.Version) > 0) {
			best = &versions[i]
		}
	}
	if best == nil {
		return false, nil
	}
	c.take(*best)
	return true, nil
}

func (c *closure) excluded(name string) bool {
	return slices.ContainsFunc(c.without, func(pattern string) bool {
		match, err := path.Match(pattern, name)
		return match || err != nil && pattern == name
	})
}

// fits compares a version with what is wanted of it.
func fits(have string, want *dependency.VersionRelation) bool {
	if want == nil {
		return true
	}
	order := compare(have, strings.TrimSpace(want.Number))
	switch want.Operator {
	case "<<":
		return order < 0
	case "<=":
		return order <= 0
	case "=":
		return order == 0
	case ">=":
		return order >= 0
	case ">>":
		return order > 0
	}
	return false
}

// lacking says what there is in place of the alternatives.
func (c *closure) lacking(alternatives []dependency.Possibility) error {
	var have []string
	for _, a := range alternatives {
		if p, taken := c.taken[a.Name]; taken {
			have = append(have, p.String())
		} else if versions, err := c.index.versions(a.Name); err == nil && len(versions) > 0 {
			have = append(have, versions[0].String())
		}
	}
	if len(have) == 0 {
		return fmt.Errorf("there is none in %s for %s", c.index.client.Origin.Suite, c.index.client.Origin.Arch)
	}
	return fmt.Errorf("have %s", strings.Join(have, " and "))
}

// words is `a (>= 1) | b`.
func words(alternatives []dependency.Possibility) string {
	var all []string
	for _, a := range alternatives {
		w := a.Name
		if a.Version != nil {
			w += fmt.Sprintf(" (%s %s)", a.Version.Operator, strings.TrimSpace(a.Version.Number))
		}
		all = append(all, w)
	}
	return strings.Join(all, " | ")
}

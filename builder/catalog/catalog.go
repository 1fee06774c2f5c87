// Package catalog finds boards and recipes by name among those that come with grove, or by path, and reads them strictly.
package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"

	"grove"
	"grove/internal/diag"
	"grove/internal/load"
	"grove/internal/spec"
)

// Unknown is a recipe that is neither a file nor a name of the catalog.
var Unknown = errors.New("unknown recipe")

// Pair is a recipe and the board that it names, as their files say, each with its places.
type Pair struct {
	Recipe     spec.Recipe
	RecipeFrom load.Source
	Board      spec.Board
	BoardFrom  load.Source
	Folder     string // folder of the recipe's file, against which its `file` is taken; empty for an embedded one
}

// Boards lists the names of the boards, sorted.
func Boards() []string { return names("boards") }

// Recipes lists the names of the recipes, sorted.
func Recipes() []string { return names("recipes") }

func names(folder string) []string {
	entries, err := grove.Files.ReadDir(folder)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	var list []string
	for _, e := range entries {
		list = append(list, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	sort.Strings(list)
	return list
}

// Find reads a recipe by path or name, and its board. An error is a recipe that can't be read; what is wrong in the files comes as findings, and the pair holds
// what could be read.
func Find(nameOrPath string) (Pair, diag.Findings, error) {
	var p Pair
	name, data, err := recipe(nameOrPath)
	if err != nil {
		return p, nil, err
	}
	if _, err := os.Stat(nameOrPath); err == nil {
		p.Folder = filepath.Dir(nameOrPath)
	}
	var found, more diag.Findings
	p.RecipeFrom, found = load.YAML(name, data, &p.Recipe)
	p.Recipe.Name = strings.TrimSuffix(path.Base(filepath.ToSlash(name)), path.Ext(name))
	if p.Recipe.Board == "" {
		if len(found) == 0 {
			found = append(found, p.RecipeFrom.Finding("board", "is missing; there are "+strings.Join(Boards(), ", ")))
		}
		return p, found, nil
	}
	p.Board, p.BoardFrom, more = board(p)
	return p, append(found, more...), nil
}

// Board reads a board of the catalog.
func Board(name string) (spec.Board, load.Source, diag.Findings, error) {
	var b spec.Board
	file := "boards/" + name + ".yaml"
	data, err := grove.Files.ReadFile(file)
	if err != nil {
		return b, load.Source{}, nil, err
	}
	src, found := load.YAML(file, data, &b)
	b.Name = name
	return b, src, found, nil
}

// most is what a recipe may be large, in bytes: some hundred times the longest.
const most = 1 << 20

// recipe reads a path when the word looks like one or such a file exists, else a name.
func recipe(word string) (name string, data []byte, err error) {
	if info, err := os.Stat(word); err == nil && (!info.Mode().IsRegular() || info.Size() > most) {
		return "", nil, fmt.Errorf("%w: %s is no text of at most 1 MiB; an image's name ends in .img", Unknown, word)
	}
	data, err = os.ReadFile(word)
	switch {
	case err == nil:
		return word, data, nil
	case strings.ContainsAny(word, "/\\") || strings.HasSuffix(word, ".yaml") || strings.HasSuffix(word, ".yml"):
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil, fmt.Errorf("%w: %s: no such file", Unknown, word)
		}
		return "", nil, fmt.Errorf("read the recipe: %w", err)
	}
	name = "recipes/" + word + ".yaml"
	if data, err = grove.Files.ReadFile(name); err != nil {
		return "", nil, fmt.Errorf("%w %q%s; there are %s, or give the path of a file", Unknown, word, diag.Meant(word, Recipes()), strings.Join(Recipes(), ", "))
	}
	return name, data, nil
}

// board reads the recipe's board: a name, or a path against the recipe's folder.
func board(p Pair) (spec.Board, load.Source, diag.Findings) {
	word := p.Recipe.Board
	refuse := func(text string) (spec.Board, load.Source, diag.Findings) {
		return spec.Board{}, load.Source{}, diag.Findings{p.RecipeFrom.Finding("board", text)}
	}
	if strings.HasSuffix(word, ".yaml") || strings.HasSuffix(word, ".yml") {
		file := word
		if !filepath.IsAbs(file) {
			file = filepath.Join(p.Folder, file)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return refuse(err.Error())
		}
		var b spec.Board
		src, found := load.YAML(file, data, &b)
		b.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		return b, src, found
	}
	b, src, found, err := Board(word)
	if err != nil {
		return refuse(fmt.Sprintf("unknown board %q%s; there are %s", word, diag.Meant(word, Boards()), strings.Join(Boards(), ", ")))
	}
	return b, src, found
}

package diag

import "sort"

// Near gives the name a person most likely meant, or "" when none is close: at most a third of the letters differ.
func Near(word string, names []string) string {
	sorted := append([]string(nil), names...)
	sort.Strings(sorted)
	best, found := len(word)/3+1, ""
	for _, name := range sorted {
		if d := distance(word, name); d < best || d == best && found == "" {
			best, found = d, name
		}
	}
	return found
}

// Meant is the tail of a message: `; did you mean "suite"?`, or nothing.
func Meant(word string, names []string) string {
	if near := Near(word, names); near != "" {
		return `; did you mean "` + near + `"?`
	}
	return ""
}

// distance is Levenshtein's, with a swap of neighbours counted as one.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

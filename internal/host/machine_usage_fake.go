package host

// Usage see Usages. The fake's has room for as many files as it has KiB.
func (f *FakeMachine) Usage(path string) (Usage, error) {
	total, free, err := f.Space(path)
	return Usage{Size: total, Free: free, Available: free, Files: int64(total / 1024), FilesFree: int64(free / 1024)}, err
}

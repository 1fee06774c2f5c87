package build

import (
	"context"

	"grove/builder/artifact/manifest"
	"grove/builder/bootloader"
	"grove/builder/plan"
	"grove/builder/uboot"
	"grove/internal/step"
)

// takeUBoot takes the recipe's own U-Boot or the one that was built for the board, and leaves a file of that sum in the cache, which nobody changes any more.
func (j *job) takeUBoot(ctx context.Context) (string, step.Outcome, error) {
	from, sum, told := j.Image.UBoot.File, j.Image.UBoot.SHA256, manifest.UBoot{}
	why := "the recipe's own"
	if from == "" {
		path, built, differs, err := uboot.Find(j.Cache.Dir(), j.Image.Board)
		if err != nil {
			return "", step.Outcome{}, err
		}
		if differs != "" {
			j.warn(differs)
		}
		from, sum, why = path, built.SHA256, "built by "+built.Compiler
		told = manifest.UBoot{Defconfig: built.Defconfig, Version: built.Version, Compiler: built.Compiler, Sources: built.Sources, Differs: differs}
	}
	_, loader, err := uboot.Read(from, j.Image.Board)
	if err != nil {
		return "", step.Outcome{}, err
	}
	kept, err := j.Cache.Take(ctx, from, sum)
	if err != nil {
		return "", step.Outcome{}, err
	}
	told.DeviceTree, told.SHA256 = loader.DeviceTree, sum
	j.uboot = &told
	return kept, step.Outcome{Reused: true, Why: why}, nil
}

// loader reads what the step has left.
func (j *job) loader() (bootloader.Pieces, error) {
	if j.uboot == nil {
		return bootloader.Read(j.get(plan.Loader))
	}
	data, _, err := uboot.Read(j.get(plan.Loader), j.Image.Board)
	return bootloader.Pieces{UBoot: data}, err
}

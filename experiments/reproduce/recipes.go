package reproduce

import (
	"fmt"
	"os"
	"path/filepath"

	"driftlab/results/record"
)

// recipesFolder of a claim's folder is where the recipes of its training runs are kept.
const recipesFolder = "recipes"

func recipesDir(claimDir string) string { return filepath.Join(claimDir, recipesFolder) }

// keepRecipes writes the recipes of a claim's training runs.
func keepRecipes(recipes []string, claimDir string) error {
	if len(recipes) == 0 {
		return nil
	}
	dir := recipesDir(claimDir)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for i, text := range recipes {
		if err := record.WriteFile(dir, fmt.Sprintf("arm-%02d.yaml", i+1), []byte(text)); err != nil {
			return err
		}
	}
	return nil
}

// keptRecipes reads what keepRecipes wrote, in the order of the arms.
func keptRecipes(claimDir string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(recipesDir(claimDir), "arm-*.yaml"))
	if err != nil {
		return nil, err
	}
	var list []string
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		list = append(list, string(text))
	}
	return list, nil
}

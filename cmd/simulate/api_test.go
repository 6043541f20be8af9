package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"driftlab/precision/must"
)

// apiFile lists what the stable packages export, one declaration a line; apiPage lists the packages.
const (
	apiFile = "testdata/stable/api.txt"
	apiPage = "API.md"
)

// apiPackage is a public package as it is parsed, without its tests.
type apiPackage struct {
	path, name, doc string
	files           []*ast.File
	imports         map[string]string // of this module, by the name in a file
}

// readAPI parses the package of a folder below the top of the repository.
func readAPI(t *testing.T, folder string) *apiPackage {
	t.Helper()
	p := &apiPackage{path: folder, imports: map[string]string{}}
	names, err := filepath.Glob(filepath.Join("..", "..", folder, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: no Go files, %v", folder, err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file := must.Get(parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution))(t)
		p.name = file.Name.Name
		if file.Doc != nil && strings.HasPrefix(file.Doc.Text(), "Package ") {
			p.doc = file.Doc.Text()
		}
		for _, spec := range file.Imports {
			if from, err := strconv.Unquote(spec.Path.Value); err == nil && strings.HasPrefix(from, "driftlab/") {
				name := path.Base(from)
				if spec.Name != nil {
					name = spec.Name.Name
				}
				p.imports[name] = strings.TrimPrefix(from, "driftlab/")
			}
		}
		p.files = append(p.files, file)
	}
	return p
}

// declarations are the exported ones, a line each: functions and methods with the types of what they
// take and return, types with their exported fields, interfaces with all their methods, variables and constants.
func (p *apiPackage) declarations() (list []string) {
	add := func(format string, args ...any) {
		list = append(list, p.path+": "+fmt.Sprintf(format, args...))
	}
	for _, file := range p.files {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				receiver := ""
				if d.Recv != nil {
					receiver = "(" + text(d.Recv.List[0].Type) + ") "
				}
				if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(strings.Trim(receiver, "(*) "))) {
					add("func %s%s", receiver, d.Name.Name+strings.TrimPrefix(text(unnamed(d.Type)), "func"))
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						if s.Name.IsExported() {
							p.typeLines(s, add)
						}
					case *ast.ValueSpec:
						for _, n := range s.Names {
							if n.IsExported() {
								add("%s %s", d.Tok, strings.TrimSpace(n.Name+" "+text(s.Type)))
							}
						}
					}
				}
			}
		}
	}
	return list
}

// typeLines are the lines of a type.
func (p *apiPackage) typeLines(s *ast.TypeSpec, add func(format string, args ...any)) {
	name := s.Name.Name
	if s.TypeParams != nil {
		name += "[" + types(s.TypeParams) + "]"
	}
	switch is := s.Type.(type) {
	case *ast.StructType:
		add("type %s struct", name)
		for _, f := range is.Fields.List {
			if len(f.Names) == 0 && ast.IsExported(path.Ext("." + strings.TrimPrefix(text(f.Type), "*"))[1:]) {
				add("%s, embedded %s", s.Name.Name, text(f.Type))
			}
			for _, n := range f.Names {
				if n.IsExported() {
					add("%s.%s %s", s.Name.Name, n.Name, text(unnamed(f.Type)))
				}
			}
		}
	case *ast.InterfaceType:
		var methods []string
		for _, m := range is.Methods.List {
			if len(m.Names) == 0 {
				methods = append(methods, text(m.Type))
			}
			for _, n := range m.Names {
				methods = append(methods, n.Name+strings.TrimPrefix(text(unnamed(m.Type)), "func"))
			}
		}
		slices.Sort(methods)
		add("type %s interface { %s }", name, strings.Join(methods, "; "))
	default:
		equal := ""
		if s.Assign.IsValid() {
			equal = "= "
		}
		add("type %s %s%s", name, equal, text(unnamed(s.Type)))
	}
}

// unnamed is a type without the names of parameters and results.
func unnamed(e ast.Expr) ast.Expr {
	f, ok := e.(*ast.FuncType)
	if !ok {
		return e
	}
	strip := func(l *ast.FieldList) *ast.FieldList {
		if l == nil {
			return nil
		}
		out := &ast.FieldList{}
		for _, field := range l.List {
			for range max(len(field.Names), 1) {
				out.List = append(out.List, &ast.Field{Type: unnamed(field.Type)})
			}
		}
		return out
	}
	return &ast.FuncType{TypeParams: f.TypeParams, Params: strip(f.Params), Results: strip(f.Results)}
}

// types are the types of a list of fields.
func types(l *ast.FieldList) string {
	var list []string
	for _, f := range l.List {
		for _, n := range f.Names {
			list = append(list, n.Name+" "+text(f.Type))
		}
	}
	return strings.Join(list, ", ")
}

// text is an expression on one line.
func text(e ast.Expr) string {
	if e == nil {
		return ""
	}
	var b bytes.Buffer
	if err := printer.Fprint(&b, token.NewFileSet(), e); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// listedPackages are the packages in the two tables of the page: stable ones, and usable ones that may change.
func listedPackages(t *testing.T) (stable, usable []string) {
	t.Helper()
	page := must.Get(os.ReadFile(apiPage))(t)
	first, second, _ := strings.Cut(string(page), "## Usable packages")
	for i, list := range []*[]string{&stable, &usable} {
		for _, row := range regexp.MustCompile("(?m)^\\| `driftlab/([a-z/]+)` \\| .").FindAllStringSubmatch([]string{first, second}[i], -1) {
			*list = append(*list, row[1])
		}
		if len(*list) < 10 || !slices.IsSorted(*list) {
			t.Errorf("%s lists %d packages, in the order of their names: %v", apiPage, len(*list), slices.IsSorted(*list))
		}
	}
	return stable, usable
}

// TestPublicAPI: what a release exports from a public package exists, with its types. -update adds what is
// new, in the commit of a release; a line goes only with a new major version, or if no release has had it.
func TestPublicAPI(t *testing.T) {
	var now []string
	stable, _ := listedPackages(t)
	for _, folder := range stable {
		now = append(now, readAPI(t, folder).declarations()...)
	}
	slices.Sort(now)
	content, err := os.ReadFile(apiFile)
	if err != nil && !*update {
		t.Fatal(err)
	}
	promised := ungrouped(string(content))
	if len(promised) < 1000 && !*update {
		t.Errorf("%s has only %d lines", apiFile, len(promised))
	}
	for _, line := range missing(promised, now) {
		t.Errorf("no longer exported like this: %s\n\ta release that had it promised it (STABILITY.md); if none has been tagged with it, take its line out of cmd/simulate/%s", line, apiFile)
	}
	if *update {
		all := append(promised, now...)
		slices.Sort(all)
		must.Do(t, os.WriteFile(apiFile, []byte(grouped(slices.Compact(all))), 0o644))
	}
}

// grouped is the text of sorted lines, each package's below its name.
func grouped(lines []string) string {
	var b strings.Builder
	last := ""
	for _, line := range lines {
		folder, declaration, _ := strings.Cut(line, ": ")
		if folder != last {
			fmt.Fprintf(&b, "package %s\n", folder)
			last = folder
		}
		fmt.Fprintf(&b, "\t%s\n", declaration)
	}
	return b.String()
}

// ungrouped are the lines of such a text.
func ungrouped(content string) (lines []string) {
	folder := ""
	for line := range strings.Lines(content) {
		line = strings.TrimSuffix(line, "\n")
		if declaration, ok := strings.CutPrefix(line, "\t"); ok {
			lines = append(lines, folder+": "+declaration)
		} else {
			folder = strings.TrimPrefix(line, "package ")
		}
	}
	return lines
}

// TestPublicPackages: the comment of each listed package is a page that begins with the package's name; that of
// a stable one shows code and says what the package is not, and what it exports needs listed packages only.
func TestPublicPackages(t *testing.T) {
	stable, usable := listedPackages(t)
	all := slices.Concat(stable, usable)
	for _, folder := range all {
		p := readAPI(t, folder)
		isStable := slices.Contains(stable, folder)
		if !strings.HasPrefix(p.doc, "Package "+p.name+" ") || isStable && (!strings.Contains(p.doc, "\n\t") || !strings.Contains(strings.ToLower(p.doc), "what it is not")) {
			t.Errorf("%s: its comment is no page: it begins %.40q, shows no code, or does not say what the package is not", folder, p.doc)
		}
		for _, line := range p.declarations() {
			for _, name := range regexp.MustCompile(`\b([a-z]+)\.[A-Z]`).FindAllStringSubmatch(line, -1) {
				if from := p.imports[name[1]]; isStable && from != "" && !slices.Contains(all, from) {
					t.Errorf("%s\n\tneeds %s, which %s does not list", line, from, apiPage)
				}
			}
		}
	}
}

// TestListedExamples: every example that the page lists exists, checks its output and is short.
func TestListedExamples(t *testing.T) {
	page := must.Get(os.ReadFile(apiPage))(t)
	rows := regexp.MustCompile("(?m)^\\| [^|]+ \\| `(Example\\w*)` \\| `([a-z/]+)` \\|$").FindAllStringSubmatch(string(page), -1)
	if len(rows) < 10 {
		t.Errorf("%d examples are listed", len(rows))
	}
	for _, row := range rows {
		names := must.Get(filepath.Glob(filepath.Join("..", "..", row[2], "*_test.go")))(t)
		lines, output := 0, false
		for _, name := range names {
			source := must.Get(os.ReadFile(name))(t)
			if _, after, ok := strings.Cut(string(source), "func "+row[1]+"() {\n"); ok {
				body, _, _ := strings.Cut(after, "\n}\n")
				lines, output = strings.Count(body, "\n")+1, strings.Contains(body, "// Output:")
			}
		}
		if lines == 0 || lines > 45 || !output {
			t.Errorf("%s in %s: %d lines, with its output: %v", row[1], row[2], lines, output)
		}
	}
}

// TestPackageNames: the comment of every package begins with the package's name.
func TestPackageNames(t *testing.T) {
	for _, f := range readSources(t, filepath.Join("..", "..")) {
		file := must.Get(parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", f.path), nil, parser.ParseComments|parser.PackageClauseOnly))(t)
		begin := "Package " + file.Name.Name + " "
		if file.Name.Name == "main" {
			begin = "Command "
		}
		if doc := file.Doc.Text(); strings.HasPrefix(doc, "Package ") && !strings.HasPrefix(doc, begin) {
			t.Errorf("%s: its comment begins %.30q, its package is %s", f.path, doc, file.Name.Name)
		}
	}
}

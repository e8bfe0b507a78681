// Gotypes prints, as JSON, how Go sees the built-in kinds: the facts of k8s.io/api that the OpenAPI documents do not tell.
//
// Standard input has one `group/version/kind` a line (the core group is empty). The answer maps each of them to its type, and
// each struct to its fields: the Go type, with "?" before it for omitempty, "0" for omitzero, and "Name>" for each struct that
// the field came with by embedding.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"reflect"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

type facts struct {
	Kinds   map[string]string            `json:"kinds"`
	Structs map[string]map[string]string `json:"structs"`
	Named   map[string]string            `json:"named"`
}

func main() {
	types := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(types))
	utilruntime.Must(apiextensions.AddToScheme(types))
	utilruntime.Must(apiregistration.AddToScheme(types))
	found := facts{map[string]string{}, map[string]map[string]string{}, map[string]string{}}
	found.walk(reflect.TypeFor[metav1.DeleteOptions]())
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		part := strings.Split(lines.Text(), "/")
		object, err := types.New(schema.GroupVersionKind{Group: part[0], Version: part[1], Kind: part[2]})
		if err != nil {
			log.Fatal(err)
		}
		found.Kinds[lines.Text()] = found.walk(reflect.TypeOf(object).Elem())
	}
	encoder := json.NewEncoder(os.Stdout)
	if err := encoder.Encode(found); err != nil {
		log.Fatal(err)
	}
}

// walk notes a type with all that it is made of, and returns how it is written.
func (f *facts) walk(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Pointer:
		return "*" + f.walk(t.Elem())
	case t.Name() != "" && t.PkgPath() != "":
		return f.named(t)
	case t.Kind() == reflect.Slice:
		return "[]" + f.walk(t.Elem())
	case t.Kind() == reflect.Map:
		return fmt.Sprintf("map[%s]%s", f.walk(t.Key()), f.walk(t.Elem()))
	}
	return t.String()
}

func (f *facts) named(t reflect.Type) string {
	name := t.PkgPath() + "." + t.Name()
	if reflect.PointerTo(t).Implements(unmarshaler) {
		f.Named[name] = "custom"
		return name
	}
	if t.Kind() != reflect.Struct {
		if _, known := f.Named[name]; !known {
			f.Named[name] = "" // it may contain itself
			f.Named[name] = underlying(f, t)
		}
		return name
	}
	if _, known := f.Structs[name]; !known {
		f.Structs[name] = map[string]string{}
		f.fields(t, f.Structs[name], "")
	}
	return name
}

func underlying(f *facts, t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "[]" + f.walk(t.Elem())
	case reflect.Map:
		return fmt.Sprintf("map[%s]%s", f.walk(t.Key()), f.walk(t.Elem()))
	}
	return t.Kind().String()
}

func (f *facts) fields(t reflect.Type, into map[string]string, embedded string) {
	for i := range t.NumField() {
		field := t.Field(i)
		tag, ok := field.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case name == "-" || !field.IsExported() || (!ok && !field.Anonymous):
			continue
		case name == "" && field.Anonymous:
			f.fields(field.Type, into, embedded+field.Name+">")
			continue
		}
		prefix := ""
		if strings.Contains(options, "omitempty") {
			prefix = "?"
		}
		if strings.Contains(options, "omitzero") {
			prefix += "0"
		}
		into[name] = embedded + prefix + f.walk(field.Type)
	}
}

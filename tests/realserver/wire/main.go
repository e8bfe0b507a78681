// Wire prints, as JSON, under which numbers the fields of the built-in kinds stand in their protobuf form.
//
// Standard input has one `group/version/kind` a line (the core group is empty). The answer maps each struct to its fields by their
// JSON names: the number, and for a field that came with an embedded struct the number of that one before it, as in "2.1".
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

type numbers map[string]map[string]string

func main() {
	types := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(types))
	found := numbers{}
	found.walk(reflect.TypeFor[metav1.DeleteOptions]())
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		part := strings.Split(lines.Text(), "/")
		object, err := types.New(schema.GroupVersionKind{Group: part[0], Version: part[1], Kind: part[2]})
		if err != nil {
			continue // a kind of another scheme, which typed clients do not send
		}
		found.walk(reflect.TypeOf(object).Elem())
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		log.Fatal(err)
	}
}

func (n numbers) walk(t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		n.walk(t.Elem())
	case reflect.Map:
		n.walk(t.Key())
		n.walk(t.Elem())
	case reflect.Struct:
		name := t.PkgPath() + "." + t.Name()
		if _, known := n[name]; !known {
			n[name] = map[string]string{}
			n.fields(t, n[name], "")
		}
	}
}

func (n numbers) fields(t reflect.Type, into map[string]string, embedded string) {
	for i := range t.NumField() {
		field := t.Field(i)
		parts := strings.Split(field.Tag.Get("protobuf"), ",")
		if len(parts) < 2 || !field.IsExported() {
			continue
		}
		number := embedded + parts[1]
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" && field.Anonymous {
			n.fields(field.Type, into, number+".")
			continue
		}
		if name != "" && name != "-" {
			into[name] = number
		}
		n.walk(field.Type)
	}
}

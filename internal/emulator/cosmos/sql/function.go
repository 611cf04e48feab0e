package sql

import (
	"bytes"
	"fmt"
	"math"
	"strings"
)

// function is a built-in function. Its arguments may be undefined.
type function struct {
	min, max int // number of arguments
	apply    func(args []value) (value, error)
}

// call is a call of a built-in function.
type call struct {
	fn     function
	args   []expr
	isNull bool // IS_NULL, by which SDKs ask for null keys
}

func newCall(name string, args []expr) (expr, error) {
	if len(args) == 2 {
		switch strings.ToUpper(name) {
		case "ST_DISTANCE":
			return newSpatial(distance, args[0], args[1]), nil
		case "ST_WITHIN":
			return newSpatial(within, args[0], args[1]), nil
		}
	}
	fn, ok := builtin(strings.ToUpper(name))
	if !ok {
		return nil, fmt.Errorf("the function %s is not supported", strings.ToUpper(name))
	}
	if len(args) < fn.min || len(args) > fn.max {
		return nil, fmt.Errorf("%s takes %d to %d arguments, not %d", strings.ToUpper(name), fn.min, fn.max, len(args))
	}
	return call{fn, args, strings.EqualFold(name, "IS_NULL")}, nil
}

func (e call) eval(doc []byte) (value, error) {
	var buf [3]value
	args := buf[:0]
	for _, a := range e.args {
		v, err := a.eval(doc)
		if err != nil {
			return value{}, err
		}
		args = append(args, v)
	}
	return e.fn.apply(args)
}

func builtin(name string) (function, bool) {
	switch name {
	case "IS_DEFINED":
		return function{1, 1, func(a []value) (value, error) { return boolValue(a[0].kind != undefined), nil }}, true
	case "IS_NULL":
		return isKind(null), true
	case "IS_BOOL":
		return isKind(boolean), true
	case "IS_NUMBER":
		return isKind(number), true
	case "IS_STRING":
		return isKind(text), true
	case "IS_ARRAY":
		return isKind(array), true
	case "IS_OBJECT":
		return isKind(object), true
	case "IS_PRIMITIVE":
		return function{1, 1, func(a []value) (value, error) {
			return boolValue(a[0].kind != undefined && a[0].kind < array), nil
		}}, true
	case "STARTSWITH":
		return onTexts(bytes.HasPrefix), true
	case "ENDSWITH":
		return onTexts(bytes.HasSuffix), true
	case "CONTAINS":
		return onTexts(bytes.Contains), true
	case "STRINGEQUALS":
		return onTexts(bytes.Equal), true
	case "LOWER":
		return onText(func(s []byte) value { return value{kind: text, text: bytes.ToLower(s)} }), true
	case "UPPER":
		return onText(func(s []byte) value { return value{kind: text, text: bytes.ToUpper(s)} }), true
	case "LENGTH":
		return onText(func(s []byte) value { return numberValue(float64(len(bytes.Runes(s)))) }), true
	case "ABS":
		return onNumber(math.Abs), true
	case "FLOOR":
		return onNumber(math.Floor), true
	case "CEILING":
		return onNumber(math.Ceil), true
	case "ARRAY_LENGTH":
		return function{1, 1, arrayLength}, true
	case "ARRAY_CONTAINS":
		return function{2, 3, arrayContains}, true
	}
	return function{}, false
}

func isKind(k kind) function {
	return function{1, 1, func(a []value) (value, error) { return boolValue(a[0].kind == k), nil }}
}

// onTexts makes a function of two strings, and of a third argument that tells
// whether letter case is ignored.
func onTexts(holds func(s, sub []byte) bool) function {
	return function{2, 3, func(a []value) (value, error) {
		if a[0].kind != text || a[1].kind != text {
			return value{}, nil
		}
		s, sub := a[0].text, a[1].text
		if len(a) == 3 {
			if a[2].kind != boolean {
				return value{}, nil
			}
			if a[2].truth {
				s, sub = bytes.ToLower(s), bytes.ToLower(sub)
			}
		}
		return boolValue(holds(s, sub)), nil
	}}
}

func onText(f func([]byte) value) function {
	return function{1, 1, func(a []value) (value, error) {
		if a[0].kind != text {
			return value{}, nil
		}
		return f(a[0].text), nil
	}}
}

func onNumber(f func(float64) float64) function {
	return function{1, 1, func(a []value) (value, error) {
		if a[0].kind != number {
			return value{}, nil
		}
		return numberValue(f(a[0].num)), nil
	}}
}

func arrayLength(a []value) (value, error) {
	if a[0].kind != array {
		return value{}, nil
	}
	n := 0
	for range a[0].elements {
		n++
	}
	return numberValue(float64(n)), nil
}

// arrayContains is ARRAY_CONTAINS(array, value [, partial]): partial lets an
// object match that has the members of value among others.
func arrayContains(a []value) (value, error) {
	if a[0].kind != array || a[1].kind == undefined {
		return value{}, nil
	}
	partial := len(a) == 3 && a[2].isTrue()
	for e := range a[0].elements {
		if same, _ := e.equal(a[1]); same || partial && includes(e, a[1]) {
			return boolValue(true), nil
		}
	}
	return boolValue(false), nil
}

// includes tells whether an object has every member of another one.
func includes(e, wanted value) bool {
	if e.kind != object || wanted.kind != object {
		return false
	}
	for name, v := range wanted.members {
		if same, _ := e.member(name).equal(v); !same {
			return false
		}
	}
	return true
}

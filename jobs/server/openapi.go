package server

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/jobs"
)

// object is a part of the description.
type object = map[string]any

// fields describes the fields of request and response bodies, by their JSON names.
var fields = map[string]string{
	"id":       "Identifies the job.",
	"key":      "Makes a request safe to repeat: another one with the same key and the same contents starts nothing, and returns the same job.",
	"seeds":    "URLs to begin with.",
	"settings": "Keys of a job file with their values.",
	"program":  "Name of a program of the server that handles the pages.",
	"args":     "For the program.",
	"priority": "Of the jobs that wait, the one with the highest number runs next, and of several the first.",
	"webhooks": "URLs that are told when the job is paused, done, stopped or has failed, by a POST that is repeated until it is answered with 2xx, for 24 h. The operator has to allow them.",
	"owner":    "Token that started the job.",
	"state":    "queued: it waits for others; running; paused: until it is resumed; done: Finish says why; stopped: on request, or because the disk is full; failed: error says why.",
	"created":  "When it was started.",
	"started":  "When it last began to run.",
	"ended":    "When it last stopped running.",
	"finish":   "How its last run ended.",
	"pages":    "Pages fetched, so far.",
	"requests": "Requests made, so far.",
	"left":     "URLs in the queue: now, or those that were left when it ended.",
	"error":    "Why it failed or stopped.",
	"jobs":     "Jobs, in the order in which they were started.",
	"next":     "Of a list: what to give as after for the next part; it is missing in the last one. Of a schedule: when the next run is due.",

	"name":      "Name of the schedule.",
	"cron":      "Minute, hour, day of the month, month and day of the week, as in crontab(5); or a word such as @daily.",
	"zone":      "Time zone, such as Europe/Vienna; UTC if it is missing.",
	"request":   "Job that is started. It has no key: each run has one.",
	"last":      "Time up to which runs were started or left out.",
	"missed":    "Runs that were left out, because the one before had not ended, or the server did not run.",
	"job":       "ID of the last job.",
	"schedules": "Schedules, by name.",

	"title":   "What is wrong.",
	"status":  "Status of the answer.",
	"detail":  "More, and what to do.",
	"pointer": "Where in the body it is wrong (RFC 6901).",
}

// describe returns the description of all requests and answers (OpenAPI 3.1).
func (s *Server) describe() object {
	schemas := object{"Settings": settingsSchema()}
	problem := object{"description": "What is wrong, and what to do.", "content": object{"application/problem+json": object{"schema": schemaOf(reflect.TypeFor[problemError](), schemas)}}}
	paths := object{}
	for _, r := range routes() {
		op := object{"operationId": strings.ToLower(r.method) + strings.NewReplacer("/v1", "", "/", "_", "{", "", "}", "", ".", "_").Replace(r.path), "summary": r.summary}
		var params []object
		for part := range strings.SplitSeq(r.path, "/") {
			if name, ok := strings.CutPrefix(part, "{"); ok {
				params = append(params, object{"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": object{"type": "string"}})
			}
		}
		for _, p := range r.query {
			schema := object{"type": p.kind}
			if p.name == "to" {
				schema["enum"] = kindNames(s.config.Kinds)
			}
			if p.name == "state" {
				schema["enum"] = jobs.States()
			}
			params = append(params, object{"name": p.name, "in": "query", "required": p.required, "description": p.doc, "schema": schema})
		}
		if params != nil {
			op["parameters"] = params
		}
		if r.body != nil {
			op["requestBody"] = object{"required": true, "content": object{mediaJSON: object{"schema": schemaOf(reflect.TypeOf(r.body), schemas)}}}
		}
		ok := object{"description": "Done."}
		switch {
		case r.answer != nil:
			ok["content"] = object{r.media: object{"schema": schemaOf(reflect.TypeOf(r.answer), schemas)}}
		case r.media != "":
			ok["content"] = object{r.media: object{}}
		}
		op["responses"] = object{strconv.Itoa(r.status): ok, "default": problem}
		if r.scope == "" {
			op["security"] = []object{}
		} else {
			op["security"] = []object{{"token": []string{string(r.scope)}}}
		}
		if paths[r.path] == nil {
			paths[r.path] = object{}
		}
		paths[r.path].(object)[strings.ToLower(r.method)] = op
	}
	return object{
		"openapi": "3.1.0", "info": object{"title": "Jobs of amble", "version": "1", "description": "Crawls, each a job: start them, follow their results, pause, resume and stop them, download them."},
		"paths": paths,
		"components": object{
			"schemas":         schemas,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer", "description": "Token of the server, with the scope that a request needs: " + string(Read) + " or " + string(Write) + "."}},
		},
	}
}

// schemaOf returns the schema of a type. It adds schemas of structures to schemas, by name.
func schemaOf(t reflect.Type, schemas object) object {
	switch t {
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[json.RawMessage]():
		return object{}
	case reflect.TypeFor[settings]():
		return object{"$ref": "#/components/schemas/Settings"}
	case reflect.TypeFor[jobs.State]():
		return object{"type": "string", "enum": jobs.States()}
	case reflect.TypeFor[crawler.Finish]():
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.String:
		return object{"type": "string"}
	case reflect.Int:
		return object{"type": "integer"}
	case reflect.Slice:
		return object{"type": "array", "items": schemaOf(t.Elem(), schemas)}
	case reflect.Struct:
		name := typeName(t)
		if schemas[name] == nil {
			schemas[name] = object{} // ends the recursion for a type that contains itself
			schemas[name] = structSchema(t, schemas)
		}
		return object{"$ref": "#/components/schemas/" + name}
	}
	return object{"type": "object"} // the remaining types, such as stored settings, have no further description
}

// structSchema returns the schema of a structure.
func structSchema(t reflect.Type, schemas object) object {
	properties, required := object{}, []string{}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "-" || len(f.Index) > 1 && properties[name] != nil {
			continue
		}
		p := schemaOf(f.Type, schemas)
		p["description"] = fields[name]
		properties[name] = p
		if !strings.Contains(options, "omit") {
			required = append(required, name)
		}
	}
	return object{"type": "object", "properties": properties, "required": required, "additionalProperties": !strings.HasSuffix(t.Name(), "Request")}
}

// settingsSchema returns the schema of the settings that clients may set.
func settingsSchema() object {
	properties := object{}
	for _, name := range allowed {
		k := job.KeyNamed(name)
		p := settingSchema(k)
		p["description"] = strings.ReplaceAll(k.DocWith(func(other string) string { return other }), "${default}", defaultOf(k))
		properties[name] = p
	}
	for _, short := range job.Shorthands() {
		properties[short.Name] = object{"description": short.Doc}
	}
	return object{"type": "object", "properties": properties, "additionalProperties": false}
}

func defaultOf(k *job.Key) string {
	def := k.Default()
	return def.Text()
}

// settingSchema returns the schema of the values of a key.
func settingSchema(k *job.Key) object {
	text, none := object{"type": "string"}, object{"const": cli.None}
	switch k.Kind() {
	case job.Bool:
		return object{"type": "boolean"}
	case job.Whole:
		return object{"type": "integer", "minimum": 0}
	case job.Count:
		return object{"anyOf": []object{{"type": "integer", "minimum": 0}, none}}
	case job.Number:
		return object{"anyOf": []object{{"type": "number", "minimum": 0}, none}}
	case job.Duration, job.Size:
		return object{"anyOf": []object{{"type": "number", "minimum": 0}, text}}
	case job.List:
		return object{"anyOf": []object{text, {"type": "array", "items": text}}}
	case job.Choice:
		if !k.Spellings() {
			return object{"type": "string", "enum": k.Choices()}
		}
	}
	if k.Name == "hosts" {
		return object{"type": "array", "items": object{"type": "object"}}
	}
	return text
}

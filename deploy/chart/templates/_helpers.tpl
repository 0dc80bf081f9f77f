{{- /* Values that contradict each other; values.schema.json has what is wrong by itself. */ -}}
{{- define "amble.check" -}}
{{- range $part := list "engine" "nodes" -}}
{{- $r := (index $.Values $part).resources -}}
{{- if gt (int (include "amble.mib" $r.requests.memory)) (int (include "amble.mib" $r.limits.memory)) -}}
{{- fail (printf "%s.resources: requests.memory %s is more than limits.memory %s: raise the limit" $part $r.requests.memory $r.limits.memory) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.collect.enabled (not .Values.job) -}}
{{- fail "collect.enabled is set, and job names none: set job to the name of the job to collect" -}}
{{- end -}}
{{- if and .Values.podMonitor.enabled .Values.networkPolicy.enabled (not .Values.networkPolicy.monitoring) -}}
{{- fail "podMonitor.enabled is set, and networkPolicy lets no Prometheus in: set networkPolicy.monitoring to its pods or their namespace" -}}
{{- end -}}
{{- end -}}

{{- /* An amount of memory in MiB. */ -}}
{{- define "amble.mib" -}}
{{- if hasSuffix "Gi" . }}{{ mul 1024 (trimSuffix "Gi" . | int) }}{{ else }}{{ trimSuffix "Mi" . }}{{ end -}}
{{- end -}}

{{- define "amble.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- /* Labels by which pods are selected: of (list $ COMPONENT). */ -}}
{{- define "amble.selector" -}}
app.kubernetes.io/name: {{ (index . 0).Chart.Name }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "amble.labels" -}}
{{ include "amble.selector" . }}
app.kubernetes.io/version: {{ (index . 0).Values.image.tag | default (index . 0).Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
helm.sh/chart: {{ (index . 0).Chart.Name }}-{{ (index . 0).Chart.Version }}
{{- end -}}

{{- /* Addresses of all servers of the engine: of (list $ SCHEME PORT). */ -}}
{{- define "amble.servers" -}}
{{- $name := printf "%s-engine" (index . 0).Release.Name -}}
{{- range $i := until (int (index . 0).Values.engine.replicas) -}}
{{ if $i }},{{ end }}{{ index $ 1 }}{{ $name }}-{{ $i }}.{{ $name }}:{{ index $ 2 }}
{{- end -}}
{{- end -}}

{{- /* What all pods have. */ -}}
{{- define "amble.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false # variables of services named amble would be settings
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end -}}

{{- /* Where pods of a part run, at best on different machines: of (list $ PART COMPONENT). */ -}}
{{- define "amble.place" -}}
{{- $part := index (index . 0).Values (index . 1) -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "amble.selector" (list (index . 0) (index . 2)) | nindent 8 }}
{{- with $part.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $part.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $part.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* What all containers have. */ -}}
{{- define "amble.container" -}}
image: {{ include "amble.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end -}}

{{- /* Variables of all containers: flags, also those of commands that are executed there. The job is not among them: servers would be
restarted for another one. */ -}}
{{- define "amble.env" -}}
- {name: AMBLE_CLUSTER, value: {{ include "amble.servers" (list . "nats://" 4222) | quote }}}
- {name: AMBLE_CLUSTER_CREDS, value: /etc/amble/token}
{{- end -}}

{{- /* The secret, which the group 65532 reads, as a volume. */ -}}
{{- define "amble.secret" -}}
- name: secret
  secret: {secretName: {{ .Values.secret }}, defaultMode: 0440}
{{- end -}}

{{- /* A request for a disk. */ -}}
{{- define "amble.disk" -}}
accessModes: [ReadWriteOnce]
{{- with .storageClass }}
storageClassName: {{ . }}
{{- end }}
resources: {requests: {storage: {{ .size }}}}
{{- end -}}

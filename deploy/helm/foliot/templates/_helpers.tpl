{{/* The name of all objects. */}}
{{- define "foliot.name" -}}
{{- if contains "foliot" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-foliot" (.Release.Name | trunc 43 | trimSuffix "-") }}{{ end }}
{{- end }}

{{- define "foliot.selector" -}}
app.kubernetes.io/name: foliot
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "foliot.labels" -}}
{{ include "foliot.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "foliot-%s" .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "foliot.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* The scheme of the server: http or https. */}}
{{- define "foliot.scheme" -}}
{{ if .Values.tls.secret }}https{{ else }}http{{ end }}
{{- end }}

{{/* The name by which the pods of the cluster reach the service. */}}
{{- define "foliot.address" -}}
{{ include "foliot.name" . }}.{{ .Release.Namespace }}.svc
{{- end }}

{{/* All names of the server: of its service, of the ingress, and others. */}}
{{- define "foliot.hosts" -}}
{{- $name := include "foliot.name" . -}}
{{- $hosts := list $name (printf "%s.%s" $name .Release.Namespace) (include "foliot.address" .) (printf "%s.cluster.local" (include "foliot.address" .)) -}}
{{- if .Values.ingress.enabled }}{{ $hosts = append $hosts .Values.ingress.host }}{{ end -}}
{{ join "," (concat $hosts .Values.hosts | uniq) }}
{{- end }}

{{/* The URL of the server in its own pod. A certificate needs the service's name. */}}
{{- define "foliot.local" -}}
{{ include "foliot.scheme" . }}://{{ if .Values.tls.secret }}{{ include "foliot.address" . }}{{ else }}127.0.0.1{{ end }}:8750
{{- end }}

{{/* Refuses values that the schema cannot check. */}}
{{- define "foliot.check" -}}
{{- if not .Values.tokenSecret.name -}}
{{- fail "tokenSecret.name is missing: make a Secret with the output of \"foliot token generate\", and set tokenSecret.name to its name" -}}
{{- end -}}
{{- if and (not .Values.tls.secret) (not .Values.trustedProxies) (not (index .Values.config "insecure-listen")) -}}
{{- fail "the tokens would cross the network in plain text: set tls.secret to a Secret with a certificate, or trustedProxies to the addresses of the ingress controller, or config.insecure-listen to true" -}}
{{- end -}}
{{- if and (ne .Values.store "directory") (not (index .Values .Values.store).urlSecret.name) -}}
{{- fail (printf "%s.urlSecret.name is missing: make a Secret with the URL of the store, and set %s.urlSecret.name to its name" .Values.store .Values.store) -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) -}}
{{- fail "ingress.host is missing: set it to the name by which clients reach the server" -}}
{{- end -}}
{{- if and .Values.tls.caKey (not .Values.tls.secret) -}}
{{- fail "tls.secret is missing: tls.caKey is a key of this Secret" -}}
{{- end -}}
{{- with index .Values.config "tls-client-ca" -}}
{{- $mounts := list -}}
{{- if $.Values.tls.secret }}{{ $mounts = append $mounts "/run/foliot/tls" }}{{ end -}}
{{- range $.Values.secretFiles }}{{ $mounts = append $mounts (clean .path) }}{{ end -}}
{{- if not (has (dir .) $mounts) -}}
{{- fail (printf "config.tls-client-ca: no Secret is mounted at %s: add it to secretFiles" (dir .)) -}}
{{- end -}}
{{- if and $.Values.metrics.serviceMonitor.enabled (not $.Values.metrics.clientSecret) -}}
{{- fail "metrics.clientSecret is missing: config.tls-client-ca requires a certificate of Prometheus too" -}}
{{- end -}}
{{- end -}}
{{- $grace := index .Values.config "grace" | default "20s" -}}
{{- $epoch := toDate "2006-01-02" "2000-01-01" -}}
{{- $seconds := sub (mustDateModify $grace $epoch | unixEpoch) (unixEpoch $epoch) -}}
{{- if lt (int .Values.terminationGracePeriodSeconds) (int (add $seconds 15)) -}}
{{- fail (printf "terminationGracePeriodSeconds is %d: it must be at least 15 more than config.grace (%s), or Kubernetes kills a server before its attempts have ended" (int .Values.terminationGracePeriodSeconds) $grace) -}}
{{- end -}}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.tokenSecret.name) -}}
{{- fail "metrics.tokenSecret.name is missing: make a Secret with a token of \"foliot token create --for operator --scope read\", and set metrics.tokenSecret.name to its name" -}}
{{- end -}}
{{- end }}

{{/* The rights of a container. */}}
{{- define "foliot.rights" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* The variable with the URL of the store. */}}
{{- define "foliot.url" -}}
{{- $secret := (index .Values .Values.store).urlSecret -}}
- name: FOLIOT_STORE
  valueFrom:
    secretKeyRef:
      name: {{ $secret.name }}
      key: {{ $secret.key }}
{{- end }}

{{/* The mounts of secretFiles. */}}
{{- define "foliot.secretFiles" -}}
{{- range $i, $file := .Values.secretFiles }}
- name: secret-{{ $i }}
  mountPath: {{ $file.path }}
  readOnly: true
{{- end }}
{{- end }}

{{/* The pod, which all stores share. */}}
{{- define "foliot.pod" -}}
{{- $directory := eq .Values.store "directory" -}}
metadata:
  labels:
    {{- include "foliot.labels" . | nindent 4 }}
    app.kubernetes.io/component: server
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    checksum/config: {{ toYaml .Values.config | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "foliot.name" . }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if not $directory }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "foliot.selector" . | nindent 10 }}
          app.kubernetes.io/component: server
  {{- end }}
  {{- if .Values.tls.secret }}
  # In the pod, the name in the certificate leads to the server of the same pod,
  # even while that server is not ready.
  hostAliases:
    - ip: 127.0.0.1
      hostnames: [{{ include "foliot.address" . }}]
  {{- end }}
  # root owns the files of the Secrets. This group lets the server read them.
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  {{- if and (eq .Values.store "postgres") .Values.postgres.migrate }}
  initContainers:
    - name: migrate
      image: {{ include "foliot.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [postgres, migrate]
      env:
        {{- include "foliot.url" . | nindent 8 }}
      securityContext:
        {{- include "foliot.rights" . | nindent 8 }}
      {{- with include "foliot.secretFiles" . }}
      volumeMounts:
        {{- . | trim | nindent 8 }}
      {{- end }}
  {{- end }}
  containers:
    - name: foliot
      image: {{ include "foliot.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve, --config, /etc/foliot/foliot.yaml]
      env:
        - name: FOLIOT_BOOTSTRAP_TOKEN_FILE
          value: /run/foliot/token/token
        - name: FOLIOT_HOST
          value: {{ include "foliot.hosts" . }}
        # With these, "kubectl exec" runs commands of foliot without flags.
        - name: FOLIOT_SERVER
          value: {{ include "foliot.local" . }}
        - name: FOLIOT_TOKEN_FILE
          value: /run/foliot/token/token
        {{- with .Values.tls.caKey }}
        - name: FOLIOT_CA_CERT
          value: /run/foliot/tls/{{ . }}
        {{- end }}
        {{- if .Values.tls.secret }}
        - name: FOLIOT_TLS_CERT
          value: /run/foliot/tls/tls.crt
        - name: FOLIOT_TLS_KEY
          value: /run/foliot/tls/tls.key
        {{- end }}
        {{- with .Values.trustedProxies }}
        - name: FOLIOT_TRUSTED_PROXY
          value: {{ join "," . }}
        {{- end }}
        {{- if not $directory }}
        {{- include "foliot.url" . | nindent 8 }}
        - name: FOLIOT_NODE
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
        {{- end }}
        {{- with .Values.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - name: {{ include "foliot.scheme" . }}
          containerPort: 8750
      {{- if not $directory }}
      # After the stop begins, clients still use this server until the cluster
      # has removed it from the service.
      lifecycle:
        preStop:
          sleep:
            seconds: 5
      {{- end }}
      # A first start may build indexes again, which reads all tasks.
      startupProbe:
        exec:
          command: [/usr/bin/foliot, health, --config, /etc/foliot/foliot.yaml]
        periodSeconds: 2
        timeoutSeconds: 6
        failureThreshold: 900
      livenessProbe:
        exec:
          command: [/usr/bin/foliot, health, --config, /etc/foliot/foliot.yaml]
        periodSeconds: 15
        timeoutSeconds: 6
        failureThreshold: 4
      readinessProbe:
        exec:
          command: [/usr/bin/foliot, health, --ready, --config, /etc/foliot/foliot.yaml]
        periodSeconds: 5
        timeoutSeconds: 6
        failureThreshold: 2
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        {{- include "foliot.rights" . | nindent 8 }}
      volumeMounts:
        - name: config
          mountPath: /etc/foliot
          readOnly: true
        - name: token
          mountPath: /run/foliot/token
          readOnly: true
        {{- if .Values.tls.secret }}
        - name: tls
          mountPath: /run/foliot/tls
          readOnly: true
        {{- end }}
        {{- if .Values.receiverCA.secret }}
        - name: receiver-ca
          mountPath: /run/foliot/receiver-ca
          readOnly: true
        {{- end }}
        {{- with include "foliot.secretFiles" . }}
        {{- . | trim | nindent 8 }}
        {{- end }}
        {{- if $directory }}
        - name: data
          mountPath: /var/lib/foliot
        {{- end }}
  volumes:
    - name: config
      configMap:
        name: {{ include "foliot.name" . }}
        defaultMode: 0440
    - name: token
      secret:
        secretName: {{ .Values.tokenSecret.name }}
        defaultMode: 0440
        items:
          - key: {{ .Values.tokenSecret.key }}
            path: token
    {{- with .Values.tls.secret }}
    - name: tls
      secret:
        secretName: {{ . }}
        defaultMode: 0440
    {{- end }}
    {{- with .Values.receiverCA.secret }}
    - name: receiver-ca
      secret:
        secretName: {{ . }}
        defaultMode: 0440
    {{- end }}
    {{- range $i, $file := .Values.secretFiles }}
    - name: secret-{{ $i }}
      secret:
        secretName: {{ $file.secret }}
        defaultMode: 0440
    {{- end }}
{{- end }}

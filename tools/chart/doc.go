// Package chart tests the Helm chart in deploy/chart. Those that render it need Helm, in the PATH or as $TEST_HELM:
//
//	go install helm.sh/helm/v3/cmd/helm@v3.22.0
//
// Without Helm, they check its last output, which is in testdata together with the input values.
package chart

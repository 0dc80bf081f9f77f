// Package chart has the tests of the Helm chart in deploy/chart. Those that render it need Helm, in the PATH or as $TEST_HELM:
//
//	go install helm.sh/helm/v3/cmd/helm@v3.22.0
//
// Without it, what Helm rendered last is checked: testdata has it, with the values that it is rendered with.
package chart
